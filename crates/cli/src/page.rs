//! The report page of an experiment: what every run leaves beside its records, and `report --format html` writes.

use crate::evaluation::{Evaluated, evaluate};
use crate::failure::Failure;
use crate::proofs;
use crate::store::ExperimentDirectory;
use crate::terminal::Terminal;
use pipefill_analysis::experiment::quoted;
use pipefill_report::html::{self, Page};
use std::fs;
use std::path::{Path, PathBuf};

/// Its name.
const PAGE: &str = "report.html";

/// Where the page of the experiment in `directory` is.
pub(crate) fn path(directory: &Path) -> PathBuf {
    directory.join(PAGE)
}

/// Writes the page of `experiment`, in place of an earlier one.
///
/// # Errors
/// [`Failure`] where it can't be written.
pub(crate) fn leave(experiment: &ExperimentDirectory, evaluated: &Evaluated) -> Result<(), Failure> {
    let text = text(&experiment.path, scenario(experiment).as_deref(), evaluated)?;
    let path = path(&experiment.path);
    fs::write(&path, text).map_err(Failure::file("writing", &path))
}

/// Makes the page of `experiment` anew, if it has one.
///
/// # Errors
/// [`Failure`] where the records can't be read or it can't be written.
pub(crate) fn renew(experiment: &ExperimentDirectory, terminal: &Terminal) -> Result<(), Failure> {
    if path(&experiment.path).is_file() {
        leave(experiment, &evaluate(experiment, terminal)?)
    } else {
        Ok(())
    }
}

/// The page of what was read in `directory`.
///
/// # Errors
/// [`Failure`] for proofs beside the records that can't be read.
pub(crate) fn text(
    directory: &Path,
    scenario: Option<&str>,
    evaluated: &Evaluated,
) -> Result<String, Failure> {
    let proofs = proofs::read(directory)?;
    let directory = directory.to_string_lossy();
    let fix = format!("pipefill fix {}", quoted(&directory));
    let page =
        Page { experiment: &evaluated.result, runs: &evaluated.parts, proofs: &proofs, scenario, fix: &fix };
    html::render(&page).map_err(Failure::Json)
}

/// The copy of the scenario; `None` where somebody took it away.
pub(crate) fn scenario(experiment: &ExperimentDirectory) -> Option<String> {
    fs::read_to_string(experiment.scenario()).ok()
}
