//! Disciplines of the queue: what holds for all of them, and the laws of each.

use crate::drive::{lazily, punctually};
use crate::spec::{Offer, any_direction, bottleneck, traffic};
use pipefill_core::cell::{
    AqmSpec, BottleneckSpec, CodelSpec, DirectionSpec, Dualpi2Spec, FqCodelSpec, PieSpec, RedSpec,
};
use pipefill_core::record::{AqmSummary, DropReason};
use pipefill_core::units::{Bytes, QueueLimit, Rate, Ratio, Seed, Time};
use pipefill_link::{Counters, Ecn, IpPacket, OneWay, Packet};
use proptest::prelude::*;
use std::time::Duration;

const FRAME: u32 = 1500;
const MS: u64 = 1_000_000;

fn codel(ecn: bool) -> CodelSpec {
    CodelSpec {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn,
        frame: Bytes::new(1514),
    }
}

fn fq_codel(ecn: bool) -> FqCodelSpec {
    FqCodelSpec {
        codel: codel(ecn),
        flows: 1024,
        quantum: Bytes::new(1514),
        memory_limit: Bytes::new(32 << 20),
        drop_batch: 64,
    }
}

fn pie(ecn: bool) -> PieSpec {
    PieSpec {
        target: Duration::from_millis(15),
        tupdate: Duration::from_millis(15),
        alpha: 2.0,
        beta: 20.0,
        ecn,
        frame: Bytes::new(1514),
    }
}

fn red(adaptive: bool) -> RedSpec {
    RedSpec {
        min: Bytes::new(15_000),
        max: Bytes::new(45_000),
        probability: Ratio::from_percent(2.0),
        avpkt: Bytes::new(1000),
        burst: 25,
        adaptive,
        ecn: false,
        harddrop: false,
    }
}

fn dualpi2() -> Dualpi2Spec {
    Dualpi2Spec {
        target: Duration::from_millis(15),
        tupdate: Duration::from_millis(16),
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        step: Duration::from_millis(1),
        frame: Bytes::new(1514),
    }
}

fn every_kind() -> Vec<AqmSpec> {
    vec![
        AqmSpec::Drophead,
        AqmSpec::Codel(codel(false)),
        AqmSpec::FqCodel(fq_codel(true)),
        AqmSpec::Pie(pie(false)),
        AqmSpec::Red(red(false)),
        AqmSpec::Red(red(true)),
        AqmSpec::Dualpi2(dualpi2()),
    ]
}

/// Disciplines that act within microseconds, as the traffic here is.
fn any_aqm() -> impl Strategy<Value = AqmSpec> {
    let short = Duration::from_micros;
    prop::sample::select(every_kind()).prop_map(move |mut aqm| {
        match &mut aqm {
            AqmSpec::Codel(codel) | AqmSpec::FqCodel(FqCodelSpec { codel, .. }) => {
                (codel.target, codel.interval) = (short(1), short(10));
            }
            AqmSpec::Pie(pie) => (pie.target, pie.tupdate) = (short(1), short(10)),
            AqmSpec::Dualpi2(dualpi2) => (dualpi2.target, dualpi2.tupdate) = (short(1), short(10)),
            AqmSpec::Red(red) => (red.min, red.max) = (Bytes::new(1_500), Bytes::new(6_000)),
            AqmSpec::Drophead => {}
        }
        aqm
    })
}

fn managed() -> impl Strategy<Value = DirectionSpec> {
    (any_direction(), bottleneck(), any_aqm()).prop_map(|(spec, bottleneck, aqm)| DirectionSpec {
        bottleneck: Some(bottleneck),
        aqm: Some(aqm),
        ..spec
    })
}

proptest! {
    /// The punctual driver checks the balance after every step.
    #[test]
    fn nothing_is_created_or_lost_unaccounted(spec in managed(), offers in traffic(), seed: u64) {
        let outcome = punctually(&spec, seed, &offers);
        let counters = outcome.counters;
        prop_assert_eq!(counters.delivered.packets, outcome.released.len() as u64);
        for released in outcome.released {
            prop_assert!(released.due >= offers[released.packet.payload].at);
        }
    }

    #[test]
    fn a_late_driver_gets_the_same_packets_at_the_same_instants(
        spec in managed(),
        offers in traffic(),
        seed: u64,
        patience in prop::collection::vec(0..50_000_u32, 1..20),
    ) {
        prop_assert_eq!(punctually(&spec, seed, &offers), lazily(&spec, seed, &offers, &patience));
    }

    #[test]
    fn never_faster_than_the_bucket_allows(spec in managed(), offers in traffic(), seed: u64) {
        let bottleneck = spec.bottleneck.clone().expect("a bottleneck");
        let cost = |bytes: u32| u64::from(bytes) + bottleneck.overhead.get();
        let released = punctually(&spec, seed, &offers).released;
        for (first, from) in released.iter().enumerate() {
            let mut sent = 0;
            for until in &released[first..] {
                sent += cost(until.packet.bytes);
                let earned = u128::from(bottleneck.rate.bps()) * u128::from(until.due.nanos() - from.due.nanos());
                prop_assert!(u128::from(sent) * 8_000_000_000 <= u128::from(bottleneck.burst.get()) * 8_000_000_000 + earned);
            }
        }
    }
}

/// A packet of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tagged {
    flow: u64,
    ecn: Ecn,
}

impl IpPacket for Tagged {
    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }

    fn flow(&self) -> u64 {
        self.flow
    }
}

/// A link of one frame a millisecond.
struct Bench {
    path: OneWay<Tagged>,
    /// Departures: when, of which flow, how marked.
    left: Vec<(u64, Tagged)>,
}

impl Bench {
    fn new(aqm: AqmSpec, queue: QueueLimit) -> Self {
        let rate = Rate::from_bps(u64::from(FRAME) * 8 * 1000);
        let burst = Bytes::new(1514);
        let bottleneck = BottleneckSpec { rate, overhead: Bytes::new(0), queue, burst };
        let spec = DirectionSpec { bottleneck: Some(bottleneck), aqm: Some(aqm), ..DirectionSpec::EMPTY };
        Self { path: OneWay::new(&spec, Duration::ZERO, "forward", Seed::new(1)), left: Vec::new() }
    }

    fn roomy(aqm: AqmSpec) -> Self {
        Self::new(aqm, QueueLimit::Packets(100_000))
    }

    fn offer(&mut self, at: u64, flow: u64, ecn: Ecn) {
        self.take(at);
        let packet = Packet { gso_id: 0, bytes: FRAME, payload: Tagged { flow, ecn } };
        self.path.offer(Time::from_nanos(at), packet);
        self.take(at);
    }

    fn take(&mut self, until: u64) {
        while let Some(released) = self.path.take_due(Time::from_nanos(until)) {
            self.left.push((released.due.nanos(), released.packet.payload));
        }
    }

    fn counters(&self) -> Counters {
        self.path.counters()
    }

    fn drops(&self) -> u64 {
        self.counters().dropped(DropReason::Aqm).packets
    }

    fn summary(&self) -> AqmSummary {
        self.path.aqm().expect("a discipline").summary(pipefill_core::cell::Direction::Forward)
    }
}

/// `packets` packets a millisecond, for `span` milliseconds.
fn overload(bench: &mut Bench, from_ms: u64, span: u64, packets: u64, flow: u64, ecn: Ecn) {
    for ms in from_ms..from_ms + span {
        for packet in 0..packets {
            bench.offer(ms * MS + packet * MS / packets, flow, ecn);
        }
    }
}

/// RFC 8289, section 5: the first drop an interval after the target was exceeded, the n-th after another interval / √n, by Linux's root: that of 2 is
/// 0.5 (`codel_Newton_step()`).
#[test]
fn codel_drops_by_its_control_law() {
    let mut bench = Bench::roomy(AqmSpec::Codel(codel(false)));
    let (mut drops, mut instants) = (0, Vec::new());
    for ms in 0..2_000 {
        overload(&mut bench, ms, 1, 2, 0, Ecn::NotEct);
        if bench.drops() > drops {
            assert_eq!(bench.drops(), drops + 1, "one at a time");
            drops = bench.drops();
            instants.push(ms);
        }
    }
    // Two packets come while one leaves: after 10 ms the first has waited for 5.
    assert!((110..=113).contains(&instants[0]), "{instants:?}");
    for (drop, pair) in (1..).zip(instants.windows(2)) {
        let wanted = if drop == 2 { 50.0 } else { 100.0 / f64::from(drop).sqrt() };
        let gap = (pair[1] - pair[0]) as f64;
        assert!((gap - wanted).abs() <= 2.0, "{gap} ms after drop {drop}, not {wanted}");
    }
    assert!(instants.len() > 50);
}

proptest! {
    /// Bursts of no more than four milliseconds of the link, each after the last has left.
    #[test]
    fn codel_drops_nothing_that_waits_less_than_its_target(bursts in prop::collection::vec(1..5_u64, 1..300)) {
        for aqm in [AqmSpec::Codel(codel(false)), AqmSpec::FqCodel(fq_codel(false))] {
            let mut bench = Bench::roomy(aqm);
            let mut ms = 0;
            for &burst in &bursts {
                for _ in 0..burst {
                    bench.offer(ms * MS, 0, Ecn::NotEct);
                }
                ms += burst;
            }
            bench.take(u64::MAX);
            prop_assert_eq!(bench.counters().dropped_total().packets, 0);
            prop_assert!(bench.summary().sojourn_us_max < Some(5_000));
        }
    }
}

/// Twice the link's rate against each: what passes waits for about the target, what is ECT is marked in place of dropped.
#[test]
fn marks_take_the_place_of_drops() {
    for aqm in [AqmSpec::Codel(codel(true)), AqmSpec::FqCodel(fq_codel(true))] {
        let mut bench = Bench::roomy(aqm);
        overload(&mut bench, 0, 1_000, 2, 0, Ecn::Ect0);
        let counters = bench.counters();
        assert_eq!(counters.dropped_total().packets, 0);
        assert!(counters.marked_aqm.packets > 20, "{counters:?}");
        let marked = bench.left.iter().filter(|(_, packet)| packet.ecn == Ecn::Ce).count() as u64;
        assert!(marked.abs_diff(counters.marked_aqm.packets) <= 1, "the one that waits for the link");
        // What may not be marked is dropped.
        overload(&mut bench, 1_000, 200, 2, 0, Ecn::NotEct);
        bench.take(10_000 * MS);
        assert!(bench.drops() > 0);
    }
}

/// A flow of one packet in twenty milliseconds waits for the packet on the link at most, and for one beside it.
#[test]
fn a_sparse_flow_is_never_behind_the_queue_of_a_bulk_flow() {
    let mut bench = Bench::roomy(AqmSpec::FqCodel(fq_codel(false)));
    let mut sparse = Vec::new();
    for ms in 0..3_000 {
        overload(&mut bench, ms, 1, 3, 7, Ecn::NotEct);
        if ms % 20 == 3 {
            bench.offer(ms * MS + MS - 1, 8, Ecn::NotEct);
            sparse.push(ms * MS + MS - 1);
        }
    }
    bench.take(4_000 * MS);
    let left = bench.left.iter().filter(|(_, packet)| packet.flow == 8).map(|(at, _)| *at);
    let waits: Vec<u64> = left.zip(&sparse).map(|(left, came)| left - came).collect();
    assert_eq!(waits.len(), sparse.len(), "none is dropped");
    assert!(waits.iter().all(|&wait| wait <= 2 * MS), "{waits:?}");
    let queues = bench.summary().flow_queues.expect("flows");
    assert_eq!(queues.collisions, 0);
    assert!(queues.new_flows > 100, "{queues:?}");
    assert!(bench.summary().sojourn_us_p99 > Some(100_000), "the bulk flow waits");
}

#[test]
fn two_bulk_flows_share_by_bytes() {
    let mut bench = Bench::roomy(AqmSpec::FqCodel(fq_codel(false)));
    for ms in 0..2_000 {
        overload(&mut bench, ms, 1, 3, 1, Ecn::NotEct);
        overload(&mut bench, ms, 1, 1, 2, Ecn::NotEct);
    }
    let of_first = bench.left.iter().filter(|(_, packet)| packet.flow == 1).count();
    let share = of_first as f64 / bench.left.len() as f64;
    assert!((share - 0.5).abs() < 0.01, "{share}");
}

#[test]
fn an_overflow_drops_half_of_the_fattest_flow_at_most_a_batch() {
    let mut bench = Bench::new(AqmSpec::FqCodel(fq_codel(false)), QueueLimit::Packets(100));
    for flow in 1..10 {
        bench.offer(0, flow, Ecn::NotEct);
    }
    for _ in 0..93 {
        bench.offer(0, 0, Ecn::NotEct);
    }
    // The first packet has left; 101 are one too many, 93 of them of flow 0.
    let dropped = bench.counters().dropped(DropReason::QueueFull).packets;
    assert_eq!(dropped, 47);
    bench.take(u64::MAX);
    let kept = |flow| bench.left.iter().filter(|(_, packet)| packet.flow == flow).count();
    assert_eq!((1..10).map(kept).sum::<usize>(), 9);
    assert_conserved_of(&bench);
}

fn assert_conserved_of(bench: &Bench) {
    let counters = bench.counters();
    assert_eq!(counters.offered.packets, counters.delivered.packets + counters.dropped_total().packets);
}

#[test]
fn memory_bounds_small_packets_too() {
    let spec = FqCodelSpec { memory_limit: Bytes::new(768 * 10), ..fq_codel(false) };
    let mut bench = Bench::roomy(AqmSpec::FqCodel(spec));
    for _ in 0..100 {
        let payload = Tagged { flow: 0, ecn: Ecn::NotEct };
        bench.path.offer(Time::ZERO, Packet { gso_id: 0, bytes: 60, payload });
    }
    assert!(bench.path.backlog()[0].packets <= 11);
    assert!(bench.counters().dropped(DropReason::QueueFull).packets > 0);
}

/// A load of three quarters never reaches the target.
#[test]
fn at_rest_no_controller_drops_or_marks() {
    for aqm in every_kind() {
        let mut bench = Bench::roomy(aqm);
        for ms in (0..60_000).filter(|ms| ms % 4 != 0) {
            bench.offer(ms * MS, 0, Ecn::Ect0);
        }
        let counters = bench.counters();
        assert_eq!((counters.dropped_total().packets, counters.marked_aqm.packets), (0, 0));
    }
}

/// An unresponsive load of a tenth more than the link: PIE drops about that tenth, and keeps its target.
#[test]
fn pie_and_dualpi2_hold_their_target_against_a_constant_overload() {
    for aqm in [AqmSpec::Pie(pie(false)), AqmSpec::Dualpi2(dualpi2())] {
        let mut bench = Bench::roomy(aqm);
        for packet in 0..330_000_u64 {
            bench.offer(packet * MS * 10 / 11, 0, Ecn::NotEct);
        }
        let share = bench.drops() as f64 / 330_000.0;
        assert!((share - 1.0 / 11.0).abs() < 0.02, "{share}");
        let median = bench.summary().sojourn_us_p50.expect("packets left");
        assert!((10_000..=20_000).contains(&median), "{median} µs");
    }
}

/// RFC 8033, section 5.1: above a probability of 10 % packets that may be marked are dropped.
#[test]
fn pie_marks_a_small_overload_and_drops_a_large_one() {
    let mut bench = Bench::roomy(AqmSpec::Pie(pie(true)));
    overload(&mut bench, 0, 20_000, 2, 0, Ecn::Ect0);
    let counters = bench.counters();
    assert!(counters.marked_aqm.packets > 0 && bench.drops() > counters.marked_aqm.packets, "{counters:?}");
}

/// An L4S flow waits for a millisecond or so behind the step, a classic one for the target beside it.
#[test]
fn an_l4s_packet_does_not_wait_behind_the_classic_queue() {
    let mut bench = Bench::roomy(AqmSpec::Dualpi2(dualpi2()));
    let mut came = Vec::new();
    for ms in 0..30_000 {
        overload(&mut bench, ms, 1, 1, 1, Ecn::NotEct);
        if ms % 10 == 5 {
            bench.offer(ms * MS + MS / 2, 2, Ecn::Ect1);
            came.push(ms * MS + MS / 2);
        }
    }
    bench.take(u64::MAX);
    let left: Vec<(u64, Ecn)> = bench
        .left
        .iter()
        .filter(|(_, packet)| packet.flow == 2)
        .map(|(at, packet)| (*at, packet.ecn))
        .collect();
    let worst = left.iter().zip(&came).map(|((left, _), came)| left - came).max();
    assert!(worst.is_some_and(|wait| wait <= 4 * MS), "{worst:?}");
    assert!(left.iter().any(|(_, ecn)| *ecn == Ecn::Ce), "marked by the coupled probability");
    assert!(bench.drops() > 0, "the classic flow is dropped");
    assert_eq!(left.len(), came.len());
}

/// Between both thresholds RED drops by chance, above both all.
#[test]
fn red_drops_before_the_queue_is_full() {
    for adaptive in [false, true] {
        let mut bench = Bench::roomy(AqmSpec::Red(red(adaptive)));
        for packet in 0..100_000_u64 {
            bench.offer(packet * MS * 10 / 11, 0, Ecn::NotEct);
        }
        let share = bench.drops() as f64 / 100_000.0;
        assert!((share - 1.0 / 11.0).abs() < 0.02, "{share}");
        let worst = bench.summary().sojourn_us_max.expect("packets left");
        assert!(worst < 60_000, "{worst} µs: twice as much as 45 kB take, since the average lags behind");
    }
}

#[test]
fn drop_head_keeps_what_came_last() {
    let mut bench = Bench::new(AqmSpec::Drophead, QueueLimit::Packets(3));
    (0..10).for_each(|flow| bench.offer(0, flow, Ecn::NotEct));
    bench.take(u64::MAX);
    let left: Vec<u64> = bench.left.iter().map(|(_, packet)| packet.flow).collect();
    // The first has left, the second waits for the link and can't be dropped any more.
    assert_eq!(left, [0, 1, 8, 9]);
}

#[test]
fn the_same_seed_gives_the_same_packets_and_another_one_others() {
    let run = |seed: u64, aqm: &AqmSpec| {
        let bottleneck = BottleneckSpec {
            rate: Rate::from_bps(12_000_000),
            overhead: Bytes::new(0),
            queue: QueueLimit::Packets(1_000),
            burst: Bytes::new(1514),
        };
        let spec =
            DirectionSpec { bottleneck: Some(bottleneck), aqm: Some(aqm.clone()), ..DirectionSpec::EMPTY };
        let offers: Vec<Offer> = (0..20_000)
            .map(|index| Offer {
                at: Time::from_nanos(index as u64 * MS * 10 / 12),
                packet: Packet { gso_id: 0, bytes: FRAME, payload: index },
            })
            .collect();
        punctually(&spec, seed, &offers).delivered()
    };
    for aqm in [AqmSpec::Pie(pie(false)), AqmSpec::Red(red(true)), AqmSpec::Dualpi2(dualpi2())] {
        assert_eq!(run(1, &aqm), run(1, &aqm));
        assert_ne!(run(1, &aqm), run(2, &aqm));
    }
}
