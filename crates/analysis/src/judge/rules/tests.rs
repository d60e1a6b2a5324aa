//! Rules on evidence from synthetic rows, one boundary after the other.

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
    ArrivalPattern, Arrivals, ArrivalsOfAll, ArrivingPackets, Evidence, Growth, PacketSpan, PathEvidence,
    QuotaUse, Risen, SenderEvidence, SentPackets, Settled, SteadyRate,
};
use pipefill_core::limit::{Cause, LimitedBy};
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
    rows.iter().for_each(|row| facts.take(row));
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
            dsacks_so_far: Some(dsacks),
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

#[test]
fn a_settled_rate_is_of_a_window_where_this_side_speaks_in_each_round_trip() {
    let rule = |spoken: f64, unevenness: f64, settled_growth: f64| {
        let steady = SteadyRate {
            share: 0.7,
            unevenness,
            rtt_risen_most: 1.0,
            rtt_risen: 1.0,
            ..SteadyRate::default()
        };
        let growth = |times: f64| Growth { each: times.sqrt(), whole: times };
        let settled = Settled { spread: Some(0.02), growth: growth(settled_growth), ..Settled::default() };
        // The handshake of a program makes the first third slow.
        let whole = ArrivalsOfAll {
            segments: Some(1_000.0),
            growth: growth(2.0),
            settled,
            ..ArrivalsOfAll::default()
        };
        let arrivals = Arrivals {
            whole,
            spoken_in_round_trip: Some(spoken),
            packets: Some(ArrivingPackets {
                dry_share: 0.4,
                steady: Some(steady),
                ..ArrivingPackets::default()
            }),
            ..Arrivals::default()
        };
        rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
    };
    assert_eq!(rule(9.0, 0.4, 1.0), "app.window.arrives");
    for (other, why) in [
        (rule(0.1, 0.4, 1.0), "nobody asks for it"),
        (rule(9.0, 0.1, 1.0), "as a pacer sends"),
        (rule(9.0, 0.4, 1.5), "as a congestion window grows"),
    ] {
        assert_ne!(other, "app.window.arrives", "{why}");
    }
}

#[test]
fn marks_that_come_again_and_again_cut_the_window_unless_the_path_stays_full() {
    let rule = |marked_share: Option<f64>, disordered_share: f64, queue_us: f64| {
        let risen = Risen { times: 1.0 + queue_us / 20_000.0, above_us: queue_us };
        let whole = ArrivalsOfAll {
            rounds: 50,
            segments: Some(100.0),
            spread: if queue_us > 0.0 { 0.1 } else { 0.4 },
            disordered_share,
            marked_share,
            risen_always: Some(risen),
            ..ArrivalsOfAll::default()
        };
        let arrivals = Arrivals { whole, ..Arrivals::default() };
        rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
    };
    assert_eq!(rule(Some(0.05), 0.0, 0.0), "cwnd.ecn.arrivals_marked");
    assert_eq!(rule(Some(0.04), 0.0, 0.0), "unknown.arrivals", "too seldom");
    assert_eq!(rule(None, 0.0, 0.0), "unknown.arrivals", "nobody counts them");
    assert_eq!(rule(Some(0.2), 0.3, 0.0), "cwnd.arrivals_disordered", "losses are more frequent");
    assert_eq!(rule(Some(0.2), 0.0, 5_000.0), "path.arrives_steadily", "a queue that marks");
}

#[test]
fn marks_of_several_streams_that_bring_the_same_rate_together_are_a_full_links() {
    let rule = |streams: usize, spread: f64, often_us: f64| {
        let whole = ArrivalsOfAll {
            rounds: 50,
            streams,
            segments: Some(10.0),
            spread,
            marked_share: Some(0.2),
            risen_often: Some(Risen { times: 1.0 + often_us / 20_000.0, above_us: often_us }),
            ..ArrivalsOfAll::default()
        };
        let arrivals = Arrivals { whole, ..Arrivals::default() };
        rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
    };
    assert_eq!(rule(4, 0.05, 0.0), "path.arrives_marked");
    assert_eq!(rule(4, 0.06, 0.0), "cwnd.ecn.arrivals_marked", "the link is not full all the time");
    assert_eq!(rule(4, 0.20, 3_000.0), "path.arrives_marked", "a queue now and then");
    assert_eq!(rule(4, 0.21, 3_000.0), "cwnd.ecn.arrivals_marked");
    assert_eq!(rule(1, 0.0, 0.0), "cwnd.ecn.arrivals_marked", "one window that marks keep the same");
}

#[test]
fn a_rate_that_stays_the_same_is_a_policers_where_packets_show_one() {
    let rule = |cwnd_cause, disordered_share| {
        let packets = ArrivingPackets { cwnd_cause, ..ArrivingPackets::default() };
        let whole =
            ArrivalsOfAll { rounds: 50, segments: Some(100.0), disordered_share, ..ArrivalsOfAll::default() };
        let arrivals = Arrivals { whole, packets: Some(packets), ..Arrivals::default() };
        rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
    };
    assert_eq!(rule(Some(Cause::Policer), 0.05), "cwnd.policer.arrivals");
    assert_eq!(rule(Some(Cause::Policer), 0.04), "unknown.arrivals", "too seldom");
    assert_eq!(
        rule(Some(Cause::RandomLoss), 0.5),
        "unknown.arrivals",
        "BBR sends at the path's rate all the same"
    );
}

#[test]
fn a_steady_rate_in_bursts_a_round_trip_apart_is_a_buffers_and_not_a_pacers() {
    let rule = |unevenness, bursts_in_round_trip| {
        let steady =
            SteadyRate { share: 1.0, unevenness, rtt_risen_most: 1.0, rtt_risen: 1.0, bursts_in_round_trip };
        let packets = ArrivingPackets { steady: Some(steady), ..ArrivingPackets::default() };
        let arrivals = Arrivals { packets: Some(packets), ..Arrivals::default() };
        rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
    };
    assert_eq!(rule(0.1, 0.0), "pacing.program.arrives_evenly");
    assert_eq!(rule(0.1, 0.5), "pacing.program.arrives_evenly", "a burst in two round trips");
    assert_eq!(rule(0.1, 1.0), "sndbuf.arrives_in_bursts", "shorter than the time between two samples");
    assert_eq!(rule(0.9, 0.0), "sndbuf.arrives_in_bursts");
}

#[test]
fn bursts_further_apart_than_a_round_trip_are_a_buffers_whatever_was_lost() {
    type Change = dyn Fn(&mut ArrivalsOfAll, &mut ArrivingPackets);
    let rule = |change: &Change| {
        let mut whole = ArrivalsOfAll {
            rounds: 50,
            segments: Some(200.0),
            spread: 0.4,
            disordered_share: 0.1,
            idle_share: Some(0.4),
            risen_always: Some(Risen { times: 1.7, above_us: 20_000.0 }),
            ..ArrivalsOfAll::default()
        };
        let mut packets = ArrivingPackets {
            apart_share: Some(0.8),
            cwnd_cause: Some(Cause::QueueLoss),
            ..ArrivingPackets::default()
        };
        change(&mut whole, &mut packets);
        let arrivals = Arrivals { whole, packets: Some(packets), ..Arrivals::default() };
        rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
    };
    assert_eq!(rule(&|_, _| ()), "sndbuf.arrives_apart");
    let others: [(&Change, &str); 6] = [
        (&|_, packets| packets.apart_share = Some(0.7), "a window's come once in each"),
        (&|_, packets| packets.cwnd_cause = Some(Cause::Timeout), "timers are awaited in between"),
        (&|_, packets| packets.dry_share = 0.6, "short writes"),
        (&|whole, _| whole.idle_share = Some(0.15), "no silence"),
        (&|whole, _| whole.segments = Some(19.0), "a few segments"),
        (&|whole, _| whole.risen_always = Some(Risen { times: 2.0, above_us: 20_000.0 }), "a queue of ACKs"),
    ];
    for (change, why) in others {
        assert_eq!(rule(change), "cwnd.arrivals_disordered", "{why}");
    }
}

/// What arrives at 10 Mbit/s in round trips of 15 segments, while this side says nothing.
fn rule_of_packets(change: impl Fn(&mut Arrivals, &mut ArrivingPackets)) -> &'static str {
    let whole = ArrivalsOfAll {
        rounds: 50,
        segments: Some(15.0),
        spread: 0.01,
        disordered_share: 0.2,
        idle_share: Some(0.0),
        risen_often: Some(Risen { times: 1.3, above_us: 5_000.0 }),
        ..ArrivalsOfAll::default()
    };
    let mut arrivals = Arrivals { whole, spoken_in_round_trip: Some(0.0), ..Arrivals::default() };
    let mut packets = ArrivingPackets::default();
    change(&mut arrivals, &mut packets);
    rule_of(Evidence {
        arrivals: Some(Arrivals { packets: Some(packets), ..arrivals }),
        ..Evidence::default()
    })
}

#[test]
fn a_rate_that_losses_do_not_change_with_a_queue_now_and_then_is_a_full_paths() {
    assert_eq!(rule_of_packets(|_, _| ()), "path.arrives_through_losses");
    type Change<'a> = (&'a dyn Fn(&mut Arrivals, &mut ArrivingPackets), &'a str);
    let others: [Change<'_>; 5] = [
        (&|arrivals, _| arrivals.whole.spread = 0.021, "the rate changes"),
        (&|arrivals, _| arrivals.whole.segments = Some(7.9), "a few writes"),
        (&|arrivals, _| arrivals.whole.idle_share = Some(0.2), "silence"),
        (&|arrivals, _| arrivals.whole.risen_often = None, "a pacer's, or a policer's: no queue"),
        (&|arrivals, _| arrivals.whole.disordered_share = 0.0, "nothing lost"),
    ];
    for (change, why) in others {
        assert_eq!(rule_of_packets(change), "unknown.arrivals", "{why}");
    }
}

#[test]
fn silence_in_which_nothing_is_outstanding_is_the_applications() {
    let rule = |paused_share, disordered_share, spoken: f64| {
        rule_of_packets(|arrivals, packets| {
            (packets.paused_share, packets.apart_share) = (paused_share, Some(1.0));
            arrivals.spoken_in_round_trip = Some(spoken);
            arrivals.whole.idle_share = Some(0.9);
            (arrivals.whole.segments, arrivals.whole.disordered_share) = (Some(25.0), disordered_share);
        })
    };
    assert_eq!(rule(0.6, 0.0, 0.0), "app.rate.arrives_after_pauses");
    assert_eq!(rule(0.59, 0.0, 0.0), "sndbuf.arrives_apart", "ACKs may have let it out");
    assert_eq!(rule(0.6, 0.01, 0.0), "sndbuf.arrives_apart", "or a timer");
    assert_eq!(rule(0.6, 0.0, 0.2), "sndbuf.arrives_apart", "or this side");
}

#[test]
fn bursts_as_often_as_round_trips_are_no_clock_of_an_application() {
    let rule = |bursts_in_round_trip, unevenness| {
        rule_of_packets(|arrivals, packets| {
            arrivals.whole.disordered_share = 0.0;
            packets.dry_share = 0.9;
            packets.steady = Some(SteadyRate {
                share: 1.0,
                unevenness,
                rtt_risen_most: 1.0,
                rtt_risen: 1.0,
                bursts_in_round_trip,
            });
        })
    };
    assert_eq!([rule(0.96, 1.5), rule(1.04, 0.5)], ["sndbuf.arrives_in_bursts"; 2]);
    let unasked = "app.rate.arrives_unasked";
    assert_eq!([rule(0.94, 1.5), rule(1.06, 1.5), rule(1.0, 0.4)], [unasked; 3]);
}

#[test]
fn slow_start_that_arrives_again_after_an_idle_time_is_a_restart() {
    let rule = |is_slow_start, is_idle_restart| {
        rule_of_packets(|arrivals, _| {
            (arrivals.is_slow_start, arrivals.is_idle_restart) = (is_slow_start, is_idle_restart);
        })
    };
    assert_eq!([rule(true, false), rule(true, true)], ["cwnd.startup", "cwnd.idle_restart.arrives"]);
}

/// Each third of the time brings a fifth more.
#[test]
fn what_falls_from_one_round_trip_to_the_next_without_a_loss_is_no_growing_window() {
    let rule = |fallen_share, risen: f64| {
        rule_of_packets(|arrivals, packets| {
            packets.fallen_share = fallen_share;
            let whole = &mut arrivals.whole;
            (whole.segments, whole.spread, whole.disordered_share) = (Some(40.0), 0.5, 0.0);
            whole.growth = Growth { each: 1.2, whole: 1.5 };
            whole.risen_often = Some(Risen { times: risen, above_us: 5_000.0 });
        })
    };
    assert_eq!([rule(0.04, 1.0), rule(0.1, 1.0)], ["cwnd.arrivals_grow", "unknown.arrivals"]);
    assert_eq!(rule(0.1, 1.2), "cwnd.arrivals_grow", "round trips are longer than the least one");
}

/// Writes of 16 kB are sent to their ends.
#[test]
fn what_acks_let_out_as_they_acknowledge_is_a_buffers() {
    let rule = |change: &dyn Fn(&mut PacketSpan, &mut SenderEvidence)| {
        let mut span = PacketSpan {
            segment: 1_448,
            flight: 19_280,
            fill: Some(0.9),
            bytes_of_a_push: Some(16_384.0),
            tail_share: 1.0,
            widest_window: 118_000,
            prompt_share: 0.7,
            clocked_share: 0.7,
            unevenness: Some(1.5),
            round_trips: 6.0,
            ..PacketSpan::default()
        };
        let mut sender = SenderEvidence { heard_in_round_trip: Some(0.0), ..idle() };
        change(&mut span, &mut sender);
        rule_of(Evidence {
            sender: Some(sender),
            packets: Some(SentPackets { span, flight: 19_280, flight_used: 0.5, ..SentPackets::default() }),
            ..Evidence::default()
        })
    };
    assert_eq!(rule(&|_, _| ()), "sndbuf.let_out_by_acks");
    type Change<'a> = (&'a dyn Fn(&mut PacketSpan, &mut SenderEvidence), &'a str);
    let unasked: [Change<'_>; 5] = [
        (&|span, _| span.unevenness = Some(0.3), "a clock that a round trip is a multiple of"),
        (&|span, _| span.clocked_share = 0.4, "a write is larger than what was acknowledged just before"),
        (&|span, _| span.flight_change = 0.2, "its amount changes"),
        (&|span, _| span.bytes_of_a_push = Some(4_000.0), "small writes wait for ACKs"),
        (&|span, _| span.drained_share = 0.3, "nothing is out at times"),
    ];
    for (change, why) in unasked {
        assert_eq!(rule(change), "app.rate.unasked", "{why}");
    }
    let heard = rule(&|_, sender| sender.heard_in_round_trip = Some(0.5));
    assert_eq!(heard, "app.offers_less", "the other side may have asked");
}

/// What the receiver's socket shows of a sender that always has more to send than it may: bursts of full segments, evenly in time.
fn rule_of_pattern(change: impl Fn(&mut Arrivals, &mut ArrivalPattern)) -> &'static str {
    let still = Growth { each: 1.0, whole: 1.0 };
    let settled = Settled { spread: Some(0.05), growth: still, ..Settled::default() };
    let whole = ArrivalsOfAll {
        rounds: 50,
        segments: Some(200.0),
        spread: 0.05,
        growth: still,
        settled,
        ..ArrivalsOfAll::default()
    };
    let mut arrivals = Arrivals { whole, spoken_in_round_trip: Some(0.0), ..Arrivals::default() };
    let mut pattern = ArrivalPattern {
        samples_in_round_trip: 10.0,
        unevenness: 1.2,
        silent_share: 0.5,
        bursts_in_round_trip: 1.0,
        short_in_round_trip: Some(0.0),
        acks_of_segment: Some(0.5),
    };
    change(&mut arrivals, &mut pattern);
    arrivals.whole.pattern = Some(pattern);
    rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
}

#[test]
fn bursts_at_a_receivers_socket_are_a_buffers() {
    assert_eq!(rule_of_pattern(|_, _| ()), "sndbuf.bursts_steady");
    let grows = rule_of_pattern(|arrivals, _| arrivals.whole.settled.growth.whole = 1.05);
    assert_eq!(grows, "unknown.arrivals", "a window grows");
    let apart = |change: &dyn Fn(&mut Arrivals, &mut ArrivalPattern)| {
        rule_of_pattern(|arrivals, pattern| {
            (pattern.bursts_in_round_trip, arrivals.whole.disordered_share) = (0.7, 0.2);
            change(arrivals, pattern);
        })
    };
    assert_eq!(apart(&|_, _| ()), "sndbuf.bursts_apart");
    type Change<'a> = (&'a dyn Fn(&mut Arrivals, &mut ArrivalPattern), &'a str);
    let others: [Change<'_>; 4] = [
        (&|_, pattern| pattern.bursts_in_round_trip = 0.9, "a window's come once in each round trip"),
        (&|_, pattern| pattern.samples_in_round_trip = 3.9, "silences of less than two samples"),
        (&|arrivals, _| arrivals.whole.disordered_share = 0.3, "losses"),
        (&|arrivals, _| arrivals.whole.growth.each = 1.4, "slow start"),
    ];
    for (change, why) in others {
        assert_eq!(apart(change), "cwnd.arrivals_silent", "{why}");
    }
}

#[test]
fn even_arrivals_at_a_receivers_socket_are_a_pacers_of_full_segments_and_else_an_applications() {
    let even = |change: &dyn Fn(&mut Arrivals, &mut ArrivalPattern)| {
        rule_of_pattern(|arrivals, pattern| {
            (pattern.unevenness, pattern.silent_share, pattern.bursts_in_round_trip) = (0.1, 0.0, 0.0);
            change(arrivals, pattern);
        })
    };
    assert_eq!(even(&|_, _| ()), "pacing.program.comes_evenly");
    assert_eq!(even(&|_, pattern| pattern.short_in_round_trip = Some(0.25)), "app.rate.comes_in_writes");
    assert_eq!(even(&|_, pattern| pattern.acks_of_segment = Some(0.9)), "app.rate.comes_in_writes");
    let risen = Some(Risen { times: 1.2, above_us: 5_000.0 });
    type Change<'a> = (&'a dyn Fn(&mut Arrivals, &mut ArrivalPattern), &'a str);
    let unknown: [Change<'_>; 4] = [
        (&|_, pattern| pattern.samples_in_round_trip = 1.9, "bursts would not be seen"),
        (&|_, pattern| pattern.acks_of_segment = None, "each has a delayed ACK of its own"),
        (&|_, pattern| pattern.short_in_round_trip = Some(0.1), "some writes end, or a path is full"),
        (&move |arrivals, _| arrivals.whole.risen_often = risen, "a queue"),
    ];
    for (change, why) in unknown {
        assert_eq!(even(change), "unknown.arrivals", "{why}");
    }
    let disordered = even(&|arrivals, _| arrivals.whole.disordered_share = 0.5);
    assert_eq!(disordered, "cwnd.arrivals_mostly_disordered");
}

#[test]
fn what_a_receivers_socket_gets_in_each_round_trip_is_a_window_where_it_speaks_in_each() {
    let window = |spoken: f64, spread: f64| {
        rule_of_pattern(|arrivals, _| {
            arrivals.spoken_in_round_trip = Some(spoken);
            arrivals.whole.settled.spread = Some(spread);
        })
    };
    assert_eq!(window(1.0, 0.15), "app.window.comes", "a sample of ten more or less");
    assert_eq!([window(0.9, 0.15), window(1.0, 0.16)], ["unknown.arrivals"; 2]);
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
