//! Which experiments are being written, so that the next pipefill finds what a killed one left behind.
//!
//! One file for each running experiment, in a folder of the user's own. Never: the removal of what a living process may
//! still write, or of anything that neither its owner's file nor the entry proves to be a dead
//! process's.

use crate::files;
use crate::owner::Life;
use crate::{Attempt, ExperimentDirectory, Leftover, Lock, Owner, RUNS, Removed, Staged, StoreError};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Folders of the machine's own, in order of preference. Anybody may make a directory in them, so that one alone could be taken by
/// somebody else. Never a home: it may be shared with another machine, whose processes can't be looked at.
const TEMPORARY: [&str; 3] = ["/tmp", "/dev/shm", "/var/tmp"];

/// So often an entry is written whose folder vanishes meanwhile. Each time is a race of some microseconds with another process.
const ATTEMPTS: u32 = 1000;
/// An entry as text is shorter.
const ENTRY_MAX: u64 = 1 << 16;

/// The folders where entries are. The first that can be this user's alone is written; all are swept.
#[derive(Debug, Clone)]
pub struct Registry {
    roots: Vec<PathBuf>,
    is_optional: bool,
}

/// A running experiment. Its file goes when this is dropped.
#[derive(Debug)]
pub struct RegistryEntry {
    /// The file and its folder; `None` where there is no folder, and none is needed.
    place: Option<(PathBuf, PathBuf)>,
}

/// What the file of an entry holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Active {
    owner: Owner,
    /// The experiment's directory, absolute.
    directory: PathBuf,
    /// Whether this process made that directory.
    created: bool,
}

impl Registry {
    /// `$XDG_RUNTIME_DIR/pipefill` where that is a directory of this user, `/run/user/UID/pipefill` likewise, and `pipefill-UID` in
    /// `/tmp`, `/dev/shm` or `/var/tmp`. To be called before a user namespace is entered: the number in the name is the user's outside.
    ///
    /// # Errors
    /// [`StoreError::File`] where `/proc` can't be read.
    pub fn locate() -> Result<Self, StoreError> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let temporary = TEMPORARY.map(Path::new);
        Ok(Self { roots: roots(runtime, Path::new("/run/user"), &temporary, uid()?), is_optional: false })
    }

    /// The same, for runs that leave nothing but their own directory behind where `is_optional`: without any folder they are not
    /// noted.
    pub fn optional(self, is_optional: bool) -> Self {
        Self { is_optional, ..self }
    }

    /// One folder only, `root`, which is made with the first entry.
    pub fn at(root: &Path) -> Self {
        Self { roots: vec![root.to_owned()], is_optional: false }
    }

    /// Notes that `owner` writes `directory`, which it `created` or found.
    ///
    /// # Errors
    /// [`StoreError`] where every folder belongs to somebody else, or a file can't be written.
    pub fn enter(&self, owner: &Owner, directory: &Path, created: bool) -> Result<RegistryEntry, StoreError> {
        let active = Active { owner: owner.clone(), directory: absolute(directory)?, created };
        let name = format!("{}-{}.json", owner.pid, owner.start_time);
        let text = serde_json::json!(active).to_string() + "\n";
        for root in &self.roots {
            if let Some(path) = write_below(root, &name, &text)? {
                return Ok(RegistryEntry { place: Some((path, root.clone())) });
            }
        }
        if self.is_optional {
            Ok(RegistryEntry { place: None })
        } else {
            Err(StoreError::NoRegistry(self.roots.clone()))
        }
    }

    /// Removes what dead processes left behind, and says what.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub fn sweep(&self) -> Result<Vec<Removed>, StoreError> {
        let mut removed = Vec::new();
        for (path, active) in self.entries()? {
            if active.owner.life() != Life::Dead {
                continue;
            }
            removed.push(tidy(&active)?);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(StoreError::file("removing", &path)(error));
                }
                _ => {}
            }
        }
        for root in &self.roots {
            remove_if_empty(root);
        }
        Ok(removed)
    }

    /// Every entry in folders that are ours alone, in order; files that are no entries are left alone.
    fn entries(&self) -> Result<Vec<(PathBuf, Active)>, StoreError> {
        let mut entries = Vec::new();
        for root in self.roots.iter().filter(|root| is_private(root).unwrap_or(false)) {
            let names = match fs::read_dir(root).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
                // Another pipefill has just removed its last entry.
                Err(error) if files::is_absent(&error) => continue,
                names => names.map_err(StoreError::file("reading", root))?,
            };
            let mut paths: Vec<PathBuf> = names.iter().map(fs::DirEntry::path).collect();
            paths.sort();
            let read = |path: PathBuf| {
                let active = serde_json::from_str(&files::read_text(&path, ENTRY_MAX).ok()?).ok()?;
                Some((path, active))
            };
            entries.extend(paths.into_iter().filter_map(read));
        }
        Ok(entries)
    }
}

impl Drop for RegistryEntry {
    fn drop(&mut self) {
        let Some((path, root)) = &self.place else { return };
        // What can't be removed now is swept once this process is gone.
        let _left_to_the_sweep = fs::remove_file(path);
        remove_if_empty(root);
    }
}

/// Removes a dead process's runs in the making, and its directory where nothing is in it and no other process writes there.
fn tidy(active: &Active) -> Result<Removed, StoreError> {
    Staged::remove_left(&active.directory, &active.owner)?;
    let own = Leftover::all_of(&active.owner, &active.directory.join(RUNS));
    let partial_runs = own.iter().map(Leftover::remove).collect::<Result<Vec<_>, _>>()?;
    let directory_removed = active.created
        && matches!(Lock::take(&active.directory, &Owner::current()?), Ok(Attempt::Held(_lock))
            if ExperimentDirectory::remove_if_empty(&active.directory));
    Ok(Removed {
        pid: active.owner.pid,
        directory: active.directory.clone(),
        partial_runs,
        directory_removed,
    })
}

/// `runtime` only where it belongs to `own`, as the XDG Base Directory Specification has it: `sudo -E` passes on another
/// user's.
fn roots(runtime: Option<PathBuf>, users: &Path, temporary: &[&Path], own: u32) -> Vec<PathBuf> {
    let is_own = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == own);
    let of_user = Some(users.join(own.to_string())).filter(|path| runtime.as_ref() != Some(path));
    let runtimes = runtime.into_iter().chain(of_user).filter(is_own).map(|path| path.join("pipefill"));
    runtimes.chain(temporary.iter().map(|folder| folder.join(format!("pipefill-{own}")))).collect()
}

/// Writes the entry `name` into the folder `root`; `None` where that can't be made, or is not this user's alone. Another pipefill may remove
/// the folder, which is empty before the entry is in it: then it is made again.
///
/// # Errors
/// [`StoreError::File`] where the entry can't be written.
fn write_below(root: &Path, name: &str, text: &str) -> Result<Option<PathBuf>, StoreError> {
    let path = root.join(name);
    let mut written = Ok(());
    for _ in 0..ATTEMPTS {
        written = match make_private(root) {
            Ok(true) => fs::write(&path, text),
            Ok(false) => return Ok(None),
            Err(error) => Err(error),
        };
        if !written.as_ref().is_err_and(files::is_absent) {
            break;
        }
    }
    written.map_err(StoreError::file("writing", &path))?;
    Ok(Some(path))
}

/// Makes the folder, or finds it; true where it is this user's alone.
fn make_private(root: &Path) -> io::Result<bool> {
    match DirBuilder::new().mode(0o700).create(root) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Ok(false),
        _ => is_private(root),
    }
}

/// A directory (no link) of this user that no one else may touch.
fn is_private(root: &Path) -> io::Result<bool> {
    let metadata = fs::symlink_metadata(root)?;
    let own = fs::metadata("/proc/self")?.uid();
    Ok(metadata.is_dir() && metadata.uid() == own && metadata.mode() & 0o077 == 0)
}

fn uid() -> Result<u32, StoreError> {
    let path = Path::new("/proc/self");
    Ok(fs::metadata(path).map_err(StoreError::file("reading", path))?.uid())
}

fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    fs::canonicalize(path).or_else(|_| std::path::absolute(path)).map_err(StoreError::file("resolving", path))
}

fn remove_if_empty(root: &Path) {
    // Refused by the kernel where other entries are inside.
    let _not_empty = fs::remove_dir(root);
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
