//! What the person sees while runs go on: a bar with an estimate on a terminal, a line for each run elsewhere.
//!
//! Never: on standard output, or an estimate that runs behind what was measured.

use crate::terminal::Terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pipefill_core::plan::Run;
use pipefill_core::units::Time;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Progress of all runs of an experiment.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    shown: Shown,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Bar,
    Lines,
    Nothing,
}

/// What is known about the time that is left.
#[derive(Debug)]
struct State {
    total: usize,
    finished: usize,
    jobs: u32,
    /// Estimates of the runs that have not ended.
    remaining: Duration,
    /// Estimates of those that have, and what they took.
    estimated: Duration,
    measured: Duration,
}

impl Progress {
    /// For `runs` that take `estimate` together, `jobs` at a time.
    pub(crate) fn new(terminal: &Terminal, quiet: bool, runs: usize, estimate: Duration, jobs: u16) -> Self {
        let shown = match (quiet, terminal.is_interactive()) {
            (true, _) => Shown::Nothing,
            (false, true) => Shown::Bar,
            (false, false) => Shown::Lines,
        };
        let target = match shown {
            Shown::Bar => ProgressDrawTarget::stderr(),
            Shown::Lines | Shown::Nothing => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(runs as u64), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {pos}/{len} {wide_msg}") {
            bar.set_style(style);
        }
        Self {
            bar,
            shown,
            state: Mutex::new(State {
                total: runs,
                finished: 0,
                jobs: u32::from(jobs),
                remaining: estimate,
                estimated: Duration::ZERO,
                measured: Duration::ZERO,
            }),
        }
    }

    /// A run, estimated at `estimate`, has reached `now` of its traffic.
    pub(crate) fn reached(&self, run: &Run, estimate: Duration, now: Time) {
        if self.shown == Shown::Bar {
            let passed = now.since(Time::ZERO).min(estimate);
            let left = self.state().left(passed);
            self.bar.set_message(format!("about {} left; {}", span(left), label(run)));
        }
    }

    /// A run, estimated at `estimate`, took `measured` and has a record; `note` says what is worth knowing of it.
    pub(crate) fn finished(&self, run: &Run, estimate: Duration, measured: Duration, note: &str) {
        let mut state = self.state();
        state.finished += 1;
        state.remaining = state.remaining.saturating_sub(estimate);
        state.estimated += estimate;
        state.measured += measured;
        let line = state.line(run, measured, note);
        drop(state);
        self.bar.inc(1);
        match self.shown {
            Shown::Lines => self.say(&line),
            Shown::Bar if !note.is_empty() => self.bar.println(line),
            _ => {}
        }
    }

    /// Answers the first Ctrl-C, whatever else is shown.
    pub(crate) fn stopping(&self) {
        self.bar.suspend(|| self.say("stopping; again to exit at once"));
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn say(&self, line: &str) {
        use std::io::Write;
        let _nobody_listens = writeln!(std::io::stderr().lock(), "{line}");
    }

    /// A panic elsewhere leaves the numbers as good as they were.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The estimates of what is left, corrected by how right they were so far.
    fn left(&self, passed: Duration) -> Duration {
        let correction = match self.estimated.as_secs_f64() {
            estimated if estimated > 0.0 => self.measured.as_secs_f64() / estimated,
            _ => 1.0,
        };
        let left = self.remaining.saturating_sub(passed).as_secs_f64() * correction;
        Duration::try_from_secs_f64(left / f64::from(self.jobs)).unwrap_or(Duration::MAX)
    }

    fn line(&self, run: &Run, measured: Duration, note: &str) -> String {
        let took = format!("{:.1} s", measured.as_secs_f64());
        let note = if note.is_empty() { String::new() } else { format!(", {note}") };
        let width = self.total.to_string().len();
        let left = if self.finished < self.total {
            format!("; about {} left", span(self.left(Duration::ZERO)))
        } else {
            String::new()
        };
        format!("[{:>width$}/{}] {}: {took}{note}{left}", self.finished, self.total, label(run))
    }
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
    fn the_estimate_learns_from_what_was_measured() {
        let runs = synthetic::asked(&[]).plan.runs();
        let progress = Progress::new(&Terminal::blind(), true, 4, 40 * SECOND, 1);
        assert_eq!(progress.state().left(4 * SECOND), 36 * SECOND);
        progress.finished(&runs[0], 10 * SECOND, 20 * SECOND, "");
        assert_eq!(progress.state().left(Duration::ZERO), 60 * SECOND);
        let two = Progress::new(&Terminal::blind(), true, 4, 40 * SECOND, 2);
        assert_eq!(two.state().left(Duration::ZERO), 20 * SECOND);
    }

    #[test]
    fn a_line_says_which_run_and_what_is_left() {
        let runs = synthetic::asked(&[]).plan.runs();
        let progress = Progress::new(&Terminal::blind(), true, 12, 120 * SECOND, 1);
        progress.finished(&runs[0], 10 * SECOND, 10 * SECOND, "");
        let line = progress.state().line(&runs[0], 10 * SECOND, "invalid: ring_drops");
        assert_eq!(
            line,
            "[ 1/12] path.rtt=1ms, run 1 of 2: 10.0 s, invalid: ring_drops; about 1 min 50 s left"
        );
    }
}
