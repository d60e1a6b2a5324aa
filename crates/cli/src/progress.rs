//! What the person sees while runs go on: a view on a terminal, a line for each run elsewhere.
//!
//! Never: on standard output, or an estimate that runs behind what was measured.

mod estimate;

pub(crate) use estimate::Estimate;

use crate::live::{Board, View, locked};
use crate::signals::Stop;
use crate::terminal::Terminal;
use pipefill_core::plan::Run;
use pipefill_core::units::Time;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Progress of all runs of an experiment.
#[derive(Debug)]
pub(crate) struct Progress {
    board: Arc<Mutex<Board>>,
    shown: Shown,
    /// Lines that wait for the view to close.
    waiting: Mutex<Vec<String>>,
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
        let board = Arc::new(Mutex::new(Board::new(experiment, backend, estimate)));
        let shown = match (quiet, terminal.is_interactive()) {
            (true, _) => Shown::Nothing,
            (false, true) => Shown::View(View::open(&board, stop, terminal.has_colour())),
            (false, false) => Shown::Lines,
        };
        Self { board, shown, waiting: Mutex::default() }
    }

    /// The board that somebody looks at; `None` where nobody does.
    pub(crate) fn board(&self) -> Option<&Mutex<Board>> {
        matches!(self.shown, Shown::View(_)).then_some(&*self.board)
    }

    /// A run, estimated at `estimate`, has reached `now` of its traffic.
    pub(crate) fn reached(&self, run: &Run, estimate: Duration, now: Time) {
        if let Some(board) = self.board() {
            locked(board).reached(run, now.since(Time::ZERO).min(estimate));
        }
    }

    /// A run, estimated at `estimate`, took `measured` and has a record; `note` says what is worth knowing of it.
    pub(crate) fn finished(&self, run: &Run, estimate: Duration, measured: Duration, note: &str) {
        let mut board = locked(&self.board);
        board.estimate.end(estimate, measured);
        board.end(run, measured, note);
        let line = line(&board.estimate, run, measured, note);
        drop(board);
        match &self.shown {
            Shown::Lines => say(&line),
            Shown::View(view) if !view.is_open() => say(&line),
            Shown::View(_) if !note.is_empty() => {
                self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
            Shown::View(_) | Shown::Nothing => {}
        }
    }

    /// Answers the first Ctrl-C, whatever else is shown.
    pub(crate) fn stopping(&self) {
        self.clear();
        say("stopping; again to exit at once");
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

fn say(line: &str) {
    let _nobody_listens = writeln!(std::io::stderr().lock(), "{line}");
}

fn line(estimate: &Estimate, run: &Run, measured: Duration, note: &str) -> String {
    let took = format!("{:.1} s", measured.as_secs_f64());
    let note = if note.is_empty() { String::new() } else { format!(", {note}") };
    let (finished, total) = (estimate.finished, estimate.total);
    let width = total.to_string().len();
    let left = if finished < total {
        format!("; about {} left", span(estimate.left(Duration::ZERO)))
    } else {
        String::new()
    };
    format!("[{finished:>width$}/{total}] {}: {took}{note}{left}", label(run))
}

/// The coordinates of a run: `variant=tcp path.rtt=10ms, run 1 of 3`.
pub(crate) fn label(run: &Run) -> String {
    let axes: Vec<String> = run.cell.axes.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    let of = format!("run {} of {}", run.repeat, run.cell.spec.run.repeat);
    if axes.is_empty() { of } else { format!("{}, {of}", axes.join(" ")) }
}

/// `2 h 5 min`, `5 min 20 s`, `12 s`; rounded up to the second.
pub(crate) fn span(span: Duration) -> String {
    let seconds = span.as_secs().saturating_add(u64::from(span.subsec_nanos() > 0));
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_line_says_which_run_and_what_is_left() {
        let runs = synthetic::asked(&[]).plan.runs();
        let mut estimate = Estimate::new(12, 120 * SECOND, 1);
        estimate.end(10 * SECOND, 10 * SECOND);
        let line = line(&estimate, &runs[0], 10 * SECOND, "invalid: ring_drops");
        assert_eq!(
            line,
            "[ 1/12] path.rtt=1ms, run 1 of 2: 10.0 s, invalid: ring_drops; about 1 min 50 s left"
        );
    }
}
