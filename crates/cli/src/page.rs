//! The report page of an experiment: what every run leaves beside its records, and `report --format html` writes.

use crate::evaluation::{Evaluated, evaluate};
use crate::failure::Failure;
use crate::fix_file;
use crate::terminal::Terminal;
use pipefill_analysis::experiment::quoted;
use pipefill_report::html::{self, Page};
use pipefill_store::{ExperimentDirectory, files};
use std::path::{Path, PathBuf};

/// Its name.
const PAGE: &str = "report.html";

/// Where the page of the experiment in `directory` is.
pub(crate) fn path(directory: &Path) -> PathBuf {
    directory.join(PAGE)
}

/// Writes the page of `experiment`, in place of an earlier one; where it is.
///
/// # Errors
/// [`Failure`] where it can't be written.
pub(crate) fn leave(
    experiment: &ExperimentDirectory,
    evaluated: &Evaluated,
    terminal: &Terminal,
) -> Result<PathBuf, Failure> {
    let text = text(&experiment.path, experiment.scenario_text()?.as_deref(), evaluated, terminal)?;
    let path = path(&experiment.path);
    files::replace(&path, text.as_bytes())?;
    Ok(path)
}

/// Makes the page of `experiment` anew, if it has one.
///
/// # Errors
/// [`Failure`] where the records can't be read or it can't be written.
pub(crate) fn renew(experiment: &ExperimentDirectory, terminal: &Terminal) -> Result<(), Failure> {
    if path(&experiment.path).is_file() {
        leave(experiment, &evaluate(experiment, None, terminal)?, terminal).map(drop)
    } else {
        Ok(())
    }
}

/// The page of what was read in `directory`. Proofs beside the records that can't be read are left out, and that is said.
///
/// # Errors
/// [`Failure`] where it can't be made.
pub(crate) fn text(
    directory: &Path,
    scenario: Option<&str>,
    evaluated: &Evaluated,
    terminal: &Terminal,
) -> Result<String, Failure> {
    let proofs = fix_file::read(directory).unwrap_or_else(|failure| {
        terminal.say(&format!("note: the page shows no proofs: {failure}"));
        Vec::new()
    });
    let directory = directory.to_string_lossy();
    let fix = format!("pipefill fix {}", quoted(&directory));
    let page =
        Page { experiment: &evaluated.result, runs: &evaluated.parts, proofs: &proofs, scenario, fix: &fix };
    html::render(&page).map_err(Failure::Json)
}
