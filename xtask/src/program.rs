//! The program itself, for checks that run it on many scenarios: where it is, and a directory for its records.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program, and where it leaves its records.
pub(crate) struct Program {
    path: PathBuf,
    records: PathBuf,
}

impl Program {
    /// A release build; records go into `folder` of the target directory.
    ///
    /// # Errors
    /// It can't be built.
    pub(crate) fn built(root: &Path, folder: &str) -> Result<Self, String> {
        let built = Command::new("cargo")
            .args(["build", "-q", "--release", "-p", "pipefill"])
            .current_dir(root)
            .status();
        if !built.map_err(|error| format!("cargo: {error}"))?.success() {
            return Err("the program could not be built".to_owned());
        }
        Ok(Self::at(target(root).join("release/pipefill"), root, folder))
    }

    /// The one at `path`, a release build where none is named.
    ///
    /// # Errors
    /// It is not there, or can't be built.
    pub(crate) fn named_or_built(path: Option<&String>, root: &Path, folder: &str) -> Result<Self, String> {
        let Some(path) = path else { return Self::built(root, folder) };
        let path = fs::canonicalize(path).map_err(|error| format!("{path}: {error}"))?;
        Ok(Self::at(path, root, folder))
    }

    fn at(path: PathBuf, root: &Path, folder: &str) -> Self {
        Self { path, records: target(root).join(folder) }
    }

    /// Where it leaves its records.
    pub(crate) fn records(&self) -> &Path {
        &self.records
    }

    /// Removes all records.
    ///
    /// # Errors
    /// The directory can't be made.
    pub(crate) fn empty(&self) -> Result<(), String> {
        self.leave();
        fs::create_dir_all(&self.records).map_err(|error| format!("{}: {error}", self.records.display()))
    }

    /// Removes all records and their directory.
    pub(crate) fn leave(&self) {
        let _ = fs::remove_dir_all(&self.records);
    }

    /// Runs it in the directory of its records, whatever its exit code is.
    ///
    /// # Errors
    /// It can't be started.
    pub(crate) fn run(&self, words: &[&str]) -> Result<Output, String> {
        let output = Command::new(&self.path).args(words).current_dir(&self.records).output();
        output.map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// The scenarios in `folder`, in order of their names.
///
/// # Errors
/// It can't be read.
pub(crate) fn scenarios(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    Ok(files)
}
