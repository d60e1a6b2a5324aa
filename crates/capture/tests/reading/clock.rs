//! Captures whose clock is set while they are made: what needs the clock across that moment is left out, everything else stays as it is.

use crate::exchanges::exchange;
use pipefill_capture::join::{Joined, Pairing, Survey, join};
use pipefill_capture::read::{BackwardTimes, Reader};
use pipefill_capture::tcp::{Connection, Side};
use pipefill_capture::whole::{Connections, Source, connections};
use pipefill_testkit::captures::container::{ContainerPacket, Order, pcap};
use pipefill_testkit::captures::exchange::{CapturedPacket, Setup};
use proptest::prelude::*;
use std::io::Cursor;

const LITTLE: Order = Order { is_big: false };
const MS: u64 = 1_000_000;
const RTT_NS: u64 = 20 * MS;
/// Of each packet, one way.
const DELAY_NS: u64 = RTT_NS / 2;

/// A transfer with losses, captured at its sender.
fn sent(seed: u64, lost: u32) -> Vec<CapturedPacket> {
    let setup = Setup {
        segments: 4_000,
        window: 40,
        rtt_ns: RTT_NS,
        gap_ns: 400_000,
        lost_before: 0,
        lost_behind: lost,
        place: 0,
        seed,
        isn: 5,
        stamp: 77,
    };
    exchange(setup).0
}

fn entries(seen: &[CapturedPacket], time_ns: impl Fn(usize, &CapturedPacket) -> u64) -> Vec<ContainerPacket> {
    let entry = |(at, packet): (usize, &CapturedPacket)| ContainerPacket {
        time_ns: time_ns(at, packet),
        original: packet.original,
        bytes: packet.frame.clone(),
    };
    seen.iter().enumerate().map(entry).collect()
}

/// The packets from number `from` on have a clock that was set by `by_ms`.
fn set(seen: &[CapturedPacket], from: usize, by_ms: i64) -> Vec<ContainerPacket> {
    let by_ns = |at: usize| if at < from { 0 } else { by_ms * 1_000_000 };
    entries(seen, |at, packet| packet.time_ns.saturating_add_signed(by_ns(at)))
}

fn read(entries: &[ContainerPacket], survey: Option<&mut Survey>) -> Connections {
    let source: Source = Box::new(Cursor::new(pcap(LITTLE, true, entries)));
    let mut reader = Reader::open(source).expect("a capture");
    connections(&mut reader, survey)
}

fn only(found: &Connections) -> &Connection {
    assert_eq!(found.watched.len(), 1);
    &found.watched[0].connection
}

#[test]
fn nothing_wraps_where_the_clock_is_set_back() {
    let seen = sent(3, 0);
    let middle = seen.len() / 2;
    for by_ms in [30, 100, 1_000, 3_600_000] {
        let found = read(&set(&seen, middle, -by_ms), None);
        let backward = found.whole.backward;
        assert_eq!((backward.set_back, backward.late_packets), (1, 0));
        // What passed between both packets is not known.
        assert!(backward.set_back_ns.abs_diff(by_ms.unsigned_abs() * MS) < MS, "{backward:?}");
        let connection = only(&found);
        assert!(connection.half(Side::A).has_unknown_span());
        assert!(!connection.half(Side::B).has_unknown_span());
        let span_ns = connection.last_ns() - connection.first_ns();
        assert!(span_ns <= seen[seen.len() - 1].time_ns - seen[0].time_ns, "{span_ns}");
        let samples = found.watched[0].samples(Side::A, connection.first_ns());
        assert!(samples.is_sorted_by_key(|sample| sample.t_us));
        let (first, last) = (samples.first().expect("samples"), samples.last().expect("samples"));
        let rate = (last.acked_bytes - first.acked_bytes) as f64 / (last.t_us - first.t_us) as f64;
        // A window of 40 segments of 1448 bytes each round trip.
        assert!((2.6..3.0).contains(&rate), "{rate}");
    }
}

#[test]
fn a_transfer_before_or_after_is_known_as_without_it() {
    let seen = sent(3, 0);
    for from in [0, seen.len()] {
        let mut all = set(&seen, 0, 5_000);
        let other = ContainerPacket { time_ns: all[0].time_ns - 1, original: 60, bytes: vec![2; 60] };
        let late = ContainerPacket { time_ns: other.time_ns + 3_600_000 * MS, ..other.clone() };
        // A packet of something else has the time before the clock is set.
        if from == 0 {
            all.insert(0, late);
        } else {
            all.push(other);
        }
        let found = read(&all, None);
        assert_eq!(found.whole.backward.set_back, 1);
        let half = only(&found).half(Side::A);
        assert!(!half.has_unknown_span());
        let span_ns = half.data_ns().map(|(from, to)| to - from);
        let plain = read(&set(&seen, 0, 0), None);
        let plain = only(&plain).half(Side::A);
        assert_eq!(span_ns, plain.data_ns().map(|(from, to)| to - from));
        assert_eq!(half.min_rtt_us(), plain.min_rtt_us());
    }
}

/// Queues hand over their packets a batch at a time.
#[test]
fn packets_out_of_order_set_no_clock() {
    let mut all = entries(&sent(3, 0), |_, packet| packet.time_ns);
    for at in (100..all.len() - 10).step_by(50) {
        all[at..at + 8].rotate_left(3);
    }
    let found = read(&all, None);
    let backward = found.whole.backward;
    assert_eq!(BackwardTimes { late_packets: 0, late_most_ns: 0, ..backward }, BackwardTimes::default());
    assert!(backward.late_packets > 50 && (1..20 * MS).contains(&backward.late_most_ns), "{backward:?}");
    let half = only(&found).half(Side::A);
    assert!(!half.has_unknown_span());
    assert!(half.min_rtt_us().is_some_and(|us| us > 0 && us <= 20_000), "{:?}", half.min_rtt_us());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_needs_no_clock_is_the_same(seed in any::<u64>(), lost in 0_u32..20_000, parts in prop::collection::vec((1_usize..99, 25_u64..5_000_000), 1..5)) {
        let seen = sent(seed, lost);
        let set_back = |at: usize| -> u64 {
            parts.iter().filter(|(part, _)| at >= seen.len() * part / 100).map(|(_, ms)| ms * MS).sum()
        };
        let all = entries(&seen, |at, packet| packet.time_ns - set_back(at));
        let [found, plain] = [read(&all, None), read(&set(&seen, 0, 0), None)];
        let mut places: Vec<usize> = parts.iter().map(|(part, _)| *part).collect();
        places.sort_unstable();
        places.dedup();
        prop_assert_eq!(found.whole.backward.set_back, places.len() as u64);
        let [own, plain_half] = [only(&found).half(Side::A), only(&plain).half(Side::A)];
        let [counts, expected] = [own.counts(), plain_half.counts()];
        prop_assert_eq!((counts.new_bytes, counts.segments, counts.dsacks), (expected.new_bytes, expected.segments, expected.dsacks));
        prop_assert_eq!(own.retransmits(), plain_half.retransmits());
        prop_assert!(own.min_rtt_us() >= plain_half.min_rtt_us(), "{:?} {:?}", own.min_rtt_us(), plain_half.min_rtt_us());
        prop_assert!(own.bottleneck_bps() <= plain_half.bottleneck_bps().map(|bps| bps + bps / 100), "{:?}", own.bottleneck_bps());
        prop_assert!(counts.spurious <= expected.spurious, "{counts:?} {expected:?}");
    }
}

/// Both captures of the transfer; packets of the receiver's from number `from` on have a clock that was set by `by_ms`.
fn both(seen: &[CapturedPacket], from: usize, by_ms: i64) -> [Vec<ContainerPacket>; 2] {
    let is_forward = |packet: &CapturedPacket| packet.frame[34..36] == 40_000_u16.to_be_bytes();
    let at_receiver = |_: usize, packet: &CapturedPacket| {
        if is_forward(packet) { packet.time_ns + DELAY_NS } else { packet.time_ns - DELAY_NS }
    };
    let near = entries(seen, |_, packet| packet.time_ns);
    let mut far = entries(seen, at_receiver);
    far.sort_by_key(|entry| entry.time_ns);
    let moved = far.iter_mut().skip(from);
    moved.for_each(|entry| entry.time_ns = entry.time_ns.saturating_add_signed(by_ms * 1_000_000));
    [near, far]
}

fn joined(captures: &[Vec<ContainerPacket>; 2]) -> Joined {
    let mut surveys = [Survey::default(), Survey::default()];
    for (entries, survey) in captures.iter().zip(&mut surveys) {
        read(entries, Some(survey));
    }
    let pairing = Pairing::of(&surveys[0], &surveys[1]);
    let [near, far] = captures.each_ref().map(|entries| pcap(LITTLE, true, entries));
    join(&mut Reader::open(&near[..]).expect("one"), &mut Reader::open(&far[..]).expect("another"), pairing)
}

#[test]
fn two_captures_have_no_delay_where_a_clock_was_set() {
    let seen = sent(3, 0);
    for by_ms in [0, -3_600_000, -1_000, -100, -30, -5, 5, 30, 100, 1_000, 3_600_000] {
        for is_swapped in [false, true] {
            let mut captures = both(&seen, seen.len() / 2, by_ms);
            if is_swapped {
                captures.reverse();
            }
            let joined = joined(&captures);
            let ways = &joined.pairs[0].ways;
            let delays = ways.each_ref().map(|way| way.delay.map(|delay| delay.least_ns));
            if by_ms == 0 {
                assert!(joined.offset_move.is_none() && joined.clock.is_some());
                assert!(
                    delays.iter().all(|least| least.is_some_and(|ns| ns.abs_diff(DELAY_NS as i64) < 10_000))
                );
            } else {
                assert_eq!((delays, joined.clock), ([None, None], None), "{by_ms} {is_swapped}");
            }
            if let Some(moved) = joined.offset_move {
                let by_ns = if is_swapped { -moved.by_ns } else { moved.by_ns };
                assert!(
                    by_ns.abs_diff(by_ms * 1_000_000) <= by_ms.unsigned_abs() * MS / 16,
                    "{by_ms}: {by_ns}"
                );
            }
            // Nothing was lost, whatever the clocks say.
            let lost = ways.each_ref().map(|way| way.counts.lost_data + way.counts.lost_bare);
            let unmatched = ways.each_ref().map(|way| way.counts.unmatched_seen.within);
            assert_eq!((lost, unmatched), ([0, 0], [0, 0]), "{by_ms} {is_swapped}");
        }
    }
}
