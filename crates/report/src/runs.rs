//! What a page and its pictures show of each run beside its figures, and which run stands for a cell.

use pipefill_analysis::findings::experiment::{CellResult, Experiment};
use pipefill_analysis::findings::metrics::RunMetrics;
use pipefill_analysis::findings::series::RunSeries;
use pipefill_core::record::{Instrument, Invalid, Setting};

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

impl RunPart {
    /// Its figures in `experiment`.
    pub(crate) fn metrics<'a>(&self, experiment: &'a Experiment) -> Option<&'a RunMetrics> {
        let of_cells = experiment.cells.iter().flat_map(|cell| &cell.run_values);
        of_cells.into_iter().find(|run| run.directory == self.series.directory)
    }
}

/// Why a run is not to be believed, in one line for forms that have no place of their own for it; `None` for a valid one.
pub(crate) fn why_invalid(invalid: &[Invalid]) -> Option<String> {
    let reasons: Vec<String> =
        invalid.iter().map(|reason| format!("{}: {}", reason.reason, reason.detail)).collect();
    (!reasons.is_empty()).then(|| format!("invalid run, not to be believed: {}", reasons.join("; ")))
}

/// The run that the verdict of `cell` is about; without one its first valid one, or its first.
pub fn of_verdict<'a>(runs: &'a [RunPart], cell: &CellResult) -> Option<&'a RunPart> {
    let all = || cell.run_values.iter();
    let told = all().find(|run| cell.verdict_repeat == Some(run.repeat));
    let run = told.or_else(|| all().find(|run| run.is_valid())).or_else(|| all().next())?;
    runs.iter().find(|part| part.series.directory == run.directory)
}
