//! Spans of a run, and what a warm-up leaves out of them. Never: one window for a whole run; flows may start at different times.

use pipefill_core::cell::{FlowSpec, Protocol};
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

/// What is left out at the start of `flow`: what was `asked` for, or by the automatic rule
/// `min(duration / 5, 20 × base RTT + 500 ms)`.
pub fn warmup(asked: Option<Duration>, flow: &FlowSpec, base_rtt: Duration) -> Duration {
    asked.unwrap_or_else(|| (flow.duration / WARMUP_SHARE).min(base_rtt * WARMUP_ROUND_TRIPS + WARMUP_FIXED))
}

/// The whole life of `stream` at its sender: `[start, stop)`.
pub fn life(stream: &StreamSummary) -> TimeInterval {
    TimeInterval { from_us: stream.start_us, to_us: stream.stop_us.max(stream.start_us) }
}

/// The flow of a stream; `None` where the record names one that the cell does not have.
pub(crate) fn flow_of<'a>(flows: &'a [FlowSpec], stream: &StreamSummary) -> Option<&'a FlowSpec> {
    flows.get(usize::try_from(stream.flow).ok()?)
}

/// Every flow but pings, with its index in the cell.
pub fn carrying(flows: &[FlowSpec]) -> impl Iterator<Item = (u32, &FlowSpec)> {
    (0..).zip(flows).filter(|(_, flow)| flow.protocol != Protocol::Ping)
}

/// Streams of `protocol`, in the record's order.
pub(crate) fn streams_of<'a>(
    flows: &'a [FlowSpec],
    streams: &'a [StreamSummary],
    protocol: Protocol,
) -> impl Iterator<Item = (&'a FlowSpec, &'a StreamSummary)> {
    streams.iter().filter_map(move |stream| {
        let flow = flow_of(flows, stream)?;
        (flow.protocol == protocol).then_some((flow, stream))
    })
}

/// Whole microseconds.
pub(crate) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
