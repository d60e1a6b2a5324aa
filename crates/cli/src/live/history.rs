//! A run in progress: the rows of each of its flows over time, for the live view. The figures of the report differ: they are taken over the
//! measured time.

use super::flow::{COLUMNS, FlowHistory, bits};
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::plan::Run;
use pipefill_core::record::{AnyRow, Manifest, StreamEnd};
use std::time::Duration;

/// The rows of a run up to now.
#[derive(Debug, Clone)]
pub(crate) struct RunHistory {
    /// The traffic's whole length, as asked.
    span_us: u64,
    /// Time of the first row: the traffic begins there.
    first_us: Option<u64>,
    /// In the order of the cell.
    flows: Vec<FlowHistory>,
    /// The place of each stream's flow, by the stream's number.
    places: Vec<usize>,
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

impl RunHistory {
    /// Of `run`, before its first row.
    pub(crate) fn of(run: &Run) -> Self {
        let ends = run.cell.spec.flows.iter().map(|flow| flow.start + flow.duration);
        let span = ends.max().unwrap_or_default();
        let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        let span_us = micros(span).max(1);
        let samples = Samples { every_us: micros(run.cell.spec.run.sample), last: None, late_us: None };
        let flows = (0..).zip(&run.cell.spec.flows).map(|(place, flow)| FlowHistory::of(place, flow));
        let streams = Manifest::expected(run, 0).streams;
        Self {
            span_us,
            first_us: None,
            flows: flows.collect(),
            places: streams.iter().map(|stream| stream.flow as usize).collect(),
            samples,
        }
    }

    /// Takes the next row of any table.
    pub(crate) fn push(&mut self, row: &AnyRow) {
        let first_us = *self.first_us.get_or_insert(row.t_us());
        let since_us = row.t_us().saturating_sub(first_us);
        let at = u128::from(since_us) * COLUMNS as u128 / u128::from(self.span_us);
        let at = usize::try_from(at).unwrap_or(COLUMNS).min(COLUMNS - 1);
        match row {
            AnyRow::Delivery(row) => {
                self.samples.take(row.stream, row.t_us);
                self.tell(row.stream, |flow| flow.deliver(at, since_us, row));
            }
            AnyRow::Tcp(row) if row.end == StreamEnd::Sender => {
                self.tell(row.stream, |flow| flow.sample(at, row));
            }
            AnyRow::Udp(row) => self.tell(row.stream, |flow| flow.count(row)),
            AnyRow::Ping(row) => self.tell(row.stream, |flow| flow.answer(at, row)),
            AnyRow::Tcp(_)
            | AnyRow::Path(_)
            | AnyRow::Cpu(_)
            | AnyRow::Retransmit(_)
            | AnyRow::Packets(_)
            | AnyRow::Datagrams(_)
            | AnyRow::Aqm(_) => {}
        }
    }

    /// All flows, in the order of the cell.
    pub(crate) fn flows(&self) -> &[FlowHistory] {
        &self.flows
    }

    /// The flow whose windows and limit are shown: the first one of TCP, else the first one at all.
    pub(crate) fn shown(&self) -> Option<&FlowHistory> {
        self.flows.get(self.shown_place())
    }

    /// The stream whose limit is shown: the first one of that flow.
    pub(crate) fn shown_stream(&self) -> Option<u32> {
        let place = self.shown_place();
        (0..).zip(&self.places).find(|&(_, &of)| of == place).map(|(stream, _)| stream)
    }

    /// When the traffic began, microseconds since the run did.
    pub(crate) fn first_us(&self) -> u64 {
        self.first_us.unwrap_or(0)
    }

    /// The length of the traffic, as asked.
    pub(crate) fn span_us(&self) -> u64 {
        self.span_us
    }

    /// The flows of one direction whose data count, pings left out.
    pub(crate) fn of_direction(&self, direction: Direction) -> impl Iterator<Item = &FlowHistory> {
        self.flows.iter().filter(move |flow| flow.direction == direction && flow.protocol != Protocol::Ping)
    }

    /// What all flows of a direction received in each column together, bits per second.
    pub(crate) fn received_bps(&self, direction: Direction) -> Vec<Option<u64>> {
        let mut sums: Vec<Option<u64>> = vec![None; COLUMNS];
        for flow in self.of_direction(direction) {
            for (sum, bps) in sums.iter_mut().zip(flow.received_bps()) {
                *sum = [*sum, bps].into_iter().flatten().reduce(u64::saturating_add);
            }
        }
        sums
    }

    /// The mean goodput since the traffic began; `None` before the first sample.
    pub(crate) fn mean_bps(&self, direction: Direction) -> Option<u64> {
        let counted: Vec<(u64, u64)> =
            self.of_direction(direction).filter_map(FlowHistory::received).collect();
        let t_us = counted.iter().map(|&(_, t_us)| t_us).max().filter(|&t_us| t_us > 0)?;
        Some(bits(counted.iter().map(|(bytes, _)| bytes).sum(), t_us))
    }

    /// The largest lateness of a sample: how much more than an interval after the previous one it came. `None` before the
    /// second sample.
    pub(crate) fn late_samples(&self) -> Option<Duration> {
        self.samples.late_us.map(Duration::from_micros)
    }

    fn shown_place(&self) -> usize {
        self.flows.iter().position(|flow| flow.protocol == Protocol::Tcp).unwrap_or(0)
    }

    /// Gives the flow of `stream` a row.
    fn tell(&mut self, stream: u32, row: impl FnOnce(&mut FlowHistory)) {
        let place = self.places.get(stream as usize).copied();
        if let Some(flow) = place.and_then(|place| self.flows.get_mut(place)) {
            row(flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::flow::Column;
    use crate::live::synthetic::{self, mixed};
    use pipefill_core::record::DeliverySample;
    use pipefill_core::tcp_info::CaState;

    /// 80 Mbit/s for ten seconds, a sample every 100 ms.
    fn steady() -> RunHistory {
        let record = synthetic::record();
        let mut history = RunHistory::of(&record.manifest.run);
        record.rows().iter().for_each(|row| history.push(row));
        history
    }

    #[test]
    fn a_steady_stream_is_a_flat_line() {
        let history = steady();
        let flow = &history.flows()[0];
        let rates: Vec<u64> = flow.received_bps().into_iter().flatten().collect();
        assert!(rates.len() >= 100, "{}", rates.len());
        assert!(rates[1..].iter().all(|rate| (79_000_000..=81_000_000).contains(rate)), "{rates:?}");
        assert_eq!(history.received_bps(Direction::Forward), flow.received_bps());
        assert!((79_000_000..=80_000_000).contains(&history.mean_bps(Direction::Forward).unwrap()));
        assert_eq!(history.mean_bps(Direction::Reverse), None);
        assert_eq!(
            (flow.missing_percent(), flow.retransmits(), flow.rtt_us()),
            (None, Some(7), Some(10_400))
        );
        let looks = || flow.columns().iter().filter(|column| column.cwnd_bytes.is_some());
        assert!(looks().count() >= 100);
        assert!(looks().all(|column| column.cwnd_bytes == Some(200_000) && column.rtt_us == Some(10_400)));
        assert!(looks().any(|column| column.state == Some(CaState::Recovery)));
    }

    #[test]
    fn each_flow_has_its_own_rows_and_a_direction_its_sum() {
        let history = mixed();
        let names: Vec<&str> = history.flows().iter().map(|flow| flow.name.as_str()).collect();
        assert_eq!(names, ["0 udp →", "1 tcp ×2 →", "2 tcp ←", "3 ping →"]);
        let last = |flow: &FlowHistory| flow.received_bps().into_iter().flatten().last();
        let rates: Vec<Option<u64>> = history.flows().iter().map(last).collect();
        assert_eq!(rates, [Some(5_000_000), Some(80_000_000), Some(20_000_000), None]);
        let means = Direction::ALL.map(|direction| history.mean_bps(direction));
        assert_eq!(means, [Some(85_000_000), Some(20_000_000)]);
        assert_eq!((history.shown().unwrap().name.as_str(), history.shown_stream()), ("1 tcp ×2 →", Some(1)));
        assert_eq!((history.flows()[3].rtt_us(), history.flows()[3].lost_pings()), (Some(12_000), 1));
    }

    #[test]
    fn before_the_first_row_nothing_is_known() {
        let history = RunHistory::of(&synthetic::record().manifest.run);
        assert_eq!((history.mean_bps(Direction::Forward), history.first_us()), (None, 0));
        assert!(history.received_bps(Direction::Forward).iter().all(Option::is_none));
        let flow = history.shown().unwrap();
        assert_eq!((flow.retransmits(), flow.rtt_us()), (None, None));
        assert!(flow.columns().iter().all(|column| *column == Column::default()));
    }

    #[test]
    fn a_sample_that_comes_late_is_noticed_and_the_next_one_is_not() {
        let mut history = RunHistory::of(&synthetic::record().manifest.run);
        let every_us = history.samples.every_us;
        for (stream, t_us) in
            [(0, 0), (1, 3), (0, every_us), (1, 5 * every_us), (0, 2 * every_us + 700), (0, 3 * every_us)]
        {
            let row = DeliverySample { t_us, stream, sent_bytes: 0, received_bytes: 0 };
            history.push(&AnyRow::Delivery(row));
        }
        assert_eq!(history.late_samples(), Some(Duration::from_micros(700)));
        assert_eq!(RunHistory::of(&synthetic::record().manifest.run).late_samples(), None);
    }

    #[test]
    fn rows_after_the_end_stay_in_the_last_column() {
        let mut history = steady();
        let late =
            DeliverySample { t_us: u64::MAX / 2, stream: 0, sent_bytes: 0, received_bytes: 200_000_000 };
        history.push(&AnyRow::Delivery(late));
        assert_eq!(history.flows()[0].columns().len(), COLUMNS);
    }
}
