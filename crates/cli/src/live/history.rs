//! A run so far: its rows as a fixed number of columns over time, for the live view. The figures of the report are others: they are taken
//! over the measured time.

use pipefill_core::plan::Run;
use pipefill_core::record::{AnyRow, DeliverySample, StreamEnd, TcpSample, UdpSample};
use pipefill_core::tcp_info::CaState;
use std::collections::BTreeMap;
use std::time::Duration;

/// Columns of a run.
pub(crate) const COLUMNS: usize = 120;

/// The rows of a run so far.
#[derive(Debug, Clone)]
pub(crate) struct RunHistory {
    /// The traffic's whole length, as asked.
    span_us: u64,
    /// Time of the first row: the traffic begins there.
    first_us: Option<u64>,
    streams: BTreeMap<u32, Latest>,
    columns: Vec<Column>,
    samples: Samples,
}

/// When the samples were taken.
#[derive(Debug, Clone, Copy)]
struct Samples {
    every_us: u64,
    /// The stream whose samples are looked at, and its last one.
    last: Option<(u32, u64)>,
    /// By how much the latest one was late.
    late_us: Option<u64>,
}

impl Samples {
    /// A sample of `stream`. The first stream stands for all: they are sampled together.
    fn take(&mut self, stream: u32, t_us: u64) {
        let (first, before_us) = *self.last.get_or_insert((stream, t_us));
        if stream == first && t_us > before_us {
            let late_us = (t_us - before_us).saturating_sub(self.every_us);
            self.late_us = self.late_us.max(Some(late_us));
            self.last = Some((stream, t_us));
        }
    }
}

/// The last values of a stream.
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

/// The last values within a column's time; sums over the streams.
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

impl RunHistory {
    /// Of `run`, before its first row.
    pub(crate) fn of(run: &Run) -> Self {
        let ends = run.cell.spec.flows.iter().map(|flow| flow.start + flow.duration);
        let span = ends.max().unwrap_or_default();
        let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        let span_us = micros(span).max(1);
        let samples = Samples { every_us: micros(run.cell.spec.run.sample), last: None, late_us: None };
        Self {
            span_us,
            first_us: None,
            streams: BTreeMap::new(),
            columns: vec![Column::default(); COLUMNS],
            samples,
        }
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

    /// The largest lateness of a sample so far: by how much it was later than one interval after the one before. `None` before the
    /// second sample.
    pub(crate) fn late_samples(&self) -> Option<Duration> {
        self.samples.late_us.map(Duration::from_micros)
    }

    fn delivered(&mut self, at: usize, since_us: u64, row: &DeliverySample) {
        self.samples.take(row.stream, row.t_us);
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
    fn steady() -> RunHistory {
        let record = synthetic::record();
        let mut history = RunHistory::of(&record.manifest.run);
        record.rows().iter().for_each(|row| history.take(row));
        history
    }

    #[test]
    fn a_steady_stream_is_a_flat_line() {
        let history = steady();
        let rates: Vec<u64> = history.received_bps().into_iter().flatten().collect();
        assert!(rates.len() >= 100, "{}", rates.len());
        assert!(rates[1..].iter().all(|rate| (79_000_000..=81_000_000).contains(rate)), "{rates:?}");
        assert!((79_000_000..=80_000_000).contains(&history.mean_bps().unwrap()));
        assert_eq!(history.missing_percent(), None);
        let looks = || history.columns().iter().filter(|column| column.cwnd_bytes.is_some());
        assert!(looks().count() >= 100);
        assert!(looks().all(|column| column.cwnd_bytes == Some(200_000) && column.rtt_us == Some(10_400)));
        assert!(looks().any(|column| column.state == Some(CaState::Recovery)));
    }

    #[test]
    fn before_the_first_row_nothing_is_known() {
        let history = RunHistory::of(&synthetic::record().manifest.run);
        assert_eq!((history.mean_bps(), history.first_us()), (None, 0));
        assert!(history.received_bps().iter().all(Option::is_none));
        assert!(history.columns().iter().all(|column| *column == Column::default()));
    }

    #[test]
    fn a_sample_that_comes_late_is_noticed_and_the_next_one_is_not() {
        let mut history = RunHistory::of(&synthetic::record().manifest.run);
        let every_us = history.samples.every_us;
        for (stream, t_us) in
            [(0, 0), (1, 3), (0, every_us), (1, 5 * every_us), (0, 2 * every_us + 700), (0, 3 * every_us)]
        {
            let row = DeliverySample { t_us, stream, sent_bytes: 0, received_bytes: 0 };
            history.take(&AnyRow::Delivery(row));
        }
        assert_eq!(history.late_samples(), Some(Duration::from_micros(700)));
        assert_eq!(RunHistory::of(&synthetic::record().manifest.run).late_samples(), None);
    }

    #[test]
    fn rows_after_the_end_stay_in_the_last_column() {
        let mut history = steady();
        let late =
            DeliverySample { t_us: u64::MAX / 2, stream: 0, sent_bytes: 0, received_bytes: 200_000_000 };
        history.take(&AnyRow::Delivery(late));
        assert_eq!(history.columns().len(), COLUMNS);
    }
}
