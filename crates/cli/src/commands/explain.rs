//! `pipefill explain`: what limited each cell, when, and how that is known.

use super::report::result_of;
use crate::args::{End, ExplainArgs};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::select;
use crate::terminal::Terminal;
use pipefill_analysis::experiment::{Experiment, quoted};
use pipefill_report::{explain as text, json};

/// Reads the records and explains them. Done is done, whatever limited.
pub(super) fn explain(args: &ExplainArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let mut result = result_of(&args.directory, args.blindfold.map(End::view), terminal)?;
    keep(&mut result, &args.only)?;
    if args.json {
        terminal.print_data(&json::explanations(&result).map_err(Failure::Json)?)?;
    } else {
        let directory = args.directory.to_string_lossy();
        let word = quoted(&directory);
        let fix = format!("pipefill fix {word}");
        terminal.print(&text::render(&result, &fix, terminal.table_style()))?;
    }
    Ok(Outcome::Done)
}

/// Leaves in `result` the cells that `only` names.
///
/// # Errors
/// [`Failure::Usage`] where it names none.
pub(super) fn keep(result: &mut Experiment, only: &[String]) -> Result<(), Failure> {
    let mut wanted = result.plan.clone();
    select::only(&mut wanted, only)?;
    result.cells.retain(|cell| wanted.cells.iter().any(|other| other.id == cell.id));
    Ok(())
}
