//! What was removed of a killed process.

use serde::Serialize;
use std::path::PathBuf;

/// The leftovers of one killed process, removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// Its number.
    pub pid: u32,
    /// The experiment that it was writing.
    pub directory: PathBuf,
    /// Runs in the making that are gone.
    pub partial_runs: Vec<String>,
    /// Whether the whole directory is gone, because it held no run.
    pub directory_removed: bool,
}

impl Removed {
    /// One line for the person.
    pub fn line(&self) -> String {
        let what = match (self.directory_removed, self.partial_runs.len()) {
            (true, _) => "the directory, which held no finished run".to_owned(),
            (false, 0) => "nothing but its entry".to_owned(),
            (false, _) => self.partial_runs.join(", "),
        };
        format!("removed the leftovers of {} (pid {}, killed): {what}", self.directory.display(), self.pid)
    }
}
