//! What the user and other programs hear of runs while they are carried out, and the page that is left at the end.

use crate::args::RunOptions;
use crate::estimate::Estimate;
use crate::events::Events;
use crate::live::LiveTap;
use crate::outcome::counted;
use crate::page;
use crate::progress::Progress;
use crate::terminal::Terminal;
use pipefill_core::plan::Run;
use pipefill_core::problem::Problem;
use pipefill_core::record::{Invalid, Manifest, Sink};
use pipefill_core::units::Time;
use pipefill_runs::{Evaluated, Failure, Reporter, RunEvent, Stop, duration_in_words};
use pipefill_store::ExperimentDirectory;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// Hears of the runs of one experiment.
pub(crate) struct RunReporter<'a> {
    terminal: &'a Terminal,
    stop: &'a Stop,
    quiet: bool,
    announces: bool,
    leaves_page: bool,
    events: Option<Events>,
    progress: OnceLock<Progress>,
}

impl<'a> RunReporter<'a> {
    /// By the options of `run`; many experiments at once leave no pages.
    pub(crate) fn new(
        terminal: &'a Terminal,
        stop: &'a Stop,
        options: &RunOptions,
        leaves_page: bool,
    ) -> Self {
        let events = options.json_stream.map(|what| Events::new(what, *terminal));
        let (quiet, announces, progress) = (options.quiet, !options.quiet, OnceLock::new());
        Self { terminal, stop, quiet, announces, leaves_page, events, progress }
    }

    /// Shows progress alone.
    pub(crate) fn of_progress(terminal: &'a Terminal, stop: &'a Stop, quiet: bool) -> Self {
        let (announces, leaves_page, events, progress) = (false, false, None, OnceLock::new());
        Self { terminal, stop, quiet, announces, leaves_page, events, progress }
    }

    fn announce(&self, experiment: &ExperimentDirectory, left: usize, estimate: Duration) {
        let plan = &experiment.stored.plan;
        let total = plan.run_count();
        let runs = match (left, total - left) {
            (1, 0) => "1 run".to_owned(),
            (left, 0) => format!("{left} runs"),
            (left, done) => format!("{left} of {total} runs ({done} have a valid record)"),
        };
        let (name, estimate, place) =
            (&plan.experiment, duration_in_words(estimate), experiment.path.display());
        self.terminal.say(&format!("{name}: {runs}, about {estimate}; records in {place}"));
        let once = plan.cells.iter().filter(|cell| cell.deterministic).count();
        if once > 0 {
            let said = if once == 1 {
                "1 cell is deterministic (nothing in it is random), so it runs once".to_owned()
            } else {
                format!("{once} cells are deterministic (nothing in them is random), so each runs once")
            };
            self.terminal.say(&said);
        }
    }

    fn begin(
        &self,
        experiment: &ExperimentDirectory,
        backend: &str,
        runs: usize,
        estimate: Duration,
        jobs: u16,
    ) {
        if self.announces {
            self.announce(experiment, runs, estimate / u32::from(jobs));
        }
        self.events.iter().for_each(|events| events.started(experiment, backend, runs));
        let names = [&*experiment.stored.plan.experiment, backend];
        let estimate = Estimate::new(runs, estimate, jobs);
        self.progress.get_or_init(|| Progress::new(self.terminal, self.quiet, self.stop, names, estimate));
    }

    /// What the live view shows, on the way to the record.
    fn tapped(
        &self,
        run: &Run,
        record: &mut dyn Sink,
        measure: &mut dyn FnMut(&mut dyn Sink) -> Result<Manifest, Problem>,
    ) -> Result<Manifest, Problem> {
        let Some(state) = self.progress.get().and_then(Progress::live_state) else {
            return measure(record);
        };
        let expected = OnceLock::new();
        let mut tap = LiveTap::new(run, state, &expected, record);
        let manifest = measure(&mut tap)?;
        tap.update();
        Ok(manifest)
    }
}

impl Reporter for RunReporter<'_> {
    fn say(&self, line: &str) {
        self.terminal.say(line);
    }

    fn hear(&self, event: &RunEvent<'_>) {
        let (progress, events) = (self.progress.get(), self.events.as_ref());
        match *event {
            RunEvent::Begins { experiment, backend, runs, estimate, jobs } => {
                self.begin(experiment, backend, runs, estimate, jobs);
            }
            RunEvent::RunBegins(run) => events.iter().for_each(|events| events.run_started(run)),
            RunEvent::Reached { run, estimate, now } => {
                let passed = now.since(Time::ZERO).min(estimate);
                progress.iter().for_each(|progress| progress.reached(run, passed));
            }
            RunEvent::Late(run, path) => progress.iter().for_each(|progress| progress.late(run, path)),
            RunEvent::RunEnds { experiment, run, estimate, took, invalid } => {
                let note = note(invalid);
                progress.iter().for_each(|progress| progress.finished(run, estimate, took, &note));
                events.iter().for_each(|events| events.run_finished(experiment, run, took, invalid));
            }
            RunEvent::Stopping => progress.iter().for_each(|progress| progress.stopping()),
            RunEvent::Ends => progress.iter().for_each(|progress| progress.clear()),
            RunEvent::Failed(failure) => events.iter().for_each(|events| events.failed(failure)),
        }
    }

    /// Passes rows to the caller's program, where it wants them.
    fn pass_rows(
        &self,
        run: &Run,
        record: &mut dyn Sink,
        measure: &mut dyn FnMut(&mut dyn Sink) -> Result<Manifest, Problem>,
    ) -> Result<Manifest, Problem> {
        match &self.events {
            Some(events) => self.tapped(run, &mut events.rows(run, record), measure),
            None => self.tapped(run, record, measure),
        }
    }

    fn finished(
        &self,
        experiment: &ExperimentDirectory,
        evaluated: &Evaluated,
    ) -> Result<Option<PathBuf>, Failure> {
        let page =
            if self.leaves_page { page::try_leave(experiment, evaluated, self.terminal) } else { None };
        if let Some(events) = &self.events {
            events.finished(&evaluated.result, &experiment.path);
            events.check()?;
        }
        Ok(page)
    }
}

fn note(invalid: &[Invalid]) -> String {
    let reasons = counted(invalid.iter().map(|reason| (reason.reason.as_str(), 1)));
    if reasons.is_empty() { reasons } else { format!("invalid: {reasons}") }
}
