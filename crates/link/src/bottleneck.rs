//! The bottleneck: a drop-tail queue in front of a token bucket, as Linux's `tbf`.
//!
//! A packet's departure is known when it comes, because nothing that comes later can change it, and the rate over time is known before. What comes at one instant out of a
//! delay has to fit into the queue before any of it leaves (docs/adr/0011).

use crate::counters::Count;
use crate::element::Element;
use crate::fifo::Fifo;
use crate::limit::Limit;
use crate::packet::{Dropped, Packet, Released};
use crate::token_bucket::TokenBucket;
use pipefill_core::cell::{BottleneckSpec, DirectionSpec, Framing};
use pipefill_core::record::DropReason;
use pipefill_core::units::Time;
use std::time::Duration;

/// A drop-tail queue and a token bucket. Over any interval of length t, at most `burst + rate × t` bytes leave,
/// with the overhead of each packet.
#[derive(Debug)]
pub struct Bottleneck<T> {
    bucket: TokenBucket,
    limit: Option<Limit>,
    queue: Fifo<T>,
    fed_by: FedBy,
}

/// What hands a bottleneck its packets: which of them it has to hold at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FedBy {
    /// A device, one by one: what may leave at once does not count as queued when the next one comes.
    Device,
    /// `netem_dequeue()`, which hands its child everything that is due before it asks the child for the first packet: what comes or leaves at
    /// one instant is queued for all that come at this instant.
    Netem,
    /// A delay whose packets have instants of their own, as the lab's have their kernel's reception stamps: only segments of one super-packet
    /// come at once.
    SuperPackets,
}

impl<T> Bottleneck<T> {
    /// The element for `spec`, its bucket full. `rtt` is that of the whole path, for a queue in BDPs. As a root qdisc it gets
    /// its packets one by one: what may leave at once does not count as queued when the next one comes.
    pub fn new(spec: &BottleneckSpec, rtt: Duration) -> Self {
        Self {
            bucket: TokenBucket::new(spec.rate, spec.burst, Framing::beside(spec.overhead)),
            limit: Limit::resolve(spec.queue, Some(spec.rate), rtt),
            queue: Fifo::new(),
            fed_by: FedBy::Device,
        }
    }

    /// As [`Self::new`], behind another element.
    #[must_use]
    pub fn fed_by(mut self, fed_by: FedBy) -> Self {
        self.fed_by = fed_by;
        if fed_by == FedBy::SuperPackets {
            self.queue.count_by_super_packet();
        }
        self
    }

    /// With the framing of `spec`, and with its trace and its changes from [`Self::begin`] on.
    #[must_use]
    pub(crate) fn of_direction(mut self, spec: &DirectionSpec) -> Self {
        self.bucket.follow(spec);
        self
    }

    pub(crate) fn begin(&mut self, now: Time) {
        self.bucket.begin(now);
    }

    #[inline]
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.queue.is_due(now)
    }

    fn has_room(&self, now: Time, departure: Time, packet: &Packet<T>) -> bool {
        let Some(limit) = self.limit else { return true };
        let at_once = match self.fed_by {
            FedBy::Device if departure <= now => return true,
            FedBy::Device => Count::default(),
            FedBy::Netem | FedBy::SuperPackets => self.queue.leaving(now, packet.gso_id),
        };
        let mut held = self.queue.backlog();
        held += at_once;
        limit.admits(held, packet.bytes)
    }
}

impl<T> Element<T> for Bottleneck<T> {
    #[inline]
    fn offer(&mut self, now: Time, packet: Packet<T>) -> Result<(), Dropped<T>> {
        self.queue.settle(now);
        if !self.bucket.can_pass(packet.bytes) {
            let reason = DropReason::ExceedsBurst;
            return Err(Dropped { reason, packet });
        }
        let departure = self.bucket.departure(now, packet.bytes);
        if !self.has_room(now, departure, &packet) {
            let reason = DropReason::QueueFull;
            return Err(Dropped { reason, packet });
        }
        self.bucket.spend(departure, packet.bytes);
        self.queue.push(departure, packet);
        self.queue.settle(now);
        Ok(())
    }

    #[inline]
    fn next_due(&self) -> Option<Time> {
        self.queue.next_due()
    }

    #[inline]
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
            overhead: Bytes::new(0),
            queue: QueueLimit::Bytes(Bytes::new(3000)),
            burst: Bytes::new(1514),
        };
        Bottleneck::new(&spec, Duration::ZERO)
    }

    #[inline]
    fn offer(bottleneck: &mut Bottleneck<u32>, at: u64, bytes: u32) -> Option<DropReason> {
        let packet = Packet { gso_id: 0, bytes, payload: bytes };
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

    /// A queue of two full packets, a bucket of six.
    fn queue_smaller_than_the_bucket() -> BottleneckSpec {
        BottleneckSpec {
            rate: Rate::from_bps(8_000_000_000),
            overhead: Bytes::new(0),
            queue: QueueLimit::Bytes(Bytes::new(3000)),
            burst: Bytes::new(9000),
        }
    }

    #[test]
    fn what_passes_at_once_needs_no_room_in_the_queue() {
        let mut bottleneck = Bottleneck::new(&queue_smaller_than_the_bucket(), Duration::ZERO);
        assert_eq!(offer(&mut bottleneck, 0, 9000), None);
        assert_eq!(offer(&mut bottleneck, 0, 9000), Some(DropReason::QueueFull));
    }

    #[test]
    fn behind_a_delay_an_instants_burst_has_to_fit_into_the_queue() {
        let mut bottleneck =
            Bottleneck::new(&queue_smaller_than_the_bucket(), Duration::ZERO).fed_by(FedBy::Netem);
        let burst = |bottleneck: &mut Bottleneck<u32>, at| [0; 4].map(|_| offer(bottleneck, at, 1500));
        let full = Some(DropReason::QueueFull);
        assert_eq!(burst(&mut bottleneck, 7), [None, None, full, full]);
        assert_eq!(std::iter::from_fn(|| bottleneck.take_due(Time::from_nanos(7))).count(), 2);
        assert_eq!(burst(&mut bottleneck, 7), [full; 4], "the same instant still");
        assert_eq!(burst(&mut bottleneck, 8), [None, None, full, full]);
        assert_eq!(bottleneck.backlog(), Count::default(), "tokens were there for all of it");
    }
}
