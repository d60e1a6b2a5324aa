//! What can be wrong with the record of a run that was complete once, in words for a person.

use crate::{MANIFEST, RecordError, StoreError};
use std::path::{Path, PathBuf};

/// Why a record is not what was written.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// The directory has none.
    #[error("it has no {MANIFEST}")]
    NoManifest,
    /// The manifest has no byte.
    #[error("{MANIFEST} is empty")]
    EmptyManifest,
    /// The manifest's checksum does not fit.
    #[error("{MANIFEST} has changed since it was written: its checksum does not fit")]
    ChangedManifest,
    /// A file that has to be there is not.
    #[error("{file} is missing, and {MANIFEST} {why}")]
    MissingFile {
        /// The file.
        file: String,
        /// How that is known.
        why: String,
    },
    /// A file's hash does not fit.
    #[error("{file} has changed since it was written: {MANIFEST} lists another SHA-256 or size")]
    ChangedFile {
        /// The file.
        file: String,
    },
    /// The directory stands where another run belongs.
    #[error("it holds run {found}, and run {wanted} belongs there")]
    OtherRun {
        /// Its run.
        found: String,
        /// The run that the plan has there.
        wanted: String,
    },
    /// Two directories hold one run.
    #[error("it is a copy: run {run} is in {} too", .other.display())]
    Copy {
        /// The run.
        run: String,
        /// The other directory.
        other: PathBuf,
    },
    /// A block of a file of summaries has another hash.
    #[error("a block of it has changed since it was written")]
    ChangedBlock,
    /// A line of a file of summaries is none.
    #[error("a line of it is no summary: {0}")]
    Summary(String),
    /// Its bytes are no record.
    #[error("{0}")]
    Record(RecordError),
}

/// A run whose record is damaged.
#[derive(Debug, thiserror::Error)]
#[error("{} is damaged: {damage}", .directory.display())]
pub struct DamagedRun {
    /// Its directory.
    pub directory: PathBuf,
    /// What is wrong.
    pub damage: Damage,
}

impl Damage {
    /// As the error of reading `directory`.
    pub(super) fn of(self, directory: &Path) -> StoreError {
        StoreError::Damaged(DamagedRun { directory: directory.to_owned(), damage: self })
    }
}

/// What was read in `directory` is no record, for the reason `source`. One of another version is whole, and no damage.
pub(super) fn unreadable(directory: &Path, source: RecordError) -> StoreError {
    match source {
        source @ RecordError::Version { .. } => {
            StoreError::Record { directory: directory.to_owned(), source }
        }
        source => Damage::Record(source).of(directory),
    }
}
