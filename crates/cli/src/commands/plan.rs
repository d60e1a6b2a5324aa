//! `pipefill plan`: what would be run, what a profile stands for, and the scenario for tc's output.

use crate::args::PlanArgs;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use pipefill_core::scenario::{TC_TEXT_MAX, from_tc};
use pipefill_report::{json, plan as text};
use pipefill_runs::{Failure, PlannedScenario, profile_text, studies};
use serde_json::json;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// What a profile is shown as: the path of a scenario that names it; nothing of it is run.
const OF_PROFILE: &str = "name = \"profile\"\n";

/// Prints every run. No estimate: that is a backend's, and none is asked for here.
pub(super) fn plan(args: &PlanArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    match (&args.profile, &args.from_tc, &args.file) {
        (Some(name), ..) => profile(name, args.json, terminal),
        (_, Some(text), _) => scenario_of_tc(text, args.json, terminal),
        (.., Some(file)) => runs(file, args, terminal),
        _ => Err(Failure::usage("no scenario is given", "give a file, --profile NAME or --from-tc TEXT")),
    }
}

fn runs(file: &Path, args: &PlanArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let study = studies::find(&file.to_string_lossy()).filter(|_| !file.exists());
    let selection = args.selection.with_capture(false);
    let asked = match study {
        Some(study) => PlannedScenario::study(study, &selection)?,
        None => PlannedScenario::file(file, &selection)?,
    };
    let text = match args.json {
        true => json::plan(&asked.plan).map_err(Failure::json)?,
        false => text::render(&asked.plan, None, terminal.list_style()),
    };
    terminal.print_result(&text, args.json)?;
    Ok(Outcome::Done)
}

/// Prints the scenario for tc's output; on standard error what it leaves out.
fn scenario_of_tc(given: &str, as_json: bool, terminal: &Terminal) -> Result<Outcome, Failure> {
    let is_text = ["qdisc", "class"].iter().any(|word| given.trim_start().starts_with(word));
    let text = if is_text { given.to_owned() } else { tc_text(given)? };
    let made = from_tc(&text)?;
    if as_json {
        let document = json!({ "schema": 1, "scenario": made.text, "left_out": made.left_out });
        terminal.print_result(&serde_json::to_string_pretty(&document).map_err(Failure::json)?, true)?;
        return Ok(Outcome::Done);
    }
    terminal.print_result(&made.text, false)?;
    made.left_out.iter().for_each(|what| terminal.say(&format!("left out: {what}")));
    Ok(Outcome::Done)
}

/// The text of a file, or of standard input for `-`; as much of it as shows that it is too long.
fn tc_text(file: &str) -> Result<String, Failure> {
    let most = TC_TEXT_MAX as u64 + 1;
    let mut bytes = Vec::new();
    let read = match file {
        "-" => io::stdin().take(most).read_to_end(&mut bytes),
        file => File::open(file).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Failure::usage(
            format!("there is no file {file}"),
            "paste what `tc -s qdisc show` prints in quotes, or name a file that has it, or - for standard input",
        )),
        read => {
            read.map_err(Failure::file("reading", Path::new(file)))?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
    }
}

/// Prints the file of a profile as it is, sources included; as JSON with the path that it makes.
fn profile(name: &str, as_json: bool, terminal: &Terminal) -> Result<Outcome, Failure> {
    let set = format!("path.profile={name}");
    let asked = PlannedScenario::built_in("profile", OF_PROFILE, std::slice::from_ref(&set));
    let asked = asked.map_err(|failure| failure.as_typed(&[("--profile", set)]))?;
    let text = profile_text(name)?;
    let printed = match as_json {
        true => {
            let path = asked.plan.cells.first().map(|cell| &cell.spec.path);
            let document = json!({ "schema": 1, "profile": name, "text": text, "path": path });
            serde_json::to_string_pretty(&document).map_err(Failure::json)?
        }
        false => text,
    };
    terminal.print_result(&printed, as_json)?;
    Ok(Outcome::Done)
}
