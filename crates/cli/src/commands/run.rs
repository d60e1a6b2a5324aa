//! `pipefill run` and `pipefill study`: from the scenario to the table.

use crate::args::{BackendName, RecordsOf, RunArgs, RunOptions, StudyArgs};
use crate::outcome::{Invalid, Outcome};
use crate::run_reporter::RunReporter;
use crate::signals::stop_on_signals;
use crate::terminal::Terminal;
use pipefill_core::backend::Backend;
use pipefill_core::plan::Shard;
use pipefill_core::problem::Problem;
use pipefill_hosts::{Hosts, HostsOptions, read_key};
use pipefill_lab::{Lab, give_back_left, privilege};
use pipefill_report::words::quoted;
use pipefill_report::{json, table};
use pipefill_runs::studies::{self, STUDIES};
use pipefill_runs::{Failure, Finished, PlannedScenario, Session};
use pipefill_sim::Sim;
use pipefill_store::{Records, Registry, Removed};
use serde_json::json;
use std::path::Path;

/// What to do where the lab can't run.
pub(super) const ELSEWHERE: &str = "run it with --on sim";

/// Runs a scenario file.
pub(super) fn run(args: &RunArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let selection = args.selection.with_capture(args.capture);
    let asked = PlannedScenario { records: records(args)?, ..PlannedScenario::file(&args.file, &selection)? };
    let wanted = Wanted { asked, options: args.options.clone(), shard: args.shard };
    let finished =
        carry_out(vec![wanted], terminal, true, &|finished| show(finished, &args.options, terminal))?;
    if args.options.json {
        for experiment in &finished {
            terminal.print_data(&json::render(&experiment.result).map_err(Failure::json)?)?;
        }
    }
    Ok(worst(&finished))
}

/// What is kept. A summary has no place for what comes while a run is at work.
fn records(args: &RunArgs) -> Result<Records, Failure> {
    let without = |what: &str| {
        let why = format!("--records summary keeps no rows, and {what}");
        Err(Failure::usage(why, "leave one of the two out"))
    };
    match args.records {
        RecordsOf::Rows => Ok(Records::Rows),
        RecordsOf::Summary if args.capture => without("--capture needs a place for each run's packets"),
        RecordsOf::Summary if args.options.json_stream.is_some() => {
            without("--json-stream reads each cell's rows as it ends")
        }
        RecordsOf::Summary => Ok(Records::Summary),
    }
}

/// Runs a built-in study, or all of them.
pub(super) fn study(args: &StudyArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let Some(name) = args.name.as_ref().filter(|_| !args.list) else {
        return list(args.options.json, terminal);
    };
    let selection = args.selection.with_capture(args.capture);
    let experiments = studies::named(name)?
        .into_iter()
        .map(|study| {
            let mut options = args.options.clone();
            if name == studies::ALL {
                options.out = options.out.map(|out| out.join(study.name));
            }
            Ok(Wanted { asked: PlannedScenario::study(study, &selection)?, options, shard: None })
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let finished =
        carry_out(experiments, terminal, true, &|finished| show(finished, &args.options, terminal))?;
    if args.options.json {
        terminal.print_data(&studies_json(name, &finished)?)?;
    }
    Ok(worst(&finished))
}

/// Undoes what killed runs left behind, and prints what was undone.
pub(super) fn tidy(registry: &Registry, terminal: &Terminal) -> Result<(), Failure> {
    give_back_left().iter().for_each(|line| terminal.say(line));
    tell(&registry.sweep()?, terminal);
    Ok(())
}

/// Prints what a sweep has removed.
pub(super) fn tell(removed: &[Removed], terminal: &Terminal) {
    for entry in removed {
        terminal.say(&entry.line());
    }
}

/// An experiment of a command.
pub(super) struct Wanted {
    /// What is to be run.
    pub(super) asked: PlannedScenario,
    /// How and where.
    pub(super) options: RunOptions,
    /// Which part of it.
    pub(super) shard: Option<Shard>,
}

impl Wanted {
    fn prepared(self, backend: &dyn Backend) -> Result<(PlannedScenario, RunOptions), Failure> {
        let asked = self.asked.on(backend);
        let asked = match self.shard {
            Some(shard) => asked.part(shard, backend)?,
            None => asked,
        };
        Ok((asked, self.options))
    }
}

/// Prepares the backend — in this order: nothing is made before it is known that the machine can do it — and runs every
/// experiment; `each` sees them as they end. With `leaves_pages` each leaves its page beside its records.
pub(super) fn carry_out(
    experiments: Vec<Wanted>,
    terminal: &Terminal,
    leaves_pages: bool,
    each: &dyn Fn(&Finished) -> Result<(), Failure>,
) -> Result<Vec<Finished>, Failure> {
    // All experiments of a command are asked for with the same options.
    let options = experiments.first().map(|wanted| &wanted.options);
    let on = options.map_or(BackendName::Lab, |options| options.on);
    let registry = Registry::locate()?.optional(on == BackendName::Sim);
    // The process has one thread until here, and has to: see `acquire`.
    let backend = match options.filter(|_| on == BackendName::Hosts) {
        Some(options) => between_hosts(options)?,
        None => backend(on)?,
    };
    let prepared = experiments.into_iter().map(|wanted| wanted.prepared(&*backend));
    let experiments = prepared.collect::<Result<Vec<_>, _>>()?;
    let stop = stop_on_signals()?;
    tidy(&registry, terminal)?;
    let session = Session { backend: &*backend, registry: &registry, stop: &stop, base: Path::new("") };
    for (asked, _) in &experiments {
        session.check(asked)?;
    }
    experiments
        .iter()
        .map(|(asked, options)| {
            let reporter = RunReporter::new(terminal, &stop, options, leaves_pages);
            let finished = session.perform(asked, &options.of_runs(), &reporter)?;
            each(&finished)?;
            Ok(finished)
        })
        .collect()
}

/// The backend of runs between hosts, which have one run at a time.
fn between_hosts(options: &RunOptions) -> Result<Box<dyn Backend>, Failure> {
    if options.jobs() > 1 {
        return Err(Failure::usage("runs between the same hosts disturb each other", "leave --jobs out"));
    }
    let said = &options.hosts;
    Ok(Box::new(Hosts::new(HostsOptions {
        allows_sysctl: said.allow_sysctl,
        executable: said.agent.clone(),
        key: said.key.as_deref().map(read_key).transpose()?,
    })))
}

/// The backend called `on`.
pub(super) fn backend(on: BackendName) -> Result<Box<dyn Backend>, Failure> {
    match on {
        BackendName::Sim => return Ok(Box::new(Sim::new())),
        BackendName::Hosts => return Ok(Box::new(Hosts::new(HostsOptions::default()))),
        BackendName::Lab => {}
    }
    let privilege = privilege::acquire().map_err(|denied| {
        let remedy = denied.remedy.unwrap_or_default();
        Problem::machine(denied.what, format!("{remedy}; or {ELSEWHERE}"))
    })?;
    Ok(Box::new(Lab::new(privilege)))
}

/// Prints the table of each study when it ends; JSON is one document at the end.
fn show(finished: &Finished, options: &RunOptions, terminal: &Terminal) -> Result<(), Failure> {
    if !options.json && options.json_stream.is_none() {
        terminal.print(&table::render(&finished.result, terminal.table_style()))?;
    }
    let directory = finished.directory.to_string_lossy();
    let word = quoted(&directory);
    if options.quiet {
        say_chosen(&finished.directory, options.out.as_deref(), terminal);
    } else {
        terminal.say(&format!("\nrecords: {directory}"));
        if let Some(page) = &finished.page {
            terminal.say(&format!("page: {}", page.display()));
        }
        terminal.say(&format!("more: pipefill explain {word}; pipefill report {word} --format md"));
        let invalid = Invalid::of(&finished.result);
        invalid.iter().for_each(|invalid| terminal.say(&invalid.line(&word)));
    }
    Ok(())
}

/// With `--quiet`: the directory alone, unless the user named it.
pub(super) fn say_chosen(directory: &Path, named: Option<&Path>, terminal: &Terminal) {
    if named.is_none() {
        terminal.say(&directory.to_string_lossy());
    }
}

fn list(as_json: bool, terminal: &Terminal) -> Result<Outcome, Failure> {
    let mut rows = Vec::new();
    for study in STUDIES {
        let asked = PlannedScenario::study(*study, &Default::default())?;
        rows.push((study.name, asked.plan.title.clone().unwrap_or_default(), asked.plan.run_count()));
    }
    let text = if as_json {
        let studies: Vec<_> = rows
            .iter()
            .map(|(name, title, runs)| json!({"name": name, "title": title, "runs": runs}))
            .collect();
        let document = json!({"schema": 1, "studies": studies});
        serde_json::to_string_pretty(&document).map_err(Failure::json)? + "\n"
    } else {
        let line = |(name, title, runs): &(&str, String, usize)| format!("{name:<10}{title} ({runs} runs)\n");
        rows.iter().map(line).collect()
    };
    terminal.print_result(&text, as_json)?;
    Ok(Outcome::Done)
}

/// One study as `run` has it; for `all` a list.
fn studies_json(name: &str, finished: &[Finished]) -> Result<String, Failure> {
    match finished {
        [experiment] if name != studies::ALL => json::render(&experiment.result).map_err(Failure::json),
        _ => {
            let results: Vec<_> = finished.iter().map(|experiment| &experiment.result).collect();
            let document = json!({"schema": 1, "experiments": results});
            Ok(serde_json::to_string_pretty(&document).map_err(Failure::json)? + "\n")
        }
    }
}

/// The exit code of several experiments is the worst one's.
pub(super) fn worst(finished: &[Finished]) -> Outcome {
    let outcomes = finished.iter().map(|experiment| Outcome::of(&experiment.result));
    outcomes.max().unwrap_or(Outcome::Done)
}
