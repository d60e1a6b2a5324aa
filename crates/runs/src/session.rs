//! An experiment from the choice of its directory to its result: the part of `run` and `study` that no backend knows.
//!
//! Never: a directory made before it is known that the runs can be carried out, or one left behind with nothing in it.

use crate::claim::{Claim, Claimed, lock};
use crate::evaluated::Curves;
use crate::evaluation::evaluate;
use crate::failure::Failure;
use crate::planned::PlannedScenario;
use crate::reporter::{Reporter, RunEvent};
use crate::runner::{Runner, copies, pending, recorded};
use crate::stop::Stop;
use pipefill_analysis::findings::experiment::Experiment;
use pipefill_core::backend::Backend;
use pipefill_core::plan::Run;
use pipefill_store::{DamagedRun, ExperimentDirectory, Owner, Records, Registry, SummaryWriter};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// What all experiments of a command share.
pub struct Session<'a> {
    /// What carries out the runs.
    pub backend: &'a dyn Backend,
    /// Where this process says what it writes.
    pub registry: &'a Registry,
    /// Whether to go on.
    pub stop: &'a Stop,
    /// Where `pipefill-runs` stands.
    pub base: &'a Path,
}

/// How an experiment is carried out.
#[derive(Debug, Clone)]
pub struct Options {
    /// Its directory; `pipefill-runs/NAME` where none is named, with a number if that exists.
    pub out: Option<PathBuf>,
    /// How many runs at a time.
    pub jobs: u16,
    /// Whether it continues one that is there: runs with a valid record are not repeated.
    pub resume: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { out: None, jobs: 1, resume: false }
    }
}

/// An experiment that was carried out.
#[derive(Debug)]
pub struct Finished {
    /// Where its records are.
    pub directory: PathBuf,
    /// What came out.
    pub result: Experiment,
    /// Its page, where one was written.
    pub page: Option<PathBuf>,
}

impl Session<'_> {
    /// Asks the backend about every cell of `planned`; nothing is made. To be called for all experiments of a command before
    /// the first one is performed.
    ///
    /// # Errors
    /// The first refusal.
    pub fn check(&self, planned: &PlannedScenario) -> Result<(), Failure> {
        // Repetitions of a cell need the same.
        for run in planned.plan.runs().iter().filter(|run| run.repeat == 1) {
            match self.backend.check(run) {
                Err(problem) if !problem.is_stop() => return Err(Failure::of_run(problem, &run.directory)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Carries out what is `planned` and reads the records back.
    ///
    /// # Errors
    /// [`Failure`]; runs that were finished stay.
    pub fn perform(
        &self,
        planned: &PlannedScenario,
        options: &Options,
        reporter: &dyn Reporter,
    ) -> Result<Finished, Failure> {
        let owner = Owner::current()?;
        let request = planned.request(self.backend.name());
        let (registry, out, resume) = (self.registry, options.out.as_deref(), options.resume);
        let claim =
            Claim { request: &request, base: self.base, out, resume, owner: &owner, registry, reporter };
        let claimed = claim.settle()?;
        let path = claimed.experiment.path.clone();
        self.carry_out(options.jobs, reporter, &claimed, &owner).map_err(|failure| {
            let gone = claimed.created && ExperimentDirectory::remove_if_empty(&path);
            let failure = if gone { failure } else { with_what_is_kept(failure, path) };
            reporter.hear(&RunEvent::Failed(&failure));
            failure
        })
    }

    fn carry_out(
        &self,
        jobs: u16,
        reporter: &dyn Reporter,
        claimed: &Claimed,
        owner: &Owner,
    ) -> Result<Finished, Failure> {
        let Claimed { experiment, lock, .. } = claimed;
        let summaries = match experiment.stored.records {
            Records::Rows => None,
            Records::Summary => Some(Mutex::new(summaries(experiment, reporter)?)),
        };
        set_aside(experiment, &copies(experiment)?, reporter)?;
        let (runs, damaged) = pending(experiment)?;
        set_aside(experiment, &damaged, reporter)?;
        let estimate: Duration = runs.iter().map(|run| self.backend.estimate(run)).sum();
        let (backend, stop, wanted) = (self.backend, self.stop, runs.len());
        reporter.hear(&RunEvent::Begins {
            experiment,
            backend: backend.name(),
            runs: wanted,
            estimate,
            jobs,
        });
        let runner = Runner { backend, experiment, owner, lock, stop, reporter, summaries };
        let done = runner.carry_out(runs, jobs);
        reporter.hear(&RunEvent::Ends);
        if done? < wanted {
            return Err(stopped(experiment)?);
        }
        finished(experiment, reporter)
    }

    /// Carries out two experiments of as many runs in turn, so that what changes with the hour meets both: first, second; second,
    /// first; and so on. The second's runs have the seeds of the first's. `parent` is an existing directory of this process.
    ///
    /// # Errors
    /// [`Failure`]; runs that were finished stay.
    pub fn perform_in_turn(
        &self,
        parent: &Path,
        pair: [(&str, &PlannedScenario); 2],
        reporter: &dyn Reporter,
    ) -> Result<[Finished; 2], Failure> {
        let owner = Owner::current()?;
        let create = |(name, planned): (&str, &PlannedScenario)| -> Result<_, Failure> {
            let path = parent.join(name);
            fs::create_dir(&path).map_err(Failure::file("making", &path))?;
            Ok(ExperimentDirectory::create(&path, &planned.request(self.backend.name()))?)
        };
        let [first, second] = pair.map(create);
        let sides = [first?, second?];
        let locks = [lock(&sides[0].path, &owner)?, lock(&sides[1].path, &owner)?];
        let turns = turns(&sides);
        let (backend, stop, estimate) =
            (self.backend, self.stop, turns.iter().map(|(_, run)| self.backend.estimate(run)).sum());
        let (experiment, runs) = (&sides[1], turns.len());
        reporter.hear(&RunEvent::Begins { experiment, backend: backend.name(), runs, estimate, jobs: 1 });
        let done = turns.into_iter().try_for_each(|(side, run)| {
            let (experiment, lock) = (&sides[side], &locks[side]);
            let _entry = self.registry.enter(&owner, &experiment.path, false)?;
            let runner = Runner { backend, experiment, owner: &owner, lock, stop, reporter, summaries: None };
            match runner.carry_out(vec![run], 1)? {
                0 => Err(stopped(experiment)?),
                _ => Ok(()),
            }
        });
        reporter.hear(&RunEvent::Ends);
        done?;
        let [first, second] = sides.each_ref().map(|experiment| finished(experiment, reporter));
        Ok([first?, second?])
    }
}

/// Reads the records of `experiment`, and lets `reporter` leave its page beside them.
fn finished(experiment: &ExperimentDirectory, reporter: &dyn Reporter) -> Result<Finished, Failure> {
    let evaluated = evaluate(experiment, None, Curves::Drawn, reporter)?;
    let page = reporter.finished(experiment, &evaluated)?;
    Ok(Finished { directory: experiment.path.clone(), result: evaluated.result, page })
}

/// Where summaries go; what is damaged of those that are there is kept aside, and that is said.
fn summaries(experiment: &ExperimentDirectory, reporter: &dyn Reporter) -> Result<SummaryWriter, Failure> {
    if let Some(place) = experiment.mend_summaries()? {
        let place = place.display();
        reporter.say(&format!(
            "note: summaries were damaged, and their runs are made anew; they are kept as {place}"
        ));
    }
    Ok(SummaryWriter::open(&experiment.path)?)
}

/// Moves what is damaged out of the way, so that it is made anew, and says so.
fn set_aside(
    experiment: &ExperimentDirectory,
    damaged: &[DamagedRun],
    reporter: &dyn Reporter,
) -> Result<(), Failure> {
    for run in damaged {
        let place = experiment.set_aside(&run.directory)?;
        reporter.say(&format!("note: {run}; it is kept as {}", place.display()));
    }
    Ok(())
}

/// The runs of both sides in the order of [`Session::perform_in_turn`].
fn turns(sides: &[ExperimentDirectory; 2]) -> Vec<(usize, Run)> {
    let [first, second] = sides.each_ref().map(|side| side.stored.plan.runs());
    let mut turns = Vec::new();
    for (index, (before, after)) in first.into_iter().zip(second).enumerate() {
        let other = Run { seed: before.seed, ..after };
        let mut pair = [(0, before), (1, other)];
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
