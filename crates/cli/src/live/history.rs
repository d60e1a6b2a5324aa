//! A run while it goes on: its rows as columns over time, few and always as many.
//!
//! Never: a figure of the report; these are looks of one moment, the report's are judged over the measured time.

use pipefill_core::plan::Run;
use pipefill_core::record::{AnyRow, DeliverySample, StreamEnd, TcpSample, UdpSample};
use pipefill_core::tcp_info::CaState;
use std::collections::BTreeMap;

/// Columns of a run.
pub(crate) const COLUMNS: usize = 120;

/// What was seen of a run so far.
#[derive(Debug, Clone)]
pub(crate) struct Pulse {
    /// The traffic's whole length, as asked.
    span_us: u64,
    /// Time of the first row: the traffic begins there.
    first_us: Option<u64>,
    streams: BTreeMap<u32, Latest>,
    columns: Vec<Column>,
}

/// What a stream showed last.
#[derive(Debug, Clone, Copy, Default)]
struct Latest {
    received_bytes: u64,
    sent_datagrams: u64,
    received_datagrams: u64,
    tcp: Option<Windows>,
}

/// A sender's last sample.
#[derive(Debug, Clone, Copy)]
struct Windows {
    in_flight_bytes: u64,
    cwnd_bytes: u64,
    rwnd_bytes: Option<u64>,
}

/// The last look of a column's time; sums over the streams.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Column {
    /// Received by the applications since the run began, and when that was looked at.
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

impl Pulse {
    /// Of `run`, before its first row.
    pub(crate) fn of(run: &Run) -> Self {
        let ends = run.cell.spec.flows.iter().map(|flow| flow.start + flow.duration);
        let span = ends.max().unwrap_or_default();
        let span_us = u64::try_from(span.as_micros()).unwrap_or(u64::MAX).max(1);
        Self { span_us, first_us: None, streams: BTreeMap::new(), columns: vec![Column::default(); COLUMNS] }
    }

    /// Takes the next row of any table.
    pub(crate) fn take(&mut self, row: &AnyRow) {
        let first_us = *self.first_us.get_or_insert(row.t_us());
        let since_us = row.t_us().saturating_sub(first_us);
        let at = u128::from(since_us) * COLUMNS as u128 / u128::from(self.span_us);
        let at = usize::try_from(at).unwrap_or(COLUMNS).min(COLUMNS - 1);
        match row {
            AnyRow::Delivery(row) => self.delivered(at, since_us, row),
            AnyRow::Tcp(row) if row.end == StreamEnd::Sender => self.sampled(at, row),
            AnyRow::Udp(row) => self.counted(row),
            AnyRow::Ping(row) => {
                let column = &mut self.columns[at];
                column.rtt_us = column.rtt_us.max(row.rtt_ns.map(|ns| ns / 1_000));
            }
            AnyRow::Tcp(_) | AnyRow::Path(_) | AnyRow::Cpu(_) | AnyRow::Retransmit(_) => {}
        }
    }

    /// The columns, in order of time.
    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// When the traffic began, microseconds since the run did.
    pub(crate) fn first_us(&self) -> u64 {
        self.first_us.unwrap_or(0)
    }

    /// The length of the traffic, as asked.
    pub(crate) fn span_us(&self) -> u64 {
        self.span_us
    }

    /// What arrived in each column, bits per second: between its last look and that of the column before.
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

    /// The same over all of the traffic so far; `None` before anything was counted.
    pub(crate) fn mean_bps(&self) -> Option<u64> {
        let (bytes, t_us) = self.columns.iter().rev().find_map(|column| column.received)?;
        (t_us > 0).then(|| bits(bytes, t_us))
    }

    /// UDP: datagrams that were sent and have not arrived, in per cent: under way, or lost. `None` without UDP.
    pub(crate) fn missing_percent(&self) -> Option<f64> {
        let sent: u64 = self.streams.values().map(|stream| stream.sent_datagrams).sum();
        let received: u64 = self.streams.values().map(|stream| stream.received_datagrams).sum();
        (sent > 0).then(|| 100.0 * sent.saturating_sub(received) as f64 / sent as f64)
    }

    fn delivered(&mut self, at: usize, since_us: u64, row: &DeliverySample) {
        self.streams.entry(row.stream).or_default().received_bytes = row.received_bytes;
        let total = self.streams.values().map(|stream| stream.received_bytes).sum();
        self.columns[at].received = Some((total, since_us));
    }

    fn sampled(&mut self, at: usize, row: &TcpSample) {
        self.streams.entry(row.stream).or_default().tcp = Some(Windows {
            in_flight_bytes: row.info.in_flight_bytes,
            cwnd_bytes: row.info.cwnd_bytes,
            rwnd_bytes: row.info.rwnd_bytes.map(u64::from),
        });
        let windows = || self.streams.values().filter_map(|stream| stream.tcp);
        let column = &mut self.columns[at];
        column.in_flight_bytes = Some(windows().map(|one| one.in_flight_bytes).sum());
        column.cwnd_bytes = Some(windows().map(|one| one.cwnd_bytes).sum());
        column.rwnd_bytes = windows().map(|one| one.rwnd_bytes).sum();
        column.rtt_us = column.rtt_us.max(row.info.srtt_us.map(u64::from));
        column.state = column.state.max(row.info.ca_state);
    }

    fn counted(&mut self, row: &UdpSample) {
        let stream = self.streams.entry(row.stream).or_default();
        (stream.sent_datagrams, stream.received_datagrams) = (row.sent, row.received);
    }
}

fn bits(bytes: u64, span_us: u64) -> u64 {
    u64::try_from(u128::from(bytes) * 8_000_000 / u128::from(span_us)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    /// 80 Mbit/s for ten seconds, a sample every 100 ms.
    fn steady() -> Pulse {
        let record = synthetic::record();
        let mut pulse = Pulse::of(&record.manifest.run);
        record.rows().iter().for_each(|row| pulse.take(row));
        pulse
    }

    #[test]
    fn a_steady_stream_is_a_flat_line() {
        let pulse = steady();
        let rates: Vec<u64> = pulse.received_bps().into_iter().flatten().collect();
        assert!(rates.len() >= 100, "{}", rates.len());
        assert!(rates[1..].iter().all(|rate| (79_000_000..=81_000_000).contains(rate)), "{rates:?}");
        assert!((79_000_000..=80_000_000).contains(&pulse.mean_bps().unwrap()));
        assert_eq!(pulse.missing_percent(), None);
        let looks = || pulse.columns().iter().filter(|column| column.cwnd_bytes.is_some());
        assert!(looks().count() >= 100);
        assert!(looks().all(|column| column.cwnd_bytes == Some(200_000) && column.rtt_us == Some(10_400)));
        assert!(looks().any(|column| column.state == Some(CaState::Recovery)));
    }

    #[test]
    fn before_the_first_row_nothing_is_known() {
        let pulse = Pulse::of(&synthetic::record().manifest.run);
        assert_eq!((pulse.mean_bps(), pulse.first_us()), (None, 0));
        assert!(pulse.received_bps().iter().all(Option::is_none));
        assert!(pulse.columns().iter().all(|column| *column == Column::default()));
    }

    #[test]
    fn rows_after_the_end_stay_in_the_last_column() {
        let mut pulse = steady();
        let late =
            DeliverySample { t_us: u64::MAX / 2, stream: 0, sent_bytes: 0, received_bytes: 200_000_000 };
        pulse.take(&AnyRow::Delivery(late));
        assert_eq!(pulse.columns().len(), COLUMNS);
    }
}
