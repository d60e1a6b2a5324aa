//! From the records of an experiment to its result.

use crate::failure::Failure;
use crate::store::{Condensed, ExperimentDirectory, condense, read_manifest};
use crate::terminal::Terminal;
use pipefill_analysis::experiment::{CellResult, Experiment, ExperimentBuilder};
use pipefill_analysis::series;
use pipefill_core::plan::{Cell, Run};
use pipefill_report::html::RunPart;
use std::path::Path;

/// What records say.
#[derive(Debug)]
pub(crate) struct Evaluated {
    /// The figures.
    pub(crate) result: Experiment,
    /// What a page shows of each run beside.
    pub(crate) parts: Vec<RunPart>,
}

/// The result of all records in `experiment`. A directory without a manifest is named and left out.
///
/// # Errors
/// [`Failure`] for a record that can't be read, or that belongs to another experiment.
pub(crate) fn evaluate(experiment: &ExperimentDirectory, terminal: &Terminal) -> Result<Evaluated, Failure> {
    let mut builder = ExperimentBuilder::new(experiment.stored.plan.clone());
    let directories = experiment.run_directories()?;
    let mut parts = Vec::with_capacity(directories.len());
    for directory in &directories {
        let Some(condensed) = condense(directory, series::buckets(directories.len()))? else {
            terminal.say(&format!("note: {} has no manifest.json and is left out", directory.display()));
            continue;
        };
        parts.push(add(&mut builder, directory, condensed)?);
    }
    Ok(Evaluated { result: builder.finish(&experiment.command()), parts })
}

/// The result of `cell`, once each of its runs has a record; `None` before.
///
/// # Errors
/// As [`evaluate`].
pub(crate) fn evaluate_cell(
    experiment: &ExperimentDirectory,
    cell: &Cell,
) -> Result<Option<CellResult>, Failure> {
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
        if let Some(condensed) = condense(&directory, series::buckets(usize::MAX))? {
            add(&mut builder, &directory, condensed)?;
        }
    }
    Ok(builder.finish(&experiment.command()).cells.into_iter().next())
}

fn add(builder: &mut ExperimentBuilder, directory: &Path, condensed: Condensed) -> Result<RunPart, Failure> {
    let Condensed { manifest, metrics, series } = condensed;
    let added = builder.add_condensed(&manifest, metrics);
    added.map_err(|error| Failure::Other(format!("{}: {error}", directory.display())))?;
    Ok(RunPart { series, settings: manifest.settings, instrument: manifest.instrument })
}
