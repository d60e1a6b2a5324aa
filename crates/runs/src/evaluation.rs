//! From the records of an experiment to its result.

use crate::again;
use crate::condense::{Condensed, condense};
use crate::evaluated::{Curves, Evaluated};
use crate::failure::Failure;
use crate::parallel::in_order;
use crate::reporter::Reporter;
use pipefill_analysis::findings::experiment::{CellResult, Experiment, ExperimentBuilder};
use pipefill_analysis::findings::metrics::RunMetrics;
use pipefill_analysis::infer::{View, forget_the_plan};
use pipefill_core::plan::{Cell, Plan, Run};
use pipefill_report::html::RunPart;
use pipefill_report::words::complete_experiment;
use pipefill_store::{
    Damage, DamagedRun, ExperimentDirectory, Records, StoreError, read_manifest, summaries,
};
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Runs that are read before their figures are added: as many manifests are in memory.
const BATCH: usize = 64;

/// The result of all records in `experiment`. A directory that is no run's and has no manifest is named and
/// left out.
///
/// # Errors
/// [`Failure::Damaged`] with every record that is not what was written, and for two of one run; [`Failure`] for one that can't be
/// read, or that belongs to another experiment.
pub fn evaluate(
    experiment: &ExperimentDirectory,
    view: Option<View>,
    curves: Curves,
    reporter: &dyn Reporter,
) -> Result<Evaluated, Failure> {
    if experiment.stored.records == Records::Summary {
        return summed_up(experiment, view);
    }
    let mut builder = ExperimentBuilder::new(as_seen(experiment.stored.plan.clone(), view));
    let directories = experiment.run_directories()?;
    let mut parts = Vec::new();
    let mut damaged = Vec::new();
    // Asked where something is wrong alone.
    let planned = LazyCell::new(|| {
        let runs = experiment.stored.plan.runs();
        runs.iter().map(|run| experiment.run_path(run)).collect::<BTreeSet<PathBuf>>()
    });
    let is_of_plan = |directory: &PathBuf| planned.contains(directory);
    let buckets = curves.buckets(directories.len());
    let mut seen: BTreeMap<(String, String), &PathBuf> = BTreeMap::new();
    for batch in directories.chunks(BATCH) {
        let read = in_order(batch, |directory| condense(directory, buckets, view));
        for (directory, condensed) in batch.iter().zip(read) {
            let condensed = match condensed {
                Ok(Some(condensed)) => condensed,
                Ok(None) if is_of_plan(directory) => {
                    damaged.push(DamagedRun { directory: directory.clone(), damage: Damage::NoManifest });
                    continue;
                }
                Ok(None) => {
                    let name = directory.display();
                    reporter.say(&format!("note: {name} has no manifest.json and is left out"));
                    continue;
                }
                Err(StoreError::Damaged(run)) => {
                    damaged.push(run);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let run = (condensed.manifest.run.id.clone(), condensed.manifest.backend.clone());
            if let Some(other) = seen.get(&run) {
                damaged.push(copy(directory, other, &condensed));
                continue;
            }
            seen.insert(run, directory);
            parts.extend(add(&mut builder, directory, condensed)?);
        }
    }
    if !damaged.is_empty() {
        return Err(Failure::Damaged { runs: damaged, repeat: Some(again::resume_command(experiment)) });
    }
    Ok(Evaluated { result: finished(builder, experiment), parts })
}

/// The result of all summaries in `experiment`, read one by one. There are no curves.
fn summed_up(experiment: &ExperimentDirectory, view: Option<View>) -> Result<Evaluated, Failure> {
    if view.is_some() {
        return Err(without_rows(experiment, "to judge from one end takes the rows of its sockets"));
    }
    let mut builder = ExperimentBuilder::new(experiment.stored.plan.clone());
    let mut read = || -> Result<(), Failure> {
        for summary in summaries(&experiment.path)? {
            let (manifest, figures) = summary?.read::<RunMetrics>()?;
            let added = builder.add_condensed(&manifest, figures);
            added.map_err(|error| Failure::broken(format!("{}: {error}", experiment.path.display())))?;
        }
        Ok(())
    };
    match read() {
        Ok(()) => {}
        Err(Failure::Damaged { runs, .. }) => {
            return Err(Failure::Damaged { runs, repeat: Some(again::resume_command(experiment)) });
        }
        Err(error) => return Err(error),
    }
    Ok(Evaluated { result: finished(builder, experiment), parts: Vec::new() })
}

fn finished(builder: ExperimentBuilder, experiment: &ExperimentDirectory) -> Experiment {
    complete_experiment(builder.finish(), &again::command(experiment))
}

/// What needs rows can't be had of `experiment`, which has none.
pub fn without_rows(experiment: &ExperimentDirectory, why: &str) -> Failure {
    Failure::usage(
        format!("{} was run with --records summary: {why}", experiment.path.display()),
        "run the cells that you want to look into again, without --records summary",
    )
}

/// `plan`; with a view, without all that only a scenario says.
pub(crate) fn as_seen(mut plan: Plan, view: Option<View>) -> Plan {
    if view.is_some() {
        plan.cells.iter_mut().for_each(|cell| forget_the_plan(&mut cell.spec));
        plan.conclusions.clear();
    }
    plan
}

/// The result of `cell`, once each of its runs has a record; `None` before.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_cell(experiment: &ExperimentDirectory, cell: &Cell) -> Result<Option<CellResult>, Failure> {
    let mut plan = experiment.stored.plan.clone();
    let runs: Vec<Run> = plan.runs_of(&cell.id).collect();
    for run in &runs {
        if read_manifest(&experiment.run_path(run))?.is_none() {
            return Ok(None);
        }
    }
    plan.keep(|other| other.id == cell.id);
    let mut builder = ExperimentBuilder::new(plan);
    for run in &runs {
        let directory = experiment.run_path(run);
        if let Some(condensed) = condense(&directory, None, None)? {
            add(&mut builder, &directory, condensed)?;
        }
    }
    Ok(finished(builder, experiment).cells.into_iter().next())
}

/// Of two directories with one run the copy is the one whose name is not the run's.
fn copy(directory: &Path, other: &Path, condensed: &Condensed) -> DamagedRun {
    let name = condensed.manifest.run.directory.as_str();
    let is_original = directory.file_name().is_some_and(|found| found == name);
    let [copy, original] = if is_original { [other, directory] } else { [directory, other] };
    let damage = Damage::Copy { run: condensed.manifest.run.id.clone(), other: original.to_owned() };
    DamagedRun { directory: copy.to_owned(), damage }
}

/// Adds the figures of a run. Returns its curves, where they were drawn.
fn add(
    builder: &mut ExperimentBuilder,
    directory: &Path,
    condensed: Condensed,
) -> Result<Option<RunPart>, Failure> {
    let Condensed { manifest, metrics, series } = condensed;
    let added = builder.add_condensed(&manifest, metrics);
    added.map_err(|error| Failure::broken(format!("{}: {error}", directory.display())))?;
    let part = |series| RunPart { series, settings: manifest.settings, instrument: manifest.instrument };
    Ok(series.map(part))
}
