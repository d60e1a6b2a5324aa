//! An experiment from the choice of its directory to its result: the part of `run` and `study` that no backend knows.
//!
//! Never: a directory made before it is known that the runs can be carried out, or one left behind with nothing in it.

use crate::args::RunOptions;
use crate::asked::Asked;
use crate::evaluation::evaluate;
use crate::events::Events;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::page;
use crate::progress::{Estimate, Progress, span};
use crate::runner::{Runner, pending, recorded};
use crate::signals::Stop;
use crate::store::{ExperimentDirectory, Leftover, Owner, Place, Registry, Writer, choose};
use crate::terminal::Terminal;
use pipefill_analysis::experiment::Experiment;
use pipefill_core::backend::Backend;
use pipefill_core::plan::Run;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What all experiments of a command share.
pub(crate) struct Session<'a> {
    /// What carries out the runs.
    pub(crate) backend: &'a dyn Backend,
    /// Where this process says what it writes.
    pub(crate) registry: &'a Registry,
    /// Whether to go on.
    pub(crate) stop: &'a Stop,
    /// Where to tell the person.
    pub(crate) terminal: &'a Terminal,
    /// Where `pipefill-runs` stands.
    pub(crate) base: &'a Path,
    /// Whether a page is left beside the records: of many experiments at once nobody reads one.
    pub(crate) leaves_pages: bool,
}

/// An experiment that was carried out.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Where its records are.
    pub(crate) directory: PathBuf,
    /// What came out.
    pub(crate) result: Experiment,
}

impl Session<'_> {
    /// Asks the backend about every cell of `asked`; nothing is made. To be called for all experiments of a command before
    /// the first one is performed.
    ///
    /// # Errors
    /// The first refusal.
    pub(crate) fn check(&self, asked: &Asked) -> Result<(), Failure> {
        // Repetitions of a cell need the same.
        for run in asked.plan.runs().iter().filter(|run| run.repeat == 1) {
            let refusal = self.backend.check(run).err();
            refusal.and_then(|error| Failure::of_backend(error, &run.directory)).map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    /// Carries out what is `asked` and reads the records back.
    ///
    /// # Errors
    /// [`Failure`]; runs that were finished stay.
    pub(crate) fn perform(&self, asked: &Asked, options: &RunOptions) -> Result<Finished, Failure> {
        let owner = Owner::current()?;
        let (place, created) = self.settle(asked, options)?;
        let path = place.path().to_owned();
        let entry = self.registry.enter(&owner, &path, created)?;
        let events = options.json_stream.map(|what| Events::new(what, *self.terminal));
        let result =
            self.carry_out(asked, options, events.as_ref(), place, &path, &owner).map_err(|failure| {
                let gone = created && ExperimentDirectory::remove_if_empty(&path);
                let failure = if gone { failure } else { with_what_is_kept(failure, path) };
                events.iter().for_each(|events| events.failed(&failure));
                failure
            });
        drop(entry);
        result
    }

    fn carry_out(
        &self,
        asked: &Asked,
        options: &RunOptions,
        events: Option<&Events>,
        place: Place,
        path: &Path,
        owner: &Owner,
    ) -> Result<Finished, Failure> {
        let experiment = match place {
            Place::New(_) => ExperimentDirectory::create(path, asked, self.backend.name())?,
            Place::Begun(experiment) => experiment.renewed(asked, owner)?,
        };
        let runs = pending(&experiment)?;
        let estimate: Duration = runs.iter().map(|run| self.backend.estimate(run)).sum();
        if !options.quiet {
            self.announce(&experiment, &runs, estimate / u32::from(options.jobs));
        }
        events.iter().for_each(|events| events.started(&experiment, self.backend.name(), runs.len()));
        let progress =
            self.progress(&experiment, options.quiet, Estimate::new(runs.len(), estimate, options.jobs));
        let runner = Runner {
            backend: self.backend,
            experiment: &experiment,
            owner,
            stop: self.stop,
            progress: &progress,
            events,
        };
        let wanted = runs.len();
        let done = runner.carry_out(runs, options.jobs);
        progress.clear();
        if done? < wanted {
            return Err(stopped(&experiment)?);
        }
        let finished = self.finished(experiment)?;
        events.iter().for_each(|events| {
            events.finished(&finished.result.experiment, &finished.directory, Outcome::of(&finished.result));
        });
        events.map_or(Ok(()), Events::check)?;
        Ok(finished)
    }

    /// Carries out two experiments of as many runs in turn, so that what changes with the hour meets both: first, second; second,
    /// first; and so on. The second's runs have the seeds of the first's. `parent` is an existing directory of this process.
    ///
    /// # Errors
    /// [`Failure`]; runs that were finished stay.
    pub(crate) fn perform_in_turn(
        &self,
        parent: &Path,
        pair: [(&str, &Asked); 2],
        quiet: bool,
    ) -> Result<[Finished; 2], Failure> {
        let owner = Owner::current()?;
        let create = |(name, asked): (&str, &Asked)| {
            let path = parent.join(name);
            fs::create_dir(&path).map_err(Failure::file("making", &path))?;
            ExperimentDirectory::create(&path, asked, self.backend.name())
        };
        let [first, second] = pair.map(create);
        let sides = [first?, second?];
        let turns = turns(&sides);
        let estimate = turns.iter().map(|(_, run)| self.backend.estimate(run)).sum();
        let progress = self.progress(&sides[1], quiet, Estimate::new(turns.len(), estimate, 1));
        let runner = |experiment| Runner {
            backend: self.backend,
            experiment,
            owner: &owner,
            stop: self.stop,
            progress: &progress,
            events: None,
        };
        for (experiment, run) in turns {
            let _entry = self.registry.enter(&owner, &experiment.path, false)?;
            let done = runner(experiment).carry_out(vec![run], 1).inspect_err(|_| progress.clear())?;
            if done == 0 {
                progress.clear();
                return Err(stopped(experiment)?);
            }
        }
        progress.clear();
        let [first, second] = sides.map(|experiment| self.finished(experiment));
        Ok([first?, second?])
    }

    /// Reads the records of `experiment` and leaves its page beside them.
    fn finished(&self, experiment: ExperimentDirectory) -> Result<Finished, Failure> {
        let evaluated = evaluate(&experiment, self.terminal)?;
        if self.leaves_pages {
            page::leave(&experiment, &evaluated)?;
        }
        Ok(Finished { directory: experiment.path, result: evaluated.result })
    }

    /// Chooses the directory and makes it; true where it was not there. A number that another process takes in between is
    /// passed over.
    fn settle(&self, asked: &Asked, options: &RunOptions) -> Result<(Place, bool), Failure> {
        let out = options.out.as_deref();
        loop {
            let place = choose(self.base, out, options.resume, asked, self.backend.name())?;
            self.ensure_unused(place.path())?;
            if let Place::Begun(experiment) = &place {
                self.sweep(experiment)?;
                return Ok((place, false));
            }
            let created = make(place.path())?;
            if created || out.is_some() {
                return Ok((place, created));
            }
        }
    }

    /// Two processes on one experiment would take each other's runs.
    fn ensure_unused(&self, path: &Path) -> Result<(), Failure> {
        let writer = self.registry.writer_of(path)?;
        let path = path.display();
        match writer {
            None => Ok(()),
            Some(Writer::Alive { pid }) => Err(Failure::usage(
                format!("another pipefill (pid {pid}) is writing {path}"),
                "wait for it, or choose another directory with --out OTHER",
            )),
            Some(Writer::Unknown { pid, entry }) => Err(Failure::usage(
                format!(
                    "another pipefill (pid {pid} of another PID namespace) is writing {path}, or was killed"
                ),
                format!(
                    "where it is gone, remove {}; else wait for it, or choose --out OTHER",
                    entry.display()
                ),
            )),
        }
    }

    /// Removes what dead processes left in `experiment`, and says what; where that can't be told, says who has to look.
    fn sweep(&self, experiment: &ExperimentDirectory) -> Result<(), Failure> {
        let (removed, unknown) = experiment.sweep()?;
        for one in &removed {
            self.terminal.say(&one.line());
        }
        for Leftover { path, owner } in &unknown {
            self.terminal.say(&format!(
                "note: pid {} of another PID namespace made {}; where it is gone, remove that directory",
                owner.pid,
                path.display()
            ));
        }
        Ok(())
    }

    fn progress(&self, experiment: &ExperimentDirectory, quiet: bool, estimate: Estimate) -> Progress {
        let names = [&experiment.stored.plan.experiment, self.backend.name()];
        Progress::new(self.terminal, quiet, self.stop, names, estimate)
    }

    fn announce(&self, experiment: &ExperimentDirectory, runs: &[Run], estimate: Duration) {
        let total = experiment.stored.plan.run_count();
        let done = total - runs.len();
        let runs = match (runs.len(), done) {
            (1, 0) => "1 run".to_owned(),
            (left, 0) => format!("{left} runs"),
            (left, done) => format!("{left} of {total} runs ({done} have a valid record)"),
        };
        self.terminal.say(&format!(
            "{}: {runs}, about {}; records in {}",
            experiment.stored.plan.experiment,
            span(estimate),
            experiment.path.display()
        ));
    }
}

/// The runs of both sides in the order of [`Session::perform_in_turn`].
fn turns(sides: &[ExperimentDirectory; 2]) -> Vec<(&ExperimentDirectory, Run)> {
    let [first, second] = sides.each_ref().map(|side| side.stored.plan.runs());
    let mut turns = Vec::new();
    for (index, (one, other)) in first.into_iter().zip(second).enumerate() {
        let other = Run { seed: one.seed, ..other };
        let mut pair = [(&sides[0], one), (&sides[1], other)];
        if index % 2 == 1 {
            pair.reverse();
        }
        turns.extend(pair);
    }
    turns
}

fn stopped(experiment: &ExperimentDirectory) -> Result<Failure, Failure> {
    Ok(Failure::Stopped {
        kept: recorded(experiment)?,
        total: experiment.stored.plan.run_count(),
        directory: experiment.path.clone(),
    })
}

/// `failure`, and where the finished runs are, if there are any. A stop says so itself.
fn with_what_is_kept(failure: Failure, directory: PathBuf) -> Failure {
    if matches!(failure, Failure::Stopped { .. }) {
        return failure;
    }
    let Ok(Some(experiment)) = ExperimentDirectory::open(&directory) else {
        return failure;
    };
    match recorded(&experiment) {
        Ok(kept) if kept > 0 => {
            let total = experiment.stored.plan.run_count();
            Failure::Kept { failure: Box::new(failure), kept, total, directory }
        }
        _ => failure,
    }
}

/// Makes the directory; false where it is there already.
fn make(path: &Path) -> Result<bool, Failure> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(Failure::file("making", parent))?;
    }
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(Failure::file("making", path)(error)),
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
