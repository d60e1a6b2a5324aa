//! Ctrl-C, SIGTERM and SIGHUP: the first asks the run to stop and to tidy up, the second ends the process at once.
//!
//! Never: a thread; the lab may need the process to have one only.

use pipefill_runs::{Failure, Stop};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Exit code of a process that a second signal ended.
const STOPPED: i32 = 2;

/// Set by SIGINT, SIGTERM and SIGHUP from now on. Under nohup(1) a hang-up stays ignored.
///
/// # Errors
/// [`Failure`] where signals can't be handled.
pub(crate) fn stop_on_signals() -> Result<Stop, Failure> {
    let requested = Arc::new(AtomicBool::new(false));
    let hangs_up = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangs_up) {
        // In this order: the shutdown looks at the flag before the same signal sets it.
        flag::register_conditional_shutdown(signal, STOPPED, Arc::clone(&requested))
            .and_then(|_| flag::register(signal, Arc::clone(&requested)))
            .map_err(|error| Failure::broken(format!("cannot handle signals: {error}")))?;
    }
    Ok(Stop::when(&requested))
}

/// SIGTERM comes when `parent`, which started this process, has ended, in whatever way (prctl(2), `PR_SET_PDEATHSIG`).
///
/// # Errors
/// [`Failure`] where it has ended already, or is not the parent.
pub(crate) fn end_with(parent: Option<u32>) -> Result<(), Failure> {
    let Some(parent) = parent else {
        return Ok(());
    };
    set_parent_process_death_signal(Some(Signal::TERM))
        .map_err(|error| Failure::broken(format!("the end of process {parent} can't be watched: {error}")))?;
    // It may have ended before that.
    let is_there = getppid().is_some_and(|own| u32::try_from(own.as_raw_pid()) == Ok(parent));
    match is_there {
        true => Ok(()),
        false => Err(Failure::usage(
            format!("process {parent} has ended, or is not the one that started this one"),
            "where a script stands between the two, start pipefill with exec there",
        )),
    }
}

/// A write past the limit on a file's size (`ulimit -f`) fails from now on, and does not end the process.
///
/// # Errors
/// [`Failure`] where the signal can't be watched.
pub(crate) fn survive_file_limit() -> Result<(), Failure> {
    flag::register(SIGXFSZ, Arc::default())
        .map(drop)
        .map_err(|error| Failure::broken(format!("signals can't be watched: {error}")))
}

/// Whether this process was started with `signal` ignored (`SigIgn` of proc_pid_status(5)).
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
