//! The goals of a benchmark, and whether the machine was quiet enough to judge one that is missed.

use crate::witness::Witness;
use std::fs;
use std::process::ExitCode;

/// Measures by `measure`, which prints its figures and returns the goals that were missed, and says what came of it: all hold, some are missed, or
/// it is not judged, since other programs or other guests used this machine meanwhile. Only a goal that is missed on a quiet machine is a failure.
pub fn judge<E: std::fmt::Display>(measure: impl FnOnce() -> Result<Vec<String>, E>) -> ExitCode {
    println!("load of the machine before: {}", load());
    let witness = Witness::start();
    let missed = measure();
    let busy = witness.stop().was_busy();
    match missed {
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
        Ok(missed) if missed.is_empty() => println!("all goals hold"),
        Ok(missed) => {
            for goal in &missed {
                println!("missed: {goal}");
            }
            match busy {
                Some(why) => println!("not judged: the machine was busy: {why}; load {}", load()),
                None => return ExitCode::FAILURE,
            }
        }
    }
    ExitCode::SUCCESS
}

/// The running tasks, averaged over 1, 5 and 15 minutes.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
