//! What the telemetry costs: gigabits per CPU-second over a plain veth pair, paired runs, alternating.
//!
//! 1. BPF (states and retransmits) against none of it, both sampled every 100 ms (to hold: 0.97);
//! 2. sampled every millisecond against every 100 ms, both without BPF (to hold: 0.95).
//!
//! CPU is that of all threads of the run, not of the machine, which others use too. The kernel's work for the flow is in it: over
//! a veth pair, softirqs run in the thread that sent (ksoftirqd has next to nothing to do), and so do the BPF programs.
//!
//! Short pairs and many of them: what else goes on changes more slowly than that. `cargo bench -p pipefill-lab --bench telemetry`.

mod flow;

use flow::Outcome;
use pipefill_core::cell::PathSpec;
use pipefill_core::record::RunRecord;
use pipefill_lab::Lab;
use pipefill_lab::privilege::{Privilege, acquire};
use pipefill_testkit::goals::judge;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

/// Pairs of every comparison.
const PAIRS: usize = 20;
/// Student's t for a 95 % interval with `PAIRS - 1` degrees of freedom.
const T_95: f64 = 2.093;
const SPAN: Duration = Duration::from_secs(1);
const SELDOM: Duration = Duration::from_millis(100);
const OFTEN: Duration = Duration::from_millis(1);

fn main() -> ExitCode {
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS; // `cargo test` runs benches too; this one measures.
    }
    // A user namespace can be entered by a single thread alone: before what watches the machine has its own.
    let privilege = acquire();
    judge(|| measure(privilege?))
}

/// The goals that were missed.
fn measure(privilege: Privilege) -> Outcome<Vec<String>> {
    let (with, without) = (Lab::new(privilege).traced(true), Lab::new(privilege).traced(false));
    let how = &run(&with, SELDOM)?.manifest.environment.facts["congestion states"];
    println!("Gbit per CPU-second over a plain veth pair, one CUBIC flow, {PAIRS} pairs of {SPAN:?}");
    println!("congestion states: {how}");
    let mut missed = Vec::new();
    if how == "bpf" {
        missed.extend(compare("BPF", 0.97, || efficiency(&with, SELDOM), || efficiency(&without, SELDOM))?);
    } else {
        println!("skipped: no-bpf: {how}");
    }
    let without_bpf = |sample| efficiency(&without, sample);
    missed.extend(compare("samples every 1 ms", 0.95, || without_bpf(OFTEN), || without_bpf(SELDOM))?);
    Ok(missed)
}

/// The goal, where it is missed. The order within a pair alternates, so that a machine that warms up or tires favours neither.
fn compare(
    what: &str,
    bound: f64,
    with: impl Fn() -> Outcome<f64>,
    without: impl Fn() -> Outcome<f64>,
) -> Outcome<Option<String>> {
    let mut ratios = Vec::new();
    for pair in 0..PAIRS {
        let (a, b) = if pair % 2 == 0 {
            let a = with()?;
            (a, without()?)
        } else {
            let b = without()?;
            (with()?, b)
        };
        ratios.push(a / b);
    }
    let (mean, half) = mean_and_half_interval(&ratios);
    let holds = mean >= bound;
    let word = if holds { "holds" } else { "does not hold" };
    println!(
        "  {what}: mean ratio {mean:.3}, 95 % interval {:.3} to {:.3}; at least {bound} {word}",
        mean - half,
        mean + half
    );
    Ok((!holds).then(|| format!("{what}: {mean:.3}, at least {bound}")))
}

/// Student's interval of the mean.
fn mean_and_half_interval(ratios: &[f64]) -> (f64, f64) {
    let n = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / n;
    let squares: f64 = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    (mean, T_95 * (squares / (n - 1.0) / n).sqrt())
}

/// Gigabits delivered for each CPU-second of the run's threads.
fn efficiency(lab: &Lab, sample: Duration) -> Outcome<f64> {
    let manifest = run(lab, sample)?.manifest;
    let bytes: u64 = manifest.streams.iter().map(|stream| stream.received_bytes).sum();
    let cpu_us: u64 = manifest.instrument.threads.iter().map(|cpu| cpu.user_us + cpu.system_us).sum();
    Ok(bytes as f64 * 8.0 / 1e9 / (cpu_us as f64 / 1e6))
}

fn run(lab: &Lab, sample: Duration) -> Outcome<RunRecord> {
    flow::run(lab, PathSpec::EMPTY, BTreeMap::new(), flow::tcp(SPAN), sample)
}
