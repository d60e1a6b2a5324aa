//! `pipefill report --format iperf3` and `--format flent`: a document for each flow of each run.

use crate::outcome::Outcome;
use crate::terminal::Terminal;
use pipefill_core::file_name::FileName;
use pipefill_report::{flent, iperf3};
use pipefill_runs::{Failure, cut, ensure_directory, without_rows};
use pipefill_store::{ExperimentDirectory, Records, files, write_output};
use std::fs;
use std::path::{Path, PathBuf};

/// Whose form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `iperf3 -J`.
    Iperf3,
    /// `.flent.gz`, which is binary.
    Flent,
}

/// A flow's document, and the name of its file.
type Document = (FileName, Vec<u8>);

/// Writes them: a single one into the file `output`, or as text to standard output; several into the folder `output`.
pub(super) fn write(
    directory: &Path,
    form: Form,
    output: Option<&Path>,
    terminal: &Terminal,
) -> Result<Outcome, Failure> {
    ensure_directory(directory)?;
    let documents = documents(directory, form)?;
    match (&documents[..], output) {
        ([], _) => {
            return Err(Failure::usage(
                format!("{} holds no run with a TCP or UDP flow", directory.display()),
                "give the directory that `pipefill run` named, or one of those under its runs/",
            ));
        }
        ([(_, bytes)], None) if form == Form::Iperf3 => {
            terminal.print_data(&String::from_utf8_lossy(bytes))?;
        }
        ([(_, bytes)], Some(path)) if !path.is_dir() => save(path, bytes)?,
        (several, Some(folder)) => {
            fs::create_dir_all(folder).map_err(Failure::file("making", folder))?;
            for (name, bytes) in several {
                files::replace(&files::below(folder, name), bytes)?;
            }
        }
        ([_], None) => {
            return Err(Failure::usage(
                "a Flent data file is binary".to_owned(),
                "name the file with -o FILE.flent.gz",
            ));
        }
        (several, None) => {
            return Err(Failure::usage(
                format!("{} holds {} flows, and each needs its own file", directory.display(), several.len()),
                "name a folder with -o FOLDER, or give the directory of a single run",
            ));
        }
    }
    Ok(Outcome::Done)
}

fn documents(directory: &Path, form: Form) -> Result<Vec<Document>, Failure> {
    let mut documents = Vec::new();
    for run in runs(directory)? {
        documents.extend(of_run(&run, form)?);
    }
    Ok(documents)
}

/// Of each flow of the run in `directory`.
fn of_run(directory: &Path, form: Form) -> Result<Vec<Document>, Failure> {
    let width_us = if form == Form::Flent { flent::STEP_US } else { iperf3::INTERVAL_US };
    let Some((manifest, intervals)) = cut(directory, width_us)? else { return Ok(Vec::new()) };
    let (flows, extension) = match form {
        Form::Iperf3 => {
            let texts = iperf3::documents(&manifest, &intervals).map_err(Failure::json)?;
            (texts.into_iter().map(|(flow, text)| (flow, text.into_bytes())).collect(), "json")
        }
        Form::Flent => {
            let files = flent::files(&manifest, &intervals);
            (files.map_err(|error| Failure::broken(format!("{}: {error}", directory.display())))?, "flent.gz")
        }
    };
    let named = |(flow, bytes): (u32, Vec<u8>)| {
        (FileName::cleaned(&format!("{}-flow{flow}.{extension}", manifest.run.directory)), bytes)
    };
    Ok(flows.into_iter().map(named).collect())
}

/// The runs of an experiment, or `directory` where it is a run.
fn runs(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    match ExperimentDirectory::open(directory)? {
        Some(experiment) if experiment.stored.records == Records::Summary => {
            Err(without_rows(&experiment, "this form has figures of every interval"))
        }
        Some(experiment) => Ok(experiment.run_directories()?),
        None => Ok(vec![directory.to_owned()]),
    }
}

fn save(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_output(path, bytes).map_err(Failure::file("writing", path))
}
