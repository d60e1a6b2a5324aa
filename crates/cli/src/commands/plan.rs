//! `pipefill plan`: what would be run.

use crate::args::PlanArgs;
use crate::asked::Asked;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::studies;
use crate::terminal::Terminal;
use pipefill_report::{json, plan as text};

/// Prints every run. No estimate: that is a backend's, and none is asked for here.
pub(super) fn plan(args: &PlanArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let study = studies::find(&args.file.to_string_lossy()).filter(|_| !args.file.exists());
    let asked = match study {
        Some(study) => Asked::study(study, &args.selection)?,
        None => Asked::file(&args.file, &args.selection)?,
    };
    let text = match args.json {
        true => json::plan(&asked.plan).map_err(Failure::Json)?,
        false => text::render(&asked.plan, None, terminal.list_style()),
    };
    terminal.print_result(&text, args.json)?;
    Ok(Outcome::Done)
}
