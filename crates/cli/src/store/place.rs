//! Which directory an experiment goes into.
//!
//! Never: into somebody else's, or on top of another experiment.

use super::ExperimentDirectory;
use super::files::below;
use super::lock::LOCK;
use crate::asked::Asked;
use crate::failure::Failure;
use pipefill_core::file_name::FileName;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder of experiments where the user names none.
const DEFAULT: &str = "pipefill-runs";
/// Nobody has more experiments of one name.
const NUMBER_MAX: u32 = 100_000;

/// Where an experiment goes.
#[derive(Debug)]
pub(crate) enum Place {
    /// A directory that doesn't exist yet, or an empty one that the user named.
    New(PathBuf),
    /// The very experiment, to be continued.
    Begun(Box<ExperimentDirectory>),
}

/// Chooses the directory; makes none. With `out`, that one. Without, `pipefill-runs/NAME` below `base`, or the next free
/// number of it; with `resume`, the newest one that holds this experiment.
///
/// # Errors
/// [`Failure::Usage`] where `out` holds something else, or something that nobody asked to continue.
pub(crate) fn choose(
    base: &Path,
    out: Option<&Path>,
    resume: bool,
    asked: &Asked,
    backend: &str,
) -> Result<Place, Failure> {
    match out {
        Some(out) => named(out, resume, asked, backend),
        None => numbered(&base.join(DEFAULT), resume, asked, backend),
    }
}

/// A new directory for what is no experiment itself but holds some: `out`, or `pipefill-runs/NAME` below `base`, numbered
/// where that is taken. Made, and empty.
///
/// # Errors
/// [`Failure::Usage`] where `out` is not empty; [`Failure::File`].
pub(crate) fn fresh(base: &Path, out: Option<&Path>, name: &FileName) -> Result<PathBuf, Failure> {
    if let Some(out) = out {
        if !is_free(out)? {
            return Err(Failure::usage(
                format!("{} is not empty", out.display()),
                "choose another one with --out OTHER",
            ));
        }
        fs::create_dir_all(out).map_err(Failure::file("making", out))?;
        return Ok(out.to_owned());
    }
    let folder = base.join(DEFAULT);
    fs::create_dir_all(&folder).map_err(Failure::file("making", &folder))?;
    for number in 1..NUMBER_MAX {
        let path = number_of(&folder, name, number);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::file("making", &path)(error)),
        }
    }
    Err(no_number(&folder, name))
}

fn number_of(folder: &Path, name: &FileName, number: u32) -> PathBuf {
    match number {
        1 => below(folder, name),
        _ => below(folder, &FileName::cleaned(&format!("{name}-{number}"))),
    }
}

fn no_number(folder: &Path, name: &FileName) -> Failure {
    Failure::usage(
        format!("{} has no free number left for {name}", folder.display()),
        "choose a directory with --out DIR",
    )
}

fn named(out: &Path, resume: bool, asked: &Asked, backend: &str) -> Result<Place, Failure> {
    if is_free(out)? {
        return Ok(Place::New(out.to_owned()));
    }
    let Some(experiment) = ExperimentDirectory::open(out)? else {
        return Err(Failure::usage(
            format!("{} is not empty, and no experiment", out.display()),
            "choose another one with --out OTHER",
        ));
    };
    match experiment.stored.difference(asked, backend) {
        Some(difference) => Err(Failure::usage(
            format!("{} holds another experiment: {difference}", out.display()),
            "choose another one with --out OTHER",
        )),
        None if !resume => Err(Failure::usage(
            format!("{} holds this experiment already", out.display()),
            "continue it with --resume, or choose another one with --out OTHER",
        )),
        None => Ok(Place::Begun(Box::new(experiment))),
    }
}

fn numbered(folder: &Path, resume: bool, asked: &Asked, backend: &str) -> Result<Place, Failure> {
    let name = &asked.plan.experiment;
    let mut begun = None;
    for number in 1..NUMBER_MAX {
        let path = number_of(folder, name, number);
        if fs::symlink_metadata(&path).is_err() {
            return Ok(begun.map_or(Place::New(path), |experiment| Place::Begun(Box::new(experiment))));
        }
        if resume {
            let same =
                |experiment: &ExperimentDirectory| experiment.stored.difference(asked, backend).is_none();
            begun = ExperimentDirectory::open(&path)?.filter(same).or(begun);
        }
    }
    Err(no_number(folder, name))
}

/// Doesn't exist, or is an empty directory but for a lock.
fn is_free(path: &Path) -> Result<bool, Failure> {
    match fs::read_dir(path) {
        // A lock alone is a process that is just beginning there, or was killed then; whoever locks it knows.
        Ok(mut entries) => Ok(entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == LOCK))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(Failure::file("reading", path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    fn new_at(place: Result<Place, Failure>) -> PathBuf {
        match place.unwrap() {
            Place::New(path) => path,
            Place::Begun(experiment) => panic!("{} is begun", experiment.path.display()),
        }
    }

    fn begin(path: &Path, asked: &Asked) {
        fs::create_dir_all(path).unwrap();
        ExperimentDirectory::create(path, asked, "lab").unwrap();
    }

    fn help(place: Result<Place, Failure>) -> String {
        place.unwrap_err().render(pipefill_core::scenario::Style::Plain)
    }

    #[test]
    fn the_next_free_number_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let asked = synthetic::asked(&[]);
        let free = || new_at(choose(folder.path(), None, false, &asked, "lab"));
        let first = folder.path().join("pipefill-runs/tiny");
        assert_eq!(free(), first);
        begin(&first, &asked);
        assert_eq!(free(), folder.path().join("pipefill-runs/tiny-2"));
    }

    #[test]
    fn resume_finds_the_newest_of_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (asked, other) = (synthetic::asked(&[]), synthetic::asked(&["path.rtt=7ms"]));
        let runs = folder.path().join("pipefill-runs");
        begin(&runs.join("tiny"), &asked);
        begin(&runs.join("tiny-2"), &asked);
        begin(&runs.join("tiny-3"), &other);
        match choose(folder.path(), None, true, &asked, "lab").unwrap() {
            Place::Begun(experiment) => assert_eq!(experiment.path, runs.join("tiny-2")),
            Place::New(path) => panic!("{} is new", path.display()),
        }
        let third = synthetic::asked(&["path.rtt=8ms"]);
        let place = choose(folder.path(), None, true, &third, "lab");
        assert_eq!(new_at(place), runs.join("tiny-4"));
    }

    #[test]
    fn a_named_directory_is_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let asked = synthetic::asked(&[]);
        let out = folder.path().join("out");
        let named = |resume, asked: &Asked| choose(folder.path(), Some(&out), resume, asked, "lab");
        assert_eq!(new_at(named(true, &asked)), out);
        begin(&out, &asked);
        let text = help(named(false, &asked));
        assert!(text.contains("--resume") && text.contains("--out OTHER"), "{text}");
        let other = synthetic::asked(&["path.rtt=7ms"]);
        assert!(help(named(true, &other)).contains("another experiment"));
        let text = help(choose(folder.path(), Some(&out), true, &asked, "sim"));
        assert!(text.contains("run on lab"), "{text}");
        fs::remove_file(out.join("experiment.json")).unwrap();
        assert!(help(named(true, &asked)).contains("no experiment"));
    }
}
