//! Who may write an experiment: one process, while it holds the lock of the directory's lock file (flock(2)), and its lease.
//!
//! The kernel takes the lock from a process that ends, however it ends. Not every shared file system tells other hosts of a lock: so the
//! file also names its holder, who touches it every [`BEAT`], and a host that finds another one's name there leaves the directory
//! alone until nobody has touched it for [`LEASE`]. Never: a decision by the file alone on the host that wrote it; it may be a dead
//! process's.

use crate::files::{self, careful, regular};
use crate::{Owner, StoreError};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

/// Name of the lock file.
pub(super) const LOCK: &str = ".lock";
/// From one sign of life of its holder to the next.
const BEAT: Duration = Duration::from_secs(10);
/// A holder on another host of whom nothing was heard for so long is gone: twelve signs of life, and longer than NFS keeps attributes.
pub const LEASE: Duration = Duration::from_secs(120);
/// The time of whoever keeps the file: of a shared file system's server, not of one of its clients.
const NOW: Timestamps = Timestamps {
    last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
    last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
};
/// An owner as text is shorter.
const OWNER_MAX: u64 = 1 << 16;

/// The right to write a directory. Its file goes when this is dropped.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    owner: Owner,
    // In this order: no sign of life after the file is gone.
    heart: Option<Heart>,
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
    /// A process of another host has it, of whom something was heard so long ago.
    Leased(Owner, Duration),
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
                Err(TryLockError::Error(error)) => return Err(without_locks(error)),
            }
            // Its holder may have removed it after it was opened here; then the lock is that of no file.
            if !is_still(&file, &path)? {
                continue;
            }
            if let Some((other, age)) = foreign_lease(&file, &path, directory, owner)? {
                return Ok(Attempt::Leased(other, age));
            }
            file.set_len(0)?;
            file.write_all((serde_json::json!(owner).to_string() + "\n").as_bytes())?;
            file.sync_all()?;
            let heart = Some(Heart::start(file.try_clone()?)?);
            return Ok(Attempt::Held(Self { path: path.clone(), owner: owner.clone(), heart, _file: file }));
        };
        attempt().map_err(StoreError::file("locking", &path))
    }

    /// Whether it is still ours: another host takes it from one that was not heard of for [`LEASE`], e.g. because it was asleep.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`].
    pub fn check(&self) -> Result<(), StoreError> {
        match owner_in(&self.path) {
            Some(owner) if owner == self.owner => Ok(()),
            owner => Err(StoreError::LeaseLost { path: self.path.clone(), to: owner }),
        }
    }

    /// The directory has another name now.
    pub(super) fn moved(&mut self, directory: &Path) {
        self.path = directory.join(LOCK);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.heart = None;
        if self.check().is_ok() {
            // Gone with its directory, or left to the next holder.
            let _gone_or_left = fs::remove_file(&self.path);
        }
    }
}

/// Touches a lock file until it is dropped.
#[derive(Debug)]
struct Heart {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heart {
    fn start(file: File) -> io::Result<Self> {
        let (stop, stopped) = channel::<()>();
        let beat = move || {
            while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                // One that fails is missed; what was lost is found before a run is kept.
                let _missed = futimens(&file, &NOW);
            }
        };
        let thread = thread::Builder::new().name("lease".to_owned()).spawn(beat)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It does nothing that could panic, and nothing depends on it.
            let _ended = thread.join();
        }
    }
}

/// The holder on another host, and when it was last heard of; `None` where there is none, or it was too long ago. Asked while the lock is
/// held: a holder of this host does not have it.
fn foreign_lease(
    file: &File,
    path: &Path,
    directory: &Path,
    owner: &Owner,
) -> io::Result<Option<(Owner, Duration)>> {
    let Some(other) = owner_in(path).filter(|other| other.boot_id != owner.boot_id) else { return Ok(None) };
    let age = age(file.metadata()?.modified()?, directory, owner)?;
    Ok((age < LEASE).then_some((other, age)))
}

/// How long ago `then` was, by the clock that stamps files in `directory`, which may be another host's.
pub(super) fn age(then: SystemTime, directory: &Path, owner: &Owner) -> io::Result<Duration> {
    let probe = directory.join(format!(".now-{}-{}", owner.pid, owner.start_time));
    let now = File::create(&probe).and_then(|file| file.metadata()?.modified());
    let _gone = fs::remove_file(&probe);
    Ok(now?.duration_since(then).unwrap_or_default())
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

/// Words for a file system that can't lock.
fn without_locks(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::Unsupported {
        let what = "this file system has no locks (flock): mount it with them, or keep the records elsewhere";
        return io::Error::new(error.kind(), what);
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::FileTimes;

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

    /// A lock file as `other` left it so long ago.
    fn leave(folder: &Path, other: &Owner, ago: Duration) {
        let file = File::create(folder.join(LOCK)).unwrap();
        serde_json::to_writer(&file, other).unwrap();
        file.set_times(FileTimes::new().set_modified(SystemTime::now() - ago)).unwrap();
    }

    #[test]
    fn another_host_s_lease_is_respected_until_nothing_is_heard_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let owner = Owner::current().unwrap();
        let other = Owner { boot_id: "another".to_owned(), host: Some("node7".to_owned()), ..owner.clone() };
        let take = || Lock::take(folder.path(), &owner).unwrap();
        leave(folder.path(), &other, LEASE / 2);
        let Attempt::Leased(who, age) = take() else { panic!("it is node7's") };
        assert!(who == other && age > LEASE / 3 && age < LEASE, "{who:?} {age:?}");
        assert_eq!(owner_in(&folder.path().join(LOCK)), Some(other.clone()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        leave(folder.path(), &other, LEASE + Duration::from_secs(5));
        let Attempt::Held(lock) = take() else { panic!("nobody has it") };
        assert!(lock.check().is_ok());
        // The other host wakes up, and takes it back without asking.
        leave(folder.path(), &other, Duration::ZERO);
        assert!(matches!(lock.check(), Err(StoreError::LeaseLost { to: Some(to), .. }) if to == other));
        drop(lock);
        assert!(folder.path().join(LOCK).exists(), "it is node7's");
    }
}
