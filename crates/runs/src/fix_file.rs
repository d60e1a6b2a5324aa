//! What came of trying an experiment's advice, beside its records: `fix` leaves it there, the report page shows it.

use crate::failure::Failure;
use crate::reporter::Reporter;
use pipefill_analysis::findings::fix::Proof;
use pipefill_report::json;
use pipefill_store::files;
use serde::Deserialize;
use std::fs;
use std::path::Path;

/// Its name, beside the records that were fixed and in the directory of the new ones.
const FILE: &str = "fix.json";
/// Its name once it was found damaged.
const KEPT: &str = "fix.damaged.json";

#[derive(Debug, Deserialize)]
struct Document {
    cells: Vec<Proof>,
}

/// Those in `directory`; none where nobody tried.
///
/// # Errors
/// [`Failure`] for a file that can't be read, or is none of ours.
pub fn read(directory: &Path) -> Result<Vec<Proof>, Failure> {
    text(directory)?.map_or(Ok(Vec::new()), |text| proofs_in(directory, &text))
}

/// What the file says; `None` where there is none.
fn text(directory: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let path = directory.join(FILE);
    match files::read(&path, files::DOCUMENT_MAX) {
        Err(error) if files::is_absent(&error) => Ok(None),
        read => Ok(Some(read.map_err(Failure::file("reading", &path))?)),
    }
}

fn proofs_in(directory: &Path, text: &[u8]) -> Result<Vec<Proof>, Failure> {
    let document = serde_json::from_slice(text).map(|document: Document| document.cells);
    document
        .map_err(|error| Failure::broken(format!("{} is damaged: {error}", directory.join(FILE).display())))
}

/// Writes `proofs` of `experiment` into `directory`.
///
/// # Errors
/// [`Failure`] where that can't be done.
pub fn write(directory: &Path, experiment: &str, proofs: &[Proof]) -> Result<(), Failure> {
    let path = directory.join(FILE);
    let document = json::proofs(experiment, proofs).map_err(Failure::json)?;
    Ok(files::replace(&path, document.as_bytes())?)
}

/// Adds `proofs`, whose records are in `records`, to those that `directory` has, in place of what it has of the same cells. A damaged
/// file there is kept under another name.
///
/// # Errors
/// [`Failure`] where that can't be done.
pub fn add(
    directory: &Path,
    experiment: &str,
    proofs: &[Proof],
    records: &Path,
    reporter: &dyn Reporter,
) -> Result<(), Failure> {
    let records = std::path::absolute(records).map_err(Failure::file("finding", records))?;
    let from_here = |place: &str| records.join(place).to_string_lossy().into_owned();
    let text = text(directory)?;
    let mut all = match text.map_or(Ok(Vec::new()), |text| proofs_in(directory, &text)) {
        Err(damaged) => {
            let (path, kept) = (directory.join(FILE), directory.join(KEPT));
            fs::rename(&path, &kept).map_err(Failure::file("moving", &path))?;
            reporter.say(&format!("note: {damaged}; it is kept as {}", kept.display()));
            Vec::new()
        }
        Ok(all) => all,
    };
    all.retain(|old| !proofs.iter().any(|new| new.id == old.id && new.backend == old.backend));
    for proof in proofs {
        let mut proof = proof.clone();
        for round in &mut proof.rounds {
            round.before_directory = from_here(&round.before_directory);
            round.after_directory = from_here(&round.after_directory);
        }
        all.push(proof);
    }
    all.sort_by_key(|proof| proof.index);
    write(directory, experiment, &all)
}
