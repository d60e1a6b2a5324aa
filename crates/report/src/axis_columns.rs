//! The columns of the axes in tables for programs: their texts, and beside these their numbers.

use indexmap::IndexSet;
use pipefill_analysis::findings::experiment::Experiment;

/// The names of all cells, each in order of appearance.
pub(crate) struct AxisColumns<'a> {
    /// Paths of the scenario, e.g. `path.rtt`.
    pub(crate) texts: IndexSet<&'a str>,
    /// The numbers' own names, e.g. `path_rtt_s`.
    pub(crate) numbers: IndexSet<&'a str>,
}

impl<'a> AxisColumns<'a> {
    pub(crate) fn of(experiment: &'a Experiment) -> Self {
        let cells = || experiment.cells.iter();
        Self {
            texts: cells().flat_map(|cell| cell.axes.keys()).map(String::as_str).collect(),
            numbers: cells().flat_map(|cell| cell.axis_numbers.keys()).map(String::as_str).collect(),
        }
    }
}
