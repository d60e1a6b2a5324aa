//! What a rule of the workspace is, and what comes of it.

use crate::workspace::Workspace;

/// Looks at the workspace; an error is a file that can't be read.
pub(crate) type Rule = fn(&Workspace) -> Result<Outcome, String>;

/// What a rule found.
pub(crate) enum Outcome {
    /// What does not hold; empty where everything does.
    Problems(Vec<String>),
    /// Why this machine can't look.
    CannotLook(String),
}
