//! The first scenario in ns-3, where it is installed: the same flow, path and queue, in the same run of the benchmark.
//!
//! Never: a figure from another machine or another day.

use crate::Figures;
use crate::work::SECONDS;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How many times as many packets the simulator has to do in a CPU second.
const TO_HOLD: f64 = 50.0;
const HEADER: &str = "/usr/include/ns3/core-module.h";
const LIBRARIES: [&str; 6] =
    ["core", "network", "internet", "point-to-point", "traffic-control", "applications"];

/// Prints ns-3's figures beside `ours`; returns what was missed.
pub(crate) fn compare(ours: &Figures) -> Option<String> {
    println!("\nns-3, the same scenario (CUBIC, 20 ms, no loss), {SECONDS} simulated seconds each");
    if !Path::new(HEADER).exists() {
        println!("  skipped: ns3-absent (make bench NS3=1 installs it; on Debian: libns3-dev g++)");
        return None;
    }
    match build().and_then(|program| measure(&program)) {
        Ok(theirs) => show(ours, &theirs),
        Err(why) => Some(format!("ns-3: {why}")),
    }
}

fn show(ours: &Figures, theirs: &Figures) -> Option<String> {
    for (who, figures) in [("pipefill", ours), ("ns-3", theirs)] {
        println!(
            "  {who:<9} {:>9} packets {:>8.3} CPU s {:>8.1} Mbit/s {:>9.0} packets/s",
            figures.packets,
            figures.cpu_seconds,
            figures.goodput_bps / 1e6,
            figures.packets_per_second()
        );
    }
    let ratio = ours.packets_per_second() / theirs.packets_per_second();
    println!("  ratio {ratio:.0} by packets per CPU second (to hold: {TO_HOLD})");
    (ratio < TO_HOLD).then(|| format!("ns-3: {ratio:.0} times as many packets, to hold: {TO_HOLD}"))
}

/// Compiles the scenario into the target folder.
fn build() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/ns3/one_flow.cc");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ns3-one-flow");
    let libraries = LIBRARIES.map(|name| format!("-lns3-{name}"));
    let mut compiler = Command::new("g++");
    compiler.args(["-O2", "-o"]).arg(&program).arg(&source).args(libraries);
    output(&mut compiler).map(|_| program)
}

fn measure(program: &Path) -> Result<Figures, String> {
    let output = output(Command::new(program).arg(SECONDS.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [packets, received_bytes, cpu_seconds] = numbers[..] else {
        return Err(format!("ns-3 printed {text:?}"));
    };
    let goodput_bps = received_bytes * 8.0 / f64::from(SECONDS);
    Ok(Figures { packets: packets as u64, cpu_seconds, goodput_bps })
}

fn output(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(output)
}
