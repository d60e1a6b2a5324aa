//! What a page and its pictures show of each run beside its figures, and which run stands for a cell.

use pipefill_analysis::findings::experiment::{CellResult, Experiment};
use pipefill_analysis::findings::metrics::RunMetrics;
use pipefill_analysis::findings::series::RunSeries;
use pipefill_core::record::{Instrument, Invalid, Setting};
use std::collections::BTreeMap;

/// A run as it was recorded.
#[derive(Debug, Clone)]
pub struct RunPart {
    /// The run's curves; its directory says which run.
    pub series: RunSeries,
    /// Every setting, as asked and as read back.
    pub settings: Vec<Setting>,
    /// The instrument's own errors.
    pub instrument: Instrument,
}

/// Why a run is not to be believed, in one line for forms that have no place of their own for it; `None` for a valid one.
pub(crate) fn why_invalid(invalid: &[Invalid]) -> Option<String> {
    let reasons: Vec<String> =
        invalid.iter().map(|reason| format!("{}: {}", reason.reason, reason.detail)).collect();
    (!reasons.is_empty()).then(|| format!("invalid run, not to be believed: {}", reasons.join("; ")))
}

/// Which record, which figures and which cell belong together, by the name of a run's directory; of two runs with one name the first.
#[derive(Debug)]
pub struct RunIndex<'a> {
    parts: BTreeMap<&'a str, &'a RunPart>,
    figures: BTreeMap<&'a str, (&'a CellResult, &'a RunMetrics)>,
}

impl<'a> RunIndex<'a> {
    /// Of all runs of `experiment`, of which `parts` are recorded.
    pub fn of(experiment: &'a Experiment, parts: &'a [RunPart]) -> Self {
        let mut index = Self { parts: BTreeMap::new(), figures: BTreeMap::new() };
        for part in parts {
            index.parts.entry(&part.series.directory).or_insert(part);
        }
        for cell in &experiment.cells {
            for run in &cell.run_values {
                index.figures.entry(&run.directory).or_insert((cell, run));
            }
        }
        index
    }

    /// The run that the verdict of `cell` is about; without one its first valid one, or its first.
    pub fn of_verdict(&self, cell: &CellResult) -> Option<&'a RunPart> {
        let all = || cell.run_values.iter();
        let judged = all().find(|run| cell.verdict_repeat == Some(run.repeat));
        let run = judged.or_else(|| all().find(|run| run.is_valid())).or_else(|| all().next())?;
        self.parts.get(run.directory.as_str()).copied()
    }

    /// The cell and the figures of the run in `directory`.
    pub(crate) fn figures(&self, directory: &str) -> Option<(&'a CellResult, &'a RunMetrics)> {
        self.figures.get(directory).copied()
    }
}
