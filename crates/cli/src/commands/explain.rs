//! `pipefill explain`: what limited each cell of records, each flow of a capture, or each connection of another program's output, when, and how that is
//! known.

use super::report::named_or_newest;
use crate::args::{End, ExplainArgs};
use crate::library::{judge_capture, judge_output};
use crate::outcome::Outcome;
use crate::page::leave_page_of_connections;
use crate::terminal::Terminal;
use pipefill_analysis::findings::experiment::Experiment;
use pipefill_core::problem::Problem;
use pipefill_observe::{STDIN, capture_name, is_text, keep_output, read_output};
use pipefill_report::words::quoted;
use pipefill_report::{explain as text, json};
use pipefill_runs::{Failure, result_of};
use std::collections::BTreeSet;
use std::path::Path;

/// Reads the records and explains them. Done is done, whatever limited.
pub(super) fn explain(args: &ExplainArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let directory = &*named_or_newest(args.directory.as_deref(), terminal)?;
    if is_no_directory(directory) {
        records_only(directory, args)?;
        return if is_text(directory)? {
            output(directory, args, terminal)
        } else {
            capture(directory, args, terminal)
        };
    }
    output_only(directory, args)?;
    if let Some(out) = &args.out {
        return Err(Failure::usage(
            format!(
                "{} is records already, and --out {} would keep them again",
                directory.display(),
                out.display()
            ),
            "leave --out out: it keeps what another program printed",
        ));
    }
    let mut result = result_of(directory, args.blindfold.map(End::view), terminal)?;
    keep(&mut result, &args.only)?;
    if args.json {
        terminal.print_data(&json::explanations(&result).map_err(Failure::json)?)?;
    } else {
        let name = directory.to_string_lossy();
        let word = quoted(&name);
        let fix = format!("pipefill fix {word}");
        terminal.print(&text::render(&result, &fix, terminal.table_style()))?;
    }
    Ok(Outcome::Done)
}

/// Standard input, a file, a pipe.
fn is_no_directory(path: &Path) -> bool {
    path == Path::new(STDIN) || path.metadata().is_ok_and(|found| !found.is_dir())
}

/// Refuses options that are for records alone.
fn records_only(file: &Path, args: &ExplainArgs) -> Result<(), Failure> {
    if args.only.is_empty() && args.blindfold.is_none() {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{} is not a directory: --only and --blindfold are for records", file.display()),
        "leave them out: of a file each flow is explained, from what it shows alone",
    ))
}

/// Refuses `--context` for records and captures, which have queues and counters of their own.
fn output_only(path: &Path, args: &ExplainArgs) -> Result<(), Failure> {
    if args.context.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{} is not the output of another program: --context is for one", path.display()),
        "leave --context out",
    ))
}

/// Reads what another program printed, and explains its connections.
fn output(file: &Path, args: &ExplainArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let read = args.context.iter().try_fold(read_output(file)?, |read, context| read.beside(context))?;
    let found = judge_output(&read);
    if let Some(out) = &args.out {
        let written = keep_output(&read, out)?;
        terminal.say(&leave_page_of_connections(&written, terminal)?);
    }
    if args.json {
        terminal.print_data(&json::explained_output(&found).map_err(Failure::json)?)?;
    } else {
        terminal.print(&text::output(&found, &capture_name(file), terminal.table_style()))?;
    }
    Ok(Outcome::Done)
}

/// Reads the capture, whatever its name, and explains its flows.
fn capture(file: &Path, args: &ExplainArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    output_only(file, args)?;
    if let Some(out) = &args.out {
        return Err(Failure::usage(
            format!(
                "{} is a capture, and --out {} keeps what another program printed",
                file.display(),
                out.display()
            ),
            "leave --out out",
        ));
    }
    let found = judge_capture(file).map_err(|problem| neither(file, &problem))?;
    if args.json {
        terminal.print_data(&json::explained_capture(&found).map_err(Failure::json)?)?;
    } else {
        terminal.print(&text::capture(&found, &capture_name(file), terminal.table_style()))?;
    }
    Ok(if found.broken.is_some() { Outcome::Broken } else { Outcome::Done })
}

/// The problem of a file that can be read neither as records nor as a capture.
fn neither(file: &Path, problem: &Problem) -> Problem {
    Problem::usage(
        format!(
            "{} is a file, not the directory of an experiment or a run. As a capture: {problem}",
            file.display()
        ),
        "give the directory that `pipefill run` named, or a capture: pcap or pcapng, also in gzip or zstd",
    )
}

/// Leaves in `result` the cells that `only` names.
///
/// # Errors
/// [`Failure`] where it names none.
pub(super) fn keep(result: &mut Experiment, only: &[String]) -> Result<(), Failure> {
    if only.is_empty() {
        return Ok(());
    }
    let mut wanted = result.plan.clone();
    wanted.select(only)?;
    let ids: BTreeSet<&str> = wanted.cells.iter().map(|cell| cell.id.as_str()).collect();
    result.cells.retain(|cell| ids.contains(cell.id.as_str()));
    Ok(())
}
