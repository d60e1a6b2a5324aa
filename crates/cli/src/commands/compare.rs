//! `pipefill compare`: two recorded experiments, cell by cell.

use crate::args::CompareArgs;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use pipefill_analysis::findings::changes::{CellChange, Changes};
use pipefill_analysis::findings::experiment::{CellResult, Experiment};
use pipefill_report::{changes as text, json};
use pipefill_runs::{Failure, result_of};

/// Reads both and compares them. A regression is exit code 1, so that it can stop a pipeline.
pub(super) fn compare(args: &CompareArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let (before, after) = (result_of(&args.before, None, terminal)?, result_of(&args.after, None, terminal)?);
    let names = [&args.before, &args.after].map(|directory| directory.to_string_lossy());
    let changes = Changes::of((&names[0], &before), (&names[1], &after), args.threshold.fraction());
    if changes.cells.is_empty() {
        return Err(nothing_in_common(&before, &after));
    }
    let text = match args.json {
        true => json::changes(&changes).map_err(Failure::json)?,
        false => text::render(&changes, terminal.table_style()),
    };
    terminal.print_result(&text, args.json)?;
    Ok(outcome(&changes))
}

/// A regression decides, even if other cells can't be judged.
fn outcome(changes: &Changes) -> Outcome {
    if changes.regressions > 0 {
        Outcome::Regression
    } else if changes.cells.iter().any(CellChange::is_unusable) {
        Outcome::Invalid
    } else {
        Outcome::Done
    }
}

fn nothing_in_common(before: &Experiment, after: &Experiment) -> Failure {
    let cells = |experiment: &Experiment| -> String {
        let ran = experiment.cells.iter().filter(|cell| cell.runs > 0);
        let names: Vec<String> = ran.map(CellResult::coordinates).collect();
        if names.is_empty() { "no run".to_owned() } else { names.join("; ") }
    };
    Failure::usage(
        "the two experiments have no cell in common",
        format!(
            "cells are matched by their values on the axes. Before: {}. After: {}",
            cells(before),
            cells(after)
        ),
    )
}
