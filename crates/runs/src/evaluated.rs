//! The result of an experiment, as reports and pages take it.

use pipefill_analysis::findings::experiment::Experiment;
use pipefill_report::html::RunPart;

/// What records say.
#[derive(Debug)]
pub struct Evaluated {
    /// The figures.
    pub result: Experiment,
    /// What a page shows of each run beside.
    pub parts: Vec<RunPart>,
}
