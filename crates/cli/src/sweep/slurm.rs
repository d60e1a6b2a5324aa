//! The engine `slurm`: an array job, with a task for each shard.

use super::{Description, Queued, SHARD, Sweep, shell};
use pipefill_core::problem::Problem;
use pipefill_report::sweep::ranges;
use pipefill_report::words::quoted;
use pipefill_runs::{Failure, Stop};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The script of every task, in the sweep's directory.
const SCRIPT: &str = "job.sh";
/// From one look at the queue to the next: Slurm's manuals ask for not many.
const LOOK: Duration = Duration::from_secs(5);
const STOP_LOOK: Duration = Duration::from_millis(100);

/// Queues an array job of `shards`; Slurm's id for it.
///
/// # Errors
/// No sbatch here, or one that refuses.
pub(super) fn submit(sweep: &Sweep, shards: &[u32]) -> Result<String, Failure> {
    let program = super::program()?;
    let text = script(&sweep.description, &sweep.path, &quoted(&program.to_string_lossy()));
    super::write(&sweep.path.join(SCRIPT), &text)?;
    let output =
        called(Command::new("sbatch").args(arguments(&sweep.description, shards)).arg(SCRIPT), &sweep.path)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    // `--parsable` prints the id, and behind a semicolon the cluster.
    let id = printed.trim().split(';').next().unwrap_or_default().to_owned();
    if output.status.success() && !id.is_empty() {
        return Ok(id);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failure::usage(format!("sbatch refused the job: {said}"), "pass what it needs with --engine-arg"))
}

/// The words before the script.
fn arguments(description: &Description, shards: &[u32]) -> Vec<String> {
    let most = description.at_once.map_or_else(String::new, |count| format!("%{count}"));
    let mut words = vec![
        "--parsable".to_owned(),
        format!("--job-name=pipefill-{}", description.experiment),
        format!("--array={}{most}", ranges(shards)),
        format!("--cpus-per-task={}", description.cpus),
        // Relative to the directory: a % in its own name would mean something.
        "--output=logs/%a.log".to_owned(),
        "--open-mode=append".to_owned(),
        "--requeue".to_owned(),
    ];
    words.extend(description.engine_arg.iter().cloned());
    words
}

fn script(description: &Description, path: &Path, program: &str) -> String {
    let command = shell(program, &description.words(path, SHARD, path));
    format!(
        "#!/bin/sh\n# A shard of {}: pipefill sweep.\nshard=$SLURM_ARRAY_TASK_ID\n{command}\n",
        description.experiment
    )
}

/// The shards that are in Slurm's queue; `None` where that can't be known.
pub(super) fn queued(jobs: &[String]) -> Queued {
    let mut queued = BTreeSet::new();
    for job in jobs {
        let words = ["--noheader", "--array", "--format=%K %T", "--jobs", job];
        let output = Command::new("squeue").args(words).stdin(Stdio::null()).output().ok()?;
        // A job that ended some minutes ago is not known any more.
        if !output.status.success() && !String::from_utf8_lossy(&output.stderr).contains("Invalid job id") {
            return None;
        }
        let text = String::from_utf8_lossy(&output.stdout);
        queued.extend(text.lines().filter_map(|line| line.split(' ').next()?.parse::<u32>().ok()));
    }
    Some(queued)
}

/// Returns when none of the shards is in the queue any more. The job goes on where the user stops the wait.
///
/// # Errors
/// The user stopped it, or the queue can't be looked at.
pub(super) fn wait(sweep: &Sweep, stop: &Stop) -> Result<(), Failure> {
    loop {
        let queued = queued(&sweep.description.jobs).ok_or_else(|| {
            Failure::usage(
                "squeue does not list the jobs",
                format!("look later: pipefill sweep {}", sweep.word()),
            )
        })?;
        if queued.is_empty() {
            return Ok(());
        }
        let until = Instant::now() + LOOK;
        while Instant::now() < until {
            if stop.is_requested() {
                return Err(Failure::usage(
                    "stopped waiting; the job goes on",
                    format!(
                        "look at it: pipefill sweep {0}; end it: scancel {1}",
                        sweep.word(),
                        sweep.description.jobs.join(" ")
                    ),
                ));
            }
            sleep(STOP_LOOK);
        }
    }
}

fn called(command: &mut Command, folder: &Path) -> Result<Output, Problem> {
    command.current_dir(folder).stdin(Stdio::null()).output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Problem::machine(
            "there is no sbatch here",
            "run it on a node of the cluster that submits jobs, or with --engine local",
        ),
        _ => Problem::broken(format!("sbatch cannot be started: {error}")),
    })
}

#[cfg(test)]
#[path = "slurm_tests.rs"]
mod tests;
