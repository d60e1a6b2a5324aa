//! How a command that did its work ended, as an exit code.
//!
//! Never: a failure; those have their codes in [`crate::failure`].

use pipefill_analysis::experiment::Experiment;
use std::process::ExitCode;

/// A command's result, from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Exit code 0: done, and every expectation holds.
    Done,
    /// Exit code 4: a run was invalid.
    Invalid,
    /// Exit code 1: an expectation failed.
    ExpectationFailed,
    /// Exit code 1: something became worse (`compare`).
    Regression,
    /// Exit code 1: the simulator does what it must not (`sim fuzz`).
    Finding,
    /// Exit code 3: this machine lacks something (`doctor`).
    Unable,
}

impl Outcome {
    /// An expectation that was measured and did not hold is the worst; then runs that can't be believed; then expectations
    /// that could not be judged.
    pub(crate) fn of(experiment: &Experiment) -> Self {
        let expectations = || experiment.cells.iter().flat_map(|cell| &cell.expectations);
        if expectations().any(|result| result.held == Some(false)) {
            Self::ExpectationFailed
        } else if experiment.cells.iter().any(|cell| cell.valid < cell.runs) {
            Self::Invalid
        } else if expectations().any(pipefill_analysis::expect::ExpectationResult::failed) {
            Self::ExpectationFailed
        } else {
            Self::Done
        }
    }

    /// The contract's number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::ExpectationFailed | Self::Regression | Self::Finding => 1,
            Self::Unable => 3,
            Self::Invalid => 4,
        }
    }

    /// The same for the system.
    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(self.code())
    }
}
