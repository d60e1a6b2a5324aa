//! Policers and changes: conservation, order, the rate of each span, independence of the driver.

use crate::drive::{Outcome, forward, lazily, punctually};
use crate::spec::{in_order_direction, loss, traffic};
use pipefill_core::cell::{BottleneckSpec, ChangeSpec, DirectionSpec, PolicerSpec, RateTrace, TraceSteps};
use pipefill_core::units::{Bytes, NANOS_PER_SEC, QueueLimit, Rate, Time};
use proptest::option::of;
use proptest::prelude::*;
use std::time::Duration;

/// A change within the time of some traffic.
fn change() -> impl Strategy<Value = ChangeSpec> {
    let nanos = |most: u64| (0..most).prop_map(Duration::from_nanos);
    let rate = prop_oneof![Just(0), 10_000_000..10_000_000_000_u64].prop_map(Rate::from_bps);
    (nanos(1_000_000), of(nanos(500_000)), of(rate), of(loss()), of(nanos(200_000)))
        .prop_map(|(at, lasts, rate, loss, delay)| ChangeSpec { at, lasts, rate, loss, delay })
}

fn policer() -> impl Strategy<Value = PolicerSpec> {
    (10_000_000..10_000_000_000_u64, 1514..20_000_u64)
        .prop_map(|(bps, burst)| PolicerSpec { rate: Rate::from_bps(bps), burst: Bytes::new(burst) })
}

/// A trace whose steps are a few microseconds long.
fn trace() -> impl Strategy<Value = RateTrace> {
    let step = (1..300_u64, prop_oneof![Just(0), 10_000_000..10_000_000_000_u64]);
    (prop::collection::vec(step, 1..8), any::<bool>()).prop_map(|(steps, repeats)| {
        let mut at = vec![0];
        at.extend(steps.iter().scan(0, |at, (lasts, _)| {
            *at += lasts;
            Some(*at)
        }));
        let period = at.pop().filter(|_| repeats);
        let mut rates: Vec<Rate> = steps.iter().map(|(_, bps)| Rate::from_bps(*bps)).collect();
        // Not 0 for ever.
        *rates.last_mut().expect("a step") = Rate::from_bps(50_000_000);
        RateTrace::new(TraceSteps { at, rates, period }).expect("a trace")
    })
}

/// Any direction that keeps order, with changes, perhaps a trace, and perhaps a policer.
fn changing() -> impl Strategy<Value = DirectionSpec> {
    (in_order_direction(), prop::collection::vec(change(), 1..5), of(trace()), of(policer())).prop_map(
        |(spec, changes, rate_trace, policer)| DirectionSpec { changes, rate_trace, policer, ..spec },
    )
}

/// Bytes that may leave in `from..=to` after a burst, at the rates of that time.
fn most_bytes(spec: &DirectionSpec, bottleneck: &BottleneckSpec, from: Time, to: Time) -> u128 {
    let rates = spec.rate_over_time().expect("it has a bottleneck");
    // A due is rounded up to the nanosecond: a packet may be paid for one later.
    let rounding = u128::from(rates.highest().bps());
    let bits = (rates.earned(from.nanos(), to.nanos()) + rounding).div_ceil(u128::from(NANOS_PER_SEC));
    u128::from(bottleneck.burst.get()) + bits.div_ceil(8)
}

fn bytes(outcome: &Outcome, from: usize, to: usize) -> u128 {
    outcome.released[from..=to].iter().map(|released| u128::from(released.packet.bytes)).sum()
}

proptest! {
    #[test]
    fn changes_lose_nothing_unaccounted_and_keep_order(spec in changing(), offers in traffic(), seed: u64) {
        let outcome = punctually(&spec, seed, &offers);
        prop_assert_eq!(outcome.counters.offered.packets, offers.len() as u64);
        prop_assert!(outcome.released.is_sorted_by_key(|released| released.packet.payload));
        prop_assert!(outcome.released.is_sorted_by_key(|released| released.due));
        prop_assert_eq!(outcome.counters.reordered, 0);
    }

    #[test]
    fn changes_happen_at_their_instants_however_late_the_driver_asks(
        spec in changing(), offers in traffic(), patience in prop::collection::vec(any::<u32>(), 1..9), seed: u64,
    ) {
        prop_assert_eq!(lazily(&spec, seed, &offers, &patience), punctually(&spec, seed, &offers));
    }

    #[test]
    fn the_rate_of_no_span_is_beaten(
        changes in prop::collection::vec(change(), 0..5), rate_trace in of(trace()),
        bps in 10_000_000..1_000_000_000_u64, offers in traffic(),
    ) {
        let bottleneck = BottleneckSpec {
            rate: Rate::from_bps(bps),
            overhead: Bytes::new(0),
            queue: QueueLimit::Packets(1000),
            burst: Bytes::new(2000),
        };
        let bottleneck_of = Some(bottleneck.clone());
        let spec = DirectionSpec { changes, rate_trace, bottleneck: bottleneck_of, ..DirectionSpec::EMPTY };
        let outcome = punctually(&spec, 1, &offers);
        let left = outcome.released.iter().take_while(|released| released.due < Time::MAX).count();
        for first in 0..left {
            for last in first..left {
                let (from, to) = (outcome.released[first].due, outcome.released[last].due);
                let most = most_bytes(&spec, &bottleneck, from, to);
                prop_assert!(bytes(&outcome, first, last) <= most, "{from:?} to {to:?}: more than {most}");
            }
        }
    }

    #[test]
    fn a_policer_holds_nothing_and_lets_no_more_than_burst_and_rate_pass(policer in policer(), offers in traffic()) {
        let spec = DirectionSpec { policer: Some(policer.clone()), ..DirectionSpec::EMPTY };
        let outcome = punctually(&spec, 1, &offers);
        for (first, released) in outcome.released.iter().enumerate() {
            prop_assert_eq!(released.due, offers[released.packet.payload].at);
            for last in first..outcome.released.len() {
                let elapsed = outcome.released[last].due.since(released.due).as_nanos();
                let bits = elapsed * u128::from(policer.rate.bps());
                let most = u128::from(policer.burst.get()) + bits.div_ceil(8 * u128::from(NANOS_PER_SEC));
                prop_assert!(bytes(&outcome, first, last) <= most);
            }
        }
        prop_assert_eq!(outcome.released.first().map(|first| first.packet.payload), Some(0), "the bucket is full");
    }
}

/// Two seconds at 8 Mbit/s, then at 0.8 Mbit/s: what waits at the change leaves at the new rate.
#[test]
fn a_queue_drains_at_the_rate_that_holds() {
    let bottleneck = BottleneckSpec {
        rate: Rate::from_bps(8_000_000),
        overhead: Bytes::new(0),
        queue: QueueLimit::Packets(1000),
        burst: Bytes::new(1000),
    };
    let at = Duration::from_millis(2);
    let change = ChangeSpec { at, lasts: None, rate: Some(Rate::from_bps(800_000)), loss: None, delay: None };
    let spec = DirectionSpec { bottleneck: Some(bottleneck), changes: vec![change], ..DirectionSpec::EMPTY };
    let mut path = forward(&spec, 1);
    for payload in 0..5 {
        path.offer(Time::ZERO, pipefill_link::Packet { gso_id: 0, bytes: 1000, payload });
    }
    let dues: Vec<u64> =
        std::iter::from_fn(|| path.take_due(Time::MAX)).map(|released| released.due.micros()).collect();
    assert_eq!(dues, [0, 1000, 2000, 12_000, 22_000]);
}
