//! The live view of this host's connections: keys, and when to look and to draw.

use super::screen::{self, Screen};
use super::state::{CURVE, Mode};
use crate::console::Console;
use crate::terminal::Terminal;
use pipefill_observe::{Filter, Watcher};
use pipefill_report::words::complete_connections;
use pipefill_runs::{Failure, Stop};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::{Duration, Instant};

/// Connections that are judged for the table: more than a terminal shows.
const SHOWN_MAX: usize = 200;
/// Longest time until a wish to stop is noticed.
const TICK: Duration = Duration::from_millis(50);

/// Shows the connections until the user leaves.
///
/// # Errors
/// The kernel does not tell of its sockets any more.
pub(crate) fn view(watcher: &mut Watcher, stop: &Stop, terminal: &Terminal) -> Result<(), Failure> {
    let Some(mut console) = Console::open() else {
        return Err(Failure::usage(
            "the terminal can't show the view".to_owned(),
            "use --once, --for TIME or --json-stream",
        ));
    };
    let mut screen = Screen::new(terminal.has_colour());
    let mut busy_due = Instant::now();
    while !stop.is_requested() {
        let now = Instant::now();
        if now >= watcher.next() {
            watcher.look()?;
            screen.refresh(watcher, SHOWN_MAX);
        } else if now >= busy_due {
            watcher.look_at_the_busy()?;
            screen.refresh_one(watcher);
        }
        busy_due = busy_due.max(now) + if now >= busy_due { watcher.step() } else { Duration::ZERO };
        if !console.draw(|frame| screen::draw(frame, &screen)) {
            return Ok(());
        }
        let until = watcher.next().min(busy_due).saturating_duration_since(Instant::now());
        let Some(input) = console.input_within(until.min(TICK.max(watcher.step()))) else { continue };
        if input.is_some_and(|key| !screen.obeys(key, watcher)) {
            return Ok(());
        }
    }
    Ok(())
}

impl Screen {
    /// What a key does; false where the user leaves.
    fn obeys(&mut self, key: KeyEvent, watcher: &mut Watcher) -> bool {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && key.code == KeyCode::Char('c') {
            return false;
        }
        match (self.mode.clone(), key.code) {
            (Mode::Filter(text, _), code) => self.types(text, code, watcher),
            (Mode::Table, KeyCode::Char('q')) => return false,
            (Mode::Table, KeyCode::Esc) if self.filter.is_empty() => return false,
            (Mode::Table, KeyCode::Enter) => self.open(),
            (
                Mode::Connection(..) | Mode::Help,
                KeyCode::Char('q') | KeyCode::Esc | KeyCode::Enter | KeyCode::Backspace,
            ) => {
                self.mode = Mode::Table;
            }
            (_, KeyCode::Up | KeyCode::Char('k')) => self.selected = self.selected.saturating_sub(1),
            (_, KeyCode::Down | KeyCode::Char('j')) => self.selected += 1,
            (_, KeyCode::PageUp) => self.selected = self.selected.saturating_sub(10),
            (_, KeyCode::PageDown) => self.selected += 10,
            (_, KeyCode::Home) => self.selected = 0,
            (_, KeyCode::Char('s')) => self.sort = self.sort.next(),
            (_, KeyCode::Char('p' | ' ')) => self.is_paused = !self.is_paused,
            (_, KeyCode::Char('/' | 'f')) => self.mode = Mode::Filter(self.filter.clone(), None),
            (Mode::Table, KeyCode::Esc) => self.types(String::new(), KeyCode::Enter, watcher),
            (_, KeyCode::Char('?' | 'h')) => self.mode = Mode::Help,
            _ => {}
        }
        self.sort.apply(&mut self.found.connections);
        self.selected = self.selected.min(self.found.connections.len().saturating_sub(1));
        true
    }

    /// A key while a filter is typed.
    fn types(&mut self, mut text: String, code: KeyCode, watcher: &mut Watcher) {
        match code {
            KeyCode::Esc => self.mode = Mode::Table,
            KeyCode::Enter => match Filter::read(std::slice::from_ref(&text)) {
                Ok(filter) => {
                    watcher.refilter(filter);
                    self.filter = text;
                    self.mode = Mode::Table;
                }
                Err(failure) => self.mode = Mode::Filter(text, Some(failure.to_string())),
            },
            KeyCode::Backspace => {
                text.pop();
                self.mode = Mode::Filter(text, None);
            }
            KeyCode::Char(character) => {
                text.push(character);
                self.mode = Mode::Filter(text, None);
            }
            _ => {}
        }
    }

    fn open(&mut self) {
        if let Some(connection) = self.found.connections.get(self.selected) {
            self.mode = Mode::Connection(connection.local.clone(), connection.remote.clone());
        }
    }

    /// What was found by the last look at all sockets.
    fn refresh(&mut self, watcher: &mut Watcher, most: usize) {
        if self.is_paused {
            return;
        }
        self.found = complete_connections(watcher.found(most));
        self.curves = watcher.curves(CURVE);
        self.sort.apply(&mut self.found.connections);
        self.selected = self.selected.min(self.found.connections.len().saturating_sub(1));
        self.refresh_one(watcher);
    }

    /// The samples of the connection that is open.
    fn refresh_one(&mut self, watcher: &Watcher) {
        if let (Mode::Connection(local, remote), false) = (&self.mode, self.is_paused) {
            self.samples = watcher.samples(local, remote);
        }
    }
}
