//! The scenarios that are timed, and the timing.
//!
//! Never: a scenario that is easier than its name says.

use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::plan::Run;
use pipefill_core::record::{AnyRow, Sink, SinkError, StreamSummary};
use pipefill_core::scenario::Scenario;
use pipefill_sim::{Sim, SimOptions};
use std::fs;

/// Simulated seconds of a run, ns-3's too …
pub(crate) const SECONDS: u32 = 10;
/// … and of one that sends few packets.
const LONG: u32 = 1_000;
/// Runs of each scenario; the fastest counts, the others were disturbed.
pub(crate) const ROUNDS: u32 = 3;

/// A scenario to be timed, with a queue of 1 BDP.
pub(crate) struct Work {
    pub(crate) name: &'static str,
    congestion_control: &'static str,
    rtt: &'static str,
    loss: &'static str,
    gso: bool,
    /// With what is asked for beside one flow at 1 Gbit/s.
    size: Size,
    /// Million packets per second of one core that it has to reach on a machine of today.
    pub(crate) to_hold: Option<f64>,
}

/// How large a scenario is.
#[derive(Clone, Copy)]
struct Size {
    rate: &'static str,
    aqm: &'static str,
    flows: u32,
}

const SINGLE: Size = Size { rate: "1gbit", aqm: "droptail", flows: 1 };
const LARGE: Size = Size { rate: "10gbit", aqm: "fq_codel", flows: 100 };

/// The scenario whose losses leave few packets.
const SPARSE: &str = "CUBIC, 20 ms, 1 % loss, segments";

/// What is timed. The loss at 20 ms leaves CUBIC few packets; at 0.2 ms, and with BBR, recovery is really loaded.
pub(crate) const WORK: [Work; 7] = [
    Work::new("CUBIC, 20 ms, segments", "cubic", "20ms", "0%", false, Some(1.5)),
    Work::new("CUBIC, 20 ms, super-packets", "cubic", "20ms", "0%", true, Some(1.5)),
    Work::new(SPARSE, "cubic", "20ms", "1%", false, Some(0.8)),
    Work::new("CUBIC, 0.2 ms, 1 % loss, segments", "cubic", "200us", "1%", false, Some(0.8)),
    Work::new("BBR, 20 ms, segments", "bbr", "20ms", "0%", false, None),
    Work::new("BBR, 20 ms, 1 % loss, segments", "bbr", "20ms", "1%", false, Some(0.8)),
    Work {
        size: LARGE,
        ..Work::new("CUBIC, 100 flows, 10 Gbit/s, FQ-CoDel", "cubic", "20ms", "0%", false, None)
    },
];

/// What a run took and gave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) packets: u64,
    pub(crate) cpu_seconds: f64,
    pub(crate) goodput_bps: f64,
}

impl Figures {
    pub(crate) fn packets_per_second(&self) -> f64 {
        self.packets as f64 / self.cpu_seconds
    }
}

impl Work {
    const fn new(
        name: &'static str,
        congestion_control: &'static str,
        rtt: &'static str,
        loss: &'static str,
        gso: bool,
        to_hold: Option<f64>,
    ) -> Self {
        Self { name, congestion_control, rtt, loss, gso, size: SINGLE, to_hold }
    }

    pub(crate) fn named(name: &str) -> &'static Self {
        WORK.iter().find(|work| work.name == name).expect("a name of the table")
    }

    /// What was missed, where `figures` are below the bound.
    pub(crate) fn missed(&self, figures: &Figures) -> Option<String> {
        let bound = self.to_hold.filter(|bound| figures.packets_per_second() < bound * 1e6)?;
        let reached = figures.packets_per_second() / 1e6;
        Some(format!("{}: {reached:.2} M packets/s, to hold: {bound} M", self.name))
    }

    pub(crate) fn best(&self) -> Figures {
        let seconds = if self.name == SPARSE { LONG } else { SECONDS };
        let rounds = (0..ROUNDS).map(|_| self.carry_out(seconds));
        let best = rounds.min_by(|a, b| a.cpu_seconds.total_cmp(&b.cpu_seconds));
        best.expect("there are rounds")
    }

    pub(crate) fn carry_out(&self, seconds: u32) -> Figures {
        let sim = Sim::with_options(SimOptions { gso: self.gso, ..SimOptions::default() });
        let run = self.run(seconds);
        let began = cpu_seconds();
        let manifest = sim.stream(&run, &Unwatched, &mut Nowhere).expect("the simulator runs it");
        let cpu_seconds = cpu_seconds() - began;
        let goodput_bps = |stream: &StreamSummary| {
            stream.received_bytes as f64 * 8e6 / (stream.end_us - stream.start_us) as f64
        };
        let packets = |stream: &StreamSummary| u64::from(stream.tcp.expect("TCP").data_segs_out.unwrap_or(0));
        Figures {
            packets: manifest.streams.iter().map(packets).sum(),
            cpu_seconds,
            goodput_bps: manifest.streams.iter().map(goodput_bps).sum(),
        }
    }

    fn run(&self, seconds: u32) -> Run {
        let Self { congestion_control, rtt, loss, size: Size { rate, aqm, flows }, .. } = self;
        let text = format!(
            "name = \"speed\"\n[path]\nrtt = \"{rtt}\"\nrate = \"{rate}\"\nqueue = \"1bdp\"\nloss = \"{loss}\"\naqm = \"{aqm}\"\n\
             [host]\ncongestion_control = \"{congestion_control}\"\ntcp_rmem = \"4096 131072 64MiB\"\n\
             tcp_wmem = \"4096 16384 64MiB\"\n[[flow]]\nprotocol = \"tcp\"\nduration = \"{seconds}s\"\nparallel = {flows}\n\
             [run]\nsample = \"100ms\"\n"
        );
        let scenario = Scenario::parse(&text, "speed.toml").unwrap_or_else(|error| panic!("{error}"));
        scenario.plan().runs().remove(0)
    }
}

struct Nowhere;

impl Sink for Nowhere {
    fn push(&mut self, _: AnyRow) -> Result<(), SinkError> {
        Ok(())
    }
}

/// CPU time of this thread so far.
fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells a thread its CPU time");
    let nanos: u64 = text.split_whitespace().next().and_then(|word| word.parse().ok()).expect("nanoseconds");
    nanos as f64 / 1e9
}
