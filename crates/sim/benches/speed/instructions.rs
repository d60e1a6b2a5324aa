//! Instructions per data packet: the figure that a busy machine does not change.
//!
//! Never: a count of another scenario than the one that is asked for.

use super::CHILD;
use std::process::{Command, Stdio};

/// Simulated seconds of the counted run: callgrind is about fifty times slower than the machine.
pub(crate) const SECONDS: u32 = 2;

/// The whole process's instructions over its packets; or why there is no figure.
pub(crate) fn per_packet(name: &str) -> Result<f64, String> {
    let counted = perf(name).or_else(|| callgrind(name));
    let (instructions, packets) = counted.ok_or("not counted")?;
    Ok(instructions / packets)
}

/// `perf stat`; needs a machine with counters.
fn perf(name: &str) -> Option<(f64, f64)> {
    let (packets, report) =
        run(Command::new("perf").args(["stat", "-x", ",", "-e", "instructions:u"]), name)?;
    let line = report.lines().find(|line| line.contains("instructions"))?;
    Some((line.split(',').next()?.parse().ok()?, packets))
}

/// Valgrind's simulated processor.
fn callgrind(name: &str) -> Option<(f64, f64)> {
    let tool = ["--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let (packets, report) = run(Command::new("valgrind").args(tool), name)?;
    let line = report.lines().find(|line| line.contains("Collected"))?;
    Some((line.split(':').next_back()?.trim().parse().ok()?, packets))
}

/// This program under `tool`: its packets, and what the tool says.
fn run(tool: &mut Command, name: &str) -> Option<(f64, String)> {
    let this = std::env::current_exe().ok()?;
    let output = tool.arg(this).args([CHILD, name]).stdin(Stdio::null()).output().ok()?;
    let packets: f64 = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
    Some((packets, String::from_utf8(output.stderr).ok()?))
}
