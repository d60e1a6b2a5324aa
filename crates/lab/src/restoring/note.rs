//! Settings that have been changed, as a file: where the process that gives them back is killed together with us, the next run reads it.
//!
//! One file for each run that changes some, in a folder of root's own that is gone with the next boot, as the settings are. Its lock is held by
//! everybody who will give them back. Never: a setting of another namespace that has the number of a former one; a cookie is not used twice.

use super::sysctl_path;
use crate::namespace::Namespace;
use nix::fcntl::{Flock, FlockArg};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The folder. Only root changes settings that outlive their namespaces.
const FOLDER: &str = "/run/pipefill";
/// A note is shorter.
const NOTE_MAX: u64 = 1 << 20;

/// The file of a run.
#[derive(Debug)]
pub(super) struct Note {
    lock: Flock<File>,
    path: PathBuf,
}

impl Note {
    /// An empty one, locked.
    ///
    /// # Errors
    /// The folder is not root's, or this process is not.
    pub(super) fn create() -> io::Result<Self> {
        let folder = Path::new(FOLDER);
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => is_private(folder)?,
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("settings-{}-{}", std::process::id(), now.as_nanos());
        // Hidden until it is locked.
        let hidden = folder.join(format!(".{name}"));
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&hidden)?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| error)?;
        let path = folder.join(name);
        fs::rename(&hidden, &path)?;
        Ok(Self { lock, path })
    }

    /// The file, for who shares its lock.
    pub(super) fn file(&self) -> &File {
        &self.lock
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Notes that the sysctl `name` of the namespace with `cookie` had the value `old`.
    ///
    /// # Errors
    /// Those of the file.
    pub(super) fn add(&mut self, cookie: u64, name: &str, old: &str) -> io::Result<()> {
        self.lock.write_all(format!("{cookie} {name} {old}\n").as_bytes())
    }
}

/// Removes the note at `path`, once everything in it was restored or reported.
pub(super) fn remove(path: &Path) {
    // Who gives the rest back removes it again.
    let _gone = fs::remove_file(path);
    // Others may have notes there.
    let _in_use = fs::remove_dir(FOLDER);
}

/// Gives back what runs have changed that were killed together with the process that should have given it back. Returns a line for each setting.
pub fn give_back_left() -> Vec<String> {
    let folder = Path::new(FOLDER);
    let Ok(names) = fs::read_dir(folder) else { return Vec::new() };
    if is_private(folder).is_err() {
        return Vec::new();
    }
    let is_note =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("settings-"));
    names
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(is_note)
        .flat_map(|path| give_back(&path))
        .collect()
}

/// Restores the settings of one note; nothing while its owner holds the lock.
fn give_back(path: &Path) -> Vec<String> {
    let read = || -> io::Result<(Flock<File>, String)> {
        let lock =
            Flock::lock(File::open(path)?, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| error)?;
        let mut text = String::new();
        (&*lock).take(NOTE_MAX).read_to_string(&mut text)?;
        Ok((lock, text))
    };
    let Ok((_lock, text)) = read() else { return Vec::new() };
    let namespaces = living();
    // What was changed last is given back first.
    let told = text.lines().rev().filter_map(|line| {
        let mut words = line.splitn(3, ' ');
        let (cookie, name, old) = (words.next()?.parse::<u64>().ok()?, words.next()?, words.next()?);
        // Settings of a namespace that has gone are gone too.
        let namespace = namespaces.get(&cookie)?;
        let written = namespace.enter(|| fs::write(sysctl_path(name), old));
        Some(match written {
            Ok(()) => format!("gave {name} = {old} back, which a killed run had changed"),
            Err(error) => format!("{name} = {old} is not given back: {error}"),
        })
    });
    let told = told.collect();
    remove(path);
    told
}

/// The network namespaces that can be found here, by their cookies.
fn living() -> BTreeMap<u64, Namespace> {
    let within = |folder: &str, below: &'static str| {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.filter_map(move |entry| Some(entry.ok()?.path().join(below)))
    };
    let named = within("/run/netns", "").map(|path| path.components().as_path().to_owned());
    let mut seen = BTreeSet::new();
    let files =
        std::iter::once(PathBuf::from("/proc/self/ns/net")).chain(named).chain(within("/proc", "ns/net"));
    let new = files.filter(|file| fs::metadata(file).is_ok_and(|found| seen.insert(found.ino())));
    let opened: Vec<Namespace> = new.filter_map(|file| Namespace::open(&file).ok()).collect();
    opened.into_iter().filter_map(|namespace| Some((namespace.cookie().ok()?, namespace))).collect()
}

fn is_private(folder: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(folder)?;
    match found.is_dir() && found.uid() == 0 && found.mode() & 0o077 == 0 {
        true => Ok(()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}
