//! The right to write an experiment: its directory chosen, made or found, locked, and noted in the registry.
//!
//! Never: a directory that two processes write at once, or one that is made where it can't be kept.

use crate::duration::duration_in_words;
use crate::failure::Failure;
use crate::reporter::Reporter;
use pipefill_store::{
    Attempt, ExperimentDirectory, ExperimentPlace, LEASE, Leftover, Lock, Owner, Registry, RegistryEntry,
    Request, Staged, choose,
};
use std::fs;
use std::path::Path;

/// The wish to write an experiment.
pub struct Claim<'a> {
    /// Which one.
    pub request: &'a Request<'a>,
    /// Where `pipefill-runs` stands.
    pub base: &'a Path,
    /// The directory that the user named.
    pub out: Option<&'a Path>,
    /// Whether an experiment that is there may be continued.
    pub resume: bool,
    /// Who writes it.
    pub owner: &'a Owner,
    /// Where that is noted.
    pub registry: &'a Registry,
    /// Where to tell the person.
    pub reporter: &'a dyn Reporter,
}

/// An experiment that this process alone writes, as long as it has this.
pub struct Claimed {
    /// The experiment.
    pub experiment: ExperimentDirectory,
    /// Whether this process made the directory.
    pub created: bool,
    // In this order: the entry goes before the lock.
    _entry: RegistryEntry,
    /// To be checked before anything is kept.
    pub lock: Lock,
}

impl Claim<'_> {
    /// Chooses the directory, takes its lock and notes in the registry who writes it. What is decided by a look at the directory
    /// is looked at again once the lock is held, since another process may have been faster.
    ///
    /// # Errors
    /// [`Failure`] where the directory holds something else, or somebody is at work there.
    pub fn settle(&self) -> Result<Claimed, Failure> {
        let owner = self.owner;
        let choose = || choose(self.base, self.out, self.resume, self.request);
        loop {
            let held = match choose()? {
                ExperimentPlace::New(path) if fs::symlink_metadata(&path).is_err() => self.begin(&path)?,
                ExperimentPlace::New(path) => {
                    let lock = lock(&path, owner)?;
                    match choose()? {
                        ExperimentPlace::New(same) if same == path => {
                            let entry = self.registry.enter(owner, &path, false)?;
                            let experiment = ExperimentDirectory::create(&path, self.request)?;
                            Some(Claimed { experiment, created: false, _entry: entry, lock })
                        }
                        _ => None,
                    }
                }
                ExperimentPlace::Begun(found) => {
                    let lock = lock(&found.path, owner)?;
                    match choose()? {
                        ExperimentPlace::Begun(same) if same.path == found.path => {
                            let entry = self.registry.enter(owner, &same.path, false)?;
                            self.sweep(&same)?;
                            let experiment = same.renewed(self.request)?;
                            Some(Claimed { experiment, created: false, _entry: entry, lock })
                        }
                        _ => None,
                    }
                }
            };
            if let Some(held) = held {
                return Ok(held);
            }
        }
    }

    /// Makes the experiment at `path`; `None` where another process was there first.
    fn begin(&self, path: &Path) -> Result<Option<Claimed>, Failure> {
        let owner = self.owner;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Failure::file("making", parent))?;
        }
        let entry = self.registry.enter(owner, path, true)?;
        let made = Staged::create(path, self.request, owner)?;
        Ok(made.map(|(experiment, lock)| Claimed { experiment, created: true, _entry: entry, lock }))
    }

    /// Removes what dead processes left in `experiment`, and says what; where that can't be told, says who has to look.
    fn sweep(&self, experiment: &ExperimentDirectory) -> Result<(), Failure> {
        let (removed, unknown) = experiment.sweep()?;
        for entry in &removed {
            self.reporter.say(&entry.line());
        }
        for Leftover { path, owner } in &unknown {
            self.reporter.say(&format!(
                "note: {} made {}, and it cannot be told from here whether it is still at work; where it is not, remove \
                 that directory",
                owner.described(),
                path.display()
            ));
        }
        Ok(())
    }
}

/// Takes the lock of `path`: two processes on one experiment would take each other's runs.
///
/// # Errors
/// [`Failure`] where another process has it.
pub(crate) fn lock(path: &Path, owner: &Owner) -> Result<Lock, Failure> {
    const WAIT: &str = "wait for it to end, or choose another directory with --out OTHER";
    let (who, help) = match Lock::take(path, owner)? {
        Attempt::Held(lock) => return Ok(lock),
        Attempt::Taken(Some(other)) => (format!("another pipefill ({})", other.described()), WAIT.to_owned()),
        Attempt::Taken(None) => ("another pipefill".to_owned(), WAIT.to_owned()),
        Attempt::Leased(other, age) => (
            format!("another pipefill ({}; last heard of {} ago)", other.described(), duration_in_words(age)),
            format!(
                "{WAIT}. If it was killed, its lease ends in {}",
                duration_in_words(LEASE.saturating_sub(age))
            ),
        ),
    };
    Err(Failure::usage(format!("{who} is at work in {}", path.display()), help))
}
