//! The result of an experiment, as reports and pages take it.

use pipefill_analysis::findings::experiment::Experiment;
use pipefill_analysis::findings::series;
use pipefill_report::html::RunPart;

/// What records say.
#[derive(Debug)]
pub struct Evaluated {
    /// The figures.
    pub result: Experiment,
    /// What a page shows of each run in addition; none with [`Curves::LeftOut`].
    pub parts: Vec<RunPart>,
}

/// Whether the curves of runs are wanted, which pages and pictures have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curves {
    /// They are.
    Drawn,
    /// Figures alone are.
    LeftOut,
}

impl Curves {
    /// The buckets of a curve of each of `runs` runs, where curves are wanted.
    pub(crate) fn buckets(self, runs: usize) -> Option<usize> {
        (self == Self::Drawn).then(|| series::buckets(runs))
    }
}
