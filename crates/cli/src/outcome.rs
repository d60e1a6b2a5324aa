//! How a command ended: its exit code, the only place that maps one to the other, and what to do about invalid runs.

use indexmap::IndexMap;
use pipefill_analysis::findings::experiment::Experiment;
use pipefill_core::problem::ProblemKind;
use pipefill_runs::Failure;
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
    /// Exit code 2: a capture is damaged, and its readable part was printed (`pcap`).
    Broken,
    /// Exit code 3: this machine lacks something (`doctor`).
    Unable,
    /// The exit code of the user's own program (`exec`).
    Program(u8),
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
        } else if expectations().any(pipefill_analysis::findings::experiment::ExpectationResult::failed) {
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
            Self::Broken => 2,
            Self::Unable => 3,
            Self::Invalid => 4,
            Self::Program(code) => code,
        }
    }

    /// The exit code for the system.
    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(self.code())
    }
}

/// The exit code of a failure: 3 where the machine can't, otherwise 2.
pub(crate) fn code_of(failure: &Failure) -> u8 {
    match failure.kind() {
        ProblemKind::Machine => 3,
        ProblemKind::Usage | ProblemKind::Broken | ProblemKind::Stopped => 2,
    }
}

/// Reasons and how often each occurs, in the order in which they first occur: `late_releases x3, ring_drops`.
pub(crate) fn counted<'a>(reasons: impl IntoIterator<Item = (&'a str, usize)>) -> String {
    let mut counts: IndexMap<&str, usize> = IndexMap::new();
    for (reason, count) in reasons {
        *counts.entry(reason).or_default() += count;
    }
    let text = |(reason, count): (&str, usize)| match count {
        1 => reason.to_owned(),
        count => format!("{reason} x{count}"),
    };
    counts.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

/// The invalid runs of an experiment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Invalid {
    /// How many runs are invalid.
    count: usize,
    /// How many runs there are.
    runs: usize,
    /// Why, counted.
    reasons: String,
}

impl Invalid {
    /// The invalid runs of `experiment`; `None` where every run is valid.
    pub(crate) fn of(experiment: &Experiment) -> Option<Self> {
        let runs = experiment.cells.iter().map(|cell| cell.runs).sum();
        let valid: usize = experiment.cells.iter().map(|cell| cell.valid).sum();
        let reasons = experiment
            .cells
            .iter()
            .flat_map(|cell| &cell.invalid)
            .map(|invalid| (invalid.reason.as_str(), invalid.runs));
        (valid < runs).then(|| Self { count: runs - valid, runs, reasons: counted(reasons) })
    }

    /// The last line of a command: how many, why, and how to repeat them in `directory`.
    pub(crate) fn line(&self, directory: &str) -> String {
        let Self { count, runs, reasons } = self;
        let are = if *count == 1 { "is" } else { "are" };
        format!(
            "invalid: {count} of {runs} runs {are} not counted ({reasons}). To repeat only them, run the same command with \
             --resume --out {directory}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::problem::Problem;
    use std::path::PathBuf;

    #[test]
    fn what_the_machine_cannot_do_has_a_code_of_its_own() {
        let lacks = || Failure::from(Problem::machine("no bbr", "modprobe"));
        let directory = PathBuf::from("out");
        let kept =
            Failure::Kept { failure: Box::new(lacks()), kept: 2, total: 4, directory: directory.clone() };
        let stopped = Failure::Stopped { kept: 3, total: 12, directory };
        let wrong = Failure::usage("no", "yes");
        assert_eq!([&lacks(), &kept, &stopped, &wrong].map(code_of), [3, 3, 2, 2]);
    }

    #[test]
    fn equal_reasons_are_counted() {
        assert_eq!(
            counted([("late_releases", 1), ("ring_drops", 1), ("late_releases", 2)]),
            "late_releases x3, ring_drops"
        );
        assert_eq!(counted([]), "");
    }

    #[test]
    fn invalid_runs_come_with_the_way_to_repeat_them() {
        let invalid = Invalid { count: 2, runs: 12, reasons: counted([("late_releases", 2)]) };
        let line = invalid.line("out");
        assert!(
            line.contains("2 of 12 runs")
                && line.contains("late_releases x2")
                && line.contains("--resume --out out"),
            "{line}"
        );
    }
}
