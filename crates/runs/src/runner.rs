//! Carries out the runs of a plan on a backend, one record each, and stops where it is told.
//!
//! Never: a run that counts without a record, or a record of a run that the user stopped.

use crate::failure::Failure;
use crate::reporter::{Reporter, RunEvent};
use crate::stop::Stop;
use pipefill_analysis::findings::metrics::RunMetrics;
use pipefill_core::backend::{Backend, Watch};
use pipefill_core::plan::Run;
use pipefill_core::record::{InMemory, Manifest, Sink};
use pipefill_core::units::Time;
use pipefill_store::{
    Damage, DamagedRun, ExperimentDirectory, Lock, Owner, Partial, RecordState, Records, SummaryWriter,
    read_manifest, state, summaries,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

/// What it takes to carry out runs.
pub(crate) struct Runner<'a> {
    /// What carries them out.
    pub(crate) backend: &'a dyn Backend,
    /// Where the records go.
    pub(crate) experiment: &'a ExperimentDirectory,
    /// Who writes them.
    pub(crate) owner: &'a Owner,
    /// The right to do so.
    pub(crate) lock: &'a Lock,
    /// Whether to go on.
    pub(crate) stop: &'a Stop,
    /// Who hears of it.
    pub(crate) reporter: &'a dyn Reporter,
    /// Where the runs' summaries go, where only these are kept.
    pub(crate) summaries: Option<Mutex<SummaryWriter>>,
}

/// The record of a run at work.
enum Record {
    /// In a directory of its own.
    Rows(Box<Partial>),
    /// In memory until its figures are known.
    Summary(Box<InMemory>),
}

impl Record {
    fn sink(&mut self) -> &mut dyn Sink {
        match self {
            Self::Rows(partial) => &mut **partial,
            Self::Summary(rows) => rows.as_mut(),
        }
    }
}

/// How many runs of `experiment` have a whole record, valid or not.
///
/// # Errors
/// [`Failure`] for files that can't be read.
pub(crate) fn recorded(experiment: &ExperimentDirectory) -> Result<usize, Failure> {
    let runs = experiment.stored.plan.runs();
    if experiment.stored.records == Records::Summary {
        let kept = kept_summaries(experiment)?;
        return Ok(runs.iter().filter(|run| kept.contains_key(&run.id)).count());
    }
    let mut count = 0;
    for run in runs {
        let state = state(&experiment.run_path(&run), &run.id)?;
        count += usize::from(matches!(state, RecordState::Valid | RecordState::Invalid));
    }
    Ok(count)
}

/// The runs of `experiment` that have no valid record yet: missing ones, invalid ones, and those whose record is `damaged`.
///
/// # Errors
/// [`Failure`] for files that can't be read.
pub fn pending(experiment: &ExperimentDirectory) -> Result<(Vec<Run>, Vec<DamagedRun>), Failure> {
    let (mut pending, mut damaged) = (experiment.stored.plan.runs(), Vec::new());
    if experiment.stored.records == Records::Summary {
        let kept = kept_summaries(experiment)?;
        pending.retain(|run| kept.get(&run.id) != Some(&true));
        return Ok((pending, damaged));
    }
    let mut states = Vec::with_capacity(pending.len());
    for run in &pending {
        let directory = experiment.run_path(run);
        let state = state(&directory, &run.id)?;
        states.push(!matches!(state, RecordState::Valid));
        if let RecordState::Damaged(damage) = state {
            damaged.push(DamagedRun { directory, damage });
        }
    }
    let mut is_pending = states.into_iter();
    pending.retain(|_| is_pending.next().unwrap_or(true));
    Ok((pending, damaged))
}

/// The runs whose summary is kept, and whether they are valid.
fn kept_summaries(experiment: &ExperimentDirectory) -> Result<BTreeMap<String, bool>, Failure> {
    let all = summaries(&experiment.path)?;
    Ok(all.map(|summary| summary.map(|kept| (kept.id, kept.valid))).collect::<Result<_, _>>()?)
}

/// Directories of `experiment` that hold a run of its plan under another name than the run's own.
///
/// # Errors
/// [`Failure`] for files that can't be read.
pub(crate) fn copies(experiment: &ExperimentDirectory) -> Result<Vec<DamagedRun>, Failure> {
    let runs = experiment.stored.plan.runs().into_iter();
    let places: BTreeMap<String, PathBuf> =
        runs.map(|run| (run.id.clone(), experiment.run_path(&run))).collect();
    let own: BTreeSet<&PathBuf> = places.values().collect();
    let mut copies = Vec::new();
    for directory in experiment.run_directories()?.into_iter().filter(|directory| !own.contains(directory)) {
        // What can't be read is no copy, and is told when all is read.
        let Ok(Some(manifest)) = read_manifest(&directory) else { continue };
        if let Some(other) =
            places.get(&manifest.run.id).filter(|_| manifest.backend == experiment.stored.backend)
        {
            let damage = Damage::Copy { run: manifest.run.id, other: other.clone() };
            copies.push(DamagedRun { directory, damage });
        }
    }
    Ok(copies)
}

impl Runner<'_> {
    /// Carries out `runs`, `jobs` at a time, in order, and says how many have their record. After a failure or the user's
    /// wish no further one is begun.
    ///
    /// # Errors
    /// The first [`Failure`]. A stop is none here: then runs are missing.
    pub(crate) fn carry_out(&self, runs: Vec<Run>, jobs: u16) -> Result<usize, Failure> {
        let queue = Mutex::new(VecDeque::from(runs));
        let failure = Mutex::new(None);
        let recorded = AtomicUsize::new(0);
        let work = || {
            while let Some(run) = self.next(&queue) {
                match self.record_run(&run) {
                    Ok(done) => {
                        recorded.fetch_add(usize::from(done), Ordering::Relaxed);
                    }
                    Err(error) => {
                        locked(&queue).clear();
                        locked(&failure).get_or_insert(error);
                    }
                }
            }
        };
        // This thread works too: where no others are to be had, it does all the work.
        thread::scope(|scope| {
            let others = (1..jobs).map(|_| Builder::new().spawn_scoped(scope, work));
            let _those_there_are: Vec<_> = others.map_while(Result::ok).collect();
            work();
        });
        self.summaries.iter().try_for_each(|summaries| locked(summaries).flush())?;
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(failure) => Err(failure),
            None => Ok(recorded.into_inner()),
        }
    }

    fn next(&self, queue: &Mutex<VecDeque<Run>>) -> Option<Run> {
        if self.is_stopped() {
            return None;
        }
        locked(queue).pop_front()
    }

    /// Whether the user asked to stop; the first time it is confirmed to them.
    fn is_stopped(&self) -> bool {
        if self.stop.is_unanswered() {
            self.reporter.hear(&RunEvent::Stopping);
        }
        self.stop.is_requested()
    }

    /// True where the run has its record. Where it has a directory, that stands before the run begins, so that a run's traces are always
    /// somebody's.
    fn record_run(&self, run: &Run) -> Result<bool, Failure> {
        let mut record = match self.summaries {
            Some(_) => Record::Summary(Box::default()),
            None => {
                Record::Rows(Box::new(Partial::create(&self.experiment.runs(), &run.directory, self.owner)?))
            }
        };
        let estimate = self.backend.estimate(run);
        let watch = RunWatch { runner: self, run, estimate };
        self.reporter.hear(&RunEvent::RunBegins(run));
        let began = Instant::now();
        let mut measure = |sink: &mut dyn Sink| self.backend.stream(run, &watch, sink);
        let manifest = match self.reporter.pass_rows(run, record.sink(), &mut measure) {
            Ok(manifest) => manifest,
            Err(problem) if problem.is_stop() => return Ok(false),
            Err(problem) => return Err(Failure::of_run(problem, &run.directory)),
        };
        if self.is_stopped() && is_interrupted(&manifest) {
            return Ok(false);
        }
        self.lock.check()?;
        let invalid = manifest.invalid.clone();
        self.keep(run, record, manifest)?;
        let (experiment, took) = (self.experiment, began.elapsed());
        self.reporter.hear(&RunEvent::RunEnds { experiment, run, estimate, took, invalid: &invalid });
        Ok(true)
    }

    fn keep(&self, run: &Run, record: Record, manifest: Manifest) -> Result<(), Failure> {
        match (record, &self.summaries) {
            (Record::Rows(partial), _) => {
                partial.complete(&manifest)?;
                self.experiment.remove_former(run)?;
            }
            (Record::Summary(rows), Some(summaries)) => {
                let record = rows.into_record(manifest);
                let figures = RunMetrics::of(&record);
                locked(summaries).append(&record.manifest, &figures)?;
            }
            (Record::Summary(_), None) => {}
        }
        Ok(())
    }
}

/// One run's line to who hears of it, and back.
struct RunWatch<'a> {
    runner: &'a Runner<'a>,
    run: &'a Run,
    estimate: Duration,
}

impl Watch for RunWatch<'_> {
    fn progress(&self, now: Time) {
        let Self { run, estimate, .. } = *self;
        self.runner.reporter.hear(&RunEvent::Reached { run, estimate, now });
    }

    fn late(&self, path: Duration) {
        self.runner.reporter.hear(&RunEvent::Late(self.run, path));
    }

    fn stop_requested(&self) -> bool {
        self.runner.is_stopped()
    }
}

fn is_interrupted(manifest: &Manifest) -> bool {
    manifest.invalid.iter().any(|reason| reason.reason == "interrupted")
}

/// A panic elsewhere ends the scope anyway.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
