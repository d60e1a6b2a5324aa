//! One flow of a run in progress, as a fixed number of columns over time, for the live view.

use pipefill_core::cell::{Direction, FlowSpec, Protocol, flow_name};
use pipefill_core::record::{DeliverySample, PingSample, TcpSample, UdpSample};
use pipefill_core::tcp_info::CaState;
use std::collections::BTreeMap;

/// Columns of a run.
pub(crate) const COLUMNS: usize = 120;

/// The rows of a flow up to now.
#[derive(Debug, Clone)]
pub(crate) struct FlowHistory {
    /// `0 tcp ×4 →`.
    pub(crate) name: String,
    /// Its transport.
    pub(crate) protocol: Protocol,
    /// Which way its data go.
    pub(crate) direction: Direction,
    streams: BTreeMap<u32, Latest>,
    columns: Vec<Column>,
    /// Requests that were given up.
    lost_pings: u64,
}

/// The last values of a stream.
#[derive(Debug, Clone, Copy, Default)]
struct Latest {
    received_bytes: u64,
    sent_datagrams: u64,
    received_datagrams: u64,
    tcp: Option<Sampled>,
}

/// A sender's last sample.
#[derive(Debug, Clone, Copy)]
struct Sampled {
    in_flight_bytes: Option<u64>,
    cwnd_bytes: Option<u64>,
    rwnd_bytes: Option<u64>,
    retransmits: u64,
}

/// The last values within a column's time; sums over the flow's streams.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Column {
    /// Received by the applications since the run began, and when that was sampled.
    received: Option<(u64, u64)>,
    /// In flight.
    pub(crate) in_flight_bytes: Option<u64>,
    /// Congestion window.
    pub(crate) cwnd_bytes: Option<u64>,
    /// Advertised window; `None` where a stream's is not known.
    pub(crate) rwnd_bytes: Option<u64>,
    /// Longest smoothed round trip, or round trip of a ping.
    pub(crate) rtt_us: Option<u64>,
    /// The worst congestion state.
    pub(crate) state: Option<CaState>,
}

impl FlowHistory {
    /// Of the flow at this place in the cell, before its first row.
    pub(super) fn of(place: u32, flow: &FlowSpec) -> Self {
        Self {
            name: flow_name(place, flow.protocol, flow.parallel, flow.direction),
            protocol: flow.protocol,
            direction: flow.direction,
            streams: BTreeMap::new(),
            columns: vec![Column::default(); COLUMNS],
            lost_pings: 0,
        }
    }

    /// The columns, in order of time.
    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// What arrived in each column, bits per second: between its last sample and that of the column before.
    pub(crate) fn received_bps(&self) -> Vec<Option<u64>> {
        let mut before = (0, 0);
        let mut rate = |column: &Column| {
            let (bytes, t_us) = column.received.filter(|&(_, t_us)| t_us > before.1)?;
            let rate = bits(bytes.saturating_sub(before.0), t_us - before.1);
            before = (bytes, t_us);
            Some(rate)
        };
        self.columns.iter().map(&mut rate).collect()
    }

    /// Bytes received, and when that was sampled; `None` before the first sample.
    pub(super) fn received(&self) -> Option<(u64, u64)> {
        self.columns.iter().rev().find_map(|column| column.received)
    }

    /// The latest round trip, microseconds.
    pub(crate) fn rtt_us(&self) -> Option<u64> {
        self.columns.iter().rev().find_map(|column| column.rtt_us)
    }

    /// TCP: segments retransmitted. `None` before the first sample.
    pub(crate) fn retransmits(&self) -> Option<u64> {
        let mut sampled = self.sampled().peekable();
        sampled.peek()?;
        Some(sampled.map(|stream| stream.retransmits).sum())
    }

    /// Requests that were given up.
    pub(crate) fn lost_pings(&self) -> u64 {
        self.lost_pings
    }

    /// UDP: datagrams that were sent and have not arrived, in per cent: under way, or lost. `None` without UDP.
    pub(crate) fn missing_percent(&self) -> Option<f64> {
        let sent: u64 = self.streams.values().map(|stream| stream.sent_datagrams).sum();
        let received: u64 = self.streams.values().map(|stream| stream.received_datagrams).sum();
        (sent > 0).then(|| 100.0 * sent.saturating_sub(received) as f64 / sent as f64)
    }

    pub(super) fn deliver(&mut self, at: usize, since_us: u64, row: &DeliverySample) {
        self.streams.entry(row.stream).or_default().received_bytes = row.received_bytes;
        let total = self.streams.values().map(|stream| stream.received_bytes).sum();
        self.columns[at].received = Some((total, since_us));
    }

    pub(super) fn sample(&mut self, at: usize, row: &TcpSample) {
        self.streams.entry(row.stream).or_default().tcp = Some(Sampled {
            in_flight_bytes: row.info.in_flight_bytes,
            cwnd_bytes: row.info.cwnd_bytes,
            rwnd_bytes: row.info.rwnd_bytes.map(u64::from),
            retransmits: row.info.retransmits.into(),
        });
        let sampled = || self.streams.values().filter_map(|stream| stream.tcp);
        let column = &mut self.columns[at];
        column.in_flight_bytes = sampled().map(|stream| stream.in_flight_bytes).sum();
        column.cwnd_bytes = sampled().map(|stream| stream.cwnd_bytes).sum();
        column.rwnd_bytes = sampled().map(|stream| stream.rwnd_bytes).sum();
        column.rtt_us = column.rtt_us.max(row.info.srtt_us.map(u64::from));
        column.state = column.state.max(row.info.ca_state);
    }

    pub(super) fn count(&mut self, row: &UdpSample) {
        let stream = self.streams.entry(row.stream).or_default();
        (stream.sent_datagrams, stream.received_datagrams) = (row.sent, row.received);
    }

    pub(super) fn answer(&mut self, at: usize, row: &PingSample) {
        self.lost_pings += u64::from(row.rtt_ns.is_none());
        let column = &mut self.columns[at];
        column.rtt_us = column.rtt_us.max(row.rtt_ns.map(|ns| ns / 1_000));
    }

    fn sampled(&self) -> impl Iterator<Item = Sampled> {
        self.streams.values().filter_map(|stream| stream.tcp)
    }
}

/// `bytes` within `span_us` as bits per second.
pub(super) fn bits(bytes: u64, span_us: u64) -> u64 {
    u64::try_from(u128::from(bytes) * 8_000_000 / u128::from(span_us)).unwrap_or(u64::MAX)
}
