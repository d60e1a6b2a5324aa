//! A run's figures from the `tcp_info` samples of its senders.
//!
//! Never: a sample from outside of its stream's life, or forward and reverse windows added up.

use super::retransmits::{Kinds, RetransmitCounts};
use super::sums::Sums;
use crate::ground::interval::{self, TimeInterval, streams_of};
use crate::ground::statistics::rounded;
use crate::ground::weighted_values::WeightedValues;
use crate::infer::KnownRun;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::record::{
    CaStateSource, CaStateTimes, Manifest, PacketSample, Retransmit, StreamEnd, StreamSummary, TcpSample,
};
use pipefill_core::tcp_info::CaState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// TCP figures; all `None` in a run without TCP. Windows and buffers are medians over time of the sum over the streams of
/// one direction: forward where any stream goes forward, else reverse.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TcpMetrics {
    /// Segments retransmitted over the lives of all streams.
    pub retransmits: Option<u64>,
    /// The same by kind; `None` where not every one was seen.
    pub retransmits_by_kind: Option<RetransmitCounts>,
    /// The smallest RTT that any sender saw.
    pub min_rtt_us: Option<u64>,
    /// Median smoothed RTT, over time and streams.
    pub srtt_us_p50: Option<u64>,
    /// The smoothed RTT that 95 % of the time did not exceed, over time and streams.
    pub srtt_us_p95: Option<u64>,
    /// Congestion window.
    pub cwnd_bytes_p50: Option<u64>,
    /// Window that the receiver advertised, as the sender knew it.
    pub rwnd_bytes_p50: Option<u64>,
    /// In flight as the kernel counts it (`tcp_packets_in_flight()`).
    pub in_flight_bytes_p50: Option<u64>,
    /// Send queue, truesize (`sk_wmem_queued`).
    pub wmem_queued_bytes_p50: Option<u64>,
    /// Limit of the send queue (`sk_sndbuf`).
    pub sndbuf_bytes_p50: Option<u64>,
    /// Time in each congestion state, all streams, from start to stop: exact where the record has it, else sampled.
    pub ca_state_us: Option<CaStateTimes>,
    /// Where they come from: `sampled` as soon as one stream's are.
    pub ca_state_source: Option<CaStateSource>,
    /// Samples of senders between start and stop.
    pub tcp_samples: Option<u64>,
    /// Median span between two of them: the resolution of `ca_state_us` where that is sampled.
    pub sample_interval_us_p50: Option<u64>,
    /// The longest such span.
    pub sample_interval_us_max: Option<u64>,
}

/// What is summed over the streams, in the order of [`values`].
const SUMMED: usize = 5;

/// Follows the senders of all streams.
pub(super) struct Following<'a> {
    senders: BTreeMap<u32, Sender<'a>>,
    /// Of the senders that are shown.
    sums: Sums<SUMMED>,
    srtt: WeightedValues,
    /// As sampled.
    ca_states: Option<CaStateTimes>,
    intervals: WeightedValues,
    longest_us: Option<u64>,
    min_rtt_us: Option<u32>,
    samples: u64,
    kinds: Kinds,
}

/// One stream and its sender's last sample.
struct Sender<'a> {
    summary: &'a StreamSummary,
    /// Of the direction that windows and buffers are summed over: its place in the sums.
    shown: Option<usize>,
    measured: TimeInterval,
    life: TimeInterval,
    last: Option<Last>,
}

/// The values of a sample, which hold until the next sample.
struct Last {
    t_us: u64,
    srtt_us: Option<u32>,
    ca_state: Option<CaState>,
}

impl<'a> Following<'a> {
    pub(super) fn of(manifest: &Manifest, run: &KnownRun<'a>) -> Self {
        let flows = || streams_of(run.flows, run.streams, Protocol::Tcp);
        let forward = flows().any(|(flow, _)| flow.direction == Direction::Forward);
        let is_shown = |direction: Direction| (direction == Direction::Forward) == forward;
        let mut windows = Vec::new();
        let mut senders = BTreeMap::new();
        for (flow, summary) in flows() {
            let measured = run.measured(summary);
            let shown = is_shown(flow.direction).then_some(windows.len());
            windows.extend(shown.map(|_| measured));
            let life = interval::life(summary);
            senders.insert(summary.stream, Sender { summary, shown, measured, life, last: None });
        }
        Self {
            senders,
            sums: Sums::over(windows),
            srtt: WeightedValues::default(),
            ca_states: None,
            intervals: WeightedValues::default(),
            longest_us: None,
            min_rtt_us: None,
            samples: 0,
            kinds: Kinds::of(manifest),
        }
    }

    /// Counts a retransmission.
    pub(super) fn count(&mut self, row: &Retransmit) {
        self.kinds.add(row);
    }

    /// Takes the next row, in order of time.
    pub(super) fn push(&mut self, row: &TcpSample) {
        if row.end == StreamEnd::Sender {
            let last = Last { t_us: row.t_us, srtt_us: row.info.srtt_us, ca_state: row.info.ca_state };
            self.sample(row.stream, row.info.min_rtt_us, last, values(row));
        }
    }

    /// As `take`, for a sample of captured packets.
    pub(super) fn take_packets(&mut self, row: &PacketSample) {
        if row.end == StreamEnd::Sender {
            let last = Last { t_us: row.t_us, srtt_us: row.srtt_us.map(Into::into), ca_state: row.ca_state };
            let values = [None, row.rwnd_bytes.map(u64::from), Some(row.most_in_flight_bytes()), None, None];
            self.sample(row.stream, row.min_rtt_us.map(Into::into), last, values);
        }
    }

    fn sample(&mut self, stream: u32, min_rtt_us: Option<u32>, last: Last, values: [Option<u64>; SUMMED]) {
        let Some(sender) = self.senders.get_mut(&stream) else { return };
        // The kernel keeps a minimum over 300 s, so the final value would do but for longer runs.
        self.min_rtt_us = self.min_rtt_us.into_iter().chain(min_rtt_us).min();
        let t_us = last.t_us;
        if !(sender.life.from_us..sender.life.to_us).contains(&t_us) {
            return;
        }
        self.samples += 1;
        if let Some(before) = sender.last.replace(last) {
            let interval_us = t_us - before.t_us;
            self.intervals.add(interval_us, 1);
            self.longest_us = self.longest_us.max(Some(interval_us));
            before.stood(t_us, sender, &mut self.srtt, &mut self.ca_states);
        }
        if let Some(place) = sender.shown {
            self.sums.observe(t_us, place, values);
        }
    }

    /// The figures, after the last row.
    pub(super) fn metrics(mut self) -> TcpMetrics {
        if self.senders.is_empty() {
            return TcpMetrics::default();
        }
        for sender in self.senders.values_mut() {
            if let Some(last) = sender.last.take() {
                last.stood(u64::MAX, sender, &mut self.srtt, &mut self.ca_states);
            }
        }
        let finals = || self.senders.values().map(|sender| sender.summary.tcp);
        let min_rtt_us = finals().filter_map(|info| info?.min_rtt_us).chain(self.min_rtt_us).min();
        let (ca_state_us, ca_state_source) = self.ca_states().unzip();
        let [cwnd, rwnd, in_flight, wmem_queued, sndbuf] = self.sums.medians();
        TcpMetrics {
            retransmits: self
                .senders
                .values()
                .map(|sender| sender.summary.retransmits().map(u64::from))
                .sum(),
            retransmits_by_kind: self.kinds.counts(),
            min_rtt_us: min_rtt_us.map(u64::from),
            srtt_us_p50: self.srtt.lower_median(),
            srtt_us_p95: self.srtt.lower_percentile(95),
            cwnd_bytes_p50: cwnd,
            rwnd_bytes_p50: rwnd,
            in_flight_bytes_p50: in_flight,
            wmem_queued_bytes_p50: wmem_queued,
            sndbuf_bytes_p50: sndbuf,
            ca_state_us,
            ca_state_source,
            tcp_samples: Some(self.samples),
            sample_interval_us_p50: self.intervals.median().map(rounded),
            sample_interval_us_max: self.longest_us,
        }
    }
}

impl Following<'_> {
    /// Exact times only where every stream has them: a sum of exact and sampled ones is no better than sampled.
    fn ca_states(&self) -> Option<(CaStateTimes, CaStateSource)> {
        let of = |sender: &Sender<'_>| sender.summary.ca_state_us.zip(sender.summary.ca_state_source);
        let exact: Option<Vec<_>> = self.senders.values().map(of).collect();
        match exact {
            Some(exact) => {
                let total = exact.iter().fold(CaStateTimes::default(), |sum, (times, _)| sum.plus(times));
                exact.first().map(|&(_, source)| (total, source))
            }
            None => self.ca_states.map(|times| (times, CaStateSource::Sampled)),
        }
    }
}

impl Last {
    /// It stood until `to_us`: in the measured window for the round trip, in the stream's life for the state.
    fn stood(
        &self,
        to_us: u64,
        sender: &Sender<'_>,
        srtt: &mut WeightedValues,
        ca_states: &mut Option<CaStateTimes>,
    ) {
        let span = TimeInterval { from_us: self.t_us, to_us };
        if let Some(srtt_us) = self.srtt_us.filter(|_| sender.shown.is_some()) {
            srtt.add(u64::from(srtt_us), span.within(sender.measured).length_us());
        }
        let span_us = span.within(sender.life).length_us();
        if let Some(state) = self.ca_state.filter(|_| span_us > 0) {
            ca_states.get_or_insert_default().add(state, span_us);
        }
    }
}

/// What is summed: cwnd, the advertised window, in flight, the send queue and its limit.
fn values(row: &TcpSample) -> [Option<u64>; SUMMED] {
    [
        row.info.cwnd_bytes,
        row.info.rwnd_bytes.map(u64::from),
        row.info.in_flight_bytes,
        row.wmem_queued_bytes,
        row.sndbuf_bytes,
    ]
}
