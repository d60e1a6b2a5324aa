//! Everything that can go wrong with experiments on disk. What to do about it, whoever shows it to a person knows.

use crate::{DamagedRun, EXPERIMENT, Owner, RecordError};
use pipefill_core::file_name::FileName;
use std::io;
use std::path::{Path, PathBuf};

/// Why a directory of records can't be used, or a file in it not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or directory.
    #[error("{doing} {}: {source}", .path.display())]
    File {
        /// E.g. `reading`.
        doing: &'static str,
        /// Of what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A record that can't be read or written, and is whole.
    #[error("{}: {source}", .directory.display())]
    Record {
        /// The run's directory.
        directory: PathBuf,
        /// Why not.
        source: RecordError,
    },
    /// A record that is not what was written.
    #[error("{0}")]
    Damaged(DamagedRun),
    /// An `experiment.json` that is not what was written.
    #[error("{} is damaged: {why}", .file.display())]
    DamagedExperiment {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// An `experiment.json` of another schema.
    #[error("{}: schema {found}, and this pipefill reads schema {reads}", .file.display())]
    Schema {
        /// The file.
        file: PathBuf,
        /// Its schema, as JSON.
        found: String,
        /// The schema that this code reads.
        reads: u32,
        /// Version of the pipefill that wrote it, as JSON.
        pipefill: String,
    },
    /// The directory of something new holds something.
    #[error("{} is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// The directory of an experiment holds something else.
    #[error("{} is not empty, and no experiment", .0.display())]
    NotAnExperiment(PathBuf),
    /// The directory holds another experiment.
    #[error("{} holds another experiment: {difference}", .path.display())]
    OtherExperiment {
        /// The directory.
        path: PathBuf,
        /// What is different.
        difference: String,
    },
    /// The directory holds this experiment, and nobody asked to continue it.
    #[error("{} holds this experiment already", .0.display())]
    SameExperiment(PathBuf),
    /// There are too many experiments of one name.
    #[error("{} has no free number left for {name}", .folder.display())]
    NoNumber {
        /// The folder of experiments.
        folder: PathBuf,
        /// The name.
        name: FileName,
    },
    /// The lease of a directory is somebody else's now.
    #[error("{} is not this process's any more{}", .path.display(), taken_by(.to.as_ref()))]
    LeaseLost {
        /// The lock file.
        path: PathBuf,
        /// Who has it, where that is known.
        to: Option<Owner>,
    },
    /// No folder of the registry is this user's alone.
    #[error("there is no directory to note this run in: {} can't be made, or belong to others", listed(.0))]
    NoRegistry(Vec<PathBuf>),
    /// What was asked could not be made into JSON: a fault of pipefill's own.
    #[error("{EXPERIMENT} can't be written as JSON: {0}")]
    Json(serde_json::Error),
}

impl StoreError {
    /// For `map_err`: `doing` is e.g. `reading`.
    pub fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { doing, path, source }
    }
}

fn taken_by(owner: Option<&Owner>) -> String {
    owner.map_or_else(String::new, |owner| format!(": {} has taken it", owner.described()))
}

fn listed(folders: &[PathBuf]) -> String {
    let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    names.join(", ")
}
