//! The record of a datagram flow on a path that this program emulates: counts of the path and of the receiving socket.

use super::datagram_report::DatagramReport;
use super::finding::ConnectionFinding;
use super::unplanned::{family, flow, manifest, spec};
use crate::findings::experiment::{RunFlows, flow_results};
use crate::findings::metrics::FlowCondenser;
use crate::findings::verdict::{Verdict, VerdictReason};
use crate::ground::thresholds::STANDARD;
use crate::infer::{KnownPath, KnownRun};
use pipefill_core::cell::{CellSpec, Direction, FlowSpec, Protocol};
use pipefill_core::plan::Run;
use pipefill_core::record::{
    AnyRow, Counter, CountsBefore, DatagramSample, DeliverySample, Manifest, Observed, PathFacts,
    StreamSummary, UdpSample,
};
use pipefill_core::units::Bytes;
use std::time::Duration;

/// A flow in one direction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PathDatagrams {
    /// Whose, as this end of the path sees it.
    pub observed: Observed,
    /// Whether this end sends it.
    pub sends: bool,
    /// From one sample to the next.
    pub every: Duration,
    /// When its first packet came to the path, in the time of the samples.
    pub first_us: u64,
    /// When its last one did.
    pub last_us: u64,
    /// What was counted, in order of time.
    pub samples: Vec<DatagramSample>,
    /// What both hosts count of UDP (`sender nstat`, `receiver nstat`).
    pub counters: Vec<Counter>,
}

impl PathDatagrams {
    /// The totals. The receiving socket may be closed at the last reading: its buffer is taken from the last reading that has the socket.
    pub fn counted(&self) -> DatagramSample {
        let Some(last) = self.samples.last() else { return DatagramSample::default() };
        let rcvbuf_bytes = self.samples.iter().rev().find_map(|sample| sample.rcvbuf_bytes);
        DatagramSample { rcvbuf_bytes, ..*last }
    }

    /// Whether it has too few datagrams to say what limits it.
    pub fn is_short(&self) -> bool {
        (self.counted().offered_packets as f64) < STANDARD.reading_segments.value()
    }

    /// The flow's cell in a record: datagrams of their mean length, over an unspecified path.
    pub fn spec(&self) -> CellSpec {
        spec(&self.observed, "", self.every, vec![self.flow()])
    }

    /// The record's rows.
    pub fn rows(&self) -> impl Iterator<Item = AnyRow> + '_ {
        let delivery = |t_us, sent_bytes, received_bytes| {
            AnyRow::Delivery(DeliverySample { t_us, stream: 0, sent_bytes, received_bytes })
        };
        let counted = self.samples.iter().flat_map(move |sample| {
            let sample = DatagramSample { stream: 0, ..*sample };
            let totals = sample.totals();
            let count = UdpSample {
                t_us: sample.t_us,
                stream: 0,
                sent: totals.sent,
                received: totals.received,
                duplicates: 0,
                reordered: 0,
                jitter_ns: None,
            };
            let delivered = delivery(sample.t_us, sample.offered_bytes, sample.received_bytes());
            [AnyRow::Datagrams(sample), AnyRow::Udp(count), delivered]
        });
        std::iter::once(delivery(self.first_us, 0, 0)).chain(counted)
    }

    /// Its manifest, as a run of its cell.
    pub fn manifest(&self, run: &Run) -> Manifest {
        let manifest = manifest(run, &self.observed, vec![self.summary()]);
        Manifest { counters: self.counters.clone(), ..manifest }
    }

    /// What limits it.
    pub fn finding(&self) -> ConnectionFinding {
        let observed = &self.observed;
        let counted = self.counted();
        let totals = counted.totals();
        let direction = self.direction();
        let mut finding = ConnectionFinding {
            protocol: Protocol::Udp,
            local: observed.local.clone(),
            remote: observed.remote.clone(),
            process: observed.process.as_ref().map(|process| process.name.clone()),
            pid: observed.process.as_ref().map(|process| process.pid),
            direction: Some(direction),
            samples: self.samples.len(),
            lost_percent: (totals.sent > 0)
                .then(|| 100.0 * totals.sent.saturating_sub(totals.received) as f64 / totals.sent as f64),
            datagrams: Some(DatagramReport::of(&counted, self.offered_bps(), self.observed.quic.clone())),
            ..ConnectionFinding::default()
        };
        if self.is_short() {
            finding.verdict = Verdict::too_short(VerdictReason::FewDatagrams(counted.offered_packets));
            return finding;
        }
        let (flows, streams) = ([self.flow()], [self.summary()]);
        let path = KnownPath::observed(family(observed), &PathFacts::default(), &observed.emulated);
        let ends = observed.ends();
        let run = KnownRun {
            plan: None,
            flows: &flows,
            streams: &streams,
            path,
            warmup: Some(Duration::ZERO),
            drops: Default::default(),
            host_rate: None,
            writes_all: false,
            read_from: None,
            is_quic: observed.quic.is_some(),
            before: CountsBefore::default(),
            ends,
            congestion_controls: [""; 2],
        };
        let mut condenser = FlowCondenser::new(run, &STANDARD);
        self.rows().for_each(|row| condenser.push(&row));
        let (_, metrics, _) = condenser.finish();
        let run = RunFlows {
            repeat: 1,
            plan: None,
            path,
            congestion_controls: [""; 2],
            ends,
            aqm: &[],
            flows: &metrics,
        };
        if let Some(judged) = flow_results(&flows, &[run]).pop() {
            finding.rate_bps = judged.figures.goodput_bps;
            finding.verdict = judged.verdict;
            finding.times = judged.times;
        }
        finding
    }

    /// Payload that came to the path from the first packet to the last.
    fn offered_bps(&self) -> Option<u64> {
        let span_us = self.last_us.saturating_sub(self.first_us);
        self.counted().offered_bytes.saturating_mul(8_000_000).checked_div(span_us)
    }

    const fn direction(&self) -> Direction {
        if self.sends { Direction::Forward } else { Direction::Reverse }
    }

    fn flow(&self) -> FlowSpec {
        let counted = self.counted();
        let length = counted.offered_bytes.checked_div(counted.offered_packets).unwrap_or(0);
        let flow = flow(Protocol::Udp, self.direction(), self.first_us..self.last_us);
        FlowSpec { length: Bytes::new(length), ..flow }
    }

    fn summary(&self) -> StreamSummary {
        let counted = DatagramSample { stream: 0, ..self.counted() };
        StreamSummary {
            start_us: self.first_us,
            stop_us: self.last_us,
            end_us: self.last_us.max(counted.t_us),
            sent_bytes: counted.offered_bytes,
            received_bytes: counted.received_bytes(),
            udp: Some(counted.totals()),
            datagrams: Some(counted),
            ..StreamSummary::default()
        }
    }
}

#[cfg(test)]
mod tests;
