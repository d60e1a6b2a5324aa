//! `pipefill report --format iperf3`: a document for each flow of each run.
//!
//! Never: two flows in one document, or some of them left out because there is no place for them.

use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::store::{ExperimentDirectory, cut};
use crate::terminal::Terminal;
use pipefill_report::iperf3::{self, INTERVAL_US};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes them: a single one to standard output or into the file `output`, several into the folder `output`.
pub(super) fn write(
    directory: &Path,
    output: Option<&Path>,
    terminal: &Terminal,
) -> Result<Outcome, Failure> {
    let documents = documents(directory)?;
    match (&documents[..], output) {
        ([], _) => {
            return Err(Failure::usage(
                format!("{} holds no run with a TCP or UDP flow", directory.display()),
                "give the directory that `pipefill run` named, or one of those under its runs/",
            ));
        }
        ([(_, text)], None) => terminal.print(text)?,
        ([(_, text)], Some(path)) if !path.is_dir() => save(path, text)?,
        (several, Some(folder)) => {
            fs::create_dir_all(folder).map_err(Failure::file("making", folder))?;
            for (name, text) in several {
                save(&folder.join(name), text)?;
            }
        }
        (several, None) => {
            return Err(Failure::usage(
                format!(
                    "{} holds {} flows, and each is a document of its own",
                    directory.display(),
                    several.len()
                ),
                "name a folder for them with -o FOLDER, or give the directory of a single run",
            ));
        }
    }
    Ok(Outcome::Done)
}

/// Of each flow, with the name of its file.
fn documents(directory: &Path) -> Result<Vec<(String, String)>, Failure> {
    let mut documents = Vec::new();
    for run in runs(directory)? {
        let Some((manifest, intervals)) = cut(&run, INTERVAL_US)? else { continue };
        for (flow, text) in iperf3::documents(&manifest, &intervals).map_err(Failure::Json)? {
            documents.push((format!("{}-flow{flow}.json", manifest.run.directory), text));
        }
    }
    Ok(documents)
}

/// Those of an experiment, or the one that `directory` is.
fn runs(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    match ExperimentDirectory::open(directory)? {
        Some(experiment) => experiment.run_directories(),
        None => Ok(vec![directory.to_owned()]),
    }
}

fn save(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(Failure::file("writing", path))
}
