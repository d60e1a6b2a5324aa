//! Everything that the live view shows of an experiment, without a terminal.
//!
//! Never: unbounded; what is kept of finished runs does not grow with their number, but for a mark each.

use super::pulse::Pulse;
use crate::progress::{Estimate, label};
use indexmap::IndexMap;
use pipefill_analysis::diagnosis::Span;
use pipefill_core::plan::Run;
use std::collections::VecDeque;
use std::time::Duration;

/// Finished runs that are listed.
const LISTED: usize = 64;

/// An experiment on its way.
#[derive(Debug)]
pub(crate) struct Board {
    /// Its name.
    pub(crate) experiment: String,
    /// `sim` or `lab`.
    pub(crate) backend: String,
    /// How many are done, and how long the others take.
    pub(crate) estimate: Estimate,
    /// Of the runs at work the first one to have begun.
    at_work: IndexMap<String, AtWork>,
    /// The latest last.
    pub(crate) ended: VecDeque<Ended>,
    /// A mark for each run that has ended, in that order: whether it is valid.
    pub(crate) marks: Vec<bool>,
}

/// A run that goes on.
#[derive(Debug, Clone)]
pub(crate) struct AtWork {
    /// Its coordinates.
    pub(crate) label: String,
    /// How far its traffic is.
    pub(crate) passed: Duration,
    /// What its rows tell; `None` before the first ones came.
    pub(crate) look: Option<Look>,
}

/// A run's rows so far.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    /// As columns.
    pub(crate) pulse: Pulse,
    /// What limited its first stream when, as far as that is judged.
    pub(crate) causes: Vec<Span>,
}

/// A run that has its record.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    /// Its coordinates.
    pub(crate) label: String,
    /// What arrived over all of its traffic, bits per second; `None` where nothing was counted.
    pub(crate) mean_bps: Option<u64>,
    /// What it took.
    pub(crate) took: Duration,
    /// Why it is not valid; empty where it is.
    pub(crate) note: String,
}

impl Board {
    /// Of `experiment` on `backend`, before its first run.
    pub(crate) fn new(experiment: &str, backend: &str, estimate: Estimate) -> Self {
        Self {
            experiment: experiment.to_owned(),
            backend: backend.to_owned(),
            estimate,
            at_work: IndexMap::new(),
            ended: VecDeque::new(),
            marks: Vec::new(),
        }
    }

    /// `run` has reached `passed` of its traffic.
    pub(crate) fn reached(&mut self, run: &Run, passed: Duration) {
        self.entry(run).passed = passed;
    }

    /// `run` showed this.
    pub(crate) fn show(&mut self, run: &Run, look: Look) {
        self.entry(run).look = Some(look);
    }

    /// `run` has ended; `note` says why it is not valid.
    pub(crate) fn end(&mut self, run: &Run, took: Duration, note: &str) {
        let look = self.at_work.shift_remove(run.directory.as_str()).and_then(|one| one.look);
        let mean_bps = look.and_then(|look| look.pulse.mean_bps());
        if self.ended.len() == LISTED {
            self.ended.pop_front();
        }
        self.ended.push_back(Ended { label: label(run), mean_bps, took, note: note.to_owned() });
        self.marks.push(note.is_empty());
    }

    /// The run that is shown, and how many others go on.
    pub(crate) fn current(&self) -> Option<(&AtWork, usize)> {
        self.at_work.first().map(|(_, one)| (one, self.at_work.len() - 1))
    }

    fn entry(&mut self, run: &Run) -> &mut AtWork {
        let begun = || AtWork { label: label(run), passed: Duration::ZERO, look: None };
        self.at_work.entry(run.directory.to_string()).or_insert_with(begun)
    }
}
