//! What synthetic samples of a sender tell of their path.

use super::history::History;
use super::*;
use crate::ground::interval::TimeInterval;
use crate::ground::thresholds::STANDARD;
use pipefill_core::cell::{Direction, Family};
use pipefill_core::record::{LossKind, Origin, TcpSample};
use pipefill_core::scenario::Scenario;
use pipefill_core::tcp_info::TcpInfo;
use proptest::prelude::*;

const MSS: u64 = 1_448;
const BASE_US: u32 = 20_000;
/// Payload of a path of 10 Mbit/s in a millisecond, bytes.
const BYTES_A_MS: u64 = 1_196;

/// What a sender says every 10 ms of ten seconds: `say` changes what a path without a queue and without losses would give.
fn facts(say: impl Fn(u64, &mut TcpInfo)) -> PathFacts {
    facts_after(0, say)
}

/// The same of a connection that had sent `retransmits` segments again before.
fn facts_after(retransmits: u32, say: impl Fn(u64, &mut TcpInfo)) -> PathFacts {
    facts_of(retransmits, [Drops::default(); 2], say)
}

/// The same on a path that counted these drops of data and of ACKs.
fn facts_of(retransmits: u32, drops: [Drops; 2], say: impl Fn(u64, &mut TcpInfo)) -> PathFacts {
    facts_beside(None, retransmits, drops, say)
}

/// The same beside a stream of which so much is acknowledged.
fn facts_beside(
    other: Option<fn(u64) -> u64>,
    retransmits: u32,
    drops: [Drops; 2],
    say: impl Fn(u64, &mut TcpInfo),
) -> PathFacts {
    let text = format!("name = \"x\"\n[[flow]]\nparallel = {}\n", 1 + u32::from(other.is_some()));
    let scenario = Scenario::parse(&text, "x.toml").unwrap_or_else(|e| panic!("{e}"));
    let manifest = Manifest::expected(&scenario.plan().runs()[0], 0);
    let mut run = KnownRun::of(&manifest);
    run.before.retransmits = retransmits;
    run.drops = drops;
    let mut inference = Inference::new(&run, &STANDARD);
    for n in 0..1_000 {
        let mut info = TcpInfo {
            mss_bytes: MSS as u32,
            min_rtt_us: Some(BASE_US),
            srtt_us: Some(BASE_US),
            bytes_acked: Some(n * 10 * BYTES_A_MS),
            unacked_bytes: 20 * MSS,
            notsent_bytes: Some(100_000),
            rwnd_bytes: Some(1_000_000),
            dsack_dups: Some(0),
            ..TcpInfo::default()
        };
        say(n, &mut info);
        let sample = TcpSample::of_info(n * 10_000, 0, StreamEnd::Sender, info);
        inference.push(&AnyRow::Tcp(sample));
        if let Some(acked) = other {
            let info =
                TcpInfo { bytes_acked: Some(acked(n)), unacked_bytes: 0, notsent_bytes: Some(0), ..info };
            inference.push(&AnyRow::Tcp(TcpSample::of_info(n * 10_000, 1, StreamEnd::Sender, info)));
        }
    }
    inference.facts()
}

fn rate_mbit(facts: &PathFacts) -> Option<f64> {
    facts.forward.rate_bps.map(|rate| (rate.value as f64 / 1e5).round() / 10.0)
}

#[test]
fn a_queue_that_stands_gives_the_rate_and_one_that_does_not_gives_none() {
    let standing = facts(|_, info| info.srtt_us = Some(35_000));
    assert_eq!(rate_mbit(&standing), Some(10.0));
    assert_eq!(standing.base_rtt_us.map(|base| base.value), Some(u64::from(BASE_US)));
    let path = KnownPath::inferred(Family::Ipv4, &standing);
    assert_eq!(queue::bytes_of(&path, Direction::Forward, 35_000, &STANDARD), Some(18_757));
    assert_eq!(rate_mbit(&facts(|_, _| {})), None, "nobody tried it");
    let written_slowly = facts(|_, info| (info.srtt_us, info.notsent_bytes) = (Some(35_000), Some(0)));
    assert_eq!(rate_mbit(&written_slowly), None, "the application offered no more");
}

/// As the control connection of FTP beside its transfer.
#[test]
fn a_stream_that_gets_no_acks_says_nothing_of_the_queue() {
    let facts = facts(|_, info| info.srtt_us = Some(35_000));
    let manifest = synthetic::manifest("[[flow]]\nparallel = 2\n");
    let mut run = KnownRun::of(&manifest);
    (run.plan, run.path) = (None, KnownPath::inferred(Family::Ipv4, &facts));
    let mut history = History::of(&run, &STANDARD);
    for n in 0..100 {
        // While something is missing what arrives is acknowledged selectively.
        let acked = n.min(50) * 10 * BYTES_A_MS;
        for (stream, acked, delivered, srtt_us) in [(0, acked, n as u32, 35_000), (1, 300, 1, BASE_US)] {
            let info = TcpInfo {
                bytes_acked: Some(acked),
                delivered_segments: Some(delivered),
                srtt_us: Some(srtt_us),
                ..TcpInfo::default()
            };
            history.push(&AnyRow::Tcp(TcpSample::of_info(n * 10_000, stream, StreamEnd::Sender, info)));
        }
    }
    let window = TimeInterval { from_us: 100_000, to_us: 900_000 };
    let held: Vec<u64> = history.queue_samples(Direction::Forward, window).collect();
    assert!(held.len() > 75 && held.iter().all(|&bytes| bytes == 18_757), "{held:?}");
    assert!(history.waits(Direction::Forward, window).count() > 75);
}

#[test]
fn bursts_of_a_closed_window_are_no_queue() {
    let closed = |srtt_us: u32| {
        facts(|_, info| (info.srtt_us, info.rwnd_bytes) = (Some(srtt_us), Some(20 * MSS as u32)))
    };
    assert_eq!(rate_mbit(&closed(24_000)), None, "a third of the window, one after the other");
    assert_eq!(rate_mbit(&closed(35_000)), Some(10.0));
}

#[test]
fn a_rate_that_follows_the_window_behind_a_long_round_trip_is_no_bottlenecks() {
    let grows = facts(|n, info| {
        info.srtt_us = Some(60_000);
        info.bytes_acked = Some(n * n * BYTES_A_MS / 50);
        info.unacked_bytes = 20 * MSS + n * MSS;
    });
    assert_eq!(rate_mbit(&grows), None);
}

#[test]
fn a_rate_that_falls_for_good_is_the_paths_from_then_on() {
    let falls = |at: u64| {
        facts(move |n, info| {
            let before = n.min(at);
            info.srtt_us = Some(if n < at { BASE_US } else { 200_000 });
            info.bytes_acked = Some((10 * before + (n - before)) * 10 * BYTES_A_MS);
        })
    };
    let early = falls(300);
    assert_eq!(rate_mbit(&early), Some(10.0));
    let since_us = early.forward.rate_since_us;
    assert!(since_us.is_some_and(|us| (2_960_000..3_100_000).contains(&us)), "{since_us:?}");
    assert_eq!(rate_mbit(&falls(600)), None, "the larger part of the time has another rate");
}

#[test]
fn a_minimum_that_reordering_made_absurd_is_no_base() {
    let base = |facts: PathFacts| facts.base_rtt_us.map(|base| base.value);
    let reordered = facts(|_, info| (info.min_rtt_us, info.reord_seen) = (Some(1), Some(9)));
    assert_eq!(base(reordered), Some(u64::from(BASE_US)));
    let bloated = facts(|_, info| info.srtt_us = Some(400_000));
    assert_eq!(base(bloated), Some(u64::from(BASE_US)), "a long queue is no reason to doubt it");
}

/// A segment is sent again every second.
fn losses(say: impl Fn(u64, &mut TcpInfo)) -> Option<LossKind> {
    let facts = facts(|n, info| {
        info.retransmits = (n / 100) as u32;
        say(n, info);
    });
    facts.forward.loss.map(|loss| loss.value)
}

#[test]
fn losses_are_told_apart_by_what_came_before_them() {
    assert_eq!(facts(|_, _| {}).forward.loss, None);
    assert_eq!(
        losses(|_, info| info.srtt_us = Some(30_000)),
        Some(LossKind::Queue),
        "the round trip has risen"
    );
    let at_any_window = |n: u64, info: &mut TcpInfo| info.unacked_bytes = (5 + n * 7919 % 40) * MSS;
    assert_eq!(losses(at_any_window), Some(LossKind::Chance));
    let disordered = |_, info: &mut TcpInfo| {
        (info.dsack_dups, info.reord_seen) = (Some(info.retransmits), Some(1));
    };
    assert_eq!(losses(disordered), Some(LossKind::Reordering));
    let saw_tooth = |n: u64, info: &mut TcpInfo| {
        // From half of the rate to one and a half of it within a second; two segments are lost at its end.
        let (seconds, part) = (n / 100, n % 100);
        info.retransmits *= 2;
        info.bytes_acked = Some(10 * BYTES_A_MS * (seconds * 100 + part / 2 + part * part / 200));
    };
    assert_eq!(losses(saw_tooth), Some(LossKind::Policer));
}

#[test]
fn what_an_emulated_path_alone_dropped_is_why_whatever_losses_look_like() {
    let at_any_window = |n: u64, info: &mut TcpInfo| {
        info.retransmits = (n / 100) as u32;
        info.unacked_bytes = (5 + n * 7919 % 40) * MSS;
    };
    let kind = |data: [u64; 3], acks: u64| {
        let counted = |[random, queue, policed]: [u64; 3]| Drops {
            random: Some(random),
            queue: Some(queue),
            policed: Some(policed),
            ..Drops::default()
        };
        let found = facts_of(0, [counted(data), counted([acks, 0, 0])], at_any_window);
        found.forward.loss.map(|loss| (loss.value, loss.origin))
    };
    let measured = |kind| Some((kind, Origin::Measured));
    assert_eq!(kind([0, 9, 0], 0), measured(LossKind::Queue));
    assert_eq!(kind([0, 0, 9], 0), measured(LossKind::Policer));
    assert_eq!(kind([9, 9, 0], 0), Some((LossKind::Chance, Origin::Inferred)), "both: as they look");
    assert_eq!(kind([0, 9, 9], 0), None, "they look like chance, of which there is none");
    assert_eq!([kind([0; 3], 9), kind([0; 3], 0)], [measured(LossKind::Acks), None], "nothing was lost");
}

/// The rate is not known: it varies from second to second.
#[test]
fn one_loss_tells_at_which_round_trip_the_queue_overflows_unless_it_may_be_slow_starts() {
    let one_loss = |n: u64, info: &mut TcpInfo| {
        (info.srtt_us, info.retransmits) = (Some(36_000), u32::from(n >= 500));
        info.bytes_acked = Some(n * 10 * BYTES_A_MS + n % 200 * 20 * BYTES_A_MS);
    };
    let overflow = |facts: PathFacts| facts.forward.overflow_rtt_us.map(|rtt_us| rtt_us.value);
    assert_eq!(overflow(facts_after(90, one_loss)), Some(36_000));
    assert_eq!(overflow(facts_after(0, one_loss)), None);
}

/// A segment is sent again every `every` samples, until `last` of them were; each other one by `shift` samples later.
fn few_losses(every: u64, last: u64, shift: u64, say: impl Fn(u64, u64, &mut TcpInfo)) -> Option<LossKind> {
    let facts = facts(|n, info| {
        let lost = n / every;
        let late = u64::from(lost % 2 == 1 && n % every < shift);
        info.retransmits = (lost - late).min(last) as u32;
        say(n, n % every, info);
    });
    facts.forward.loss.map(|loss| loss.value)
}

#[test]
fn few_losses_show_a_short_queue_only_where_the_round_trip_is_longest() {
    // The round trip varies by a tenth, as delayed ACKs make it; the windows at the losses happen to be the same.
    let by_chance =
        |n: u64, _: u64, info: &mut TcpInfo| info.srtt_us = Some(BASE_US + (n * 7919 % 40) as u32 * 60);
    assert_eq!(few_losses(97, 9, 70, by_chance), Some(LossKind::Chance));
    let at_the_top = |_: u64, part: u64, info: &mut TcpInfo| info.srtt_us = Some(BASE_US + part as u32 * 25);
    assert_eq!(few_losses(97, 9, 0, at_the_top), Some(LossKind::Queue));
    assert_eq!(
        few_losses(24, 40, 10, by_chance),
        Some(LossKind::Queue),
        "equal windows at 30 losses show a queue"
    );
}

#[test]
fn losses_at_the_same_flight_after_as_many_segments_are_of_a_bucket_or_a_short_queue() {
    let same = |_: u64, _: u64, _: &mut TcpInfo| ();
    assert_eq!(few_losses(97, 9, 0, same), Some(LossKind::Policer));
    assert_eq!(few_losses(97, 9, 60, same), Some(LossKind::Chance), "after any number of segments");
    assert_eq!(few_losses(240, 9, 0, same), Some(LossKind::Chance), "four are too few");
    let of_any_flight = |n: u64, _: u64, info: &mut TcpInfo| info.unacked_bytes = (5 + n * 7919 % 40) * MSS;
    assert_eq!(few_losses(97, 9, 0, of_any_flight), Some(LossKind::Chance));
    let behind_a_burst = |_: u64, part: u64, info: &mut TcpInfo| {
        // It grows with the window, by half of what it is before a loss.
        info.srtt_us = Some(BASE_US + 1_000 + part as u32 * 10);
    };
    assert_eq!(few_losses(97, 9, 0, behind_a_burst), Some(LossKind::Policer));
    let behind_a_queue = |_: u64, part: u64, info: &mut TcpInfo| {
        info.srtt_us = Some(BASE_US + if part > 80 { 600 } else { 0 });
    };
    assert_eq!(few_losses(97, 9, 0, behind_a_queue), Some(LossKind::Queue));
}

/// Slow start loses nine segments of a flight, and the window that has grown since loses one every `every` samples, `count` times.
fn short_queue(every: u64, count: u64, rtt_above_us: impl Fn(u64) -> u64) -> Option<LossKind> {
    let facts = facts(|n, info| {
        let lost = (n.saturating_sub(20) / every).min(count);
        info.retransmits = if n < 20 { 0 } else { 9 + lost as u32 };
        info.srtt_us = Some(BASE_US + rtt_above_us(n.saturating_sub(20) % every) as u32);
        info.unacked_bytes = (5 + n * 7919 % 40) * MSS;
    });
    facts.forward.loss.map(|loss| loss.value)
}

#[test]
fn few_losses_where_slow_start_overflowed_something_are_a_queues_where_the_round_trip_rises_late() {
    // Longer in the last eighth of what the window grows by: of one packet, and of some.
    let rises = |by_us: u64| move |part: u64| if part > 175 { by_us } else { 30 };
    assert_eq!(
        short_queue(200, 4, rises(600)),
        Some(LossKind::Queue),
        "four times by so little is no chance"
    );
    assert_eq!(short_queue(200, 1, rises(600)), None, "once it is");
    assert_eq!(short_queue(200, 1, rises(1_100)), Some(LossKind::Queue), "a twentieth of the round trip");
    assert_eq!(short_queue(200, 2, |_| 30), None, "a policer, or chance, behind a link that is never full");
    let waits_for_its_end = |part: u64| 600 + 3 * part;
    assert_eq!(short_queue(200, 2, waits_for_its_end), None, "a burst that grows with the window");
    assert_eq!(short_queue(90, 6, |_| 30), Some(LossKind::Chance), "six at any flight");
}

/// Samples show any flight, since a window that grows is cut more often.
#[test]
fn an_equal_number_of_losses_in_an_equal_number_of_segments_is_no_chance() {
    let lost = |lost_by: &dyn Fn(u64) -> u64| {
        losses(|n, info| {
            info.unacked_bytes = (2 + n * 7919 % 5) * MSS;
            info.retransmits = lost_by(n) as u32;
        })
    };
    let even = lost(&|n| n / 6);
    assert_eq!(even, Some(LossKind::Policer));
    // One in six samples has one, whichever (SplitMix64).
    let mix = |n: u64, by: u64| (n ^ (n >> 29)).wrapping_mul(by);
    let is_one = |n: &u64| {
        mix(mix(*n, 0x9E37_79B9_7F4A_7C15), 0xBF58_476D_1CE4_E5B9).rotate_left(32).is_multiple_of(6)
    };
    let by_chance = lost(&|n| (0..n).filter(is_one).count() as u64);
    assert_eq!(by_chance, Some(LossKind::Chance));
}

#[test]
fn slow_start_that_loses_most_of_a_flight_without_a_longer_round_trip_met_a_bucket() {
    let overshoot = |lost: u32, srtt_us: u32, rto_count: u16| {
        let facts = facts(|n, info| {
            let has_lost = n >= 20;
            info.retransmits = if has_lost { lost } else { 0 };
            (info.srtt_us, info.rto_count) = (Some(srtt_us), Some(if has_lost { rto_count } else { 0 }));
        });
        facts.forward.loss.map(|loss| loss.value)
    };
    assert_eq!(overshoot(15, BASE_US, 0), Some(LossKind::Policer), "of 20");
    assert_eq!(overshoot(14, BASE_US, 0), None, "a queue of a few packets loses as many");
    assert_eq!(overshoot(20, BASE_US, 1), None, "an outage");
    assert_eq!(overshoot(5, BASE_US, 0), Some(LossKind::Chance), "few");
    assert_eq!(overshoot(20, 30_000, 0), Some(LossKind::Queue));
    // Without a pause of two round trips, but a segment in 26.
    let without_end = facts(|n, info| info.retransmits = n.saturating_sub(20) as u32 / 3);
    assert_eq!(without_end.forward.loss.map(|loss| loss.value), Some(LossKind::Chance));
}

#[test]
fn few_losses_show_no_policer() {
    // From half of the rate to one and a half of it between two losses, as behind a policer, at any flight.
    let saw_tooth = |every: u64| {
        move |n: u64, part: u64, info: &mut TcpInfo| {
            info.bytes_acked = Some(10 * BYTES_A_MS * (n - part + part / 2 + part * part / (2 * every)));
            info.unacked_bytes = (5 + n * 7919 % 40) * MSS;
        }
    };
    assert_eq!(few_losses(60, 14, 0, saw_tooth(60)), Some(LossKind::Chance));
    assert_eq!(few_losses(60, 15, 0, saw_tooth(60)), Some(LossKind::Policer));
}

/// Others that share a queue are served in between; those that are silent are not.
#[test]
fn bursts_with_silence_between_them_are_no_queue() {
    let rate = |bursts: bool, other: Option<fn(u64) -> u64>| {
        rate_mbit(&facts_beside(other, 0, [Drops::default(); 2], |n, info| {
            // Each 100 ms as much: evenly, or in the first half of it.
            let (whole, part) = (n / 10, n % 10);
            let tenths = if bursts { (2 * part).min(10) } else { part };
            info.bytes_acked = Some((whole * 10 + tenths) * 10 * 10 * BYTES_A_MS);
            (info.srtt_us, info.unacked_bytes) = (Some(100_000), 200 * MSS);
        }))
    };
    assert_eq!([rate(false, None), rate(true, None)], [Some(100.0), None]);
    let slow: fn(u64) -> u64 = |n| n * BYTES_A_MS;
    let silent: fn(u64) -> u64 = |n| n.min(20) * BYTES_A_MS;
    assert_eq!([rate(true, Some(slow)), rate(true, Some(silent))], [Some(101.0), None]);
}

#[test]
fn a_timer_for_what_had_arrived_is_the_acks_fault() {
    // All that was out is acknowledged at once, after one segment was sent again; or the beginning of it.
    let timed_out = |out: u64| {
        losses(|n, info| {
            info.rto_count = Some((n / 100) as u16);
            info.bytes_acked = Some(n / 100 * 40 * MSS);
            info.unacked_bytes = out * MSS;
            info.srtt_us = Some(BASE_US);
        })
    };
    assert_eq!(timed_out(40), Some(LossKind::Acks));
    assert_ne!(timed_out(60), Some(LossKind::Acks));
}

proptest! {
    #[test]
    fn no_samples_make_it_fail(values in proptest::collection::vec(any::<[u32; 8]>(), 1..300)) {
        let known = facts(|n, info| {
            let value = values[n as usize % values.len()];
            info.bytes_acked = Some(u64::from(value[0]));
            info.unacked_bytes = u64::from(value[1]);
            info.srtt_us = Some(value[2]).filter(|&us| us > 0);
            info.min_rtt_us = Some(value[3]);
            info.retransmits = value[4];
            info.rwnd_bytes = Some(value[5]);
            info.rto_count = Some(value[6] as u16);
            info.mss_bytes = value[7];
        });
        prop_assert!(known.forward.rate_bps.is_none_or(|rate| rate.value > 0));
    }
}
