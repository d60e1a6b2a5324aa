//! The report page of an experiment: what every run leaves beside its records, and `report --format html` writes.

use crate::capture_graphs::page::{RUNS, of_run};
use crate::terminal::Terminal;
use pipefill_analysis::findings::experiment::CellResult;
use pipefill_core::file_name::FileName;
use pipefill_report::html::{self, Page, RunCapture, RunIndex, RunPart};
use pipefill_report::quantity::counted;
use pipefill_report::words::quoted;
use pipefill_runs::{Curves, Evaluated, Failure, Written, evaluate, fix_file};
use pipefill_store::{ExperimentDirectory, artifact_path, files};
use std::fs;
use std::path::{Path, PathBuf};

/// Its name.
const PAGE: &str = "report.html";
/// Most cells of an experiment whose page is left without being asked for: a page has some 10 kB of each.
const CELLS_MAX: usize = 1_000;
/// The capture of a run that is drawn.
const CAPTURE: &str = "sender.pcapng";

/// Where the records of runs are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RecordsLocation<'a> {
    /// Below this folder, each under its name.
    Runs(&'a Path),
    /// In this directory the only one.
    Run(&'a Path),
}

impl RecordsLocation<'_> {
    fn of(self, name: &str) -> PathBuf {
        match self {
            Self::Runs(folder) => folder.join(name),
            Self::Run(directory) => directory.to_owned(),
        }
    }
}

/// Where the page of the experiment in `directory` is.
pub(crate) fn path(directory: &Path) -> PathBuf {
    directory.join(PAGE)
}

/// Whether a page is left with the records of `experiment`: not of thousands of cells, for which `report --format html` makes one.
pub(crate) fn is_of_use(experiment: &ExperimentDirectory) -> bool {
    experiment.stored.plan.cells.len() <= CELLS_MAX
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
    let (runs, scenario) = (experiment.runs(), experiment.scenario_text()?);
    let text =
        text(&experiment.path, RecordsLocation::Runs(&runs), scenario.as_deref(), evaluated, terminal)?;
    let path = path(&experiment.path);
    files::replace(&path, text.as_bytes())?;
    Ok(path)
}

/// As [`leave`], where a page is of use. If writing fails, a note is printed and the result stays.
pub(crate) fn try_leave(
    experiment: &ExperimentDirectory,
    evaluated: &Evaluated,
    terminal: &Terminal,
) -> Option<PathBuf> {
    let page = is_of_use(experiment).then(|| leave(experiment, evaluated, terminal))?;
    let told = |failure: &Failure| {
        terminal.say(&format!(
            "note: there is no report page: {failure}; the records are complete, make it with pipefill report {} \
             --format html -o FILE",
            experiment.path.display()
        ));
    };
    page.inspect_err(told).ok()
}

/// Leaves the page of connections that were written. Returns lines that say how many there are, and where.
///
/// # Errors
/// [`Failure`] where the records can't be read.
pub(crate) fn leave_page_of_connections(written: &Written, terminal: &Terminal) -> Result<String, Failure> {
    let Written { experiment, connections } = written;
    let connections = counted(*connections as u64, "connection(s)");
    let mut lines = format!("records of {connections}: {}", experiment.path.display());
    if is_of_use(experiment)
        && let Some(page) =
            try_leave(experiment, &evaluate(experiment, None, Curves::Drawn, terminal)?, terminal)
    {
        lines += &format!("\npage: {}", page.display());
    }
    Ok(lines)
}

/// Makes the page of `experiment` anew, if it has one.
///
/// # Errors
/// [`Failure`] where the records can't be read or it can't be written.
pub(crate) fn renew(experiment: &ExperimentDirectory, terminal: &Terminal) -> Result<(), Failure> {
    if path(&experiment.path).is_file() {
        leave(experiment, &evaluate(experiment, None, Curves::Drawn, terminal)?, terminal).map(drop)
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
    place: RecordsLocation<'_>,
    scenario: Option<&str>,
    evaluated: &Evaluated,
    terminal: &Terminal,
) -> Result<String, Failure> {
    let proofs = fix_file::read(directory).unwrap_or_else(|failure| {
        terminal.say(&format!("note: the page shows no proofs: {failure}"));
        Vec::new()
    });
    let captures = captures(place, evaluated, terminal);
    let directory = directory.to_string_lossy();
    let fix = format!("pipefill fix {}", quoted(&directory));
    let page = Page {
        experiment: &evaluated.result,
        runs: &evaluated.parts,
        captures: &captures,
        proofs: &proofs,
        scenario,
        fix: &fix,
    };
    html::render(&page).map_err(Failure::json)
}

/// The sender's captures of the runs that the verdicts of the cells are about, as far as there are any. One that can't be read is left
/// out, and that is said.
fn captures(place: RecordsLocation<'_>, evaluated: &Evaluated, terminal: &Terminal) -> Vec<RunCapture> {
    let index = RunIndex::of(&evaluated.result, &evaluated.parts);
    let told = evaluated.result.cells.iter().filter_map(|cell| Some((cell, index.of_verdict(cell)?)));
    let path = |part: &RunPart| artifact_path(&place.of(&part.series.directory), &FileName::cleaned(CAPTURE));
    let captured: Vec<(&CellResult, &RunPart, PathBuf)> = told
        .map(|(cell, part)| (cell, part, path(part)))
        .filter(|(.., path)| fs::symlink_metadata(path).is_ok_and(|found| found.is_file()))
        .take(RUNS)
        .collect();
    let read = |(cell, part, path): &(&CellResult, &RunPart, PathBuf)| {
        let segments = of_run(path, &cell.coordinates(), captured.len());
        let segments = segments.map_err(|failure| {
            terminal.say(&format!("note: the page does not show {}: {failure}", path.display()));
        });
        Some(RunCapture { directory: part.series.directory.clone(), segments: segments.ok()? })
    };
    captured.iter().filter_map(read).collect()
}
