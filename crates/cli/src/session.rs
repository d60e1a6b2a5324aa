//! An experiment from the choice of its directory to its result: the part of `run` and `study` that no backend knows.
//!
//! Never: a directory made before it is known that the runs can be carried out, or one left behind with nothing in it.

use crate::args::RunOptions;
use crate::asked::Asked;
use crate::claim::{Claim, Claimed, lock};
use crate::estimate::Estimate;
use crate::evaluation::evaluate;
use crate::events::Events;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::page;
use crate::progress::Progress;
use crate::runner::{Runner, copies, pending, recorded};
use crate::signals::Stop;
use crate::terminal::Terminal;
use crate::wording::span;
use pipefill_analysis::findings::experiment::Experiment;
use pipefill_core::backend::Backend;
use pipefill_core::plan::Run;
use pipefill_store::{DamagedRun, ExperimentDirectory, Owner, Records, Registry, SummaryWriter};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
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
    /// Its page, where one was written.
    pub(crate) page: Option<PathBuf>,
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
        let held = self.claim(asked, options, &owner)?;
        let path = held.experiment.path.clone();
        let events = options.json_stream.map(|what| Events::new(what, *self.terminal));
        self.carry_out(options, events.as_ref(), &held, &owner).map_err(|failure| {
            let gone = held.created && ExperimentDirectory::remove_if_empty(&path);
            let failure = if gone { failure } else { with_what_is_kept(failure, path) };
            events.iter().for_each(|events| events.failed(&failure));
            failure
        })
    }

    fn carry_out(
        &self,
        options: &RunOptions,
        events: Option<&Events>,
        claimed: &Claimed,
        owner: &Owner,
    ) -> Result<Finished, Failure> {
        let Claimed { experiment, lock, .. } = claimed;
        let summaries = match experiment.stored.records {
            Records::Rows => None,
            Records::Summary => Some(Mutex::new(self.summaries(experiment)?)),
        };
        self.set_copies_aside(experiment)?;
        let (runs, damaged) = pending(experiment)?;
        self.set_aside(experiment, &damaged)?;
        let estimate: Duration = runs.iter().map(|run| self.backend.estimate(run)).sum();
        if !options.quiet {
            self.announce(experiment, &runs, estimate / u32::from(options.jobs()));
        }
        events.iter().for_each(|events| events.started(experiment, self.backend.name(), runs.len()));
        let progress =
            self.progress(experiment, options.quiet, Estimate::new(runs.len(), estimate, options.jobs()));
        let (backend, stop, progress) = (self.backend, self.stop, &progress);
        let runner = Runner { backend, experiment, owner, lock, stop, progress, events, summaries };
        let wanted = runs.len();
        let done = runner.carry_out(runs, options.jobs());
        progress.clear();
        if done? < wanted {
            return Err(stopped(experiment)?);
        }
        let finished = self.finished(experiment)?;
        events.iter().for_each(|events| {
            events.finished(&finished.result.experiment, &finished.directory, Outcome::of(&finished.result));
        });
        events.map_or(Ok(()), Events::check)?;
        Ok(finished)
    }

    fn claim(&self, asked: &Asked, options: &RunOptions, owner: &Owner) -> Result<Claimed, Failure> {
        let request = asked.request(self.backend.name());
        let (registry, terminal, out) = (self.registry, self.terminal, options.out.as_deref());
        Claim { request: &request, base: self.base, out, resume: options.resume, owner, registry, terminal }
            .settle()
    }

    /// Where summaries go; what is damaged of those that are there is kept aside, and that is said.
    fn summaries(&self, experiment: &ExperimentDirectory) -> Result<SummaryWriter, Failure> {
        if let Some(place) = experiment.mend_summaries()? {
            let place = place.display();
            self.terminal.say(&format!(
                "note: summaries were damaged, and their runs are made anew; they are kept as {place}"
            ));
        }
        Ok(SummaryWriter::open(&experiment.path)?)
    }

    /// Moves what is damaged out of the way, so that it is made anew, and says so.
    fn set_aside(&self, experiment: &ExperimentDirectory, damaged: &[DamagedRun]) -> Result<(), Failure> {
        for run in damaged {
            let place = experiment.set_aside(&run.directory)?;
            self.terminal.say(&format!("note: {run}; it is kept as {}", place.display()));
        }
        Ok(())
    }

    fn set_copies_aside(&self, experiment: &ExperimentDirectory) -> Result<(), Failure> {
        self.set_aside(experiment, &copies(experiment)?)
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
        let create = |(name, asked): (&str, &Asked)| -> Result<_, Failure> {
            let path = parent.join(name);
            fs::create_dir(&path).map_err(Failure::file("making", &path))?;
            Ok(ExperimentDirectory::create(&path, &asked.request(self.backend.name()))?)
        };
        let [first, second] = pair.map(create);
        let sides = [first?, second?];
        let locks = [lock(&sides[0].path, &owner)?, lock(&sides[1].path, &owner)?];
        let turns = turns(&sides);
        let estimate = turns.iter().map(|(_, run)| self.backend.estimate(run)).sum();
        let progress = self.progress(&sides[1], quiet, Estimate::new(turns.len(), estimate, 1));
        let runner = |side: usize| Runner {
            backend: self.backend,
            experiment: &sides[side],
            owner: &owner,
            lock: &locks[side],
            stop: self.stop,
            progress: &progress,
            events: None,
            summaries: None,
        };
        for (side, run) in turns {
            let experiment = &sides[side];
            let _entry = self.registry.enter(&owner, &experiment.path, false)?;
            let done = runner(side).carry_out(vec![run], 1).inspect_err(|_| progress.clear())?;
            if done == 0 {
                progress.clear();
                return Err(stopped(experiment)?);
            }
        }
        progress.clear();
        let [first, second] = sides.each_ref().map(|experiment| self.finished(experiment));
        Ok([first?, second?])
    }

    /// Reads the records of `experiment` and leaves its page beside them.
    fn finished(&self, experiment: &ExperimentDirectory) -> Result<Finished, Failure> {
        let evaluated = evaluate(experiment, None, self.terminal)?;
        let page =
            self.leaves_pages.then(|| page::try_leave(experiment, &evaluated, self.terminal)).flatten();
        Ok(Finished { directory: experiment.path.clone(), result: evaluated.result, page })
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
        let once = experiment.stored.plan.cells.iter().filter(|cell| cell.deterministic).count();
        if once > 0 {
            let cells = if once == 1 { "1 cell is" } else { &format!("{once} cells are") };
            self.terminal.say(&format!("{cells} deterministic: without any chance, n = 1 is enough"));
        }
    }
}

/// The runs of both sides in the order of [`Session::perform_in_turn`].
fn turns(sides: &[ExperimentDirectory; 2]) -> Vec<(usize, Run)> {
    let [first, second] = sides.each_ref().map(|side| side.stored.plan.runs());
    let mut turns = Vec::new();
    for (index, (one, other)) in first.into_iter().zip(second).enumerate() {
        let other = Run { seed: one.seed, ..other };
        let mut pair = [(0, one), (1, other)];
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

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
