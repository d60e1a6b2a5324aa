//! What pings are said to have measured, on records whose true figures are known.

use pipefill_analysis::findings::metrics::{PingMetrics, RunMetrics};
use pipefill_analysis::infer::forget_the_plan;
use pipefill_core::cell::{BottleneckSpec, CellSpec, Direction, Family, PingSpec, Protocol};
use pipefill_core::record::{Observed, PingSample, RunRecord, Subject};
use pipefill_core::traffic::ping::{exchange, wire_bytes};
use pipefill_core::units::{Bytes, QueueLimit, Rate};
use pipefill_testkit::builder::{Steady, cell, record, run, spec};
use proptest::prelude::*;
use std::time::Duration;

const FORWARD_BPS: u64 = 100_000_000;
const REVERSE_BPS: u64 = 40_000_000;
const BURST: u64 = 1_514;
/// Round trip of the path, in nanoseconds.
const BASE_NS: u64 = 300_000;

/// A bottleneck each way, and a ping of four sizes in `direction`.
fn pinged(direction: Direction) -> CellSpec {
    let mut spec = spec(Protocol::Ping, 0);
    let bottleneck = |bps| BottleneckSpec {
        rate: Rate::from_bps(bps),
        overhead: Bytes::new(0),
        queue: QueueLimit::Bdp(1.0),
        burst: Bytes::new(BURST),
    };
    spec.path.forward.bottleneck = Some(bottleneck(FORWARD_BPS));
    spec.path.reverse.bottleneck = Some(bottleneck(REVERSE_BPS));
    spec.flows[0].direction = direction;
    spec.flows[0].ping = Some(PingSpec {
        payloads: [64, 1_400, 16_000, 65_500].map(Bytes::new).to_vec(),
        interval: Duration::from_millis(10),
    });
    spec
}

/// The record of 24 pings, the round trips as `rtt_ns` has them from the bytes of both ways on the wire.
fn pings(spec: CellSpec, rtt_ns: impl Fn(u64, u64) -> Option<u64>) -> RunRecord {
    let (ping, path) = (spec.flows[0].ping.clone().unwrap(), spec.path.clone());
    let mut record = record(run(&cell(0, &[], spec), 1), &[Steady::default()]);
    record.delivery.clear();
    record.ping = (0..24)
        .map(|number| {
            let exchange = exchange(&ping, number);
            PingSample {
                t_us: number * 10_000,
                stream: 0,
                number,
                payload_bytes: exchange.payload.get(),
                reply_bytes: exchange.reply.get(),
                rtt_ns: rtt_ns(
                    wire_bytes(exchange.payload, &path).get(),
                    wire_bytes(exchange.reply, &path).get(),
                ),
            }
        })
        .collect();
    record
}

/// What a token bucket of `bps` takes for a datagram: what is beyond its depth waits.
fn waits_ns(wire: u64, bps: u64) -> u64 {
    wire.saturating_sub(BURST) * 8_000_000_000 / bps
}

/// The same of a path that nobody planned: the specification tells nothing of it.
fn unplanned(mut record: RunRecord) -> RunRecord {
    record.manifest.subject = Subject::Observed(Observed::default());
    forget_the_plan(&mut record.manifest.run.cell.spec);
    record
}

fn of(record: &RunRecord) -> PingMetrics {
    RunMetrics::of(record).ping.unwrap()
}

#[test]
fn a_bucket_that_nobody_told_of_is_found_and_a_wire_has_none() {
    // One more nanosecond and less by turns: no fit is perfect.
    let seen = |depth: u64| {
        let mut number = 0;
        let waits = move |wire: u64, bps| wire.saturating_sub(depth) * 8_000_000_000 / bps;
        let rtt = std::cell::RefCell::new(move |there, back| {
            number += 1;
            BASE_NS + waits(there, FORWARD_BPS) + waits(back, REVERSE_BPS) + 2_000 * (number % 2)
        });
        of(&unplanned(pings(pinged(Direction::Forward), |there, back| Some(rtt.borrow_mut()(there, back)))))
    };
    for depth in [0, 1_514, 4 * 1_514] {
        let got = seen(depth);
        assert!((got.base_rtt_us.unwrap() - 301.0).abs() < 3.0, "{depth}: {got:?}");
        assert!(got.forward_bps.unwrap().abs_diff(FORWARD_BPS) < FORWARD_BPS / 100, "{depth}: {got:?}");
        assert!(got.reverse_bps.unwrap().abs_diff(REVERSE_BPS) < REVERSE_BPS / 100, "{depth}: {got:?}");
    }
}

#[test]
fn the_base_and_both_rates_come_apart() {
    let record = pings(pinged(Direction::Forward), |there, back| {
        Some(BASE_NS + waits_ns(there, FORWARD_BPS) + waits_ns(back, REVERSE_BPS))
    });
    let got = of(&record);
    assert!((got.base_rtt_us.unwrap() - 300.0).abs() <= 2.0 * got.base_rtt_us_error.unwrap(), "{got:?}");
    assert!(got.forward_bps.unwrap().abs_diff(FORWARD_BPS) < 100, "{got:?}");
    assert!(got.reverse_bps.unwrap().abs_diff(REVERSE_BPS) < 100, "{got:?}");
    assert_eq!((got.sent, got.lost, got.sizes.len(), got.window_bytes), (24, 0, 8, Some(65_500)));
    assert!(got.bdp_bytes.unwrap().abs_diff(3_750) <= 1);
    // The window holds more than the path does, so that the law stops at the frames' share of the rate.
    assert!(got.law_bps.unwrap().abs_diff(95_640_687) < 200, "{got:?}");
    assert_eq!(RunMetrics::of(&record).goodput_bps, None, "a ping has no goodput");
}

/// 1428 bytes of each 1514 are payload, and a fragment carries 62 bytes of headers.
#[test]
fn ipv6_is_counted_with_its_own_headers() {
    let mut spec = pinged(Direction::Forward);
    spec.path.family = Family::Ipv6;
    let got = of(&pings(spec, |there, back| {
        Some(BASE_NS + waits_ns(there, FORWARD_BPS) + waits_ns(back, REVERSE_BPS))
    }));
    assert!(got.forward_bps.unwrap().abs_diff(FORWARD_BPS) < 100, "{got:?}");
    assert!(got.law_bps.unwrap().abs_diff(94_319_683) < 200, "{got:?}");
}

#[test]
fn requests_in_reverse_meet_the_other_rate_first() {
    let record = pings(pinged(Direction::Reverse), |there, back| {
        Some(BASE_NS + waits_ns(there, REVERSE_BPS) + waits_ns(back, FORWARD_BPS))
    });
    let got = of(&record);
    assert!(got.forward_bps.unwrap().abs_diff(REVERSE_BPS) < 100, "{got:?}");
    assert!(got.reverse_bps.unwrap().abs_diff(FORWARD_BPS) < 100, "{got:?}");
}

#[test]
fn a_bucket_that_the_pause_does_not_fill_leaves_no_fit() {
    let mut spec = pinged(Direction::Forward);
    spec.path.forward.bottleneck.as_mut().unwrap().burst = Bytes::new(125_001);
    let got = of(&pings(spec, |there, back| Some(BASE_NS + there + back)));
    assert_eq!((got.base_rtt_us, got.forward_bps, got.bdp_bytes, got.law_bps), (None, None, None, None));
    assert_eq!((got.sizes.len(), got.window_bytes), (8, Some(65_500)));
    assert!(got.naive_bps.is_some());
}

#[test]
fn without_a_rate_every_byte_counts_and_a_path_that_limits_nothing_shows_no_rate() {
    let mut spec = pinged(Direction::Forward);
    (spec.path.forward.bottleneck, spec.path.reverse.bottleneck) = (None, None);
    let costly = of(&pings(spec.clone(), |there, back| Some(BASE_NS + 2 * there + 4 * back)));
    assert!(costly.forward_bps.unwrap().abs_diff(4_000_000_000) < 100, "{costly:?}");
    assert!(costly.reverse_bps.unwrap().abs_diff(2_000_000_000) < 100, "{costly:?}");
    let equal = of(&pings(spec, |_, _| Some(BASE_NS)));
    assert!((equal.base_rtt_us.unwrap() - 300.0).abs() < 1e-6);
    assert_eq!((equal.forward_bps, equal.reverse_bps, equal.bdp_bytes), (None, None, None));
}

#[test]
fn one_size_fixes_no_rate_and_what_is_lost_is_counted() {
    let mut spec = pinged(Direction::Forward);
    spec.flows[0].ping.as_mut().unwrap().payloads = vec![Bytes::new(16_000)];
    let single = of(&pings(spec, |there, back| Some(BASE_NS + there + back)));
    assert_eq!((single.base_rtt_us, single.forward_bps, single.reverse_bps), (None, None, None));
    let none = of(&pings(pinged(Direction::Forward), |_, _| None));
    assert_eq!((none.sent, none.lost, none.sizes.len(), none.naive_bps), (24, 24, 0, None));
    assert_eq!(none.base_rtt_us, None);
}

/// In virtual time an empty path takes none: a window over nothing is not a rate.
#[test]
fn a_round_trip_of_zero_has_no_rates() {
    let mut spec = pinged(Direction::Forward);
    (spec.path.forward.bottleneck, spec.path.reverse.bottleneck) = (None, None);
    let got = of(&pings(spec, |_, _| Some(0)));
    assert_eq!((got.base_rtt_us, got.naive_bps, got.doubled_bps, got.law_bps), (Some(0.0), None, None, None));
}

proptest! {
    /// Whatever the sizes, the buckets and the round trips: a figure that means something, or none.
    #[test]
    fn no_record_makes_it_talk_nonsense(
        payloads in prop::collection::vec(24_u64..=65_507, 1..6),
        bursts in (1_514_u64..200_000, 1_514_u64..200_000),
        pause_us in 0_u64..20_000,
        trips in prop::collection::vec(prop::option::of(0_u64..1 << 40), 24),
    ) {
        let mut spec = pinged(Direction::Forward);
        spec.path.forward.bottleneck.as_mut().unwrap().burst = Bytes::new(bursts.0);
        spec.path.reverse.bottleneck.as_mut().unwrap().burst = Bytes::new(bursts.1);
        spec.flows[0].ping = Some(PingSpec {
            payloads: payloads.into_iter().map(Bytes::new).collect(),
            interval: Duration::from_micros(pause_us),
        });
        let mut record = pings(spec, |_, _| None);
        for (row, rtt_ns) in record.ping.iter_mut().zip(&trips) {
            row.rtt_ns = *rtt_ns;
        }
        let got = of(&record);
        for figure in [got.base_rtt_us, got.base_rtt_us_error].into_iter().flatten() {
            prop_assert!(figure.is_finite() && figure >= 0.0, "{got:?}");
        }
        prop_assert!(got.forward_bps.is_none_or(|bps| (1..=800_000_000_000).contains(&bps)), "{got:?}");
        prop_assert_eq!(got.lost, trips.iter().filter(|trip| trip.is_none()).count() as u64);
        prop_assert_eq!(got.law_bps.is_some(), got.window_bytes.is_some() && got.base_rtt_us.is_some_and(|us| us > 0.0 || got.forward_bps.is_some()));
    }
}
