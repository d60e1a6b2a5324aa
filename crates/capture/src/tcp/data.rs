//! A segment with data, as its sender gets it.

use super::opening::Opening;
use super::scoreboard::Transmission;
use crate::headers::{Flags, Segment};

/// A segment with data (or a FIN), for its sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct Data<'a> {
    pub(super) segment: &'a Segment,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) size: SegmentSize,
    /// SACK is in use, or may be.
    pub(super) has_sack: bool,
    /// The SYN of its sender, where something may follow from that.
    pub(super) opening: Option<&'a Opening>,
    /// From the capture point to both ends and back, where known.
    pub(super) full_rtt_us: Option<u32>,
    /// Nothing of this direction was seen before.
    pub(super) is_first: bool,
}

/// Payload of segments, bytes: what a larger packet was, or will be, cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentSize {
    /// Payload of a full segment.
    pub(super) mss: u32,
    /// A packet with no more payload is a single segment.
    pub(super) largest: u32,
}

impl SegmentSize {
    /// Segments that `bytes` are cut into; a FIN alone is one.
    #[inline]
    pub(super) fn segments(self, bytes: u32) -> u32 {
        if bytes <= self.largest { 1 } else { bytes.div_ceil(self.mss) }
    }
}

impl Data<'_> {
    /// The number behind the last byte of payload: a FIN takes one more.
    #[inline(always)]
    pub(super) fn payload_to(&self) -> u64 {
        self.to - u64::from(self.segment.flags.has(Flags::FIN))
    }

    #[inline(always)]
    pub(super) const fn now(&self) -> u64 {
        self.segment.time_ns
    }

    #[inline(always)]
    pub(super) fn tsval(&self) -> Option<u32> {
        self.segment.options.timestamps.map(|(tsval, _)| tsval)
    }

    #[inline(always)]
    pub(super) fn transmission(&self, from: u64, to: u64) -> Transmission {
        Transmission {
            from,
            to,
            now: self.now(),
            tsval: self.tsval().unwrap_or(0),
            ip_id: self.segment.ip_id,
            segments: self.size.segments((to - from).min(u64::from(u32::MAX)) as u32),
        }
    }

    /// The same; a FIN alone has none.
    #[inline(always)]
    pub(super) fn payload_segments(&self) -> u64 {
        if self.segment.payload == 0 { 0 } else { u64::from(self.segments()) }
    }

    /// Segments that it is cut into.
    #[inline(always)]
    pub(super) fn segments(&self) -> u32 {
        self.size.segments(self.segment.payload)
    }
}
