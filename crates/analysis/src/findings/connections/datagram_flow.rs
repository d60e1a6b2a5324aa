//! Datagrams between two hosts as a record: what both applications counted, for no socket counts what arrives.

use super::unplanned::{flow, manifest, spec};
use pipefill_core::cell::{CellSpec, Direction, FlowSpec, Protocol};
use pipefill_core::plan::Run;
use pipefill_core::record::{
    AnyRow, DeliverySample, Manifest, Observed, StreamSummary, UdpSample, UdpTotals,
};
use pipefill_core::units::{Bytes, Rate};
use std::time::Duration;

/// How often an application of ours reports its counts.
const EVERY: Duration = Duration::from_secs(1);

/// One stream of datagrams of a test. Its times count from when data began to flow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DatagramFlow {
    /// Whose.
    pub observed: Observed,
    /// Whether this host sent.
    pub sends: bool,
    /// What was asked for, bits per second of payload; `None` for as much as goes.
    pub asked: Option<Rate>,
    /// Payload of a datagram.
    pub length: Bytes,
    /// How long was sent.
    pub span_us: u64,
    /// When both ends had stopped counting.
    pub end_us: u64,
    /// Payload that was sent, and that arrived.
    pub sent_bytes: u64,
    /// See [`Self::sent_bytes`].
    pub received_bytes: u64,
    /// Datagrams.
    pub totals: UdpTotals,
    /// What the receiver had counted meanwhile, in order of time; none where it is the other host.
    pub counts: Vec<DatagramCount>,
}

/// What had arrived by a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatagramCount {
    /// When.
    pub t_us: u64,
    /// Datagrams that the receiver knows to have been sent, by their numbers.
    pub sent: u64,
    /// Those that arrived.
    pub received: u64,
    /// Those that came after a later one.
    pub reordered: u64,
    /// RFC 3550, then.
    pub jitter_ns: u64,
}

impl DatagramFlow {
    /// The cell of such a flow: its datagrams, over an unknown path.
    pub fn spec(&self) -> CellSpec {
        let direction = if self.sends { Direction::Forward } else { Direction::Reverse };
        let flow = flow(Protocol::Udp, direction, 0..self.span_us);
        let flow = FlowSpec { bitrate: self.asked, length: self.length, ..flow };
        spec(&self.observed, "", EVERY, vec![flow])
    }

    /// The record's rows. What was sent is the other end's count where this one received, and is known at the end.
    pub fn rows(&self) -> impl Iterator<Item = AnyRow> + '_ {
        let payload = |datagrams: u64| datagrams.saturating_mul(self.length.get());
        let delivery = |t_us, sent_bytes, received_bytes| {
            AnyRow::Delivery(DeliverySample { t_us, stream: 0, sent_bytes, received_bytes })
        };
        let within = self.counts.iter().filter(|count| count.t_us < self.end_us).flat_map(move |counted| {
            let count = UdpSample {
                t_us: counted.t_us,
                stream: 0,
                sent: counted.sent,
                received: counted.received,
                duplicates: 0,
                reordered: counted.reordered,
                jitter_ns: Some(counted.jitter_ns),
            };
            [AnyRow::Udp(count), delivery(counted.t_us, payload(counted.sent), payload(counted.received))]
        });
        let last = delivery(self.end_us, self.sent_bytes, self.received_bytes);
        std::iter::once(delivery(0, 0, 0)).chain(within).chain([last])
    }

    /// Its manifest, as a run of its cell.
    pub fn manifest(&self, run: &Run) -> Manifest {
        let summary = StreamSummary {
            stop_us: self.span_us,
            end_us: self.end_us,
            sent_bytes: self.sent_bytes,
            received_bytes: self.received_bytes,
            udp: Some(self.totals),
            ..StreamSummary::default()
        };
        manifest(run, &self.observed, vec![summary])
    }
}
