//! What both ends and the path counted of a flow of datagrams.

use super::drops::Drops;
use crate::ground::interval::TimeInterval;
use pipefill_core::cell::FlowSpec;
use pipefill_core::evidence::{Datagrams, Evidence, Plan};
use pipefill_core::record::{StreamSummary, UdpTotals};

/// What the ends of a flow counted.
#[derive(Debug)]
pub(crate) struct DatagramCounts {
    sent: u64,
    received: u64,
    sent_bytes: u64,
    /// Dropped by the receivers' sockets; `None` where one of them does not count.
    socket_drops: Option<u64>,
    length_us: u64,
}

impl DatagramCounts {
    /// `None` where nothing was sent.
    pub(crate) fn of(streams: &[&StreamSummary]) -> Option<Self> {
        let totals: Vec<UdpTotals> = streams.iter().filter_map(|stream| stream.udp).collect();
        let lives =
            streams.iter().map(|stream| TimeInterval { from_us: stream.start_us, to_us: stream.stop_us });
        let counted = Self {
            sent: totals.iter().map(|totals| totals.sent).sum(),
            received: totals.iter().map(|totals| totals.received).sum(),
            // Also what was still under way when the receiver stopped.
            sent_bytes: streams.iter().map(|stream| stream.sent_bytes).sum(),
            socket_drops: totals.iter().map(|totals| totals.socket_drops).sum(),
            length_us: lives.map(TimeInterval::length_us).max().unwrap_or(0).max(1),
        };
        (counted.sent > 0).then_some(counted)
    }

    /// The evidence on `flow`: with the `drops` of its direction where a scenario describes the path.
    pub(crate) fn evidence(&self, flow: &FlowSpec, drops: Option<Drops>) -> Evidence {
        let asked_bps = flow.bitrate.map(|rate| rate.bps().saturating_mul(u64::from(flow.parallel)));
        let missing = self.sent.saturating_sub(self.received);
        let of_missing = |count: u64| if missing > 0 { count as f64 / missing as f64 } else { f64::INFINITY };
        let by_the_path = drops.and_then(Drops::by_the_path);
        let datagrams = Datagrams {
            lost_share: self.lost_share(),
            offered_share: asked_bps.map(|asked| self.bps(self.sent_bytes) as f64 / (asked as f64).max(1.0)),
            path_drops: by_the_path.map(of_missing),
            queue_drops: drops.and_then(|drops| drops.queue).map(of_missing),
            testbed_drops: by_the_path.and(drops).map(|drops| of_missing(drops.by_the_testbed())),
            socket_drops: self.socket_drops.map(of_missing),
        };
        Evidence { plan: drops.map(|_| Plan::default()), datagrams: Some(datagrams), ..Evidence::default() }
    }

    /// Share of what was sent that did not arrive.
    pub(crate) fn lost_share(&self) -> f64 {
        self.sent.saturating_sub(self.received) as f64 / self.sent as f64
    }

    /// Payload that arrived in datagrams of `length` bytes, bits per second.
    pub(crate) fn received_bps(&self, length: u64) -> u64 {
        self.bps(self.received.saturating_mul(length))
    }

    fn bps(&self, bytes: u64) -> u64 {
        u64::try_from(u128::from(bytes) * 8_000_000 / u128::from(self.length_us)).unwrap_or(u64::MAX)
    }
}
