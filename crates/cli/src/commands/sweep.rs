//! `pipefill sweep`: a matrix in shards on an engine; how far they are; those that failed once more; all of them merged.

use crate::args::{Engine, SweepArgs};
use crate::outcome::Outcome;
use crate::signals::stop_on_signals;
use crate::sweep::{ClusterVolume, Description, Sweep, manifest, own_child};
use crate::terminal::Terminal;
use pipefill_report::sweep::{SweepStatus, ranges};
use pipefill_report::table;
use pipefill_report::words::quoted;
use pipefill_runs::{Curves, Failure, PlannedScenario, evaluate};
use pipefill_store::ExperimentDirectory;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Begins a sweep, or goes on with one.
pub(super) fn sweep(args: &SweepArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    match Sweep::open(&args.file)? {
        Some(sweep) if args.merge => merge(&sweep, args.json, terminal),
        Some(mut sweep) if args.resume => go_on(&mut sweep, args, terminal),
        Some(_) if args.engine.is_some() => Err(Failure::usage(
            format!("{} is the directory of a sweep", args.file.display()),
            "leave --engine out to look at it, or give a scenario file and another directory with --out",
        )),
        Some(sweep) => show(&sweep, args.json, terminal),
        None if args.merge || args.resume => Err(Failure::usage(
            format!("{} is not the directory of a sweep", args.file.display()),
            "give the directory that --out named",
        )),
        None => begin(args, terminal),
    }
}

fn begin(args: &SweepArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let selection = args.selection.with_capture(args.capture);
    let asked = PlannedScenario::file(&args.file, &selection)?;
    let description = Description::new(args, &asked)?;
    if args.engine == Some(Engine::Kubernetes) {
        return print_manifest(&description, args, &asked, terminal);
    }
    let out = args.out.as_ref().ok_or_else(|| {
        Failure::usage("a sweep needs a directory", "write --out DIR, on a file system that every node has")
    })?;
    let mut sweep = Sweep::create(out, description, &asked.text)?;
    go_on(&mut sweep, args, terminal)
}

fn print_manifest(
    description: &Description,
    args: &SweepArgs,
    asked: &PlannedScenario,
    terminal: &Terminal,
) -> Result<Outcome, Failure> {
    let own = format!("pipefill:{}", env!("CARGO_PKG_VERSION"));
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(asked.plan.experiment.to_string()));
    let image = args.image.as_deref().unwrap_or(&own);
    let place = ClusterVolume::new(image, &args.claim, &folder, args.on)?;
    let text =
        serde_json::to_string_pretty(&manifest(description, &asked.text, &place)).map_err(Failure::json)?;
    terminal.print_data(&(text + "\n"))?;
    terminal.say(&format!(
        "when the job is complete, where the volume is: pipefill merge {0}/shards/* --out {0}/merged",
        quoted(&folder.to_string_lossy())
    ));
    Ok(Outcome::Done)
}

/// Runs what is lacking. All are merged once they are done.
fn go_on(sweep: &mut Sweep, args: &SweepArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let stop = stop_on_signals()?;
    sweep.carry_out(args.wait, &stop, terminal)?;
    let status = sweep.status()?;
    if status.is_done() {
        return merge(sweep, args.json, terminal);
    }
    match status.lacking().is_empty() {
        true => show(sweep, args.json, terminal),
        false => Err(not_done(sweep, &status)),
    }
}

/// Which shards are not done, where their logs are, and what to do.
fn not_done(sweep: &Sweep, status: &SweepStatus<'_>) -> Failure {
    /// How many logs are named.
    const SHOWN: usize = 3;
    let (open, word) = (status.open(), sweep.word());
    let logs = sweep.logs(&open);
    let logs: Vec<_> = logs.iter().take(SHOWN).map(|log| log.display().to_string()).collect();
    let help = match status.lacking().is_empty() {
        true => format!("wait for them; how far they are: pipefill sweep {word}"),
        false => format!("run them again: pipefill sweep {word} --resume"),
    };
    let (open, count) = (ranges(&open), status.shards.len());
    Failure::usage(format!("shards {open} of {count} are not done; see {}", logs.join(", ")), help)
}

fn show(sweep: &Sweep, as_json: bool, terminal: &Terminal) -> Result<Outcome, Failure> {
    let merged = sweep.merged();
    let merged = merged.to_str().filter(|_| merged.exists());
    let mut status = sweep.status()?;
    status.merged = merged;
    if as_json {
        let text = serde_json::to_string_pretty(&status).map_err(Failure::json)?;
        terminal.print_data(&(text + "\n"))?;
        return Ok(Outcome::Done);
    }
    terminal.print(&status.render())?;
    let word = sweep.word();
    if merged.is_some() {
        terminal.say(&format!("merged: pipefill report {word}/merged"));
    } else if status.is_done() {
        terminal.say(&format!("merge them: pipefill sweep {word} --merge"));
    } else if !status.lacking().is_empty() {
        terminal.say(&format!("run those again that are not done: pipefill sweep {word} --resume"));
    }
    Ok(Outcome::Done)
}

/// Merges the shards by `pipefill merge`, and judges the whole.
fn merge(sweep: &Sweep, as_json: bool, terminal: &Terminal) -> Result<Outcome, Failure> {
    let status = sweep.status()?;
    if !status.is_done() {
        return Err(not_done(sweep, &status));
    }
    let merged = sweep.merged();
    put_together(&sweep.shard_directories(), &merged)?;
    let experiment = ExperimentDirectory::open(&merged)?
        .ok_or_else(|| Failure::broken(format!("{} is gone", merged.display())))?;
    let result = evaluate(&experiment, None, Curves::LeftOut, terminal)?.result;
    if as_json {
        show(sweep, true, terminal)?;
    } else {
        terminal.print(&table::render(&result, terminal.table_style()))?;
        terminal.say(&format!("\nrecords: {}", merged.display()));
    }
    Ok(Outcome::of(&result))
}

/// In a process of its own, as a person would call it.
fn put_together(shards: &[PathBuf], merged: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::broken(format!("pipefill merge cannot be started: {error}"));
    let mut command = own_child()?;
    command.arg("merge").args(shards).arg("--out").arg(merged);
    let output = command.stdout(Stdio::null()).output().map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim();
    Err(Failure::broken(said.strip_prefix("error: ").unwrap_or(said).to_owned()))
}
