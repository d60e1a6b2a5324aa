//! Conservation, causality, order, rate, limits, repeatability, and independence of the driver.

use crate::drive::{Outcome, assert_conserved, forward, lazily, punctually, punctually_watched};
use crate::spec::{
    Offer, RTT, any_direction, bottleneck, clean, delay, in_order_direction, jitter, loss, traffic,
};
use pipefill_core::cell::{BottleneckSpec, DirectionSpec, LossUnit};
use pipefill_core::record::Element;
use pipefill_core::units::{Bytes, NANOS_PER_SEC, QueueLimit, Rate, Ratio, Time};
use pipefill_link::{Limit, OneWay, Released};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

proptest! {
    #[test]
    fn nothing_is_created_or_lost_unaccounted(spec in any_direction(), offers in traffic(), seed: u64) {
        let outcome = punctually(&spec, seed, &offers);
        let counters = outcome.counters;
        prop_assert_eq!(counters.offered.packets, offers.len() as u64);
        prop_assert_eq!(counters.offered.bytes, offers.iter().map(|o| u64::from(o.packet.bytes)).sum::<u64>());
        prop_assert_eq!(counters.delivered.packets, outcome.released.len() as u64);
        prop_assert_eq!(counters.delivered.bytes, outcome.released.iter().map(bytes).sum::<u64>());
    }

    #[test]
    fn nothing_leaves_before_it_came(spec in any_direction(), offers in traffic(), seed: u64) {
        for released in punctually(&spec, seed, &offers).released {
            prop_assert!(released.due >= offers[released.packet.payload].at);
        }
    }

    #[test]
    fn nothing_leaves_before_its_delay(spec in in_order_direction(), offers in traffic(), seed: u64) {
        let spec = DirectionSpec { jitter: None, ..spec };
        for released in punctually(&spec, seed, &offers).released {
            prop_assert!(released.due.since(offers[released.packet.payload].at) >= spec.delay);
        }
    }

    #[test]
    fn a_fixed_delay_alone_is_exact(delay in delay(), offers in traffic()) {
        let spec = DirectionSpec { delay, ..clean() };
        let expected: Vec<Released<usize>> = offers
            .iter()
            .map(|offer| Released { due: offer.at.after(delay), packet: offer.packet.clone() })
            .collect();
        prop_assert_eq!(punctually(&spec, 1, &offers).released, expected);
    }

    #[test]
    fn dues_never_go_back(spec in any_direction(), offers in traffic(), seed: u64) {
        let outcome = punctually(&spec, seed, &offers);
        prop_assert!(outcome.released.is_sorted_by_key(|released| released.due));
    }

    #[test]
    fn order_is_kept_where_it_must_be(spec in in_order_direction(), offers in traffic(), seed: u64) {
        let outcome = punctually(&spec, seed, &offers);
        prop_assert!(outcome.released.is_sorted_by_key(|released| released.packet.payload));
        prop_assert_eq!(outcome.counters.reordered, 0);
    }

    #[test]
    fn reordered_counts_what_left_behind_a_later_one(
        jitter in jitter(), delay in delay(), offers in traffic(), seed: u64,
    ) {
        let spec = DirectionSpec { delay, jitter: Some(jitter), ..clean() };
        let outcome = punctually(&spec, seed, &offers);
        let mut next_expected = 0;
        let mut late = 0;
        for released in &outcome.released {
            late += u64::from(released.packet.payload < next_expected);
            next_expected = next_expected.max(released.packet.payload + 1);
        }
        prop_assert_eq!(outcome.counters.reordered, late);
    }

    #[test]
    fn the_rate_is_never_beaten(
        spec in any_direction(), bottleneck in bottleneck(), offers in traffic(), seed: u64,
    ) {
        let spec = DirectionSpec { bottleneck: Some(bottleneck.clone()), ..spec };
        assert_rate_kept(&punctually(&spec, seed, &offers), &bottleneck);
    }

    #[test]
    fn stamps_from_the_past_beat_neither_order_nor_rate(
        spec in in_order_direction(), bottleneck in bottleneck(), offers in traffic(),
        back in prop::collection::vec(0..30_000_u64, 1..9), seed: u64,
    ) {
        let spec = DirectionSpec { bottleneck: Some(bottleneck.clone()), ..spec };
        let mut path = forward(&spec, seed);
        let mut released = Vec::new();
        for (n, offer) in offers.iter().enumerate() {
            released.extend(std::iter::from_fn(|| path.take_due(offer.at)));
            let stamp = offer.at.before(Duration::from_nanos(back[n % back.len()]));
            path.offer(stamp, offer.packet.clone());
        }
        released.extend(std::iter::from_fn(|| path.take_due(Time::MAX)));
        let outcome = Outcome { released, counters: path.counters() };
        prop_assert!(outcome.released.is_sorted_by_key(|released| released.packet.payload));
        assert_rate_kept(&outcome, &bottleneck);
        assert_conserved(&path);
    }

    #[test]
    fn a_backlog_is_never_over_its_limit(spec in any_direction(), offers in traffic(), seed: u64) {
        let rate = spec.bottleneck.as_ref().map(|bottleneck| bottleneck.rate);
        let delay_limit = spec.delay_limit.and_then(|limit| Limit::resolve(limit, rate, RTT));
        let queue_limit = spec.bottleneck.as_ref().and_then(|b| Limit::resolve(b.queue, rate, RTT));
        punctually_watched(&spec, seed, &offers, |path| {
            for element in path.backlog() {
                let limit = if element.element == Element::Queue { queue_limit } else { delay_limit };
                match limit {
                    Some(Limit::Bytes(limit)) => assert!(element.bytes <= limit, "{element:?} over {limit}"),
                    Some(Limit::Packets(limit)) => assert!(element.packets <= limit, "{element:?} over {limit}"),
                    None => assert_eq!((element.element, element.dropped_packets), (Element::Delay, 0)),
                }
            }
        });
    }

    #[test]
    fn the_same_seed_gives_the_same_fate(spec in any_direction(), offers in traffic(), seed: u64) {
        prop_assert_eq!(punctually(&spec, seed, &offers), punctually(&spec, seed, &offers));
    }

    #[test]
    fn a_late_driver_gets_the_same_as_a_punctual_one(
        spec in any_direction(), offers in traffic(), seed: u64,
        patience in prop::collection::vec(0..50_000_u32, 1..9),
    ) {
        let late = lazily(&spec, seed, &offers, &patience);
        let punctual = punctually(&spec, seed, &offers);
        prop_assert_eq!(late, punctual);
    }

    #[test]
    fn other_elements_do_not_reshuffle_the_loss(
        loss in loss(), whole_super_packets: bool, others in any_direction(), offers in traffic(), seed: u64,
    ) {
        let loss_unit = if whole_super_packets { LossUnit::SuperPacket } else { LossUnit::Segment };
        let alone = DirectionSpec { loss, loss_unit, ..clean() };
        let roomy = |bottleneck: BottleneckSpec| BottleneckSpec {
            queue: QueueLimit::Packets(1_000),
            overhead: Bytes::new(0),
            burst: Bytes::new(1514),
            ..bottleneck
        };
        let among = DirectionSpec {
            loss: alone.loss.clone(),
            loss_unit,
            delay_limit: None,
            bottleneck: others.bottleneck.map(roomy),
            ..others
        };
        let expected = punctually(&alone, seed, &offers).delivered();
        prop_assert_eq!(punctually(&among, seed, &offers).delivered(), expected);
    }

    #[test]
    fn reordering_and_duplicates_do_not_reshuffle_each_other(
        spec in any_direction(), duplicate in 0.01..0.5_f64, offers in traffic(), seed: u64,
    ) {
        let spec = DirectionSpec {
            duplicate: Ratio::from_fraction(duplicate), delay_limit: None, bottleneck: None, ..spec
        };
        let still = DirectionSpec { jitter: None, reorder: Ratio::ZERO, ..spec.clone() };
        let copies = |spec: &DirectionSpec| copies_of_each(&punctually(spec, seed, &offers));
        prop_assert_eq!(copies(&spec), copies(&still));
    }

    #[test]
    fn reordering_does_not_reshuffle_the_jitter(
        jitter in jitter(), reorder in 0.01..0.5_f64, offers in traffic(), seed: u64,
    ) {
        let delay = Duration::from_micros(400);
        let mut jitter = jitter;
        jitter.reorder = true;
        let steady = DirectionSpec { delay, jitter: Some(jitter), ..clean() };
        let skipping = DirectionSpec { reorder: Ratio::from_fraction(reorder), ..steady.clone() };
        let expected = due_of_each(&punctually(&steady, seed, &offers));
        for (index, due) in due_of_each(&punctually(&skipping, seed, &offers)) {
            prop_assert!(due == expected[&index] || due == offers[index].at);
        }
    }

    #[test]
    fn the_super_packet_as_a_unit_is_lost_whole(loss in loss(), offers in traffic(), seed: u64) {
        let spec = DirectionSpec { loss, loss_unit: LossUnit::SuperPacket, ..clean() };
        let delivered = punctually(&spec, seed, &offers).delivered();
        let mut fates: BTreeMap<u64, Vec<bool>> = BTreeMap::new();
        for (index, offer) in offers.iter().enumerate() {
            let lost = delivered.binary_search(&index).is_err();
            fates.entry(offer.packet.gso_id).or_default().push(lost);
        }
        for (gso_id, lost) in fates {
            prop_assert!(lost.iter().all(|each| *each == lost[0]), "super-packet {} was torn: {:?}", gso_id, lost);
        }
    }

    #[test]
    fn while_packets_wait_the_bottleneck_is_never_idle(offers in traffic(), bps in 1_000_000..9_000_000_000_u64) {
        // With a bucket of one full packet, what waits leaves as soon as its own tokens are there: work conservation.
        let rate = Rate::from_bps(bps);
        let bottleneck = BottleneckSpec { rate, overhead: Bytes::new(0), queue: QueueLimit::Packets(1_000), burst: Bytes::new(1514) };
        let spec = DirectionSpec { bottleneck: Some(bottleneck), ..clean() };
        let mut before = Time::ZERO;
        for released in punctually(&spec, 1, &offers).released {
            let at = offers[released.packet.payload].at;
            let latest = before.max(at).after(rate.time_to_send(Bytes::new(bytes(&released))));
            prop_assert!(released.due <= latest);
            before = released.due;
        }
    }
}

/// Checks every pair of releases: from one to the other, both counted, at most `burst + rate × dt` bytes left.
fn assert_rate_kept(outcome: &Outcome, bottleneck: &BottleneckSpec) {
    let per_byte = 8 * u128::from(NANOS_PER_SEC);
    for (i, first) in outcome.released.iter().enumerate() {
        let mut left = 0;
        for last in &outcome.released[i..] {
            left += u128::from(last.packet.bytes) + u128::from(bottleneck.overhead.get());
            let earned = u128::from(bottleneck.rate.bps()) * last.due.since(first.due).as_nanos();
            let allowed = u128::from(bottleneck.burst.get()) * per_byte + earned;
            assert!(left * per_byte <= allowed, "{left} bytes from {first:?} to {last:?}");
        }
    }
}

fn copies_of_each(outcome: &Outcome) -> BTreeMap<usize, usize> {
    let mut copies = BTreeMap::new();
    for released in &outcome.released {
        *copies.entry(released.packet.payload).or_default() += 1;
    }
    copies
}

fn due_of_each(outcome: &Outcome) -> BTreeMap<usize, Time> {
    let due = |released: &Released<usize>| (released.packet.payload, released.due);
    outcome.released.iter().map(due).collect()
}

fn bytes(released: &Released<usize>) -> u64 {
    u64::from(released.packet.bytes)
}

#[test]
fn different_seeds_and_names_give_different_fates() {
    let loss = pipefill_core::cell::LossSpec::Independent(Ratio::from_percent(50.0));
    let spec = DirectionSpec { loss, ..clean() };
    let packet = |payload| pipefill_link::Packet { gso_id: 0, bytes: 100, payload };
    let offers: Vec<Offer> = (0..100).map(|index| Offer { at: Time::ZERO, packet: packet(index) }).collect();
    let fate = |name: &str, seed: u64| {
        let mut path = OneWay::new(&spec, RTT, name, pipefill_core::units::Seed::new(seed));
        for offer in &offers {
            path.offer(offer.at, offer.packet.clone());
        }
        std::iter::from_fn(|| path.take_due(Time::ZERO)).map(|r| r.packet.payload).collect::<Vec<_>>()
    };
    assert_ne!(fate("forward", 1), fate("forward", 2));
    assert_ne!(fate("forward", 1), fate("reverse", 1));
}
