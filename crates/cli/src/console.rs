//! The terminal while a view has it: raw keys and another screen. An end, an error, a panic and a signal all restore it.

use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Stderr};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Whether the terminal is ours.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, taken. It goes back when this is dropped.
pub(crate) struct Console {
    terminal: ratatui::Terminal<CrosstermBackend<Stderr>>,
    /// Whether there is a keyboard; without one it is not polled again.
    has_keys: bool,
}

/// What a key means in the view of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// Stop the experiment? It is asked back.
    Quit,
    /// Yes, stop it.
    Yes,
    /// Ctrl-C: stop it, without a question.
    Interrupt,
    /// Leave the view; the experiment goes on.
    Background,
    /// What is shown here?
    Help,
    /// Any other one, or a new size.
    Other,
}

impl Console {
    /// Takes the terminal; `None` where it can't be had.
    pub(crate) fn open() -> Option<Self> {
        put_back_on_panic();
        enable_raw_mode().ok()?;
        TAKEN.store(true, Ordering::SeqCst);
        let entered = execute!(io::stderr(), EnterAlternateScreen, cursor::Hide);
        let terminal = entered.and_then(|()| ratatui::Terminal::new(CrosstermBackend::new(io::stderr())));
        match terminal {
            Ok(terminal) => Some(Self { terminal, has_keys: true }),
            Err(_) => {
                put_back();
                None
            }
        }
    }

    /// Draws a frame; false where that fails, or the terminal was taken away.
    pub(crate) fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> bool {
        TAKEN.load(Ordering::SeqCst) && self.terminal.draw(render).is_ok()
    }

    /// The key that is pressed within `patience`, if any.
    pub(crate) fn key_within(&mut self, patience: Duration) -> Option<Key> {
        self.input_within(patience).map(|input| input.map_or(Key::Other, Key::of))
    }

    /// What comes from the keyboard within `patience`, if anything: a key, or `None` in it for a new size of the terminal.
    pub(crate) fn input_within(&mut self, patience: Duration) -> Option<Option<KeyEvent>> {
        if !self.has_keys {
            thread::sleep(patience);
            return None;
        }
        // crossterm reads for ever from a terminal that was hung up: it is asked only while there is one.
        if is_hung_up_within(patience) {
            self.has_keys = false;
            TAKEN.store(false, Ordering::SeqCst);
            return None;
        }
        match event::poll(Duration::ZERO).and_then(|is_there| is_there.then(event::read).transpose()) {
            Ok(Some(Event::Key(key))) if key.kind == KeyEventKind::Press => Some(Some(key)),
            Ok(Some(Event::Resize(..))) => Some(None),
            Ok(_) => None,
            Err(_) => {
                self.has_keys = false;
                None
            }
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        put_back();
    }
}

impl Key {
    fn of(key: KeyEvent) -> Self {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => Self::Interrupt,
            KeyCode::Char('q') => Self::Quit,
            KeyCode::Char('y') => Self::Yes,
            KeyCode::Char('b') => Self::Background,
            KeyCode::Char('?' | 'h') => Self::Help,
            _ => Self::Other,
        }
    }
}

/// Waits for input of the terminal, at most `patience`; true where the terminal is gone.
fn is_hung_up_within(patience: Duration) -> bool {
    let terminal = io::stderr();
    let mut waits = [PollFd::new(&terminal, PollFlags::IN)];
    let patience = Timespec::try_from(patience).ok();
    // An interrupted wait has seen nothing.
    let _ready = poll(&mut waits, patience.as_ref());
    waits[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
}

/// Lets a panic leave the view first, so that its message is on the user's own screen.
fn put_back_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            put_back();
            before(panic);
        }));
    });
}

fn put_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // Where the terminal has gone there is nothing to put back.
        let _gone = disable_raw_mode();
        let _gone = execute!(io::stderr(), LeaveAlternateScreen, cursor::Show);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portable_pty::{CommandBuilder, NativePtySystem, PtySize, PtySystem};
    use std::io::Read;

    /// Set where the test below runs on the terminal.
    const INSIDE: &str = "PIPEFILL_TEST_ON_A_TERMINAL";

    /// The test starts itself on a terminal, panics there, and reads what is left on it.
    #[test]
    fn a_panic_is_read_on_the_users_own_screen() {
        if std::env::var_os(INSIDE).is_some() {
            let _console = Console::open().expect("a terminal");
            panic!("on purpose");
        }
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = NativePtySystem::default().openpty(size).unwrap();
        let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
        command.args(["--exact", "console::tests::a_panic_is_read_on_the_users_own_screen", "--nocapture"]);
        command.env(INSIDE, "1");
        command.env("RUST_BACKTRACE", "0");
        command.env("TERM", "xterm-256color");
        let mut child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
        let mut reader = pair.master.try_clone_reader().unwrap();
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            bytes.extend_from_slice(&buffer[..count]);
        }
        assert!(!child.wait().unwrap().success());
        let mut screen = vt100::Parser::default();
        screen.process(&bytes);
        assert!(String::from_utf8_lossy(&bytes).contains("\x1b[?1049h"), "it never took the terminal");
        assert!(!screen.screen().alternate_screen() && !screen.screen().hide_cursor());
        assert!(screen.screen().contents().contains("on purpose"), "{}", screen.screen().contents());
    }

    #[test]
    fn a_c_is_an_interrupt_with_control_alone() {
        let key = |code, modifiers| Key::of(KeyEvent::new(code, modifiers));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Key::Interrupt);
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::NONE), Key::Other);
        assert_eq!(key(KeyCode::Char('?'), KeyModifiers::SHIFT), Key::Help);
        assert_eq!(key(KeyCode::Char('q'), KeyModifiers::NONE), Key::Quit);
    }
}
