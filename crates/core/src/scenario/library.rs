//! Where the traces and profiles of a scenario come from, beside those that are built in.

use std::fmt;

/// A text that a scenario names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedText {
    /// What messages call it: a file's name.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// Traces and profiles that are not built in.
pub trait Library: fmt::Debug + Send + Sync {
    /// The trace that a scenario calls `name`; `None` where there is none.
    ///
    /// # Errors
    /// Why it can't be read.
    fn trace(&self, name: &str) -> Result<Option<NamedText>, String>;

    /// The profile called `name`; `None` where there is none.
    ///
    /// # Errors
    /// Why it can't be read.
    fn profile(&self, name: &str) -> Result<Option<NamedText>, String>;

    /// Names of all profiles.
    fn profiles(&self) -> Vec<String>;
}

/// There are none.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn;

impl Library for BuiltIn {
    fn trace(&self, _name: &str) -> Result<Option<NamedText>, String> {
        Ok(None)
    }

    fn profile(&self, _name: &str) -> Result<Option<NamedText>, String> {
        Ok(None)
    }

    fn profiles(&self) -> Vec<String> {
        Vec::new()
    }
}
