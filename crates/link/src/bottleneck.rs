//! The bottleneck: a drop-tail queue in front of a token bucket, as Linux's `tbf`.
//!
//! A packet's departure is known when it comes, because nothing that comes later can change it. Never: a loss that is not
//! the queue's own.

use crate::counters::Count;
use crate::element::Element;
use crate::fifo::Fifo;
use crate::limit::Limit;
use crate::packet::{DropReason, Dropped, Packet, Released};
use crate::token_bucket::TokenBucket;
use pipefill_core::cell::BottleneckSpec;
use pipefill_core::units::Time;
use std::time::Duration;

/// A drop-tail queue and a token bucket. Over any interval of length t, at most `burst + rate × t` bytes leave.
#[derive(Debug)]
pub struct Bottleneck<T> {
    bucket: TokenBucket,
    limit: Option<Limit>,
    queue: Fifo<T>,
}

impl<T> Bottleneck<T> {
    /// The element for `spec`, its bucket full. `rtt` is that of the whole path, for a queue in BDPs.
    pub fn new(spec: &BottleneckSpec, rtt: Duration) -> Self {
        Self {
            bucket: TokenBucket::new(spec.rate, spec.burst),
            limit: Limit::resolve(spec.queue, Some(spec.rate), rtt),
            queue: Fifo::new(),
        }
    }
}

impl<T> Element<T> for Bottleneck<T> {
    /// What may leave at once does not count as queued; a packet that leaves at `now` makes room for one that comes then.
    fn offer(&mut self, now: Time, packet: Packet<T>) -> Result<(), Dropped<T>> {
        self.queue.settle(now);
        if !self.bucket.can_pass(packet.bytes) {
            let reason = DropReason::ExceedsBurst;
            return Err(Dropped { reason, packet });
        }
        let departure = self.bucket.departure(now, packet.bytes);
        let held = self.queue.backlog();
        if departure > now && self.limit.is_some_and(|limit| !limit.admits(held, packet.bytes)) {
            let reason = DropReason::QueueFull;
            return Err(Dropped { reason, packet });
        }
        self.bucket.spend(departure, packet.bytes);
        self.queue.push(departure, packet);
        self.queue.settle(now);
        Ok(())
    }

    fn next_due(&self) -> Option<Time> {
        self.queue.next_due()
    }

    fn take_due(&mut self, now: Time) -> Option<Released<T>> {
        self.queue.take_due(now)
    }

    fn backlog(&self) -> Count {
        self.queue.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::units::{Bytes, QueueLimit, Rate};

    /// 8 Gbit/s: a byte a nanosecond. A bucket of one full packet, a queue of two.
    fn bottleneck() -> Bottleneck<u32> {
        let spec = BottleneckSpec {
            rate: Rate::from_bps(8_000_000_000),
            queue: QueueLimit::Bytes(Bytes::new(3000)),
            burst: Bytes::new(1514),
        };
        Bottleneck::new(&spec, Duration::ZERO)
    }

    fn offer(bottleneck: &mut Bottleneck<u32>, at: u64, bytes: u32) -> Option<DropReason> {
        let packet = Packet { train: 0, bytes, payload: bytes };
        let offered = bottleneck.offer(Time::from_nanos(at), packet);
        offered.err().map(|dropped| dropped.reason)
    }

    #[test]
    fn what_passes_at_once_is_not_queued_and_a_full_queue_drops() {
        let mut bottleneck = bottleneck();
        assert_eq!(offer(&mut bottleneck, 0, 1500), None);
        assert_eq!(bottleneck.backlog(), Count::default());
        assert_eq!(offer(&mut bottleneck, 0, 1500), None);
        assert_eq!(offer(&mut bottleneck, 0, 1500), None);
        assert_eq!(bottleneck.backlog(), Count { packets: 2, bytes: 3000 });
        assert_eq!(offer(&mut bottleneck, 1485, 60), Some(DropReason::QueueFull));
        // 14 bytes of tokens were left over: the first of the queue leaves at 1486 and makes room.
        assert_eq!(offer(&mut bottleneck, 1486, 1500), None);
        let dues: Vec<u64> =
            std::iter::from_fn(|| bottleneck.take_due(Time::MAX).map(|released| released.due.nanos()))
                .collect();
        assert_eq!(dues, [0, 1486, 2986, 4486]);
    }

    #[test]
    fn a_packet_larger_than_the_bucket_is_dropped_even_where_nothing_waits() {
        let mut bottleneck = bottleneck();
        assert_eq!(offer(&mut bottleneck, 0, 1515), Some(DropReason::ExceedsBurst));
        assert_eq!(offer(&mut bottleneck, 0, 1514), None);
    }

    #[test]
    fn what_passes_at_once_needs_no_room_in_the_queue() {
        let spec = BottleneckSpec {
            rate: Rate::from_bps(8_000_000_000),
            queue: QueueLimit::Bytes(Bytes::new(1514)),
            burst: Bytes::new(10_000),
        };
        let mut bottleneck = Bottleneck::new(&spec, Duration::ZERO);
        assert_eq!(offer(&mut bottleneck, 0, 9000), None);
        assert_eq!(offer(&mut bottleneck, 0, 9000), Some(DropReason::QueueFull));
    }
}
