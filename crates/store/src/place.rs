//! Which directory an experiment goes into.
//!
//! Never: into somebody else's, or on top of another experiment.

use crate::files::below;
use crate::lock::LOCK;
use crate::{EXPERIMENT, ExperimentDirectory, RUNS, Request, StoreError};
use pipefill_core::file_name::FileName;
use pipefill_core::plan::Shard;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder of experiments where the user names none.
const DEFAULT: &str = "pipefill-runs";
/// Nobody has more experiments of one name.
const NUMBER_MAX: u32 = 100_000;

/// Where an experiment goes.
#[derive(Debug)]
pub enum ExperimentPlace {
    /// A directory that doesn't exist yet, or an empty one that the user named.
    New(PathBuf),
    /// The very experiment, to be continued.
    Begun(Box<ExperimentDirectory>),
}

/// Chooses the directory; makes none. With `out`, that one. Without, `pipefill-runs/NAME` below `base` (`NAME-shard-3-of-16` of a shard), or the next free
/// number of it; with `resume`, the newest one that holds this experiment.
///
/// # Errors
/// [`StoreError`] where `out` holds something else, or something that nobody asked to continue.
pub fn choose(
    base: &Path,
    out: Option<&Path>,
    resume: bool,
    asked: &Request<'_>,
) -> Result<ExperimentPlace, StoreError> {
    match out {
        Some(out) => named(out, resume, asked),
        None => numbered(&base.join(DEFAULT), resume, asked),
    }
}

/// A new directory for what is no experiment itself but holds some: `out`, or `pipefill-runs/NAME` below `base`, numbered
/// where that is taken. Made, and empty.
///
/// # Errors
/// [`StoreError::NotEmpty`] where `out` is; [`StoreError::File`].
pub fn fresh(base: &Path, out: Option<&Path>, name: &FileName) -> Result<PathBuf, StoreError> {
    if let Some(out) = out {
        if !is_free(out)? {
            return Err(StoreError::NotEmpty(out.to_owned()));
        }
        fs::create_dir_all(out).map_err(StoreError::file("making", out))?;
        return Ok(out.to_owned());
    }
    let folder = base.join(DEFAULT);
    fs::create_dir_all(&folder).map_err(StoreError::file("making", &folder))?;
    for number in 1..NUMBER_MAX {
        let path = number_of(&folder, name, number);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(StoreError::file("making", &path)(error)),
        }
    }
    Err(StoreError::NoNumber { folder, name: name.clone() })
}

/// The experiment in `pipefill-runs` below `base` that was begun or changed last.
///
/// # Errors
/// [`StoreError::File`] where the folder can't be read.
pub fn newest(base: &Path) -> Result<Option<PathBuf>, StoreError> {
    let folder = base.join(DEFAULT);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries.map_err(StoreError::file("reading", &folder))?,
    };
    let changed = |path: PathBuf| {
        // A run that ends changes the folder of runs.
        let times =
            [EXPERIMENT, RUNS].map(|name| path.join(name).metadata().and_then(|found| found.modified()));
        times.into_iter().collect::<Result<Vec<_>, _>>().ok()?.into_iter().max().map(|time| (time, path))
    };
    Ok(entries.flatten().filter_map(|entry| changed(entry.path())).max().map(|(_, path)| path))
}

fn number_of(folder: &Path, name: &FileName, number: u32) -> PathBuf {
    match number {
        1 => below(folder, name),
        _ => below(folder, &FileName::cleaned(&format!("{name}-{number}"))),
    }
}

fn named(out: &Path, resume: bool, asked: &Request<'_>) -> Result<ExperimentPlace, StoreError> {
    if is_free(out)? {
        return Ok(ExperimentPlace::New(out.to_owned()));
    }
    let Some(experiment) = ExperimentDirectory::open(out)? else {
        return Err(StoreError::NotAnExperiment(out.to_owned()));
    };
    match experiment.stored.difference(asked) {
        Some(difference) => Err(StoreError::OtherExperiment { path: out.to_owned(), difference }),
        None if !resume => Err(StoreError::SameExperiment(out.to_owned())),
        None => Ok(ExperimentPlace::Begun(Box::new(experiment))),
    }
}

fn numbered(folder: &Path, resume: bool, asked: &Request<'_>) -> Result<ExperimentPlace, StoreError> {
    let name = &match asked.part_of {
        Some((Shard { number, of }, _)) => {
            FileName::cleaned(&format!("{}-shard-{number}-of-{of}", asked.plan.experiment))
        }
        None => asked.plan.experiment.clone(),
    };
    let mut begun = None;
    for number in 1..NUMBER_MAX {
        let path = number_of(folder, name, number);
        if fs::symlink_metadata(&path).is_err() {
            return Ok(begun.map_or(ExperimentPlace::New(path), |experiment| {
                ExperimentPlace::Begun(Box::new(experiment))
            }));
        }
        if resume {
            let same = |experiment: &ExperimentDirectory| experiment.stored.difference(asked).is_none();
            begun = ExperimentDirectory::open(&path)?.filter(same).or(begun);
        }
    }
    Err(StoreError::NoNumber { folder: folder.to_owned(), name: name.clone() })
}

/// Doesn't exist, or is an empty directory but for a lock.
fn is_free(path: &Path) -> Result<bool, StoreError> {
    match fs::read_dir(path) {
        // A lock alone is a process that is just beginning there, or was killed then; whoever locks it knows.
        Ok(mut entries) => Ok(entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == LOCK))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(StoreError::file("reading", path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiny::Asked;

    fn new_at(place: Result<ExperimentPlace, StoreError>) -> PathBuf {
        match place.unwrap() {
            ExperimentPlace::New(path) => path,
            ExperimentPlace::Begun(experiment) => panic!("{} is begun", experiment.path.display()),
        }
    }

    fn begin(path: &Path, asked: &Asked) {
        fs::create_dir_all(path).unwrap();
        ExperimentDirectory::create(path, &asked.on("lab")).unwrap();
    }

    fn refused(place: Result<ExperimentPlace, StoreError>) -> String {
        place.unwrap_err().to_string()
    }

    #[test]
    fn the_next_free_number_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let asked = Asked::tiny(&[]);
        let free = || new_at(choose(folder.path(), None, false, &asked.on("lab")));
        let first = folder.path().join("pipefill-runs/tiny");
        assert_eq!(free(), first);
        begin(&first, &asked);
        assert_eq!(free(), folder.path().join("pipefill-runs/tiny-2"));
    }

    #[test]
    fn resume_finds_the_newest_of_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (asked, other) = (Asked::tiny(&[]), Asked::tiny(&["path.rtt=7ms"]));
        let runs = folder.path().join("pipefill-runs");
        begin(&runs.join("tiny"), &asked);
        begin(&runs.join("tiny-2"), &asked);
        begin(&runs.join("tiny-3"), &other);
        match choose(folder.path(), None, true, &asked.on("lab")).unwrap() {
            ExperimentPlace::Begun(experiment) => assert_eq!(experiment.path, runs.join("tiny-2")),
            ExperimentPlace::New(path) => panic!("{} is new", path.display()),
        }
        let third = Asked::tiny(&["path.rtt=8ms"]);
        let place = choose(folder.path(), None, true, &third.on("lab"));
        assert_eq!(new_at(place), runs.join("tiny-4"));
    }

    #[test]
    fn a_named_directory_is_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let asked = Asked::tiny(&[]);
        let out = folder.path().join("out");
        let named = |resume, asked: &Asked| choose(folder.path(), Some(&out), resume, &asked.on("lab"));
        assert_eq!(new_at(named(true, &asked)), out);
        begin(&out, &asked);
        assert!(refused(named(false, &asked)).ends_with("out holds this experiment already"));
        let other = Asked::tiny(&["path.rtt=7ms"]);
        assert!(refused(named(true, &other)).contains("another experiment"));
        let text = refused(choose(folder.path(), Some(&out), true, &asked.on("sim")));
        assert!(text.contains("run on lab"), "{text}");
        fs::remove_file(out.join("experiment.json")).unwrap();
        assert!(refused(named(true, &asked)).contains("no experiment"));
    }
}
