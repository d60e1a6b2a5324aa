//! `pipefill merge`: the shards of an experiment, wherever they were run, as one experiment.

use super::run::tell;
use crate::args::MergeArgs;
use crate::outcome::Outcome;
use crate::page;
use crate::signals::stop_on_signals;
use crate::terminal::Terminal;
use pipefill_report::words::quoted;
use pipefill_runs::{Claim, Curves, Failure, ensure_directory, evaluate, resume_command, shard_command};
use pipefill_store::{ExperimentDirectory, Owner, Registry, Shards, ShardsError};
use serde_json::json;
use std::path::Path;

/// Copies every run of every shard into one directory, and leaves the page there as `run` does.
pub(super) fn merge(args: &MergeArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let parts = args.shards.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
    let told = |error| explained(error, &parts);
    let shards = Shards::gather(parts.clone()).map_err(told)?;
    let sources = shards.sources().map_err(told)?;
    let registry = Registry::locate()?.optional(true);
    let stop = stop_on_signals()?;
    tell(&registry.sweep()?, terminal);
    let (owner, request) = (Owner::current()?, shards.request());
    let (base, out) = (Path::new(""), Some(args.out.as_path()));
    let claim = Claim {
        request: &request,
        base,
        out,
        resume: true,
        owner: &owner,
        registry: &registry,
        reporter: terminal,
    };
    let claimed = claim.settle()?;
    let experiment = &claimed.experiment;
    let go_on = || claimed.lock.check().map(|()| !stop.is_requested());
    let (kept, total) =
        (shards.copy(&sources, experiment, &owner, go_on)?, experiment.stored.plan.run_count());
    if kept < total {
        return Err(Failure::usage(
            format!("stopped; {kept} of {total} runs are in {}", args.out.display()),
            "give the same command again: it adds what is missing",
        ));
    }
    if page::is_of_use(experiment) {
        let _said =
            page::try_leave(experiment, &evaluate(experiment, None, Curves::Drawn, terminal)?, terminal);
    }
    say(args, experiment, &shards, terminal)?;
    Ok(Outcome::Done)
}

fn open(path: &Path) -> Result<ExperimentDirectory, Failure> {
    ensure_directory(path)?;
    ExperimentDirectory::open(path)?.ok_or_else(|| {
        Failure::usage(
            format!("{} holds no experiment", path.display()),
            "give the directories that `pipefill run FILE --shard I/N` named",
        )
    })
}

fn say(
    args: &MergeArgs,
    experiment: &ExperimentDirectory,
    shards: &Shards,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let plan = &experiment.stored.plan;
    let (name, directory) = (plan.experiment.to_string(), args.out.to_string_lossy());
    let (cells, runs, count) = (plan.cells.len(), plan.run_count(), shards.count());
    if args.json {
        let document = json!({
            "schema": 1, "experiment": name, "directory": directory, "shards": count, "cells": cells, "runs": runs,
        });
        let text = serde_json::to_string_pretty(&document).map_err(Failure::json)?;
        return Ok(terminal.print_data(&(text + "\n"))?);
    }
    let word = quoted(&directory);
    terminal.print(&format!(
        "{name}: {runs} runs of {cells} cells, from {count} directories, in {directory}\n"
    ))?;
    terminal.say(&format!("more: pipefill report {word}; pipefill explain {word}"));
    Ok(())
}

/// What is wrong with the shards, and the commands that make what is missing.
fn explained(error: ShardsError, parts: &[ExperimentDirectory]) -> Failure {
    let what = error.to_string();
    let help = match (error, parts) {
        (ShardsError::Store(error), _) => return error.into(),
        (ShardsError::Missing { shards }, [first, ..]) => {
            let commands: Vec<String> = shards.iter().map(|&shard| shard_command(first, shard)).collect();
            format!("make it, and give its directory too:\n  {}", commands.join("\n  "))
        }
        (ShardsError::Unfinished { directory, .. }, _) => {
            match parts.iter().find(|part| part.path == directory) {
                Some(part) => format!("complete it: {}", resume_command(part)),
                None => "complete it with --resume".to_owned(),
            }
        }
        _ => {
            "give shards of one plan only, cut into as many parts, made by one version of pipefill".to_owned()
        }
    };
    Failure::usage(what, help)
}
