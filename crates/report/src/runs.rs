//! What a page and its pictures show of each run beside its figures, and which run stands for a cell.

use pipefill_analysis::experiment::{CellResult, Experiment};
use pipefill_analysis::metrics::RunMetrics;
use pipefill_analysis::series::RunSeries;
use pipefill_core::record::{Instrument, Setting};

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

/// The run that the verdict of `cell` is about; without one its first.
pub(crate) fn of_verdict<'a>(runs: &'a [RunPart], cell: &CellResult) -> Option<&'a RunPart> {
    let repeat = cell.verdict_repeat;
    let run = cell.run_values.iter().find(|run| repeat.is_none_or(|repeat| run.repeat == repeat))?;
    runs.iter().find(|part| part.series.directory == run.directory)
}
