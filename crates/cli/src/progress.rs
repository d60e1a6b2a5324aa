//! What the user sees during runs, on standard error: a live view on a terminal, a line a second at most elsewhere.

use crate::estimate::Estimate;
use crate::live::{LiveState, View, locked};
use crate::terminal::{Terminal, log as say};
use crate::wording::label;
use pipefill_core::plan::Run;
use pipefill_runs::{Stop, duration_in_words};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// From one line to the next.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// Progress of all runs of an experiment.
#[derive(Debug)]
pub(crate) struct Progress {
    state: Arc<Mutex<LiveState>>,
    shown: Shown,
    /// Lines that wait for the view to close.
    waiting: Mutex<Vec<String>>,
    /// When the last line was written that need not have been.
    last_line: Mutex<Option<Instant>>,
}

#[derive(Debug)]
enum Shown {
    View(View),
    Lines,
    Nothing,
}

impl Progress {
    /// Of `experiment` on `backend`, on which `stop` may be asked for; nothing is shown where the user wants it `quiet`.
    pub(crate) fn new(
        terminal: &Terminal,
        quiet: bool,
        stop: &Stop,
        [experiment, backend]: [&str; 2],
        estimate: Estimate,
    ) -> Self {
        let state = Arc::new(Mutex::new(LiveState::new(experiment, backend, estimate)));
        let shown = match (quiet, terminal.is_interactive()) {
            (true, _) => Shown::Nothing,
            (false, true) => {
                View::open(&state, stop, terminal.has_colour()).map_or(Shown::Lines, Shown::View)
            }
            (false, false) => Shown::Lines,
        };
        Self { state, shown, waiting: Mutex::default(), last_line: Mutex::default() }
    }

    /// The state that the live view shows; `None` without a view.
    pub(crate) fn live_state(&self) -> Option<&Mutex<LiveState>> {
        matches!(self.shown, Shown::View(_)).then_some(&*self.state)
    }

    /// Notes that the data path of `run` has been late by at most `path`.
    pub(crate) fn late(&self, run: &Run, path: Duration) {
        if let Some(state) = self.live_state() {
            locked(state).late(run, path);
        }
    }

    /// Notes that `run` has `passed` a part of its traffic.
    pub(crate) fn reached(&self, run: &Run, passed: Duration) {
        if let Some(state) = self.live_state() {
            locked(state).reached(run, passed);
        }
    }

    /// A run, estimated at `estimate`, took `measured` and has a record; `note` says what is worth knowing of it.
    pub(crate) fn finished(&self, run: &Run, estimate: Duration, measured: Duration, note: &str) {
        let mut state = locked(&self.state);
        state.estimate.end(estimate, measured);
        state.end(run, measured, note);
        let line = line(&state.estimate, run, measured, note);
        let must_be_said = !note.is_empty() || state.estimate.finished == state.estimate.total;
        drop(state);
        match &self.shown {
            Shown::Lines => self.say_some(&line, must_be_said),
            Shown::View(view) if !view.is_open() => self.say_some(&line, must_be_said),
            Shown::View(_) if !note.is_empty() => {
                self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
            Shown::View(_) | Shown::Nothing => {}
        }
    }

    /// Prints `line` where it must be said, or where nothing was printed for a second: many short runs do not fill the screen.
    fn say_some(&self, line: &str, must_be_said: bool) {
        let mut last = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if must_be_said || last.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
            *last = Some(Instant::now());
            say(line);
        }
    }

    /// Answers the first Ctrl-C, whatever else is shown.
    pub(crate) fn stopping(&self) {
        self.clear();
        say("stopping; Ctrl-C again to quit now");
    }

    /// Takes the view away, and says what has waited for that.
    pub(crate) fn clear(&self) {
        if let Shown::View(view) = &self.shown {
            view.close();
        }
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.iter().for_each(|line| say(line));
    }
}

fn line(estimate: &Estimate, run: &Run, measured: Duration, note: &str) -> String {
    let took = format!("{:.1} s", measured.as_secs_f64());
    let note = if note.is_empty() { String::new() } else { format!(", {note}") };
    let (finished, total) = (estimate.finished, estimate.total);
    let width = total.to_string().len();
    let left = if finished < total {
        format!("; about {} left", duration_in_words(estimate.left(Duration::ZERO)))
    } else {
        String::new()
    };
    format!("[{finished:>width$}/{total}] {}: {took}{note}{left}", label(run))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::synthetic;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_line_says_which_run_and_what_is_left() {
        let runs = synthetic::runs();
        let mut estimate = Estimate::new(12, 120 * SECOND, 1);
        estimate.end(10 * SECOND, 10 * SECOND);
        let line = line(&estimate, &runs[0], 10 * SECOND, "invalid: ring_drops");
        assert_eq!(
            line,
            "[ 1/12] path.rtt=1ms, run 1 of 2: 10.0 s, invalid: ring_drops; about 1 min 50 s left"
        );
    }
}
