//! Rates from the applications' cumulative byte counts.
//!
//! Never: a rate over a window that the counts do not cover, or a total where one stream is missing.

use crate::ground::count_at::CountAt;
use crate::ground::interval::{self, TimeInterval};
use crate::ground::statistics::{jain_fairness, rounded};
use crate::infer::KnownRun;
use pipefill_core::cell::Protocol;
use pipefill_core::record::{DeliverySample, StreamSummary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Goodput of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StreamGoodput {
    /// Number of the stream in the run.
    pub stream: u32,
    /// Index of its flow in the cell.
    pub flow: u32,
    /// Payload bits/s that its receiving application read in its measured window.
    pub goodput_bps: Option<u64>,
}

/// All rates of a run.
pub(crate) struct Rates {
    pub(super) goodput_bps: Option<u64>,
    pub(super) goodput_whole_bps: Option<u64>,
    pub(super) sender_bps: Option<u64>,
    pub(super) fairness_index: Option<f64>,
    pub(super) streams: Vec<StreamGoodput>,
}

/// Follows the counts of all streams but pings, which offer as little as they like.
pub(super) struct Following {
    streams: BTreeMap<u32, Followed>,
}

/// One stream's counts.
struct Followed {
    flow: u32,
    /// In the measured window.
    sent: Curve,
    /// In the measured window, as late as the data arrives.
    received: Curve,
    /// In the stream's whole life, as late as the data arrives.
    whole: Curve,
}

impl Following {
    pub(super) fn of(run: &KnownRun<'_>) -> Self {
        let is_ping =
            |stream: &&StreamSummary| run.flow_of(stream).is_some_and(|flow| flow.protocol == Protocol::Ping);
        let streams = run.streams.iter().filter(|stream| !is_ping(stream));
        Self { streams: streams.map(|stream| (stream.stream, Followed::of(run, stream))).collect() }
    }

    /// Takes the next row, in order of time.
    pub(super) fn push(&mut self, row: &DeliverySample) {
        if let Some(followed) = self.streams.get_mut(&row.stream) {
            followed.sent.observe(row.t_us, row.sent_bytes);
            followed.received.observe(row.t_us, row.received_bytes);
            followed.whole.observe(row.t_us, row.received_bytes);
        }
    }

    /// Sums over all streams of the run; `None` where there is no stream or one of them has no rate.
    pub(super) fn rates(self) -> Rates {
        let mut goodputs = Vec::new();
        let (mut wholes, mut senders, mut streams) = (Vec::new(), Vec::new(), Vec::new());
        for (stream, Followed { flow, sent, received, whole }) in self.streams {
            let goodput = received.rate();
            wholes.push(whole.rate());
            senders.push(sent.rate());
            goodputs.push(goodput);
            streams.push(StreamGoodput { stream, flow, goodput_bps: goodput.map(rounded) });
        }
        Rates {
            goodput_bps: total(&goodputs),
            goodput_whole_bps: total(&wholes),
            sender_bps: total(&senders),
            fairness_index: all(&goodputs).and_then(|values| jain_fairness(&values)),
            streams,
        }
    }
}

impl Followed {
    /// The curve of `stream`, which is zero within the first one-way delay.
    fn of(run: &KnownRun<'_>, stream: &StreamSummary) -> Self {
        let shift_us = run.receiver_shift_us(stream);
        let (measured, life) = (run.measured(stream), interval::life(stream));
        let sent = (stream.stop_us, stream.sent_bytes);
        let received = (stream.end_us, stream.received_bytes);
        let first_us = stream.start_us.saturating_add(shift_us);
        Self {
            flow: stream.flow,
            sent: Curve::new(measured, stream.start_us, sent),
            received: Curve::new(measured.shifted(shift_us), first_us, received),
            whole: Curve::new(life.shifted(shift_us), first_us, received),
        }
    }
}

/// A cumulative count, read at both ends of a window. Two points complete the samples: zero up to `first_us` (unless
/// they saw something), the total at the end. Without a single sample there is no curve.
struct Curve {
    window: TimeInterval,
    from: CountAt,
    to: CountAt,
    /// When the count began; `None` once that is in.
    first_us: Option<u64>,
    end: (u64, u64),
    last: Option<(u64, u64)>,
}

impl Curve {
    fn new(window: TimeInterval, first_us: u64, end: (u64, u64)) -> Self {
        let (from, to) = (CountAt::time(window.from_us), CountAt::time(window.to_us));
        Self { window, from, to, first_us: Some(first_us), end, last: None }
    }

    fn observe(&mut self, t_us: u64, count: u64) {
        if self.first_us.is_some_and(|first_us| first_us <= t_us) {
            self.begin(t_us);
        }
        self.point(t_us, count);
        self.last = Some((t_us, count));
    }

    /// The beginning, with nothing counted, before a sample at `t_us`.
    fn begin(&mut self, t_us: u64) {
        let nothing_yet = self.last.is_none_or(|(_, count)| count == 0);
        if let Some(first_us) = self.first_us.take().filter(|&first_us| nothing_yet && first_us < t_us) {
            self.point(first_us, 0);
        }
    }

    fn point(&mut self, t_us: u64, count: u64) {
        self.from.observe(t_us, count);
        self.to.observe(t_us, count);
    }

    /// Bits per second in the window. `None` for an empty one or a curve without samples.
    fn rate(mut self) -> Option<f64> {
        let length = self.window.length_us();
        let last = self.last.filter(|_| length > 0)?;
        if self.end.0 > last.0 && self.end.1 >= last.1 {
            self.observe(self.end.0, self.end.1);
        }
        self.begin(u64::MAX);
        let bytes = self.to.value() - self.from.value();
        Some(bytes * 8.0 * 1e6 / length as f64)
    }
}

fn total(values: &[Option<f64>]) -> Option<u64> {
    let values = all(values)?;
    (!values.is_empty()).then(|| rounded(values.iter().sum()))
}

fn all(values: &[Option<f64>]) -> Option<Vec<f64>> {
    values.iter().copied().collect()
}
