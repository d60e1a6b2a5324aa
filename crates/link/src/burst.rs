//! The bursts of one flow at a bottleneck: how much comes faster than it leaves, and the queue that the flow alone would need.

use crate::counters::Count;
use pipefill_core::cell::{BottleneckSpec, Framing};
use pipefill_core::units::{Bytes, Rate, Time};
use std::time::Duration;

/// A bottleneck of one flow alone: a token bucket behind a queue without bound. It holds no packet, only when it is done.
#[derive(Debug, Clone)]
pub struct BurstMeter {
    rate: Rate,
    framing: Framing,
    /// The time in which the bucket fills.
    bucket: Duration,
    /// When the bucket is full again, if nothing more comes.
    full_at: Time,
    burst: Count,
    longest: Count,
    needed: Count,
}

impl BurstMeter {
    /// Before the bottleneck `spec`, which counts frames by `framing`, with its bucket full.
    pub fn new(spec: &BottleneckSpec, framing: Framing) -> Self {
        let none = Count::default();
        Self {
            rate: spec.rate,
            framing,
            bucket: spec.rate.time_to_send(spec.burst),
            full_at: Time::ZERO,
            burst: none,
            longest: none,
            needed: none,
        }
    }

    /// Takes a packet that comes at `now`: a frame of `frame` bytes with `payload` bytes of payload. `now` does not decrease.
    pub fn take(&mut self, now: Time, frame: u32, payload: u32) {
        if self.full_at <= now {
            (self.full_at, self.burst) = (now, Count::default());
        }
        let cost = Bytes::new(self.framing.cost(frame.into()));
        self.full_at = self.full_at.after(self.rate.time_to_send(cost));
        self.burst += Count::packet(payload);
        if self.burst.packets > self.longest.packets {
            self.longest = self.burst;
        }
        // What the bucket lets through at once waits for nothing.
        let waits = self.full_at.since(now).saturating_sub(self.bucket);
        let bytes = self.rate.bytes_in(waits).get();
        if bytes > self.needed.bytes {
            self.needed = Count { packets: bytes.div_ceil(cost.get()), bytes };
        }
    }

    /// The longest burst so far, payload: packets each of which came before the bucket was full again.
    pub const fn longest(&self) -> Count {
        self.longest
    }

    /// The most that waited so far, bytes of frames: packets of the size of the one that came last then.
    pub const fn needed_queue(&self) -> Count {
        self.needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::units::QueueLimit;

    /// 8 Gbit/s, a byte a nanosecond, with a bucket of two packets of 1,000 bytes.
    fn meter() -> BurstMeter {
        let spec = BottleneckSpec {
            rate: Rate::from_bps(8_000_000_000),
            overhead: Bytes::new(0),
            queue: QueueLimit::Packets(1),
            burst: Bytes::new(2_000),
        };
        BurstMeter::new(&spec, Framing::default())
    }

    fn take(meter: &mut BurstMeter, times: impl IntoIterator<Item = u64>) {
        times.into_iter().for_each(|ns| meter.take(Time::from_nanos(ns), 1_000, 958));
    }

    #[test]
    fn packets_that_come_no_faster_than_they_leave_are_no_burst() {
        let mut meter = meter();
        take(&mut meter, (0..100).map(|number| number * 1_000));
        assert_eq!((meter.longest(), meter.needed_queue()), (Count::packet(958), Count::default()));
    }

    #[test]
    fn a_burst_needs_a_queue_for_what_the_bucket_does_not_let_through() {
        let mut meter = meter();
        take(&mut meter, [0; 10]);
        assert_eq!(meter.longest(), Count { packets: 10, bytes: 9_580 });
        assert_eq!(meter.needed_queue(), Count { packets: 8, bytes: 8_000 });
        // The next one is shorter, after the bucket is full again.
        take(&mut meter, [10_000; 5]);
        assert_eq!((meter.longest().packets, meter.needed_queue().packets), (10, 8));
    }

    #[test]
    fn what_comes_before_the_bucket_is_full_again_continues_the_burst() {
        let mut meter = meter();
        take(&mut meter, [0, 0, 0, 2_999, 2_999]);
        assert_eq!(meter.longest().packets, 5);
        assert_eq!(meter.needed_queue(), Count { packets: 1, bytes: 1_000 });
    }

    #[test]
    fn a_flow_above_the_rate_is_one_burst_that_never_ends() {
        let mut meter = meter();
        take(&mut meter, (0..1_000).map(|number| number * 500));
        assert_eq!(meter.longest().packets, 1_000);
        // Half of what came, less the bucket.
        assert!((498_000..=499_500).contains(&meter.needed_queue().bytes), "{:?}", meter.needed_queue());
    }
}
