//! Everything that the live view shows of an experiment, without a terminal. What is kept of finished runs does not grow with their
//! number, but for a mark each.

use super::history::RunHistory;
use crate::estimate::Estimate;
use crate::wording::label;
use indexmap::IndexMap;
use pipefill_analysis::judge::Span;
use pipefill_core::cell::Direction;
use pipefill_core::plan::Run;
use std::collections::VecDeque;
use std::time::Duration;

/// Finished runs that are listed.
const LISTED: usize = 64;

/// An experiment while it runs.
#[derive(Debug)]
pub(crate) struct LiveState {
    /// Its name.
    pub(crate) experiment: String,
    /// `sim` or `lab`.
    pub(crate) backend: String,
    /// How many are done, and how long the others take.
    pub(crate) estimate: Estimate,
    /// The current runs, the first one to have begun first.
    running: IndexMap<String, CurrentRun>,
    /// The latest last.
    pub(crate) ended: VecDeque<Ended>,
    /// A mark for each run that has ended, in that order: whether it is valid.
    pub(crate) marks: Vec<bool>,
}

/// A run that has not ended.
#[derive(Debug, Clone)]
pub(crate) struct CurrentRun {
    /// Its coordinates.
    pub(crate) label: String,
    /// How far its traffic is.
    pub(crate) passed: Duration,
    /// What its rows show; `None` before the first row.
    pub(crate) snapshot: Option<Snapshot>,
    /// The largest lateness of the run's data path; `None` where nothing is emulated in real time.
    pub(crate) late_path: Option<Duration>,
}

/// A run's rows up to now.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    /// As columns.
    pub(crate) history: RunHistory,
    /// What limited the first stream of the flow that is shown, and when, as far as that is judged.
    pub(crate) causes: Vec<Span>,
}

/// A run that has its record.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    /// Its coordinates.
    pub(crate) label: String,
    /// What arrived over all of its traffic, bits per second, forward and reverse; `None` where nothing was counted.
    pub(crate) mean_bps: [Option<u64>; 2],
    /// What it took.
    pub(crate) took: Duration,
    /// Why it is not valid; empty where it is.
    pub(crate) note: String,
}

impl LiveState {
    /// Of `experiment` on `backend`, before its first run.
    pub(crate) fn new(experiment: &str, backend: &str, estimate: Estimate) -> Self {
        Self {
            experiment: experiment.to_owned(),
            backend: backend.to_owned(),
            estimate,
            running: IndexMap::new(),
            ended: VecDeque::new(),
            marks: Vec::new(),
        }
    }

    /// `run` has reached `passed` of its traffic.
    pub(crate) fn reached(&mut self, run: &Run, passed: Duration) {
        self.entry(run).passed = passed;
    }

    /// Notes that the data path of `run` has been late by at most `path`.
    pub(crate) fn late(&mut self, run: &Run, path: Duration) {
        self.entry(run).late_path = Some(path);
    }

    /// `run` showed this.
    pub(crate) fn show(&mut self, run: &Run, snapshot: Snapshot) {
        self.entry(run).snapshot = Some(snapshot);
    }

    /// Notes that `run` has ended; `note` is the reason where it is invalid.
    pub(crate) fn end(&mut self, run: &Run, took: Duration, note: &str) {
        let snapshot = self.running.shift_remove(run.directory.as_str()).and_then(|current| current.snapshot);
        let mean = |direction| snapshot.as_ref().and_then(|snapshot| snapshot.history.mean_bps(direction));
        let mean_bps = Direction::ALL.map(mean);
        if self.ended.len() == LISTED {
            self.ended.pop_front();
        }
        self.ended.push_back(Ended { label: label(run), mean_bps, took, note: note.to_owned() });
        self.marks.push(note.is_empty());
    }

    /// The run that is shown, and the number of other current runs.
    pub(crate) fn current(&self) -> Option<(&CurrentRun, usize)> {
        self.running.first().map(|(_, current)| (current, self.running.len() - 1))
    }

    fn entry(&mut self, run: &Run) -> &mut CurrentRun {
        let begun =
            || CurrentRun { label: label(run), passed: Duration::ZERO, snapshot: None, late_path: None };
        self.running.entry(run.directory.to_string()).or_insert_with(begun)
    }
}
