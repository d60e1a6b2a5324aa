//! Ctrl-C, SIGTERM and SIGHUP: the first asks the run to stop and to tidy up, the second ends the process at once.
//!
//! Never: a thread; the lab may need the process to have one only.

use crate::failure::Failure;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code of a process that a second signal ended.
const STOPPED: i32 = 2;

/// Whether the user asked to stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop {
    requested: Arc<AtomicBool>,
    /// Whether somebody has reacted to it.
    answered: Arc<AtomicBool>,
}

impl Stop {
    /// Set by SIGINT, SIGTERM and SIGHUP from now on. Under nohup(1) a hang-up stays ignored.
    pub(crate) fn on_signals() -> Result<Self, Failure> {
        let stop = Self::default();
        let hangs_up = (!is_ignored(SIGHUP)).then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().chain(hangs_up) {
            // In this order: the shutdown looks at the flag before the same signal sets it.
            flag::register_conditional_shutdown(signal, STOPPED, Arc::clone(&stop.requested))
                .and_then(|_| flag::register(signal, Arc::clone(&stop.requested)))
                .map_err(|error| Failure::Other(format!("cannot handle signals: {error}")))?;
        }
        Ok(stop)
    }

    /// Asks once `flag` is set.
    pub(crate) fn when(flag: &Arc<AtomicBool>) -> Self {
        Self { requested: Arc::clone(flag), answered: Arc::default() }
    }

    /// Asks to stop, as the first signal does.
    pub(crate) fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    pub(crate) fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// True once, for whoever looks first after somebody asked: the one who has to answer.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.is_requested() && !self.answered.swap(true, Ordering::Relaxed)
    }
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
        .map_err(|error| Failure::Other(format!("the end of process {parent} can't be watched: {error}")))?;
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
        .map_err(|error| Failure::Other(format!("signals can't be watched: {error}")))
}

/// Whether this process was started with `signal` ignored (`SigIgn` of proc_pid_status(5)).
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_once() {
        let stop = Stop::default();
        assert!(!stop.is_unanswered());
        stop.request();
        let same = stop.clone();
        assert_eq!([stop.is_unanswered(), same.is_unanswered(), stop.is_requested()], [true, false, true]);
    }
}
