//! One direction of a path: loss, duplication, delay, bottleneck, in that order (netem with a tbf child).
//!
//! Never: a decision that depends on how often or how late the driver calls.

use crate::counters::{Backlog, Count, Counters};
use crate::duplicate::Duplicate;
use crate::loss::Loss;
use crate::packet::{Dropped, Packet, Released};
use crate::stages::Stages;
use pipefill_core::cell::DirectionSpec;
use pipefill_core::prng::Prng;
use pipefill_core::record::DropReason;
use pipefill_core::units::{Seed, Time};
use std::time::Duration;

/// One direction of a path.
///
/// Everything inside happens at its exact instant: a driver that calls late gets the same packets with the same dues as a
/// punctual one. `now` should not decrease; where a packet is offered at an instant before the latest (a driver that stamps
/// packets on reception), its delay counts from that instant, and order and rate are still kept.
#[derive(Debug)]
pub struct OneWay<T: Clone> {
    loss: Option<Loss>,
    duplicate: Option<Duplicate>,
    stages: Stages<T>,
    counters: Counters,
}

impl<T: Clone> OneWay<T> {
    /// The direction `name` (`forward` or `reverse`) of a path with the base round trip `rtt`, which limits in BDPs refer
    /// to. Each element draws from its own stream of `seed`: `{name}/loss`, `/duplicate`, `/jitter`, `/reorder`.
    pub fn new(spec: &DirectionSpec, rtt: Duration, name: &str, seed: Seed) -> Self {
        let stream = |part: &str| Prng::stream(seed, &format!("{name}/{part}"));
        Self {
            loss: Loss::new(&spec.loss, spec.loss_unit, stream("loss")),
            duplicate: Duplicate::new(spec.duplicate, stream("duplicate")),
            stages: Stages::new(spec, rtt, name, seed),
            counters: Counters::default(),
        }
    }

    /// Offers a packet at `now`. A drop is counted, see [`Self::counters`].
    pub fn offer(&mut self, now: Time, packet: Packet<T>) {
        self.counters.offered += Count::one(packet.bytes);
        self.stages.advance(now, &mut self.counters);
        if self.loss.as_mut().is_some_and(|loss| loss.drops(packet.gso_id)) {
            self.counters.drop_one(DropReason::RandomLoss, packet.bytes);
            return;
        }
        if self.duplicate.as_mut().is_some_and(Duplicate::copies) {
            self.counters.duplicated += Count::one(packet.bytes);
            self.admit(now, packet.clone());
        }
        self.admit(now, packet);
    }

    /// When to ask again: not later than the next packet leaves; `None` where nothing is inside. While the next packet is
    /// still on its way to the bottleneck this is the instant at which it gets there, and [`Self::take_due`] may then have
    /// nothing yet.
    pub fn next_due(&self) -> Option<Time> {
        self.stages.next_due()
    }

    /// Whether there may be something to take at `now`.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        self.stages.moves_by(now)
    }

    /// The next packet whose due is at `now` or before, in order of due. Call it until it returns `None`.
    #[inline]
    pub fn take_due(&mut self, now: Time) -> Option<Released<T>> {
        // Most calls find nothing: what follows is for those that do.
        if self.stages.moves_by(now) { self.take_moved(now) } else { None }
    }

    /// What it did so far.
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        counters.reordered = self.stages.reordered();
        counters
    }

    /// What each element that the path has (`delay`, `queue`, in this order) holds and has dropped. As of `now` after
    /// [`Self::take_due`] returned `None` for it.
    pub fn backlog(&self) -> Vec<Backlog> {
        self.stages.backlog(&self.counters)
    }

    fn take_moved(&mut self, now: Time) -> Option<Released<T>> {
        self.stages.advance(now, &mut self.counters);
        let released = self.stages.take_due(now);
        if let Some(Released { packet, .. }) = &released {
            self.counters.delivered += Count::one(packet.bytes);
        }
        released
    }

    fn admit(&mut self, now: Time, packet: Packet<T>) {
        if let Err(Dropped { reason, packet }) = self.stages.offer(now, packet) {
            self.counters.drop_one(reason, packet.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::cell::{BottleneckSpec, LossSpec};
    use pipefill_core::record::Element;
    use pipefill_core::units::{Bytes, QueueLimit, Rate, Ratio};

    /// 1 µs of delay, then a byte a nanosecond with a bucket of one full packet and a queue of two.
    fn spec() -> DirectionSpec {
        DirectionSpec {
            delay: Duration::from_micros(1),
            loss: LossSpec::Packets(vec![2]),
            bottleneck: Some(BottleneckSpec {
                rate: Rate::from_bps(8_000_000_000),
                overhead: Bytes::new(0),
                queue: QueueLimit::Packets(2),
                burst: Bytes::new(1514),
            }),
            ..DirectionSpec::EMPTY
        }
    }

    fn path(spec: &DirectionSpec) -> OneWay<u32> {
        OneWay::new(spec, Duration::from_micros(2), "forward", Seed::new(1))
    }

    fn offer(path: &mut OneWay<u32>, payload: u32, bytes: u32) {
        path.offer(Time::ZERO, Packet { gso_id: 0, bytes, payload });
    }

    #[test]
    fn a_packet_meets_the_parts_in_their_order() {
        let mut path = path(&spec());
        for payload in 1..=4 {
            offer(&mut path, payload, 1514);
        }
        offer(&mut path, 5, 9000);
        assert_eq!(path.counters().dropped(DropReason::RandomLoss), Count::one(1514));
        assert_eq!(path.next_due(), Some(Time::from_nanos(1000)));
        assert_eq!(path.take_due(Time::from_nanos(999)), None);
        let now = Time::from_nanos(1000);
        assert_eq!(
            path.take_due(now).map(|released| (released.packet.payload, released.due)),
            Some((1, now))
        );
        assert_eq!(path.take_due(now), None);
        let row =
            |element, packets, bytes, dropped_packets| Backlog { element, packets, bytes, dropped_packets };
        assert_eq!(path.backlog(), [row(Element::Delay, 0, 0, 0), row(Element::Queue, 1, 1514, 2)]);
        let counters = path.counters();
        assert_eq!(counters.dropped(DropReason::QueueFull), Count::one(1514));
        assert_eq!(counters.dropped(DropReason::ExceedsBurst), Count::one(9000));
        assert_eq!(path.next_due(), Some(Time::from_nanos(2514)));
    }

    #[test]
    fn absent_parts_have_no_backlog_row() {
        let no_delay = DirectionSpec { delay: Duration::ZERO, ..spec() };
        let no_rate = DirectionSpec { bottleneck: None, ..spec() };
        let elements = |spec: &DirectionSpec| -> Vec<&str> {
            path(spec).backlog().iter().map(|backlog| backlog.element.as_str()).collect()
        };
        assert_eq!(elements(&no_delay), ["queue"]);
        assert_eq!(elements(&no_rate), ["delay"]);
        assert_eq!(elements(&spec()), ["delay", "queue"]);
    }

    #[test]
    fn a_copy_is_delivered_and_counted() {
        let spec = DirectionSpec { loss: LossSpec::None, duplicate: Ratio::ONE, bottleneck: None, ..spec() };
        let mut path = path(&spec);
        offer(&mut path, 1, 100);
        let taken = std::iter::from_fn(|| path.take_due(Time::from_nanos(1000))).count();
        let counters = path.counters();
        assert_eq!((taken, counters.duplicated), (2, Count::one(100)));
        assert_eq!(counters.delivered, Count { packets: 2, bytes: 200 });
    }

    #[test]
    fn an_offer_lets_earlier_hand_overs_happen_first() {
        let mut path = path(&spec());
        for payload in 1..=4 {
            offer(&mut path, payload, 1514);
        }
        let last = Packet { gso_id: 0, bytes: 100, payload: 5 };
        path.offer(Time::from_nanos(2000), last);
        let packets: Vec<u64> = path.backlog().iter().map(|backlog| backlog.packets).collect();
        assert_eq!(packets, [1, 1]);
        assert_eq!(path.counters().dropped(DropReason::QueueFull), Count::one(1514));
    }

    #[test]
    fn loss_and_duplication_draw_from_streams_of_their_own_names() {
        let half = Ratio::from_percent(50.0);
        let spec =
            DirectionSpec { loss: LossSpec::Independent(half), duplicate: half, bottleneck: None, ..spec() };
        let mut path = path(&spec);
        let mut loss = Prng::stream(Seed::new(1), "forward/loss");
        let mut duplicate = Prng::stream(Seed::new(1), "forward/duplicate");
        for payload in 0..100 {
            offer(&mut path, payload, 1514);
            let copies = if loss.chance(half) { 0 } else { 1 + usize::from(duplicate.chance(half)) };
            let taken = std::iter::from_fn(|| path.take_due(Time::from_nanos(1000)));
            assert_eq!(
                taken.map(|released| released.packet.payload).collect::<Vec<_>>(),
                vec![payload; copies]
            );
        }
    }
}
