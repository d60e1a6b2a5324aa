//! Runs a scenario in the simulator, and prints what limited each cell.
//!
//! `cargo run -p pipefill --example run_scenario -- scenarios/first.toml`

use pipefill::{Failure, Options, PlannedScenario, Selection, Sim, Stop, Unreported};
use std::path::{Path, PathBuf};

fn main() -> Result<(), Failure> {
    let file =
        std::env::args_os().nth(1).map_or_else(|| PathBuf::from("scenarios/first.toml"), PathBuf::from);
    print!("{}", verdicts(&file, None)?);
    Ok(())
}

/// A line for each cell; the records stay in `out`, or in `pipefill-runs/NAME`.
pub(crate) fn verdicts(file: &Path, out: Option<PathBuf>) -> Result<String, Failure> {
    let quick = Selection { quick: true, ..Selection::default() };
    let planned = PlannedScenario::file(file, &quick)?;
    let options = Options { out, jobs: 2, resume: false };
    let finished = pipefill::run_scenario(planned, &Sim::new(), &options, &Unreported, &Stop::default())?;
    let mut lines = String::new();
    for cell in finished.result.cells {
        lines +=
            &format!("{}: {}\n", cell.coordinates(), cell.verdict.sentence.as_deref().unwrap_or("unknown"));
    }
    Ok(lines)
}
