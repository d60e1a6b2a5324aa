//! A backend that makes records without traffic, and a scenario small enough for it: for tests only.

use crate::planned::PlannedScenario;
use crate::stop::Stop;
use crate::studies::Study;
use pipefill_core::backend::{Backend, Watch};
use pipefill_core::plan::{Run, Selection};
use pipefill_core::problem::Problem;
use pipefill_core::record::{AnyRow, Invalid, Manifest, RunRecord, Sink};
use pipefill_core::units::Time;
use pipefill_store::Partial;
use pipefill_testkit::builder::{self, Steady};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Two cells, two runs each, one expectation.
const TINY: &str = r#"
name = "tiny"
[path]
rtt = ["1ms", "10ms"]
rate = "100mbit"
[[flow]]
duration = "10s"
[run]
repeat = 2
[expect]
goodput = ">= 50mbit"
"#;

/// The tiny scenario under `set`.
pub(crate) fn asked(set: &[&str]) -> PlannedScenario {
    let selection =
        Selection { set: set.iter().map(|&set| set.to_owned()).collect(), ..Selection::default() };
    let mut asked = PlannedScenario::study(Study { name: "tiny", text: TINY }, &selection)
        .unwrap_or_else(|failure| panic!("{failure}"));
    asked.study = None;
    asked
}

/// A steady TCP run of the tiny scenario.
pub(crate) fn record() -> RunRecord {
    builder::record(asked(&[]).plan.runs().remove(0), &[Steady::default()])
}

/// Hands the rows that a steady run has to `sink`.
pub(crate) fn replay(record: &RunRecord, sink: &mut dyn Sink) {
    let tcp = record.tcp.iter().cloned().map(AnyRow::Tcp);
    let delivery = record.delivery.iter().cloned().map(AnyRow::Delivery);
    let udp = record.udp.iter().cloned().map(AnyRow::Udp);
    for row in tcp.chain(delivery).chain(udp) {
        sink.push(row).unwrap();
    }
}

/// Writes `record` as a backend and its runner do.
pub(crate) fn write(mut partial: Partial, record: &RunRecord) {
    replay(record, &mut partial);
    partial.complete(&record.manifest).unwrap();
}

/// Makes records in no time, and does what a test asks for in the n-th run, counted from 1.
#[derive(Default)]
pub(crate) struct Synthetic {
    /// This run is invalid.
    pub(crate) invalid: Option<usize>,
    /// This run fails.
    pub(crate) fails: Option<usize>,
    /// In the middle of this run the user stops it.
    pub(crate) stops: Option<(usize, Stop)>,
    /// This run turns out to be more than the machine can do.
    pub(crate) lacks: Option<usize>,
    /// Its `check` refuses cells with this value of an axis.
    pub(crate) refuses: Option<&'static str>,
    /// Goodput; 80 Mbit/s where nothing else is said.
    pub(crate) rate_bps: Option<u64>,
    /// Runs begun.
    pub(crate) begun: AtomicUsize,
    /// Directories of the runs that have ended, in order.
    pub(crate) ended: Mutex<Vec<String>>,
}

impl Backend for Synthetic {
    fn name(&self) -> &'static str {
        "lab"
    }

    fn stream(&self, run: &Run, watch: &dyn Watch, sink: &mut dyn Sink) -> Result<Manifest, Problem> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        watch.progress(Time::from_nanos(1));
        if let Some((at, stop)) = &self.stops
            && *at == number
        {
            stop.request();
        }
        if watch.stop_requested() {
            return Err(Problem::stopped());
        }
        if self.lacks == Some(number) {
            return Err(unsupported());
        }
        if self.fails == Some(number) {
            return Err(Problem::broken("the cable is out"));
        }
        let steady = Steady { rate_bps: self.rate_bps.unwrap_or(80_000_000), ..Steady::default() };
        let mut record = builder::record(run.clone(), &[steady]);
        if self.invalid == Some(number) {
            record
                .manifest
                .invalid
                .push(Invalid { reason: "ring_drops".to_owned(), detail: "7 packets".to_owned() });
        }
        replay(&record, sink);
        self.ended.lock().unwrap().push(run.directory.to_string());
        Ok(record.manifest)
    }

    fn check(&self, run: &Run) -> Result<(), Problem> {
        let is_refused = |value: &str| self.refuses == Some(value);
        match run.cell.axes.iter().any(|(_, value)| is_refused(value)) {
            true => Err(unsupported()),
            false => Ok(()),
        }
    }

    fn estimate(&self, _: &Run) -> Duration {
        Duration::from_secs(10)
    }
}

fn unsupported() -> Problem {
    Problem::machine("there is no cable", "plug one in")
}
