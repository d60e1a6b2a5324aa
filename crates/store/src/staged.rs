//! An experiment that is made under a hidden name, so that it appears whole and locked, or not at all.
//!
//! Never: in place of something that is there.

use crate::files;
use crate::lock::{LOCK, owner_in};
use crate::partial::suffix;
use crate::{Attempt, ExperimentDirectory, Lock, Owner, Request, StoreError};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// An experiment that nobody sees yet. Removed when dropped, unless it has appeared.
#[derive(Debug)]
pub struct Staged {
    path: PathBuf,
    target: PathBuf,
}

impl Staged {
    /// Makes the experiment that is `asked` at `target`, where nothing is: with its lock, or `None` where another process was
    /// there first.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is left then.
    pub fn create(
        target: &Path,
        asked: &Request<'_>,
        owner: &Owner,
    ) -> Result<Option<(ExperimentDirectory, Lock)>, StoreError> {
        let staged = Self { path: staging_path(target, owner), target: target.to_owned() };
        fs::create_dir(&staged.path).map_err(StoreError::file("making", target))?;
        let Attempt::Held(mut lock) = Lock::take(&staged.path, owner)? else {
            return Ok(None);
        };
        let experiment = ExperimentDirectory::create(&staged.path, asked)?;
        if !staged.appear().map_err(StoreError::file("making", target))? {
            return Ok(None);
        }
        lock.moved(target);
        Ok(Some((ExperimentDirectory { path: target.to_owned(), ..experiment }, lock)))
    }

    /// False where the name is taken.
    fn appear(&self) -> io::Result<bool> {
        match renameat_with(CWD, &self.path, CWD, &self.target, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::EXIST | Errno::NOTEMPTY) => return Ok(false),
            // Elsewhere the name is taken by an empty directory, which a rename replaces.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => match fs::create_dir(&self.target) {
                Ok(()) => fs::rename(&self.path, &self.target)?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
                Err(error) => return Err(error),
            },
            Err(error) => return Err(error.into()),
        }
        match self.target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => files::sync_directory(parent)?,
            _ => files::sync_directory(Path::new("."))?,
        }
        Ok(true)
    }

    /// Removes what the dead `owner` left of an experiment at `target` that has not appeared, be it before it had written its lock.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub(super) fn remove_left(target: &Path, owner: &Owner) -> Result<(), StoreError> {
        let path = staging_path(target, owner);
        let is_its = || {
            let is_directory = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
            is_directory && owner_in(&path.join(LOCK)).is_some_and(|found| found == *owner)
        };
        if is_its() || files::is_unwritten(&path, LOCK) {
            return files::remove_directory(&path);
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Not there any more where it has appeared; else left to the next sweep.
        let _gone_or_left = fs::remove_dir_all(&self.path);
    }
}

/// Where `owner` makes the experiment for `target`.
fn staging_path(target: &Path, owner: &Owner) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}{}", suffix(owner)))
}
