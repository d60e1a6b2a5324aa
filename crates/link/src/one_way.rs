//! One direction of a path: the entry (loss, an inner MTU, a policer, marks, duplication), delay, bottleneck (netem with a tbf child).
//!
//! Never: a decision that depends on how often or how late the driver calls.

use crate::aqm::AqmCounts;
use crate::bottleneck::FedBy;
use crate::counters::{Backlog, Count, Counters};
use crate::entry::{Fate, PathEntry};
use crate::ip_packet::IpPacket;
use crate::packet::{Packet, Released};
use crate::stages::Stages;
use pipefill_core::cell::{Direction, DirectionSpec};
use pipefill_core::record::AqmSample;
use pipefill_core::units::{Seed, Time};
use std::time::Duration;

/// One direction of a path.
///
/// Everything inside happens at its exact instant: a driver that calls late gets the same packets with the same dues as a
/// punctual one. `now` should not decrease; where a packet is offered at an instant before the latest (a driver that stamps
/// packets on reception), its delay counts from that instant, and order and rate are still kept.
#[derive(Debug)]
pub struct OneWay<T> {
    entry: Option<Box<PathEntry<T>>>,
    stages: Stages<T>,
    counters: Counters,
}

impl<T: IpPacket> OneWay<T> {
    /// The direction `name` (`forward` or `reverse`) of a path with the base round trip `rtt`, which limits in BDPs refer
    /// to. Each element draws from its own stream of `seed`: `{name}/loss`, `/mark`, `/duplicate`, `/jitter`, `/reorder`,
    /// `/aqm`.
    /// A bottleneck behind a delay is fed as by netem.
    pub fn new(spec: &DirectionSpec, rtt: Duration, name: &str, seed: Seed) -> Self {
        Self::fed_by(spec, rtt, name, seed, FedBy::Netem)
    }

    /// The same, whose bottleneck behind a delay is fed in another way.
    pub fn fed_by(spec: &DirectionSpec, rtt: Duration, name: &str, seed: Seed, fed_by: FedBy) -> Self {
        Self {
            entry: PathEntry::new(spec, name, seed).map(Box::new),
            stages: Stages::new(spec, rtt, name, seed, fed_by),
            counters: Counters::new(spec),
        }
    }

    /// The traffic begins at `now`: the direction's changes count from here. Without it nothing changes.
    pub fn begin(&mut self, now: Time) {
        self.stages.begin(now);
        if let Some(entry) = &mut self.entry {
            entry.begin(now);
        }
    }

    /// Offers a packet at `now`. A drop is counted, see [`Self::counters`].
    pub fn offer(&mut self, now: Time, packet: Packet<T>) {
        self.counters.offered += Count::packet(packet.bytes);
        self.stages.advance(now, &mut self.counters);
        if self.entry.is_none() {
            self.admit(now, packet);
        } else {
            self.enter(now, packet);
        }
    }

    /// Takes the packets that were too large for the inner link and whose senders are to be told (RFC 1191, RFC 8201), in the order in
    /// which they came.
    pub fn take_oversized(&mut self) -> impl Iterator<Item = Packet<T>> {
        self.entry.iter_mut().flat_map(|entry| entry.take_oversized())
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

    /// What the discipline of the bottleneck's queue counts, where it has one.
    pub fn aqm(&self) -> Option<&AqmCounts> {
        Some(self.stages.managed()?.counts())
    }

    /// For records: how the discipline of the bottleneck's queue stands at `t_us`, where it has one. This path is `direction`. As of `now`
    /// after [`Self::take_due`] returned `None` for it.
    pub fn aqm_sample(&self, t_us: u64, direction: Direction) -> Option<AqmSample> {
        Some(self.stages.managed()?.sample(t_us, direction, &self.counters))
    }

    fn take_moved(&mut self, now: Time) -> Option<Released<T>> {
        self.stages.advance(now, &mut self.counters);
        let released = self.stages.take_due(now, &mut self.counters);
        if let Some(Released { packet, .. }) = &released {
            self.counters.delivered += Count::packet(packet.bytes);
        }
        released
    }

    fn enter(&mut self, now: Time, mut packet: Packet<T>) {
        let Some(entry) = &mut self.entry else { return };
        if let Some(delay) = entry.delay_changed(now) {
            self.stages.set_delay(delay);
        }
        match entry.admit(now, &mut packet, &mut self.counters) {
            Fate::Dropped => {}
            Fate::Once => self.admit(now, packet),
            Fate::Twice => {
                self.counters.duplicated += Count::packet(packet.bytes);
                self.admit(now, packet.clone());
                self.admit(now, packet);
            }
        }
    }

    fn admit(&mut self, now: Time, packet: Packet<T>) {
        self.stages.offer(now, packet, &mut self.counters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip_packet::Ecn;
    use pipefill_core::cell::{BottleneckSpec, ChangeSpec, InnerMtuSpec, LossSpec, Pmtud, PolicerSpec};
    use pipefill_core::prng::Prng;
    use pipefill_core::record::{DropReason, Element};
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
        assert_eq!(path.counters().dropped(DropReason::RandomLoss), Count::packet(1514));
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
        assert_eq!(counters.dropped(DropReason::QueueFull), Count::packet(1514));
        assert_eq!(counters.dropped(DropReason::ExceedsBurst), Count::packet(9000));
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
        assert_eq!((taken, counters.duplicated), (2, Count::packet(100)));
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
        assert_eq!(path.counters().dropped(DropReason::QueueFull), Count::packet(1514));
    }

    /// A packet that may be marked, and must not be fragmented.
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Ip {
        ecn: u8,
        df: bool,
    }

    impl IpPacket for Ip {
        fn ecn(&self) -> Ecn {
            Ecn::from_bits(self.ecn)
        }

        fn set_ce(&mut self) {
            self.ecn = 3;
        }

        fn has_df(&self) -> bool {
            self.df
        }
    }

    fn offer_ip(path: &mut OneWay<Ip>, bytes: u32, ecn: u8, df: bool) {
        path.offer(Time::ZERO, Packet { gso_id: 0, bytes, payload: Ip { ecn, df } });
    }

    fn ip_path(spec: &DirectionSpec) -> OneWay<Ip> {
        OneWay::new(spec, Duration::ZERO, "forward", Seed::new(1))
    }

    #[test]
    fn only_what_may_be_marked_is_marked_and_counted() {
        let mark = LossSpec::Packets(vec![1, 3]);
        let mut path = ip_path(&DirectionSpec { mark, ..DirectionSpec::EMPTY });
        for ecn in [0, 2, 0, 1, 3, 2, 2] {
            offer_ip(&mut path, 1514, ecn, true);
        }
        let left: Vec<u8> = std::iter::from_fn(|| path.take_due(Time::ZERO))
            .map(|released| released.packet.payload.ecn)
            .collect();
        assert_eq!(left, [0, 3, 0, 1, 3, 3, 2], "the first and the third of those with ECT");
        assert_eq!(path.counters().marked, Count { packets: 2, bytes: 2 * 1514 });
    }

    #[test]
    fn an_inner_link_drops_what_is_too_large_and_hands_it_back_where_it_is_to_be_reported() {
        for (pmtud, reported) in [(Pmtud::Icmp, 1), (Pmtud::BlackHole, 0)] {
            let inner_mtu = Some(InnerMtuSpec { mtu: 1400, pmtud });
            let mut path = ip_path(&DirectionSpec { inner_mtu, ..DirectionSpec::EMPTY });
            offer_ip(&mut path, 1414, 0, true);
            offer_ip(&mut path, 1415, 0, true);
            offer_ip(&mut path, 1415, 0, false);
            assert_eq!(std::iter::from_fn(|| path.take_due(Time::ZERO)).count(), 2);
            assert_eq!(path.counters().dropped(DropReason::ExceedsMtu), Count::packet(1415));
            assert_eq!(path.take_oversized().count(), reported);
        }
    }

    #[test]
    fn counters_name_a_part_only_where_it_is() {
        let names = |spec: &DirectionSpec| {
            let records = path(spec).counters().records(pipefill_core::cell::Direction::Forward);
            records.into_iter().map(|counter| counter.name).collect::<Vec<_>>()
        };
        let policer = PolicerSpec { rate: Rate::from_bps(1), burst: Bytes::new(2000) };
        let mark = LossSpec::Independent(Ratio::ONE);
        let with = names(&DirectionSpec { mark, policer: Some(policer), ..spec() });
        let without = names(&spec());
        let more: Vec<&String> = with.iter().filter(|name| !without.contains(name)).collect();
        let wanted = [
            "marked_random_packets",
            "marked_random_bytes",
            "dropped_policed_packets",
            "dropped_policed_bytes",
        ];
        assert_eq!(more, wanted);
    }

    #[test]
    fn changes_count_from_the_traffic_and_an_outage_ends() {
        let us = Duration::from_micros;
        let outage = ChangeSpec {
            at: us(10),
            lasts: Some(us(10)),
            rate: None,
            loss: Some(LossSpec::Independent(Ratio::ONE)),
            delay: None,
        };
        let slower =
            ChangeSpec { at: us(30), lasts: Some(us(10)), loss: None, delay: Some(us(6)), ..outage.clone() };
        let spec =
            DirectionSpec { changes: vec![outage, slower], bottleneck: None, loss: LossSpec::None, ..spec() };
        let mut path = path(&spec);
        let mut offer = |at: u32| {
            path.offer(Time::ZERO.after(us(at.into())), Packet { gso_id: 0, bytes: 100, payload: at });
            if at == 50 {
                path.begin(Time::ZERO.after(us(100)));
            }
        };
        [50, 109, 110, 119, 120, 130, 139, 140, 144, 145].into_iter().for_each(&mut offer);
        let left: Vec<(u32, u64)> = std::iter::from_fn(|| path.take_due(Time::MAX))
            .map(|released| (released.packet.payload, released.due.micros()))
            .collect();
        // From 130 on 6 µs, then 1 µs again: who would overtake waits.
        let wanted =
            [(50, 51), (109, 110), (120, 121), (130, 136), (139, 145), (140, 145), (144, 145), (145, 146)];
        assert_eq!(left, wanted);
        assert_eq!(path.counters().dropped(DropReason::RandomLoss).packets, 2);
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
