//! The measured window of a stream: what is left of its life once the warm-up is taken off.
//!
//! Never: one window for a whole run; flows may start at different times.

use pipefill_core::cell::{CellSpec, Direction, FlowSpec, Protocol, RunSpec};
use pipefill_core::record::StreamSummary;
use std::time::Duration;

/// Round trips that the automatic warm-up leaves out: enough for slow start to end on any path up to a BDP of 10^7 segments.
const WARMUP_ROUND_TRIPS: u32 = 20;
/// What it leaves out beside.
const WARMUP_FIXED: Duration = Duration::from_millis(500);
/// It never takes more than one part in this of the duration.
const WARMUP_SHARE: u32 = 5;

/// A half-open span of the run, `from_us <= t < to_us`, in microseconds since the run began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeInterval {
    /// First microsecond.
    pub from_us: u64,
    /// First microsecond after it.
    pub to_us: u64,
}

impl TimeInterval {
    /// Its length; 0 where it is empty.
    pub fn length_us(self) -> u64 {
        self.to_us.saturating_sub(self.from_us)
    }

    /// `bytes` in its time, as bits per second.
    pub fn bps(self, bytes: u64) -> f64 {
        bytes as f64 * 8e6 / self.length_us().max(1) as f64
    }

    /// The part of it that lies in `other`.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        Self { from_us: self.from_us.max(other.from_us), to_us: self.to_us.min(other.to_us) }
    }

    /// From the beginning of the earlier one to the end of the later one.
    #[must_use]
    pub fn around(self, other: Self) -> Self {
        Self { from_us: self.from_us.min(other.from_us), to_us: self.to_us.max(other.to_us) }
    }

    /// The same span, `by_us` later.
    #[must_use]
    pub fn shifted(self, by_us: u64) -> Self {
        Self { from_us: self.from_us.saturating_add(by_us), to_us: self.to_us.saturating_add(by_us) }
    }
}

/// What is left out at the start of `flow`: `run.warmup`, or by the automatic rule
/// `min(duration / 5, 20 × base RTT + 500 ms)`.
pub fn warmup(run: &RunSpec, flow: &FlowSpec, base_rtt: Duration) -> Duration {
    run.warmup
        .unwrap_or_else(|| (flow.duration / WARMUP_SHARE).min(base_rtt * WARMUP_ROUND_TRIPS + WARMUP_FIXED))
}

/// The measured window of `stream` at its sender: `[start + warm-up, stop)`. Empty where the stream was shorter than its
/// warm-up, or its flow is not in the cell.
pub fn measured(spec: &CellSpec, stream: &StreamSummary) -> TimeInterval {
    let left_out =
        flow_of(spec, stream).map_or(Duration::MAX, |flow| warmup(&spec.run, flow, spec.path.rtt()));
    let from_us = stream.start_us.saturating_add(micros(left_out));
    TimeInterval { from_us, to_us: stream.stop_us.max(from_us) }
}

/// The whole life of `stream` at its sender: `[start, stop)`.
pub fn life(stream: &StreamSummary) -> TimeInterval {
    TimeInterval { from_us: stream.start_us, to_us: stream.stop_us.max(stream.start_us) }
}

/// How much later than the sender's the receiver's window lies: for UDP the smallest one-way delay that was measured, for
/// TCP (and where UDP measured none) the path's fixed delay in the direction of the data.
pub fn receiver_shift_us(spec: &CellSpec, stream: &StreamSummary) -> u64 {
    let measured = stream.udp.and_then(|udp| udp.one_way_delay_min_ns);
    if let Some(nanos) = measured {
        return u64::try_from(nanos).unwrap_or(0) / 1_000;
    }
    match flow_of(spec, stream).map(|flow| flow.direction) {
        Some(Direction::Reverse) => micros(spec.path.reverse.delay),
        _ => micros(spec.path.forward.delay),
    }
}

/// The flow of a stream; `None` where the record names one that the cell does not have.
pub fn flow_of<'a>(spec: &'a CellSpec, stream: &StreamSummary) -> Option<&'a FlowSpec> {
    spec.flows.get(usize::try_from(stream.flow).ok()?)
}

/// Streams of `protocol`, in the record's order.
pub(crate) fn streams_of<'a>(
    spec: &'a CellSpec,
    streams: &'a [StreamSummary],
    protocol: Protocol,
) -> impl Iterator<Item = (&'a FlowSpec, &'a StreamSummary)> {
    streams.iter().filter_map(move |stream| {
        let flow = flow_of(spec, stream)?;
        (flow.protocol == protocol).then_some((flow, stream))
    })
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
