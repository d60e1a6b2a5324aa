//! How full a direction of the path was while one of its flows was measured: everything that passed, over its rate.

use super::known_run::KnownRun;
use super::way::PathDirection;
use crate::ground::count_at::CountAt;
use crate::ground::interval::TimeInterval;
use crate::ground::models::headers::Headers;
use pipefill_core::cell::{Direction, FlowSpec, Framing, Protocol};
use pipefill_core::record::{AnyRow, StreamEnd, StreamSummary};
use pipefill_core::units::{Bytes, Rate};
use std::collections::BTreeMap;

/// Of one direction, in one window.
#[derive(Debug)]
pub(crate) struct Utilisation {
    window: TimeInterval,
    rate: Rate,
    headers: Headers,
    framing: Framing,
    streams: BTreeMap<u32, Ends>,
}

/// One stream's count at both ends of the window.
#[derive(Debug)]
struct Ends {
    protocol: Protocol,
    /// Bytes of payload that the count counts.
    unit: u64,
    /// Payload of a full segment or datagram.
    payload: u64,
    from: CountAt,
    to: CountAt,
}

impl Utilisation {
    /// Of the streams of `run` that go in `direction`. `None` where the path has no rate or the window is empty.
    pub(crate) fn of(
        run: &KnownRun<'_>,
        direction: Direction,
        window: TimeInterval,
        way: &PathDirection,
    ) -> Option<Self> {
        let ends = |flow: &FlowSpec| {
            let is_udp = flow.protocol == Protocol::Udp;
            Ends {
                protocol: flow.protocol,
                unit: if is_udp { flow.length.get() } else { 1 },
                payload: if is_udp { flow.length.get() } else { way.headers.mss() },
                from: CountAt::time(window.from_us),
                to: CountAt::time(window.to_us),
            }
        };
        let counted = |stream: &StreamSummary| {
            let flow = run.flow_of(stream)?;
            let is_its = flow.direction == direction && flow.protocol != Protocol::Ping;
            is_its.then(|| (stream.stream, ends(flow)))
        };
        let streams = run.streams.iter().filter_map(counted).collect();
        let PathDirection { headers, framing, .. } = *way;
        let rate = way.rate(window)?.value;
        (window.length_us() > 0).then_some(Self { window, rate, headers, framing, streams })
    }

    /// Takes the next row of any table, in order of time.
    pub(crate) fn observe(&mut self, row: &AnyRow) {
        let (stream, count, mss) = match row {
            AnyRow::Tcp(row) if row.end == StreamEnd::Sender => {
                let Some(acked) = row.info.bytes_acked else { return };
                (row.stream, acked, u64::from(row.info.mss_bytes))
            }
            AnyRow::Packets(row) if row.end == StreamEnd::Sender => {
                (row.stream, row.acked_bytes, u64::from(row.mss_bytes))
            }
            AnyRow::Udp(row) => (row.stream, row.received, 0),
            _ => return,
        };
        if let Some(ends) = self.streams.get_mut(&stream) {
            ends.from.observe(row.t_us(), count);
            ends.to.observe(row.t_us(), count);
            if mss > 0 {
                ends.payload = mss;
            }
        }
    }

    /// One at most: what is acknowledged in a lump when a hole is filled, or out of a full bucket, arrived before.
    pub(crate) fn share(&self) -> f64 {
        let wire = |ends: &Ends| {
            let bytes = (ends.to.value_or_first() - ends.from.value_or_first()) * ends.unit as f64;
            let frame = self.headers.frame(ends.protocol, Bytes::new(ends.payload));
            bytes * self.framing.cost(frame.get()) as f64 / ends.payload.max(1) as f64
        };
        let bytes: f64 = self.streams.values().map(wire).sum();
        (bytes * 8e6 / self.window.length_us() as f64 / self.rate.bps().max(1) as f64).min(1.0)
    }
}
