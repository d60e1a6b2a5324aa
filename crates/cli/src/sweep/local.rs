//! The engine `local`: a process for each shard, so many at once.

use super::{Sweep, end, own_child};
use crate::terminal::Terminal;
use pipefill_runs::Failure;
use pipefill_runs::Stop;
use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::time::Duration;

/// From one look at the processes to the next.
const LOOK: Duration = Duration::from_millis(20);

/// Runs `shards`; returns when all have ended. Each is in a process group of its own: a Ctrl-C reaches it once, from here.
///
/// # Errors
/// A process or a log that can't be made; [`Failure::Other`] where the user stopped it.
pub(super) fn carry_out(
    sweep: &Sweep,
    shards: &[u32],
    stop: &Stop,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let mut waiting: VecDeque<u32> = shards.iter().copied().collect();
    let mut running: Vec<(u32, Child)> = Vec::new();
    let mut failure = None;
    while !running.is_empty() || !waiting.is_empty() {
        if stop.is_unanswered() || (failure.is_some() && !waiting.is_empty()) {
            waiting.clear();
            running.iter().for_each(|(_, child)| end(child));
        }
        while running.len() < at_once(sweep)
            && let Some(shard) = waiting.pop_front()
        {
            match start(sweep, shard) {
                Ok(child) => running.push((shard, child)),
                Err(error) => failure = Some(error),
            }
        }
        running.retain_mut(|(shard, child)| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                terminal.say(&format!("shard {shard}: {status}"));
                false
            }
            Err(_) => false,
        });
        std::thread::sleep(LOOK);
    }
    failure.map_or(Ok(()), Err)
}

fn at_once(sweep: &Sweep) -> usize {
    let cpus = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let asked = sweep.description.at_once.and_then(|count| usize::try_from(count).ok());
    asked.unwrap_or_else(|| (cpus() / usize::from(sweep.description.cpus)).max(1))
}

fn start(sweep: &Sweep, shard: u32) -> Result<Child, Failure> {
    let path = sweep.log(shard);
    let log = File::options().create(true).append(true).open(&path);
    let log = log.map_err(Failure::file("writing", &path))?;
    let both = log.try_clone().map_err(Failure::file("writing", &path))?;
    own_child()?
        .args(sweep.words(shard))
        .stdout(log)
        .stderr(both)
        .process_group(0)
        .spawn()
        .map_err(|error| Failure::broken(format!("shard {shard} cannot be started: {error}")))
}
