//! A small plan, and the rows of a steady run: for tests only.

use super::RunHistory;
use pipefill_core::cell::{Direction, FlowSpec, Protocol};
use pipefill_core::plan::Run;
use pipefill_core::record::{AnyRow, DeliverySample, PingSample, RunRecord, UdpSample};
use pipefill_core::scenario::Scenario;
use pipefill_testkit::builder::{self, Steady, TINY};

/// The runs of the tiny scenario.
pub(crate) fn runs() -> Vec<Run> {
    Scenario::parse(TINY, "tiny.toml").unwrap_or_else(|error| panic!("{error}")).plan().runs()
}

/// A steady TCP run of the tiny scenario.
pub(crate) fn record() -> RunRecord {
    builder::record(runs().remove(0), &[Steady::default()])
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
            history.push(&AnyRow::Delivery(row));
        }
        for (stream, srtt_us) in [(1, 10_000), (2, 11_000), (3, 30_000)] {
            history.push(&AnyRow::Tcp(builder::sample(
                stream,
                &Steady { srtt_us, ..Steady::default() },
                t_us,
            )));
        }
        let rtt_ns = (t_us > 0).then_some(12_000_000);
        let ping = PingSample { t_us, stream: 4, number: 0, payload_bytes: 56, reply_bytes: 56, rtt_ns };
        history.push(&AnyRow::Ping(ping));
        history.push(&AnyRow::Udp(udp(t_us)));
    }
    history
}

/// Of ten datagrams nine have arrived.
fn udp(t_us: u64) -> UdpSample {
    let sent = t_us / 1_000;
    UdpSample { t_us, stream: 0, sent, received: sent * 9 / 10, duplicates: 0, reordered: 0, jitter_ns: None }
}
