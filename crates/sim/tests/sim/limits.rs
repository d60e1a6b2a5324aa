//! Runs at the edge of what a scenario may ask for: they stop when they are told to, and nothing in them overflows (tests are built
//! with overflow checks).

use pipefill_core::backend::{Backend, Watch};
use pipefill_core::plan::Run;
use pipefill_core::problem::{Problem, ProblemKind};
use pipefill_core::record::{AnyRow, Sink, SinkError};
use pipefill_core::scenario::Scenario;
use pipefill_core::units::Time;
use pipefill_sim::Sim;
use std::sync::atomic::{AtomicU64, Ordering};

/// Asks to stop from the look number `after` on, and counts.
#[derive(Default)]
struct Impatient {
    after: u64,
    looks: AtomicU64,
    samples: AtomicU64,
}

impl Watch for Impatient {
    fn progress(&self, _: Time) {
        self.samples.fetch_add(1, Ordering::Relaxed);
    }

    fn stop_requested(&self) -> bool {
        self.looks.fetch_add(1, Ordering::Relaxed) >= self.after
    }
}

/// Counts rows and keeps none.
#[derive(Default)]
struct Counted(u64);

impl Sink for Counted {
    fn push(&mut self, _: AnyRow) -> Result<(), SinkError> {
        self.0 += 1;
        Ok(())
    }
}

fn run(set: &[&str]) -> Run {
    let text = "name = \"x\"\n[path]\nrate = \"1mbit\"\n";
    let mut scenario = Scenario::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    for set in set {
        scenario.set(set).unwrap_or_else(|error| panic!("{error}"));
    }
    scenario.plan().runs().remove(0)
}

fn stopped(set: &[&str], after: u64) -> (Impatient, u64, Result<(), Problem>) {
    let watch = Impatient { after, ..Impatient::default() };
    let mut rows = Counted::default();
    let result = Sim::new().stream(&run(set), &watch, &mut rows).map(drop);
    (watch, rows.0, result)
}

/// A round trip of 1000 hours has next to no events, and 180 million samples.
#[test]
fn a_run_without_events_stops_within_a_few_thousand_rows() {
    for set in [
        &["path.rtt=1000h"][..],
        &["path.rtt=1000h", "flow.bitrate=1bit", "flow.protocol=udp"],
        &["path.rtt=1000h", "flow.protocol=ping"],
        &["flow.duration=1000h", "flow.bitrate=1bit", "flow.length=1B"],
        &["flow.start=1000h"],
        &["flow.start=1000h", "flow.parallel=100"],
    ] {
        let (watch, rows, result) = stopped(set, 0);
        assert!(matches!(result, Err(Problem { kind: ProblemKind::Stopped, .. })), "{set:?}: {result:?}");
        assert_eq!(watch.looks.into_inner(), 1, "{set:?}");
        assert!(rows <= 20_000, "{set:?}: {rows} rows in {} samples", watch.samples.into_inner());
    }
}

/// Each is run for some ten thousand events, in debug with overflow checks.
#[test]
fn the_largest_values_of_a_scenario_do_not_overflow() {
    let every = [
        "path.rtt=1000h",
        "path.rtt=1ns",
        "path.rate=1000tbit",
        "path.rate=1bit",
        "path.queue=1024GiB",
        "path.queue=1000000bdp",
        "path.queue=1000000000p",
        "path.burst=1024GiB",
        "path.jitter=1000h",
        "flow.sndbuf=1073741823B",
        "flow.rcvbuf=1073741823B",
        "flow.max_pacing_rate=1000tbit",
        "flow.max_pacing_rate=1bit",
        "flow.bitrate=1000tbit",
        "flow.read_rate=1000tbit",
        "flow.read_rate=1bit",
        "flow.length=64MiB",
        "flow.start=1000h",
        "flow.duration=1000h",
        "run.sample=1000h",
        "run.warmup=999h",
        "run.seed=18446744073709551615",
        "host.tcp_rmem=4096 131072 2147483647",
        "host.tcp_wmem=4096 131072 2147483647",
    ];
    let needs = ["flow.duration=1000h"];
    for control in ["reno", "cubic", "bbr"] {
        let control = format!("host.congestion_control={control}");
        for value in every {
            let (_, _, result) = stopped(&[needs[0], value, &control], 12);
            let is_expected = matches!(result, Ok(()) | Err(Problem { kind: ProblemKind::Stopped, .. }));
            assert!(is_expected, "{value} {control}: {result:?}");
        }
    }
    for value in every.iter().filter(|value| !value.contains("read_rate") && !value.contains("pacing")) {
        let udp = ["flow.duration=1000h", "flow.bitrate=1gbit", "flow.protocol=udp", "flow.length=1472B"];
        if !["flow.length", "flow.sndbuf", "flow.rcvbuf"].iter().any(|key| value.contains(key)) {
            let (_, _, result) = stopped(&[&udp[..], &[value]].concat(), 12);
            assert!(matches!(result, Err(Problem { kind: ProblemKind::Stopped, .. })), "{value}: {result:?}");
        }
    }
}

#[test]
fn what_would_take_gigabytes_is_refused() {
    let refusal = |set: &[&str]| match Sim::new().check(&run(set)) {
        Err(Problem { what, remedy, .. }) => format!("{what}; {}", remedy.unwrap_or_default()),
        Ok(()) => panic!("{set:?}"),
    };
    let told = refusal(&["flow.length=1B", "flow.sndbuf=1073741823B"]);
    assert!(told.contains("takes 2147483646 writes of 1 bytes; raise length to 128 bytes"), "{told}");
    refusal(&["flow.length=1B", "flow.direction=reverse", "receiver.tcp_wmem=4096 16384 2147483647"]);
    assert!(Sim::new().check(&run(&["flow.length=1B"])).is_ok());
}

/// 25 Gbit/s into an hour of delay.
#[test]
fn a_path_that_holds_too_many_packets_ends_the_run_with_the_number() {
    let set =
        ["path.rate=1000tbit", "path.rtt=1h", "flow.bitrate=1tbit", "flow.protocol=udp", "flow.length=32B"];
    let (_, _, result) = stopped(&set, u64::MAX);
    let Err(Problem { kind: ProblemKind::Machine, what, remedy: Some(remedy) }) = result else {
        panic!("{result:?}")
    };
    assert!(what.contains("packets at once, and the simulator keeps 10000000"), "{what}");
    assert!(remedy.contains("lower the bitrate"), "{remedy}");
}
