//! What went wrong, in words, and what to do about it: the one error type that reaches a person.

use std::fmt;
use std::io;
use std::path::Path;

/// Whose problem it is. Whoever ends a process maps it to an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// What the user asked for is not possible, or is written wrong.
    Usage,
    /// This machine can't do it.
    Machine,
    /// Something failed that should work.
    Broken,
    /// The user stopped it.
    Stopped,
}

/// A problem. `Display` is [`Self::what`] alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Whose it is.
    pub kind: ProblemKind,
    /// What is wrong.
    pub what: String,
    /// What to do about it, where anything is known.
    pub remedy: Option<String>,
}

impl Problem {
    /// The user has to write something else: `remedy` says what.
    pub fn usage(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { kind: ProblemKind::Usage, what: what.into(), remedy: Some(remedy.into()) }
    }

    /// This machine lacks something: `remedy` says how it gets it.
    pub fn machine(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { kind: ProblemKind::Machine, what: what.into(), remedy: Some(remedy.into()) }
    }

    /// Something failed that should work.
    pub fn broken(what: impl Into<String>) -> Self {
        Self { kind: ProblemKind::Broken, what: what.into(), remedy: None }
    }

    /// The user stopped it.
    pub fn stopped() -> Self {
        Self { kind: ProblemKind::Stopped, what: "stopped by the user".to_owned(), remedy: None }
    }

    /// For `map_err` of what was done with the file or directory `path`; `doing` is e.g. `reading`.
    pub fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::broken(format!("{doing} {}: {error}", path.display()))
    }

    /// For `map_err` of a result that could not be made into JSON: a fault of pipefill's own.
    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    pub fn json(error: serde_json::Error) -> Self {
        Self::broken(format!("the result can't be written as JSON: {error}"))
    }

    /// Whether the user stopped it.
    pub fn is_stop(&self) -> bool {
        self.kind == ProblemKind::Stopped
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.what)
    }
}

impl std::error::Error for Problem {}
