//! Rules on evidence from synthetic rows, one boundary after the other.

mod arrivals;

use super::super::conditions::is_path_full;
use super::super::decision::decide;
use super::super::trace::Trace;
use super::*;
use crate::ground::interval::TimeInterval;
use crate::ground::thresholds::STANDARD;
use crate::infer::KnownRun;
use crate::infer::epochs::Epoch;
use crate::infer::run::{AskedStream, RunFacts};
use crate::infer::synthetic::{acked, manifest, of_sender, queue};
use pipefill_core::cell::Direction;
use pipefill_core::evidence::{
    Evidence, PacketSpan, PathEvidence, QuotaUse, SenderEvidence, SentPackets, ThreadUse,
};
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::{
    AnyRow, CpuSample, Fact, LossKind, Manifest, Observed, Origin, PathFacts, Subject, Waiting,
};
use pipefill_core::tcp_info::TcpInfo;

const SECOND: TimeInterval = TimeInterval { from_us: 1_000_000, to_us: 2_000_000 };
const PATH: &str = "[path]\nrate = \"100mbit\"\nrtt = \"20ms\"\nqueue = \"1bdp\"\n";

/// A second of a stream that waits with data, an eighth of its windows used, 10 Mbit/s acknowledged.
fn idle() -> SenderEvidence {
    SenderEvidence {
        acked: 1_250_000,
        unacked_peak: 25_000,
        cwnd_used: Some(0.125),
        cwnd: Some(200_000),
        rwnd_used: Some(0.125),
        rwnd: Some(200_000),
        sndbuf_used: Some(0.2),
        unsent_share: Some(1.0),
        srtt_us: Some(20_000),
        min_rtt_us: Some(20_000),
        mss: 1448,
        ..SenderEvidence::default()
    }
}

/// What limits the first stream of a path with `flows` in that second, of which `rows` were seen, and the rule that says so.
fn decided(flows: &str, rows: &[AnyRow], epoch: &Epoch) -> (LimitedBy, &'static str) {
    let manifest = manifest(&format!("{PATH}{flows}"));
    let decision = decide(&evidence(&manifest, rows, epoch), &STANDARD).expect("a sender was seen");
    (decision.rule.limited_by(), decision.rule.id.as_str())
}

fn judged(flows: &str, rows: &[AnyRow], sender: &SenderEvidence) -> LimitedBy {
    decided(
        flows,
        rows,
        &Epoch { interval: SECOND, sender: sender.clone(), packets: None, unread_share: None },
    )
    .0
}

fn evidence(manifest: &Manifest, rows: &[AnyRow], epoch: &Epoch) -> Evidence {
    let mut facts = RunFacts::of(KnownRun::of(manifest), &STANDARD);
    rows.iter().for_each(|row| facts.push(row));
    let flow = &manifest.run.cell.spec.flows[0];
    facts.evidence(epoch, AskedStream { flow_index: 0, flow, summary: &manifest.streams[0] })
}

const BULK: &str = "[[flow]]\nduration = \"10s\"\n";

/// `stream` acknowledges `mbit` Mbit/s for three seconds.
fn flowing(stream: u32, mbit: u64) -> Vec<AnyRow> {
    (0..=30).map(|tenth| acked(tenth * 100_000, stream, tenth * mbit * 12_500)).collect()
}

/// The queue is never empty.
fn full() -> Vec<AnyRow> {
    (0..=300).map(|n| queue(n * 10_000, Direction::Forward, 50_000, 0)).collect()
}

#[test]
fn of_two_windows_that_are_used_up_the_smaller_one_limits() {
    let of = |cwnd_used, cwnd, rwnd_used, rwnd| {
        judged(
            BULK,
            &[],
            &SenderEvidence {
                cwnd_used: Some(cwnd_used),
                cwnd: Some(cwnd),
                rwnd_used: Some(rwnd_used),
                rwnd: Some(rwnd),
                ..idle()
            },
        )
    };
    assert_eq!(of(0.95, 100_000, 0.95, 90_000), LimitedBy::Rwnd);
    assert_eq!(of(0.95, 90_000, 0.95, 100_000), LimitedBy::Cwnd);
    assert_eq!(of(0.50, 200_000, 0.95, 300_000), LimitedBy::Rwnd);
    let repairing = SenderEvidence { repair_share: 0.6, ..idle() };
    assert_eq!(judged(BULK, &[], &repairing), LimitedBy::Cwnd);
    let paced = SenderEvidence { ignores_losses: true, pacing_rate_bps: Some(14_000_000), ..repairing };
    assert_eq!(judged(BULK, &flowing(0, 14), &paced), LimitedBy::Pacing, "BBR sends on at its estimate");
    let mut of_many = SenderEvidence { mss: 1448, acked: 14_480, retransmits: 4, ..paced };
    assert_eq!(judged(BULK, &flowing(0, 14), &of_many), LimitedBy::Pacing, "so far it lost few");
    (of_many.acked_so_far, of_many.retransmits_so_far) = (of_many.acked, of_many.retransmits);
    assert_eq!(judged(BULK, &flowing(0, 14), &of_many), LimitedBy::Cwnd, "more than its probes make up for");
}

#[test]
fn losses_and_a_window_do_not_hold_bbr_back_while_its_queue_stands() {
    let of = |ignores_losses, queue_always| {
        let sender = SenderEvidence {
            ignores_losses,
            repair_share: 1.0,
            cwnd_used: Some(0.95),
            retransmits: 300,
            retransmits_so_far: 300,
            acked_so_far: 1_250_000,
            ..idle()
        };
        let path = PathEvidence { queue_always, frames: 1000.0, ..PathEvidence::default() };
        let seen = Evidence { sender: Some(sender), path, ..Evidence::default() };
        let decision = decide(&seen, &STANDARD).unwrap();
        (decision.rule.limited_by(), decision.rule.id.as_str())
    };
    assert_eq!(of(true, true), (LimitedBy::Path, "path.full.through_losses"));
    assert_eq!(of(true, false), (LimitedBy::Cwnd, "cwnd.repairing"), "where no queue stands");
    assert_eq!(of(false, true), (LimitedBy::Cwnd, "cwnd.repairing"), "what losses cut");
}

#[test]
fn a_window_in_front_of_unread_data_is_the_readers_also_in_a_full_path() {
    let of = |rows: &[AnyRow], unread_share, repair_share| {
        let sender = SenderEvidence { rwnd_used: Some(1.0), repair_share, ..idle() };
        decided(
            BULK,
            rows,
            &Epoch { interval: SECOND, sender, packets: None, unread_share: Some(unread_share) },
        )
    };
    assert_eq!(of(&full(), 0.8, 0.0), (LimitedBy::Receiver, "receiver.unread"));
    assert_eq!(of(&[], 0.1, 0.0), (LimitedBy::Rwnd, "rwnd.used_up"));
    assert_eq!(of(&[], 0.8, 0.9), (LimitedBy::Cwnd, "cwnd.repairing"), "it waits for a lost segment");
}

#[test]
fn an_application_that_keeps_its_pace_is_the_limit_also_in_a_full_path() {
    let flow = |mbit: f64| format!("[[flow]]\nbitrate = \"{mbit}mbit\"\nlength = \"1448B\"\n");
    let rows = |mbit| [flowing(0, mbit), full()].concat();
    assert_eq!(judged(&flow(93.0), &rows(93), &idle()), LimitedBy::App);
    assert_eq!(judged(&flow(97.0), &rows(93), &idle()), LimitedBy::Path, "it wants more than it gets");
    assert_eq!(judged(&flow(20.0), &flowing(0, 20), &idle()), LimitedBy::App);
    assert_ne!(judged(&flow(20.0), &flowing(0, 10), &idle()), LimitedBy::App, "something holds it back");
}

#[test]
fn a_full_path_is_the_limit_of_what_wants_more_than_its_share() {
    let windowed = |bytes: u64| SenderEvidence { rwnd_used: Some(1.0), rwnd: Some(bytes), ..idle() };
    let two = format!("{BULK}{BULK}");
    let rows = [flowing(0, 10), flowing(1, 85), full()].concat();
    // 100 kB / 20 ms are 40 Mbit/s, and an equal part of the path is 48.
    assert_eq!(judged(&two, &rows, &windowed(100_000)), LimitedBy::Rwnd);
    assert_eq!(judged(&two, &rows, &windowed(150_000)), LimitedBy::Path);
    // Beside a trickle the rest is its share.
    let rows = [flowing(0, 94), flowing(1, 1), full()].concat();
    assert_eq!(judged(&two, &rows, &windowed(150_000)), LimitedBy::Rwnd);
}

#[test]
fn pacing_needs_a_rate_that_explains_the_goodput() {
    let paced = |mbit: u64| SenderEvidence { pacing_rate_bps: Some(mbit * 1_000_000), ..idle() };
    assert_eq!(judged(BULK, &[], &paced(11)), LimitedBy::Pacing);
    let behind_a_window = SenderEvidence { rwnd_used: Some(0.83), ..paced(14) };
    assert_eq!(judged(BULK, &[], &behind_a_window), LimitedBy::Rwnd);
    let asked = "[[flow]]\nmax_pacing_rate = \"10mbit\"\n";
    assert_eq!(judged(asked, &[flowing(0, 10), full()].concat(), &idle()), LimitedBy::Pacing);
}

/// A thread that computes and waits for so many per cent of the time.
fn thread(thread: &str, computes: u64, waits: u64) -> Vec<AnyRow> {
    let row = |tenth: u64| {
        let (cpu_us, wait_us) = (tenth * computes * 1_000, Some(tenth * waits * 1_000));
        AnyRow::Cpu(CpuSample::of_thread(tenth * 100_000, thread.into(), cpu_us, wait_us))
    };
    (0..=30).map(row).collect()
}

#[test]
fn the_flows_own_threads_and_their_wait_for_a_cpu_count() {
    let of = |name, computes, waits| judged(BULK, &thread(name, computes, waits), &idle());
    assert_eq!(of("flow 0 sender", 90, 0), LimitedBy::Cpu);
    assert_eq!(of("flow 0 receiver", 30, 60), LimitedBy::Cpu);
    assert_ne!(of("flow 1 sender", 100, 0), LimitedBy::Cpu, "another flow's");
    assert_eq!(of("path forward", 90, 0), LimitedBy::Testbed);
    let written = SenderEvidence { unsent_share: Some(0.0), ..idle() };
    let waits = |flow: &str| judged(flow, &thread("flow 0 sender", 10, 15), &written);
    assert_eq!(waits("[[flow]]\nbitrate = \"50mbit\"\n"), LimitedBy::Cpu, "it offers more, and had no CPU");
    assert_eq!(waits(BULK), LimitedBy::Cpu);
}

#[test]
fn what_is_written_and_sent_is_limited_by_the_buffer_or_the_writer() {
    let written = |used| SenderEvidence { unsent_share: Some(0.0), sndbuf_used: Some(used), ..idle() };
    assert_eq!(judged(BULK, &[], &written(0.7)), LimitedBy::Sndbuf);
    assert_eq!(judged("[[flow]]\nbitrate = \"50mbit\"\n", &[], &written(0.1)), LimitedBy::App);
}

fn is_full(manifest: &Manifest, rows: &[AnyRow]) -> bool {
    let epoch = Epoch { interval: SECOND, ..Epoch::default() };
    is_path_full(&evidence(manifest, rows, &epoch), &STANDARD, &mut Trace::default())
}

fn three_flows(more: &str) -> Manifest {
    manifest(&format!("[path]\nrate = \"100mbit\"\nrtt = \"20ms\"\n{more}[[flow]]\n[[flow]]\n[[flow]]\n"))
}

#[test]
fn a_path_is_full_at_its_rate_with_headers_or_with_a_queue_at_every_sample() {
    let manifest = three_flows("");
    let is_busy = |rows: &[AnyRow]| is_full(&manifest, rows);
    assert!(is_busy(&[flowing(0, 50), flowing(1, 42)].concat()), "92 of payload are 96 on the wire");
    assert!(!is_busy(&flowing(0, 85)));
    let samples = |bytes: u64| {
        [flowing(0, 10), (0..30).map(|n| queue(n * 100_000, Direction::Forward, bytes, 0)).collect()].concat()
    };
    assert_eq!([is_busy(&samples(1514)), is_busy(&samples(0))], [true, false]);
    let other_way: Vec<AnyRow> = (0..30).map(|n| queue(n * 100_000, Direction::Reverse, 1514, 0)).collect();
    assert!(!is_busy(&[flowing(0, 10), other_way].concat()));
}

/// Of a path that no scenario describes, with a base round trip of 20 ms, where a queue has dropped and no rate is known.
#[test]
fn a_path_without_a_rate_is_full_while_a_queue_that_drops_stands() {
    let is_busy = |rtt_ms: u32, mbit: u64, carried_back: u64, loss: LossKind| {
        let mut manifest = manifest("[[flow]]\n[[flow]]\ndirection = \"reverse\"\n");
        let mut path = PathFacts { base_rtt_us: Some(Fact::inferred(20_000)), ..PathFacts::default() };
        path.forward.loss = Some(Fact::inferred(loss));
        path.forward.overflow_rtt_us = path.forward.has_full_queue().then(|| Fact::inferred(40_000));
        manifest.subject = Subject::Observed(Observed { path, ..Observed::default() });
        (manifest.streams[0].received_bytes, manifest.streams[1].received_bytes) = (1_000_000, carried_back);
        let row = |tenth: u64| {
            let info = TcpInfo {
                bytes_acked: Some(tenth * mbit * 12_500),
                mss_bytes: 1448,
                srtt_us: Some(rtt_ms * 1_000),
                ..TcpInfo::default()
            };
            AnyRow::Tcp(of_sender(tenth * 100_000, info))
        };
        is_full(&manifest, &(0..=30).map(row).collect::<Vec<_>>())
    };
    assert!(is_busy(25, 10, 49_999, LossKind::Queue));
    assert!(!is_busy(24, 10, 0, LossKind::Queue), "a burst waits for its own beginning");
    assert!(is_busy(79, 10, 0, LossKind::Queue));
    assert!(!is_busy(80, 10, 0, LossKind::Queue), "what waits so long is not lost: ACKs");
    assert!(!is_busy(25, 0, 0, LossKind::Queue), "nothing moves: the round trip is one of before");
    assert!(!is_busy(25, 10, 50_000, LossKind::Queue), "the queue may be that of the other way");
    assert!(!is_busy(25, 10, 0, LossKind::Chance));
}

/// A round trip that is longer than the emulated one is a queue's where the path sends at its rate, and a delayed ACK's where it does not.
#[test]
fn a_queue_that_only_the_round_trip_shows_sends_at_the_rate_that_was_asked_for() {
    let is_busy = |origin: Origin, mbit: u64| {
        let mut manifest = manifest("[[flow]]\n");
        let mut path = PathFacts { base_rtt_us: Some(Fact::asked(20_000)), ..PathFacts::default() };
        path.forward.rate_bps = Some(Fact { value: 100_000_000, origin });
        let emulated = if origin == Origin::Asked { path.clone() } else { PathFacts::default() };
        manifest.subject = Subject::Observed(Observed { path, emulated, ..Observed::default() });
        let row = |tenth: u64| {
            let info = TcpInfo {
                bytes_acked: Some(tenth * mbit * 12_500),
                mss_bytes: 1448,
                srtt_us: Some(25_000),
                ..TcpInfo::default()
            };
            AnyRow::Tcp(of_sender(tenth * 100_000, info))
        };
        is_full(&manifest, &(0..=30).map(row).collect::<Vec<_>>())
    };
    assert_eq!([is_busy(Origin::Asked, 85), is_busy(Origin::Asked, 10)], [true, false]);
    assert!(is_busy(Origin::Inferred, 10), "others may fill it");
    assert!(!is_busy(Origin::Inferred, 0), "nothing moves: the round trip is one of before");
}

/// Behind the queue of others a sender waits for room for a super-packet: at most samples some segments less than the window are out.
#[test]
fn a_window_in_whose_front_packets_wait_is_no_application_that_offers_less() {
    let rule = |full_window_share| {
        let span = PacketSpan { full_window_share, ..PacketSpan::default() };
        let path = PathEvidence {
            base_rtt_us: 20_000,
            rate_used: Some(1.0),
            fair_share_bps: Some(24e6),
            ..PathEvidence::default()
        };
        rule_of(Evidence {
            sender: Some(SenderEvidence { rwnd_used: Some(0.85), rwnd: Some(18_800), ..idle() }),
            packets: Some(SentPackets { span, flight: 16_000, flight_used: 0.5, ..SentPackets::default() }),
            path,
            ..Evidence::default()
        })
    };
    assert_eq!(rule(0.5), "rwnd.below_fair_share");
    assert_eq!(rule(0.4), "app.offers_less_in_full_path");
}

/// 20 kB in flight are 8 Mbit/s of an empty path of 20 ms.
#[test]
fn an_application_whose_window_fills_the_path_by_itself_leaves_it_full() {
    let rule = |flight, own_share| {
        let path = PathEvidence {
            base_rtt_us: 20_000,
            rate_used: Some(1.0),
            own_share: Some(own_share),
            fair_share_bps: Some(8e6),
            ..PathEvidence::default()
        };
        rule_of(Evidence {
            sender: Some(SenderEvidence { unsent_share: None, ..idle() }),
            packets: Some(SentPackets { span: drying(), flight, flight_used: 0.5, ..SentPackets::default() }),
            path,
            ..Evidence::default()
        })
    };
    assert_eq!([rule(20_000, 0.8), rule(19_999, 0.8)], ["path.full", "app.offers_less_in_full_path"]);
    assert_eq!(rule(20_000, 0.79), "app.offers_less_in_full_path", "others fill it");
}

/// An application that writes small pieces, all of which are sent.
fn drying() -> PacketSpan {
    PacketSpan {
        segment: 1448,
        flight: 20_000,
        bytes_of_a_push: Some(2_000.0),
        fill: Some(0.95),
        ..PacketSpan::default()
    }
}

#[test]
fn a_sender_that_keeps_a_queue_in_spite_of_many_losses_fills_the_path() {
    let rule = |lost: u32, flight: u64, standing_share| {
        let sender = SenderEvidence {
            repair_share: 1.0,
            acked: 100 * 1448,
            acked_so_far: 100 * 1448,
            retransmits: lost,
            retransmits_so_far: lost,
            ..idle()
        };
        let span = PacketSpan { segment: 1448, standing_share, ..PacketSpan::default() };
        let packets = Some(SentPackets { span, flight: flight * 1448, ..SentPackets::default() });
        rule_of(Evidence { sender: Some(sender), packets, ..Evidence::default() })
    };
    // A quarter of what is sent.
    assert_eq!([rule(33, 11, 0.5), rule(33, 9, 0.5)], ["path.full.in_spite_of_losses", "cwnd.repairing"]);
    assert_eq!(rule(33, 11, 0.4), "cwnd.repairing", "no queue stands");
    assert_eq!(rule(17, 100, 1.0), "cwnd.repairing", "few are lost");
}

#[test]
fn a_bucket_that_was_never_empty_makes_no_path_full() {
    let manifest = three_flows("burst = \"64MiB\"\n");
    assert!(!is_full(&manifest, &flowing(0, 100)));
}

/// The rule that decides about `evidence` of that second.
fn rule_of(evidence: Evidence) -> &'static str {
    let evidence = Evidence { from_us: SECOND.from_us, to_us: SECOND.to_us, ..evidence };
    decide(&evidence, &STANDARD).expect("an end was seen").rule.id.as_str()
}

#[test]
fn a_write_that_a_pacer_spreads_does_not_hide_a_window_of_the_application() {
    let rule = |app_limited_share| {
        let sender = SenderEvidence {
            unacked_least: 20_000,
            unacked_spread: Some(0.0),
            heard_in_round_trip: Some(2.0),
            unsent_share: Some(0.5),
            app_limited_share,
            ..idle()
        };
        rule_of(Evidence { sender: Some(sender), ..Evidence::default() })
    };
    assert_eq!(rule(1.0), "app.window");
    assert_ne!(rule(0.0), "app.window", "more always waits");
}

#[test]
fn a_send_buffer_that_is_emptied_and_refilled_limits_although_data_waits_at_times() {
    let rule = |unsent_share, sndbuf_least, sndbuf_used| {
        let sender = SenderEvidence {
            unsent_share: Some(unsent_share),
            sndbuf_least: Some(sndbuf_least),
            sndbuf_used: Some(sndbuf_used),
            pacing_rate_bps: Some(12_000_000),
            ..idle()
        };
        rule_of(Evidence { sender: Some(sender), ..Evidence::default() })
    };
    assert_eq!(rule(0.7, 0.7, 1.5), "sndbuf.emptied_and_refilled");
    assert_eq!(rule(1.0, 0.7, 1.5), "pacing.explains_rate", "a pacer always has something to send");
    assert_ne!(rule(0.7, 0.1, 1.5), "sndbuf.emptied_and_refilled", "its writer lets it run dry");
}

#[test]
fn a_send_buffer_that_a_burst_has_just_filled_was_not_waited_for() {
    let rule = |sndbuf_least, sndbuf_limited_share| {
        let sender = SenderEvidence {
            unsent_share: Some(0.0),
            sndbuf_least,
            sndbuf_used: Some(0.9),
            sndbuf_limited_share,
            ..idle()
        };
        rule_of(Evidence { sender: Some(sender), ..Evidence::default() })
    };
    assert_eq!(rule(None, None), "sndbuf.kept_full", "an old kernel counts nothing");
    assert_eq!(rule(None, Some(0.2)), "sndbuf.kept_full");
    assert_ne!(rule(None, Some(0.0)), "sndbuf.kept_full");
    assert_eq!(rule(Some(0.9), Some(0.0)), "sndbuf.kept_full", "the kernel misses some of it");
}

/// Of another program's output: what gets through in a round trip is most of the buffer that it set.
#[test]
fn a_send_buffer_explains_the_rate_of_an_estimated_flight_alone() {
    let rule = |sndbuf_used, is_flight_estimated| {
        let sender = SenderEvidence {
            is_flight_estimated,
            sndbuf_used: Some(sndbuf_used),
            cwnd_used: Some(0.7),
            ..idle()
        };
        rule_of(Evidence { sender: Some(sender), ..Evidence::default() })
    };
    assert_eq!(rule(0.61, true), "sndbuf.explains_rate");
    assert_eq!(rule(0.59, true), "cwnd.nearly_used_up");
    assert_eq!(rule(0.61, false), "cwnd.nearly_used_up");
}

#[test]
fn nothing_that_comes_back_for_three_timers_is_silence_or_a_link_that_is_too_small() {
    let of_segments = |has_full_segments_out, backoff, acked_so_far, dsacks| {
        let sender = SenderEvidence {
            backoff_least: Some(backoff),
            acked_so_far,
            unacked_least: 14_480,
            has_full_segments_out,
            spurious_so_far: Some(dsacks),
            repair_share: 1.0,
            ..idle()
        };
        rule_of(Evidence { sender: Some(sender), ..Evidence::default() })
    };
    let rule = |backoff, acked_so_far, dsacks| of_segments(true, backoff, acked_so_far, dsacks);
    assert_eq!([rule(3, 206, 0), rule(3, 0, 0)], ["path.mtu.by_timer"; 2], "the handshake's are small too");
    assert_eq!(
        of_segments(false, 3, 0, 0),
        "path.silence.by_timer",
        "a small segment is not answered either"
    );
    assert_eq!(rule(3, 500_000, 0), "path.silence.by_timer");
    assert_eq!([rule(2, 206, 0), rule(3, 206, 1)], ["cwnd.repairing"; 2], "too soon; data arrived");
    let waiting = |may_lose_full_segments| {
        let waiting = Some(Waiting::Silence);
        rule_of(Evidence { waiting, may_lose_full_segments, ..Evidence::default() })
    };
    assert_eq!([waiting(true), waiting(false)], ["path.mtu", "path.silence"]);
}

/// An emulated path says so. What was acknowledged before does not matter, nor how often the timer has run out.
#[test]
fn full_segments_that_a_known_link_drops_wait_for_it_since_the_first_timer() {
    let rule = |drops_full_segments, has_full_segments_out, backoff, timer_share| {
        let sender = SenderEvidence {
            backoff_least: Some(backoff),
            timer_share,
            acked_so_far: 500_000,
            mss: 1_448,
            unacked_least: 14_480,
            has_full_segments_out,
            ..idle()
        };
        let path = PathEvidence { drops_full_segments, ..PathEvidence::default() };
        rule_of(Evidence { sender: Some(sender), path, ..Evidence::default() })
    };
    assert_eq!([rule(true, true, 1, 0.0), rule(true, true, 0, 0.5)], ["path.mtu.by_timer"; 2]);
    assert_eq!(rule(true, true, 0, 0.4), "unknown.waiting_unexplained", "no timer has run out");
    assert_eq!([rule(true, false, 0, 0.5), rule(false, true, 0, 0.5)], ["cwnd.timeout"; 2]);
}

#[test]
fn every_rule_has_a_name_of_its_own_that_begins_with_its_holder() {
    let names: std::collections::BTreeSet<&str> = RULES.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(names.len(), RULES.len());
    for rule in RULES {
        let holder = rule.id.as_str().split('.').next().and_then(LimitedBy::from_word);
        assert_eq!(holder, Some(rule.limited_by()), "{}", rule.id);
        assert!(rule.question.ends_with('?'), "{}", rule.id);
    }
}

#[test]
fn a_wait_is_a_quotas_where_it_runs_out_for_the_one_who_has_the_word() {
    let rule = |waiting, sends: bool, periods, has_carried| {
        let quota = Some(QuotaUse { periods, has_carried, ..QuotaUse::default() });
        let (sender_quota, receiver_quota) = if sends { (quota, None) } else { (None, quota) };
        rule_of(Evidence { waiting: Some(waiting), sender_quota, receiver_quota, ..Evidence::default() })
    };
    assert_eq!(rule(Waiting::Response, true, 0.5, false), "cpu.quota.answering");
    assert_eq!(rule(Waiting::Response, true, 0.49, false), "app.response");
    assert_eq!(rule(Waiting::Response, false, 1.0, false), "app.response", "the other side's");
    assert_eq!(rule(Waiting::Request, false, 0.5, false), "cpu.quota.asking");
    assert_eq!(rule(Waiting::Request, true, 1.0, false), "app.request");
    assert_eq!(rule(Waiting::Rate, true, 0.5, true), "cpu.quota.answering");
    assert_eq!(rule(Waiting::Rate, true, 0.5, false), "app.rate", "the connection is not used");
}

#[test]
fn a_wait_is_the_cpus_where_the_one_who_has_the_word_waits_for_one() {
    let rule = |waiting, sends: bool, waited| {
        let used = Some(ThreadUse { waited, computed: 0.0 });
        let (sender_thread, receiver_thread) = if sends { (used, None) } else { (None, used) };
        rule_of(Evidence { waiting: Some(waiting), sender_thread, receiver_thread, ..Evidence::default() })
    };
    assert_eq!(rule(Waiting::Response, true, 0.5), "cpu.waiting.answering");
    assert_eq!(rule(Waiting::Rate, true, 0.5), "cpu.waiting.answering");
    assert_eq!(rule(Waiting::Response, true, 0.49), "app.response");
    assert_eq!(rule(Waiting::Response, false, 1.0), "app.response", "the other side's");
    assert_eq!(rule(Waiting::Request, false, 0.5), "cpu.waiting.asking");
    assert_eq!(rule(Waiting::Turns, true, 1.0), "app.turns", "a round trip needs no CPU");
}
