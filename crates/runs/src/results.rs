//! The result of the records in a directory: of an experiment, or of a single run.

use crate::again;
use crate::condense::{Condensed, condense};
use crate::evaluated::{Curves, Evaluated};
use crate::evaluation::{as_seen, evaluate};
use crate::failure::Failure;
use crate::reporter::Reporter;
use pipefill_analysis::findings::experiment::{Experiment, ExperimentBuilder};
use pipefill_analysis::infer::View;
use pipefill_core::plan::{Plan, Run};
use pipefill_report::html::RunPart;
use pipefill_report::pictures::{PictureFile, files};
use pipefill_report::words::complete_experiment;
use pipefill_store::ExperimentDirectory;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The result of the experiment or the run in `directory`.
///
/// # Errors
/// As [`results`].
pub fn result_of(
    directory: &Path,
    view: Option<View>,
    reporter: &dyn Reporter,
) -> Result<Experiment, Failure> {
    Ok(results(directory, view, Curves::LeftOut, reporter)?.evaluated.result)
}

/// What records say.
pub struct Results {
    /// The figures, and what a page shows beside.
    pub evaluated: Evaluated,
    /// The scenario's text, where it is kept.
    pub scenario: Option<String>,
    /// The folder of an experiment's runs; `None` for a single run.
    pub runs: Option<PathBuf>,
}

impl Results {
    /// The charts as files.
    pub fn pictures(&self) -> Vec<PictureFile> {
        files(&self.evaluated.result, &self.evaluated.parts)
    }
}

/// Whether `directory` is one at all.
///
/// # Errors
/// [`Failure`] where it is a file, or does not exist.
pub fn ensure_directory(directory: &Path) -> Result<(), Failure> {
    let name = directory.display();
    let what = match directory.metadata() {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => format!("{name} is a file, not the directory of an experiment or a run"),
        Err(error) if error.kind() == ErrorKind::NotFound => format!("there is no directory {name}"),
        Err(error) => return Err(Failure::file("reading", directory)(error)),
    };
    Err(Failure::usage(what, "give the directory that `pipefill run` named, or one of those under its runs/"))
}

/// The same with all that a report needs.
///
/// # Errors
/// [`Failure`] where there is neither; [`Failure`] where the records can't be read.
pub fn results(
    directory: &Path,
    view: Option<View>,
    curves: Curves,
    reporter: &dyn Reporter,
) -> Result<Results, Failure> {
    ensure_directory(directory)?;
    if let Some(experiment) = ExperimentDirectory::open(directory)? {
        let evaluated = evaluate(&experiment, view, curves, reporter)?;
        return Ok(Results {
            evaluated,
            scenario: experiment.scenario_text()?,
            runs: Some(experiment.runs()),
        });
    }
    match condense(directory, curves.buckets(1), view)? {
        Some(condensed) => single(directory, condensed, view),
        None => Err(Failure::usage(
            format!("{} holds no experiment and no run", directory.display()),
            "give the directory that `pipefill run` named, or one of those under its runs/",
        )),
    }
}

/// One run's result, with the command of its experiment where that is still around it.
fn single(directory: &Path, condensed: Condensed, view: Option<View>) -> Result<Results, Failure> {
    let Condensed { manifest, metrics, series } = condensed;
    let run = &manifest.run;
    let around = directory.parent().and_then(Path::parent);
    let experiment = around.map(ExperimentDirectory::open).transpose()?.flatten();
    let scenario = experiment.as_ref().map(ExperimentDirectory::scenario_text).transpose()?.flatten();
    let (mut plan, command) = match experiment {
        Some(experiment) => {
            let command = again::command(&experiment);
            (experiment.stored.plan, command)
        }
        None => alone(run),
    };
    plan.keep(|cell| cell.id == run.cell.id);
    for cell in &mut plan.cells {
        cell.spec.run.repeat = 1;
    }
    let mut builder = ExperimentBuilder::new(as_seen(plan, view));
    let added = builder.add_condensed(&manifest, metrics);
    added.map_err(|error| Failure::broken(format!("{}: {error}", directory.display())))?;
    let result = complete_experiment(builder.finish(), &command);
    let part = |series| RunPart { series, settings: manifest.settings, instrument: manifest.instrument };
    let parts = series.map(part).into_iter().collect();
    Ok(Results { evaluated: Evaluated { result, parts }, scenario, runs: None })
}

/// A run without its experiment: a plan of its own cell, and a command in which the scenario is to be filled in.
fn alone(run: &Run) -> (Plan, String) {
    let mut cell = run.cell.clone();
    cell.index = 0;
    let plan = Plan {
        experiment: run.experiment.clone(),
        title: None,
        cells: vec![cell],
        published: Vec::new(),
        published_source: None,
        conclusions: Vec::new(),
    };
    (plan, format!("pipefill run {}.toml", run.experiment))
}
