//! `pipefill report`: the result of records, whoever made them.

use super::flows::{self, Form};
use crate::again;
use crate::args::{End, Format, ReportArgs};
use crate::condense::{Condensed, condense};
use crate::evaluation::{Evaluated, as_seen, evaluate};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::page::{self, Place};
use crate::pictures::{self, Kind};
use crate::terminal::Terminal;
use pipefill_analysis::findings::experiment::{Experiment, ExperimentBuilder};
use pipefill_analysis::findings::series;
use pipefill_analysis::infer::View;
use pipefill_core::plan::{Plan, Run};
use pipefill_report::html::RunPart;
use pipefill_report::pictures::{PictureFile, files};
use pipefill_report::words::complete_experiment;
use pipefill_report::{csv, json, md, parquet, table};
use pipefill_store::ExperimentDirectory;
use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind};
use std::path::{Path, PathBuf};

/// Reads the records and writes the report. Done is done: whether expectations hold is said by `run`, and in the report.
pub(super) fn report(args: &ReportArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let format = if args.json { Format::Json } else { args.format };
    let of_flows = match format {
        Format::Iperf3 => Some(Form::Iperf3),
        Format::Flent => Some(Form::Flent),
        _ => None,
    };
    if let Some(form) = of_flows {
        return flows::write(&args.directory, form, args.output.as_deref(), terminal);
    }
    let read = read(&args.directory, args.blindfold.map(End::view), terminal)?;
    let result = &read.evaluated.result;
    let text = match format {
        Format::Svg => return draw(args, &read, Kind::Svg, terminal),
        Format::Png => return draw(args, &read, Kind::Png, terminal),
        Format::Html => {
            let place = read.runs.as_deref().map_or(Place::Run(&args.directory), Place::Runs);
            page::text(&args.directory, place, read.scenario.as_deref(), &read.evaluated, terminal)?
        }
        Format::Parquet => return columns(args, result),
        Format::Json if args.output.is_some() => return document(args, result),
        Format::Json => json::render(result).map_err(Failure::Json)?,
        Format::Csv => csv::render(result).map_err(|error| Failure::Other(error.to_string()))?,
        Format::Md => {
            let beside = |report: &PathBuf| pictures::beside(report, &read.pictures());
            md::render(result, &args.output.as_ref().map(beside).unwrap_or_default())
        }
        Format::Table | Format::Iperf3 | Format::Flent => {
            let in_file = args.output.is_some();
            table::render(result, if in_file { terminal.file_style() } else { terminal.table_style() })
        }
    };
    match &args.output {
        Some(path) => fs::write(path, text).map_err(Failure::file("writing", path))?,
        None => terminal.print_result(&text, format != Format::Table)?,
    }
    Ok(Outcome::Done)
}

/// Writes JSON into the file that was named.
fn document(args: &ReportArgs, result: &Experiment) -> Result<Outcome, Failure> {
    let path = args.output.as_deref().unwrap_or(Path::new(""));
    let file = File::create(path).map_err(Failure::file("writing", path))?;
    let written = json::write(result, BufWriter::new(file)).map_err(std::io::Error::from);
    written.map_err(Failure::file("writing", path))?;
    Ok(Outcome::Done)
}

/// Writes a Parquet file.
fn columns(args: &ReportArgs, result: &Experiment) -> Result<Outcome, Failure> {
    let Some(path) = &args.output else {
        return Err(Failure::usage("a Parquet file is binary", "name the file with -o FILE.parquet"));
    };
    let file = File::create(path).map_err(Failure::file("writing", path))?;
    let written = parquet::write(result, BufWriter::new(file));
    written.map_err(|error| Failure::Other(format!("writing {}: {error}", path.display())))?;
    Ok(Outcome::Done)
}

/// Writes the pictures of what was read, and prints where they are.
fn draw(args: &ReportArgs, read: &Read, kind: Kind, terminal: &Terminal) -> Result<Outcome, Failure> {
    let folder = match &args.output {
        Some(folder) => folder.clone(),
        None => pictures::folder(&args.directory)?,
    };
    let written = pictures::write(&folder, &read.pictures(), kind)?;
    let lines: String = written.iter().map(|path| format!("{}\n", path.display())).collect();
    terminal.print(&lines)?;
    Ok(Outcome::Done)
}

/// The result of the experiment or the run in `directory`.
pub(super) fn result_of(
    directory: &Path,
    view: Option<View>,
    terminal: &Terminal,
) -> Result<Experiment, Failure> {
    Ok(read(directory, view, terminal)?.evaluated.result)
}

/// Records that were read, and the scenario's text where it is kept.
struct Read {
    evaluated: Evaluated,
    scenario: Option<String>,
    /// The folder of an experiment's runs; `None` for a single run.
    runs: Option<PathBuf>,
}

impl Read {
    fn pictures(&self) -> Vec<PictureFile> {
        files(&self.evaluated.result, &self.evaluated.parts)
    }
}

/// Whether `directory` is one at all.
///
/// # Errors
/// [`Failure::Usage`] where it is a file, or does not exist.
pub(super) fn ensure_directory(directory: &Path) -> Result<(), Failure> {
    let name = directory.display();
    let what = match directory.metadata() {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => format!("{name} is a file, not the directory of an experiment or a run"),
        Err(error) if error.kind() == ErrorKind::NotFound => format!("there is no directory {name}"),
        Err(error) => return Err(Failure::file("reading", directory)(error)),
    };
    Err(Failure::usage(what, "give the directory that `pipefill run` named, or one of those under its runs/"))
}

fn read(directory: &Path, view: Option<View>, terminal: &Terminal) -> Result<Read, Failure> {
    ensure_directory(directory)?;
    if let Some(experiment) = ExperimentDirectory::open(directory)? {
        let evaluated = evaluate(&experiment, view, terminal)?;
        return Ok(Read { evaluated, scenario: experiment.scenario_text()?, runs: Some(experiment.runs()) });
    }
    match condense(directory, series::buckets(1), view)? {
        Some(condensed) => single(directory, condensed, view),
        None => Err(Failure::usage(
            format!("{} holds no experiment and no run", directory.display()),
            "give the directory that `pipefill run` named, or one of those under its runs/",
        )),
    }
}

/// One run's result, with the command of its experiment where that is still around it.
fn single(directory: &Path, condensed: Condensed, view: Option<View>) -> Result<Read, Failure> {
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
    added.map_err(|error| Failure::Other(format!("{}: {error}", directory.display())))?;
    let result = complete_experiment(builder.finish(), &command);
    let part = RunPart { series, settings: manifest.settings, instrument: manifest.instrument };
    Ok(Read { evaluated: Evaluated { result, parts: vec![part] }, scenario, runs: None })
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
