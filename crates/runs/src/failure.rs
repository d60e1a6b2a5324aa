//! Why runs, or what is made of their records, came to no result, and what to do about it.

use pipefill_core::problem::{Problem, ProblemKind};
use pipefill_core::scenario::{ScenarioError, Style};
use pipefill_store::{DamagedRun, StoreError};
use std::io;
use std::path::{Path, PathBuf};

/// What was done when a directory could not be made.
const MAKING: &str = "making";
const ELSEWHERE_ON_DISK: &str =
    "choose a directory where you may write: --out DIR for records, -o for a report";

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The scenario, or an assignment to it, is wrong.
    #[error("{0}")]
    Scenario(Box<ScenarioError>),
    /// Anything that words alone describe.
    #[error(transparent)]
    Problem(#[from] Problem),
    /// A run left no record.
    #[error("run {run}: {problem}")]
    Run {
        /// Name of its directory.
        run: String,
        /// What failed.
        problem: Problem,
    },
    /// The user stopped it; what was finished stays.
    #[error("stopped; {kept} of {total} runs are kept{}", kept_in(.kept, .directory))]
    Stopped {
        /// Runs with a record.
        kept: usize,
        /// Runs of the plan.
        total: usize,
        /// The experiment's directory.
        directory: PathBuf,
    },
    /// Another failure, of an experiment that has finished runs.
    #[error("{failure}")]
    Kept {
        /// What went wrong.
        failure: Box<Failure>,
        /// Runs with a record.
        kept: usize,
        /// Runs of the plan.
        total: usize,
        /// The experiment's directory.
        directory: PathBuf,
    },
    /// Records that are not what was written.
    #[error("{}", damaged(.runs))]
    Damaged {
        /// Each of them.
        runs: Vec<DamagedRun>,
        /// The command that repeats them, where their experiment is known.
        repeat: Option<String>,
    },
}

impl Failure {
    /// What is wrong with a scenario, with options as they were typed: [`ScenarioError::as_typed`].
    #[must_use]
    pub fn as_typed(self, options: &[(&str, String)]) -> Self {
        match self {
            Self::Scenario(error) => Self::Scenario(Box::new(error.as_typed(options))),
            other => other,
        }
    }

    /// A wrong argument and what to write instead.
    pub fn usage(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Problem::usage(what, remedy).into()
    }

    /// Something failed that should work.
    pub fn broken(what: impl Into<String>) -> Self {
        Problem::broken(what).into()
    }

    /// For `map_err` of what was done with a file or directory; `doing` is e.g. `reading`.
    pub fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let of = StoreError::file(doing, path);
        move |source| of(source).into()
    }

    /// A result that could not be made into JSON: a fault of pipefill's own.
    pub fn json(error: serde_json::Error) -> Self {
        Problem::json(error).into()
    }

    /// What a backend says about the run whose directory is called `run`. What a machine lacks it lacks for every run.
    pub(crate) fn of_run(problem: Problem, run: &str) -> Self {
        match problem.kind {
            ProblemKind::Machine => problem.into(),
            _ => Self::Run { run: run.to_owned(), problem },
        }
    }

    /// Whose problem it is.
    pub fn kind(&self) -> ProblemKind {
        match self {
            Self::Problem(problem) | Self::Run { problem, .. } => problem.kind,
            Self::Kept { failure, .. } => failure.kind(),
            Self::Stopped { .. } => ProblemKind::Stopped,
            Self::Scenario(_) => ProblemKind::Usage,
            Self::Damaged { .. } => ProblemKind::Broken,
        }
    }

    /// Whether it would happen in every cell: the user stopped it, or this machine cannot do it.
    pub fn ends_all(&self) -> bool {
        matches!(self.kind(), ProblemKind::Stopped | ProblemKind::Machine)
    }

    /// `error: …` and `help: …`. A scenario's error brings its own, with line and caret.
    pub fn render(&self, style: Style) -> String {
        if let Self::Scenario(error) = self {
            return error.render(style);
        }
        let (red, cyan, reset) = match style {
            Style::Plain => ("", "", ""),
            Style::Coloured => ("\x1b[1;31m", "\x1b[1;36m", "\x1b[0m"),
        };
        let mut lines = vec![format!("{red}error{reset}: {self}")];
        lines.extend(self.remedies().iter().map(|help| format!("{cyan}help{reset}: {help}")));
        lines.join("\n")
    }

    /// What to do about it: a sentence each.
    pub fn remedies(&self) -> Vec<String> {
        match self {
            Self::Scenario(_) | Self::Stopped { kept: 0, .. } => Vec::new(),
            Self::Problem(problem) | Self::Run { problem, .. } => problem.remedy.iter().cloned().collect(),
            Self::Stopped { directory, .. } => {
                vec![way_on(directory)]
            }
            Self::Kept { failure, kept, total, directory } => {
                let mut remedies = failure.remedies();
                let place = directory.display();
                remedies.push(format!("{kept} of {total} runs are kept in {place}; {}", way_on(directory)));
                remedies
            }
            Self::Damaged { repeat: Some(command), .. } => {
                vec![format!("repeat what is damaged, and keep it beside under damaged/: {command}")]
            }
            Self::Damaged { repeat: None, .. } => vec![
                "copy the record anew, or repeat the run with --resume in its experiment's directory"
                    .to_owned(),
            ],
        }
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(Box::new(error))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let what = error.to_string();
        let usage = |help: &str| Self::usage(&what, help);
        match error {
            StoreError::File { doing: MAKING, source, .. } if is_refused(&source) => {
                Problem { remedy: Some(ELSEWHERE_ON_DISK.to_owned()), ..Problem::broken(what) }.into()
            }
            StoreError::File { path, source, .. } if source.kind() == io::ErrorKind::NotADirectory => {
                let what = format!("{} is not a directory, or a part of its path is a file", path.display());
                Problem::usage(what, "choose another one, e.g. with --out OTHER").into()
            }
            StoreError::File { .. } | StoreError::Record { .. } => Self::broken(what),
            StoreError::Damaged(run) => Self::Damaged { runs: vec![run], repeat: None },
            StoreError::DamagedExperiment { .. } => {
                usage("copy it anew, or run the scenario into another directory with --out OTHER")
            }
            StoreError::Schema { pipefill, .. } => usage(&format!("read it with pipefill {pipefill}")),
            StoreError::NotEmpty(_) | StoreError::NotAnExperiment(_) | StoreError::OtherExperiment { .. } => {
                usage("choose another one with --out OTHER")
            }
            StoreError::SameExperiment(_) => {
                usage("continue it with --resume, or choose another one with --out OTHER")
            }
            StoreError::NoNumber { .. } => usage("choose a directory with --out DIR"),
            StoreError::LeaseLost { .. } => usage(
                "nothing was written after that; wait for the other one to end, then continue with --resume",
            ),
            StoreError::NoRegistry(_) => {
                usage("remove one of them, or set XDG_RUNTIME_DIR to a directory of your own")
            }
            StoreError::Json(error) => Self::json(error),
        }
    }
}

fn is_refused(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, NotADirectory, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), AlreadyExists | NotADirectory | PermissionDenied | ReadOnlyFilesystem)
}

fn way_on(directory: &Path) -> String {
    format!("continue with the same command and --resume --out {}", directory.display())
}

/// One sentence a run; of many the first ones.
fn damaged(runs: &[DamagedRun]) -> String {
    const SHOWN: usize = 10;
    let mut lines: Vec<String> = runs.iter().take(SHOWN).map(DamagedRun::to_string).collect();
    if runs.len() > SHOWN {
        lines.push(format!("{} more runs are damaged", runs.len() - SHOWN));
    }
    lines.join("\n  ")
}

fn kept_in(kept: &usize, directory: &Path) -> String {
    if *kept == 0 { String::new() } else { format!(" in {}", directory.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_cannot_is_told_the_remedy() {
        let failure = Failure::from(Problem::machine("no namespaces", "run it as root"));
        assert_eq!(failure.render(Style::Plain), "error: no namespaces\nhelp: run it as root");
        assert_eq!(failure.kind(), ProblemKind::Machine);
    }

    #[test]
    fn a_run_that_cannot_be_is_told_the_remedy_on_a_line_of_its_own() {
        let failure = Failure::of_run(Problem::usage("there are no hosts", "write [hosts]"), "0000-r1");
        assert_eq!(
            failure.render(Style::Plain),
            "error: run 0000-r1: there are no hosts\nhelp: write [hosts]"
        );
        let failure = Failure::of_run(Problem::machine("there is no bbr", "modprobe tcp_bbr"), "0000-r1");
        assert_eq!(failure.render(Style::Plain), "error: there is no bbr\nhelp: modprobe tcp_bbr");
    }

    #[test]
    fn a_failure_after_finished_runs_keeps_its_own_words_and_code() {
        let failure = Failure::Kept {
            failure: Box::new(Problem::machine("no bbr", "modprobe").into()),
            kept: 2,
            total: 4,
            directory: PathBuf::from("out"),
        };
        let text = failure.render(Style::Plain);
        assert_eq!(
            text,
            "error: no bbr\nhelp: modprobe\nhelp: 2 of 4 runs are kept in out; continue with the same command and \
             --resume --out out"
        );
        assert_eq!(failure.kind(), ProblemKind::Machine);
    }

    #[test]
    fn a_directory_that_may_not_be_made_is_told_the_option() {
        let render = |doing, kind: io::ErrorKind| {
            Failure::file(doing, Path::new("pipefill-runs"))(kind.into()).render(Style::Plain)
        };
        for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem] {
            let text = render(MAKING, kind);
            assert!(
                text.starts_with("error: making pipefill-runs: ") && text.contains("--out DIR"),
                "{text}"
            );
        }
        assert!(!render(MAKING, io::ErrorKind::StorageFull).contains("help"));
        assert!(!render("reading", io::ErrorKind::PermissionDenied).contains("help"));
    }

    #[test]
    fn what_the_store_refuses_is_told_the_option() {
        let render = |error: StoreError| Failure::from(error).render(Style::Plain);
        let out = || PathBuf::from("out");
        assert_eq!(
            render(StoreError::SameExperiment(out())),
            "error: out holds this experiment already\nhelp: continue it with --resume, or choose another one with --out OTHER"
        );
        let in_a_file = StoreError::file("reading", &out())(io::ErrorKind::NotADirectory.into());
        assert_eq!(
            render(in_a_file),
            "error: out is not a directory, or a part of its path is a file\nhelp: choose another one, e.g. with --out OTHER"
        );
        assert_eq!(
            render(StoreError::NotAnExperiment(out())),
            "error: out is not empty, and no experiment\nhelp: choose another one with --out OTHER"
        );
        let (found, pipefill) = ("7".to_owned(), "\"3.2.0\"".to_owned());
        assert_eq!(
            render(StoreError::Schema { file: out(), found, reads: 1, pipefill }),
            "error: out: schema 7, and this pipefill reads schema 1\nhelp: read it with pipefill \"3.2.0\""
        );
    }

    #[test]
    fn a_stop_names_the_way_on() {
        let failure = Failure::Stopped { kept: 3, total: 12, directory: PathBuf::from("pipefill-runs/rtt") };
        let text = failure.render(Style::Plain);
        assert!(text.contains("stopped; 3 of 12 runs are kept in pipefill-runs/rtt"), "{text}");
        assert!(text.contains("--resume --out pipefill-runs/rtt"), "{text}");
        assert_eq!(failure.kind(), ProblemKind::Stopped);
    }
}
