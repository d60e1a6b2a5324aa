//! A backend that makes records without traffic, and a scenario small enough for it: for tests only.

use crate::args::Selection;
use crate::asked::Asked;
use crate::live::RunHistory;
use crate::studies::Study;
use pipefill_core::backend::{Backend, BackendError, Watch};
use pipefill_core::cell::{Direction, FlowSpec, Protocol};
use pipefill_core::plan::Run;
use pipefill_core::record::{
    AnyRow, DeliverySample, Invalid, Manifest, PingSample, RunRecord, Sink, UdpSample,
};
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
pub(crate) fn asked(set: &[&str]) -> Asked {
    let selection =
        Selection { set: set.iter().map(|&set| set.to_owned()).collect(), ..Selection::default() };
    let mut asked = Asked::study(Study { name: "tiny", text: TINY }, &selection)
        .unwrap_or_else(|failure| panic!("{failure}"));
    asked.study = None;
    asked
}

/// A steady TCP run of the tiny scenario.
pub(crate) fn record() -> RunRecord {
    builder::record(asked(&[]).plan.runs().remove(0), &[Steady::default()])
}

/// UDP, two TCP streams, one back, and pings, all steady, after a second of ten: what the live view keeps of them.
pub(crate) fn mixed() -> RunHistory {
    let mut run = record().manifest.run;
    let flow = |protocol, parallel, direction| FlowSpec { parallel, direction, ..builder::flow(protocol) };
    run.cell.spec.flows = vec![
        flow(Protocol::Udp, 1, Direction::Forward),
        flow(Protocol::Tcp, 2, Direction::Forward),
        flow(Protocol::Tcp, 1, Direction::Reverse),
        flow(Protocol::Ping, 1, Direction::Forward),
    ];
    let mut history = RunHistory::of(&run);
    for t_us in (0..=1_000_000).step_by(100_000) {
        for (stream, mbps) in (0..).zip([5, 40, 40, 20]) {
            let received_bytes = t_us * mbps / 8;
            let row = DeliverySample { t_us, stream, sent_bytes: received_bytes, received_bytes };
            history.take(&AnyRow::Delivery(row));
        }
        for (stream, srtt_us) in [(1, 10_000), (2, 11_000), (3, 30_000)] {
            history.take(&AnyRow::Tcp(builder::sample(
                stream,
                &Steady { srtt_us, ..Steady::default() },
                t_us,
            )));
        }
        let rtt_ns = (t_us > 0).then_some(12_000_000);
        let ping = PingSample { t_us, stream: 4, number: 0, payload_bytes: 56, reply_bytes: 56, rtt_ns };
        history.take(&AnyRow::Ping(ping));
        history.take(&AnyRow::Udp(udp(t_us)));
    }
    history
}

/// Of ten datagrams nine have arrived.
fn udp(t_us: u64) -> UdpSample {
    let sent = t_us / 1_000;
    UdpSample { t_us, stream: 0, sent, received: sent * 9 / 10, duplicates: 0, reordered: 0, jitter_ns: None }
}

/// Hands the rows that a steady run has to `sink`.
pub(crate) fn replay(record: &RunRecord, sink: &mut dyn Sink) {
    let tcp = record.tcp.iter().cloned().map(AnyRow::Tcp);
    let delivery = record.delivery.iter().cloned().map(AnyRow::Delivery);
    let udp = record.udp.iter().cloned().map(AnyRow::Udp);
    for row in tcp.chain(delivery).chain(udp) {
        sink.take(row).unwrap();
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
    pub(crate) stops: Option<(usize, crate::signals::Stop)>,
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

    fn stream(&self, run: &Run, watch: &dyn Watch, sink: &mut dyn Sink) -> Result<Manifest, BackendError> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        watch.progress(Time::from_nanos(1));
        if let Some((at, stop)) = &self.stops
            && *at == number
        {
            stop.request();
        }
        if watch.stop_requested() {
            return Err(BackendError::Interrupted("the user".to_owned()));
        }
        if self.lacks == Some(number) {
            return Err(unsupported());
        }
        if self.fails == Some(number) {
            return Err(BackendError::Failed("the cable is out".to_owned()));
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

    fn check(&self, run: &Run) -> Result<(), BackendError> {
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

fn unsupported() -> BackendError {
    BackendError::Unsupported { what: "there is no cable".to_owned(), remedy: "plug one in".to_owned() }
}
