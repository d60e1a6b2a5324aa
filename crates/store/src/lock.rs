//! Who may write an experiment: one process, while it holds the lock of the directory's lock file (flock(2)).
//!
//! The kernel takes the lock from a process that ends, however it ends. Never: a decision by the file alone; it may be a dead
//! process's.

use crate::files::{self, careful, regular};
use crate::{Owner, StoreError};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Name of the lock file.
pub(super) const LOCK: &str = ".lock";
/// An owner as text is shorter.
const OWNER_MAX: u64 = 1 << 16;

/// The right to write a directory. Its file goes when this is dropped.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// Open as long as the lock is held.
    _file: File,
}

/// What came of the wish for a lock.
#[derive(Debug)]
pub enum Attempt {
    /// It is ours.
    Held(Lock),
    /// Another process has it; who, where that is known.
    Taken(Option<Owner>),
}

impl Lock {
    /// Takes the lock of `directory` for `owner`, if nobody has it.
    ///
    /// # Errors
    /// [`StoreError::File`] where the file can't be made or locked.
    pub fn take(directory: &Path, owner: &Owner) -> Result<Attempt, StoreError> {
        let path = directory.join(LOCK);
        let attempt = || loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).custom_flags(careful());
            let mut file = options.open(&path)?;
            regular(file.metadata()?.file_type())?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Attempt::Taken(owner_in(&path))),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Its holder may have removed it after it was opened here; then the lock is that of no file.
            if is_still(&file, &path)? {
                file.set_len(0)?;
                file.write_all((serde_json::json!(owner).to_string() + "\n").as_bytes())?;
                return Ok(Attempt::Held(Self { path: path.clone(), _file: file }));
            }
        };
        attempt().map_err(StoreError::file("locking", &path))
    }

    /// The directory has another name now.
    pub(super) fn moved(&mut self, directory: &Path) {
        self.path = directory.join(LOCK);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Gone with its directory, or left to the next holder.
        let _gone_or_left = fs::remove_file(&self.path);
    }
}

/// Who the lock file says has it.
pub(super) fn owner_in(path: &Path) -> Option<Owner> {
    serde_json::from_str(&files::read_text(path, OWNER_MAX).ok()?).ok()
}

fn is_still(file: &File, path: &Path) -> io::Result<bool> {
    let opened = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (opened.dev(), opened.ino())),
        Err(error) if files::is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_and_the_other_is_told_who() {
        let folder = tempfile::tempdir().unwrap();
        let owner = Owner::current().unwrap();
        let take = || Lock::take(folder.path(), &owner).unwrap();
        let Attempt::Held(lock) = take() else { panic!("nobody has it") };
        // flock(2) belongs to the open file: a second one of the same process is another.
        assert!(matches!(take(), Attempt::Taken(Some(other)) if other == owner));
        drop(lock);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(matches!(take(), Attempt::Held(_)));
    }

    #[test]
    fn the_file_of_a_dead_process_locks_nothing_and_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let owner = Owner::current().unwrap();
        fs::write(folder.path().join(LOCK), "{\"pid\": 1}").unwrap();
        assert!(matches!(Lock::take(folder.path(), &owner).unwrap(), Attempt::Held(_)));
        let other = folder.path().join("other");
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join(LOCK)).unwrap();
        assert!(Lock::take(folder.path(), &owner).is_err());
        assert_eq!(fs::read_to_string(other).unwrap(), "mine");
    }
}
