//! `pipefill plan`: what would be run.

use crate::args::PlanArgs;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use pipefill_report::{json, plan as text};
use pipefill_runs::Failure;
use pipefill_runs::PlannedScenario;
use pipefill_runs::studies;

/// Prints every run. No estimate: that is a backend's, and none is asked for here.
pub(super) fn plan(args: &PlanArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let study = studies::find(&args.file.to_string_lossy()).filter(|_| !args.file.exists());
    let selection = args.selection.with_capture(false);
    let asked = match study {
        Some(study) => PlannedScenario::study(study, &selection)?,
        None => PlannedScenario::file(&args.file, &selection)?,
    };
    let text = match args.json {
        true => json::plan(&asked.plan).map_err(Failure::json)?,
        false => text::render(&asked.plan, None, terminal.list_style()),
    };
    terminal.print_result(&text, args.json)?;
    Ok(Outcome::Done)
}
