//! What scenarios name beside them: files of traces, and the user's own profiles.

use crate::failure::Failure;
use pipefill_core::scenario::{Library, NamedText, Profile, TEXT_MAX, TRACE_TEXT_MAX};
use std::env;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Names of a scenario's files are relative to its folder.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// That of the scenario file `scenario`.
    pub(crate) fn of(scenario: &Path) -> Self {
        Self { path: scenario.parent().unwrap_or(Path::new("")).to_owned() }
    }
}

/// Where people keep profiles of their own: `$XDG_CONFIG_HOME/pipefill/profiles`, or `~/.config/pipefill/profiles` (XDG Base Directory
/// Specification 0.8). `None` where neither variable is set.
pub fn profiles_folder() -> Option<PathBuf> {
    let set = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(config.join("pipefill/profiles"))
}

/// Names of the profiles there, sorted.
pub fn own_profiles() -> Vec<String> {
    let entries = profiles_folder().and_then(|folder| fs::read_dir(folder).ok());
    let name = |entry: io::Result<fs::DirEntry>| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        Some(name.strip_suffix(PROFILE)?.to_owned())
    };
    let mut names: Vec<String> = entries.into_iter().flatten().filter_map(name).collect();
    names.sort();
    names
}

/// The text of the profile `name`: the user's own, or a built-in one.
///
/// # Errors
/// There is none, or it can't be read.
pub fn profile_text(name: &str) -> Result<String, Failure> {
    let own =
        own_profile(name).map_err(Failure::file("reading", Path::new(name)))?.map(|profile| profile.text);
    own.or_else(|| Some(Profile::find(name)?.text.to_owned())).ok_or_else(|| {
        Failure::usage(format!("there is no profile \"{name}\""), "write the name of a profile, e.g. lte")
    })
}

/// The user's own profile called `name`; `None` where there is none.
///
/// # Errors
/// A file that can't be read.
fn own_profile(name: &str) -> io::Result<Option<NamedText>> {
    // A name with a slash would be a file elsewhere.
    let folder = profiles_folder().filter(|_| !name.contains('/'));
    let file = folder.map(|folder| folder.join(format!("{name}{PROFILE}")));
    // Of a folder that is closed to this user nothing is this user's own.
    let file = file.filter(|file| fs::symlink_metadata(file).is_ok());
    file.map_or(Ok(None), |file| read(&file, TEXT_MAX))
}

/// The end of a profile's file name.
const PROFILE: &str = ".toml";

impl Library for Folder {
    fn profile(&self, name: &str) -> Result<Option<NamedText>, String> {
        own_profile(name).map_err(|error| error.to_string())
    }

    fn profiles(&self) -> Vec<String> {
        own_profiles()
    }

    fn trace(&self, name: &str) -> Result<Option<NamedText>, String> {
        read(&self.path.join(name), TRACE_TEXT_MAX).map_err(|error| error.to_string())
    }
}

/// The text of a file, or as much of it as shows that it is longer than `most` bytes: a device may have no end. `None` where there is none.
fn read(path: &Path, most: usize) -> io::Result<Option<NamedText>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some(NamedText { name: path.to_string_lossy().into_owned(), text }))
}
