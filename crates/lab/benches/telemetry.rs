//! What the telemetry costs: gigabits per CPU-second over a plain veth pair, paired runs, alternating.
//!
//! 1. BPF (states and retransmits) against none of it, both sampled every 100 ms (to hold: 0.97);
//! 2. sampled every millisecond against every 100 ms, both without BPF (to hold: 0.95).
//!
//! CPU is that of all threads of the run, not of the machine, which others use too. The kernel's work for the flow is in it: over
//! a veth pair, softirqs run in the thread that sent (ksoftirqd has next to nothing to do), and so do the BPF programs.
//!
//! Short pairs and many of them: what else goes on changes more slowly than that. `cargo bench -p pipefill-lab --bench telemetry`.

use pipefill_core::backend::{Backend, Watch};
use pipefill_core::cell::{CellSpec, Direction, FlowSpec, HostSpec, PathSpec, Protocol, RunSpec};
use pipefill_core::plan::{Cell, Run};
use pipefill_core::record::RunRecord;
use pipefill_core::units::{Bytes, Seed, Time};
use pipefill_lab::Lab;
use std::error::Error;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Pairs of every comparison.
const PAIRS: usize = 20;
/// Student's t for a 95 % interval with `PAIRS - 1` degrees of freedom.
const T_95: f64 = 2.093;
const SPAN: Duration = Duration::from_secs(1);
const SELDOM: Duration = Duration::from_millis(100);
const OFTEN: Duration = Duration::from_millis(1);

struct Quiet;

impl Watch for Quiet {
    fn progress(&self, _now: Time) {}
    fn stop_requested(&self) -> bool {
        false
    }
}

fn main() -> Outcome<()> {
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(()); // `cargo test` runs benches too; this one measures.
    }
    let privilege = pipefill_lab::privilege::acquire()?;
    let (with, without) = (Lab::new(privilege).traced(true), Lab::new(privilege).traced(false));
    let how = &run(&with, SELDOM)?.manifest.environment.facts["congestion states"];
    let load = std::fs::read_to_string("/proc/loadavg")?;
    println!("Gbit per CPU-second over a plain veth pair, one CUBIC flow, {PAIRS} pairs of {SPAN:?}");
    println!("congestion states: {how}; load of the machine before: {}", load.trim());
    if how == "bpf" {
        compare("BPF", 0.97, || efficiency(&with, SELDOM), || efficiency(&without, SELDOM))?;
    } else {
        println!("skipped: no-bpf: {how}");
    }
    compare("samples every 1 ms", 0.95, || efficiency(&without, OFTEN), || efficiency(&without, SELDOM))
}

/// The order within a pair alternates, so that a machine that warms up or tires favours neither.
fn compare(
    what: &str,
    bound: f64,
    with: impl Fn() -> Outcome<f64>,
    without: impl Fn() -> Outcome<f64>,
) -> Outcome<()> {
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
    let word = if mean >= bound { "holds" } else { "does not hold" };
    println!(
        "  {what}: mean ratio {mean:.3}, 95 % interval {:.3} to {:.3}; at least {bound} {word}",
        mean - half,
        mean + half
    );
    Ok(())
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
    let host = HostSpec { congestion_control: "cubic".to_owned(), sysctl: Default::default() };
    let spec = CellSpec {
        path: PathSpec::EMPTY,
        sender: host.clone(),
        receiver: host,
        flows: vec![tcp_flow()],
        run: RunSpec { repeat: 1, seed: 1, sample, warmup: None, capture: false },
        expect: Vec::new(),
    };
    let cell = Cell { index: 0, id: "bench".to_owned(), axes: Vec::new(), spec };
    let run = Run {
        experiment: "bench".to_owned(),
        cell,
        repeat: 1,
        id: "bench-1".to_owned(),
        seed: Seed::new(1),
        directory: "bench".to_owned(),
    };
    Ok(lab.run(&run, &Quiet)?)
}

fn tcp_flow() -> FlowSpec {
    FlowSpec {
        protocol: Protocol::Tcp,
        direction: Direction::Forward,
        start: Duration::ZERO,
        duration: SPAN,
        parallel: 1,
        bitrate: None,
        length: Bytes::new(512 << 10),
        read_rate: None,
        sndbuf: None,
        rcvbuf: None,
        max_pacing_rate: None,
        ping: None,
        congestion_control: None,
    }
}
