//! Runs in the making that their process did not end, each with the owner that it names itself.
//!
//! Never: one that is only named so. It is a directory (no link), and name and owner's file agree; or nothing is written in it, and a
//! dead process's own entry says that it was at work here.

use crate::files;
use crate::lock::age;
use crate::owner::Life;
use crate::partial::suffix;
use crate::{LEASE, OWNER, Owner, Removed, StoreError};
use std::fs;
use std::path::{Path, PathBuf};

/// An owner as text is shorter.
const OWNER_MAX: u64 = 1 << 16;

/// A run in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its directory.
    pub path: PathBuf,
    /// Who made it.
    pub owner: Owner,
}

impl Leftover {
    /// All that stand in the folder `runs`, sorted by name; none where that can't be read.
    pub(super) fn all_in(runs: &Path) -> Vec<Self> {
        let entries = fs::read_dir(runs).into_iter().flatten().flatten();
        let mut found: Vec<Self> = entries.filter_map(|entry| Self::of(&entry)).collect();
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }

    /// Those of `owner` in the folder `runs`, who was at work there: also one that it was killed in before it had written its owner's file.
    pub(super) fn all_of(owner: &Owner, runs: &Path) -> Vec<Self> {
        let entries = fs::read_dir(runs).into_iter().flatten().flatten();
        let unsigned = entries.filter(|entry| is_unsigned(entry, owner));
        let unsigned = unsigned.map(|entry| Self { path: entry.path(), owner: owner.clone() });
        let signed = Self::all_in(runs).into_iter().filter(|leftover| leftover.owner == *owner);
        signed.chain(unsigned).collect()
    }

    fn of(entry: &fs::DirEntry) -> Option<Self> {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let text = files::read_text(&entry.path().join(OWNER), OWNER_MAX).ok().filter(|_| is_directory)?;
        let owner: Owner = serde_json::from_str(&text).ok()?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let named_so = name.starts_with('.') && name.ends_with(&suffix(&owner));
        named_so.then(|| Self { path: entry.path(), owner })
    }

    /// Whether nobody has written in it for the time of a lease. Asked by who holds the lock of the directory: so nobody else does.
    fn is_abandoned(&self) -> bool {
        let modified = |path: &Path| fs::symlink_metadata(path).and_then(|found| found.modified());
        let inside = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let paths = inside.map(|entry| entry.path()).chain([self.path.clone()]);
        let Ok(times) = paths.map(|path| modified(&path)).collect::<Result<Vec<_>, _>>() else {
            return false;
        };
        let runs = self.path.parent().unwrap_or(&self.path);
        let Ok(owner) = Owner::current() else { return false };
        times.into_iter().all(|time| age(time, runs, &owner).is_ok_and(|age| age >= LEASE))
    }

    /// Removes it, and says its name.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub(super) fn remove(&self) -> Result<String, StoreError> {
        files::remove_directory(&self.path)?;
        Ok(self.path.file_name().unwrap_or_default().to_string_lossy().into_owned())
    }
}

/// Whether `entry` is a directory that `owner`'s name stands on and nobody has written in.
fn is_unsigned(entry: &fs::DirEntry, owner: &Owner) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    name.starts_with('.') && name.ends_with(&suffix(owner)) && files::is_unwritten(&entry.path(), OWNER)
}

/// Removes from the experiment in `directory`, whose lock is held and whose runs are in `runs`, what provably dead processes left, whether a
/// registry knows of them or not: a container's goes with it. So does what another host left that was not heard of for the time of
/// a lease. Returns what is gone, and what nobody here can tell of.
///
/// # Errors
/// [`StoreError::File`].
pub(super) fn sweep(directory: &Path, runs: &Path) -> Result<(Vec<Removed>, Vec<Leftover>), StoreError> {
    let (mut removed, mut unknown) = (Vec::new(), Vec::new());
    for leftover in Leftover::all_in(runs) {
        match leftover.owner.life() {
            Life::Alive => {}
            Life::Unknown if !leftover.is_abandoned() => unknown.push(leftover),
            Life::Unknown | Life::Dead => removed.push(Removed {
                pid: leftover.owner.pid,
                directory: directory.to_owned(),
                partial_runs: vec![leftover.remove()?],
                directory_removed: false,
            }),
        }
    }
    Ok((removed, unknown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Partial;
    use pipefill_core::file_name::FileName;

    #[test]
    fn what_another_sweep_has_removed_meanwhile_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let owner = Owner::current().unwrap();
        let _made = Partial::create(folder.path(), &FileName::cleaned("a"), &owner).unwrap();
        let found = Leftover::all_in(folder.path());
        let names: Vec<String> = [&found[0], &found[0]].map(|leftover| leftover.remove().unwrap()).into();
        assert_eq!(names[0], names[1]);
    }
}
