//! Files of a run that are no tables, e.g. captures: below `artifacts/`, listed in the manifest like the tables.
//!
//! Whoever writes one keeps its file; it is hashed once the run has ended.

use crate::checksum::Hashing;
use pipefill_core::file_name::FileName;
use pipefill_core::record::ArtifactSummary;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Their folder in a run's directory.
pub(super) const FOLDER: &str = "artifacts";

/// The artifacts of a run in the making.
#[derive(Debug, Default)]
pub(super) struct Artifacts {
    names: Vec<FileName>,
}

impl Artifacts {
    /// Begins one in the run's `directory`.
    ///
    /// # Errors
    /// There is one of this name, or it can't be made.
    pub(super) fn create(&mut self, directory: &Path, name: &FileName) -> io::Result<File> {
        fs::create_dir_all(directory.join(FOLDER))?;
        let file = File::create_new(path(directory, name))?;
        self.names.push(name.clone());
        Ok(file)
    }

    /// Brings all of them down to the disk, and says what they are.
    ///
    /// # Errors
    /// One can't be read or written.
    pub(super) fn finish(&self, directory: &Path) -> io::Result<Vec<ArtifactSummary>> {
        self.names.iter().map(|name| summary(directory, name)).collect()
    }
}

/// Where the artifact `name` of the run in `directory` is.
pub fn path(directory: &Path, name: &FileName) -> PathBuf {
    directory.join(FOLDER).join(&**name)
}

fn summary(directory: &Path, name: &FileName) -> io::Result<ArtifactSummary> {
    let mut file = File::open(path(directory, name))?;
    file.sync_all()?;
    let mut hashing = Hashing::new(io::sink());
    io::copy(&mut file, &mut hashing)?;
    let (_, bytes, sha256) = hashing.finish();
    Ok(ArtifactSummary { name: name.clone(), bytes, sha256 })
}
