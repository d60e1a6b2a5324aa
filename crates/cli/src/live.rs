//! The live view of an experiment on a terminal, drawn by a thread of its own.
//!
//! The measurement never waits for it: runs update a shared state, and the thread draws that four times a second. The terminal is
//! restored whatever ends the process, but for SIGKILL.

mod flow;
mod history;
mod rows;
mod screen;
mod state;
#[cfg(test)]
pub(crate) mod synthetic;
mod tap;

#[cfg(test)]
use history::RunHistory;
pub(crate) use state::LiveState;
pub(crate) use tap::LiveTap;

use crate::console::{Console, Key};
use pipefill_runs::Stop;
use screen::Mode;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// What ends sooner gets no screen.
const PATIENCE: Duration = Duration::from_millis(700);
/// Longest time until a key or the wish to close is noticed.
const TICK: Duration = Duration::from_millis(50);
/// How often it is drawn: seldom, because the machine is measuring.
const FRAME: Duration = Duration::from_millis(250);

/// The view of one experiment. It closes when it is dropped.
#[derive(Debug)]
pub(crate) struct View {
    closing: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread has.
struct Watching {
    state: Arc<Mutex<LiveState>>,
    stop: Stop,
    closing: Arc<AtomicBool>,
    colour: bool,
}

impl View {
    /// A view of `state`; the user may ask to `stop` there.
    ///
    /// # Errors
    /// No thread is to be had.
    pub(crate) fn open(state: &Arc<Mutex<LiveState>>, stop: &Stop, colour: bool) -> io::Result<Self> {
        let closing = Arc::new(AtomicBool::new(false));
        let watching =
            Watching { state: Arc::clone(state), stop: stop.clone(), closing: Arc::clone(&closing), colour };
        let thread = Builder::new().name("view".to_owned()).spawn(move || watching.run())?;
        Ok(Self { closing, thread: Mutex::new(Some(thread)) })
    }

    /// Whether the user still looks at it, or may in a moment.
    pub(crate) fn is_open(&self) -> bool {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Puts the terminal back, at once.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // The hook has printed a panic of the view; the runs go on without the view.
            let _ended = thread.join();
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.close();
    }
}

impl Watching {
    fn run(&self) {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if self.is_over() {
                return;
            }
            std::thread::sleep(TICK);
        }
        if let Some(mut console) = Console::open() {
            self.draw_until_over(&mut console);
        }
    }

    fn draw_until_over(&self, console: &mut Console) {
        let mut mode = Mode::Watching;
        let mut drawn: Option<Instant> = None;
        while !self.is_over() {
            if drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME) {
                let state = locked(&self.state);
                if !console.draw(|frame| screen::draw(frame, &state, mode, self.colour)) {
                    return;
                }
                drawn = Some(Instant::now());
            }
            let Some(key) = console.key_within(TICK) else { continue };
            drawn = None;
            mode = match (mode, key) {
                (_, Key::Interrupt) | (Mode::Asking, Key::Yes) => {
                    self.stop.request();
                    return;
                }
                (_, Key::Background) => return,
                (Mode::Watching, Key::Quit) => Mode::Asking,
                (Mode::Watching, Key::Help) => Mode::Help,
                _ => Mode::Watching,
            };
        }
    }

    fn is_over(&self) -> bool {
        self.closing.load(Ordering::Relaxed) || self.stop.is_requested()
    }
}

/// A panic elsewhere leaves the numbers as good as they were.
pub(crate) fn locked(state: &Mutex<LiveState>) -> MutexGuard<'_, LiveState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
