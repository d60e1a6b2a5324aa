//! Transfers with losses whose truth is known, seen at the sender, at the receiver, and between them.

use pipefill_capture::headers;
use pipefill_capture::read::{LinkType, Packet};
use pipefill_capture::tcp::{Connection, Ended, Event, Observer, Reconstruction, SegmentKind, Side, Vantage};
use pipefill_testkit::captures::exchange::{CapturedPacket, Exchange, MSS, Setup, Why};
use proptest::prelude::*;

/// What was told, for the comparison.
#[derive(Default)]
struct ObservedConnections {
    kinds: Vec<SegmentKind>,
    ended: Vec<Connection>,
    rtts: Vec<u32>,
    worst_in_flight: u32,
}

impl Observer for ObservedConnections {
    fn segment(&mut self, connection: &Connection, event: &Event) {
        let half = connection.half(event.side);
        assert!(half.acked_to() <= half.sent_to());
        assert!(half.sacked_segments() + half.lost_segments() <= half.unacked_segments());
        if event.side == Side::A && event.payload > 0 {
            self.kinds.push(event.kind);
            self.worst_in_flight = self.worst_in_flight.max(half.in_flight_segments());
        }
        self.rtts.extend(event.rtt_us.filter(|_| event.side == Side::B));
    }

    fn ended(&mut self, connection: &Connection, why: Ended) {
        assert_eq!(why, Ended::EndOfCapture);
        self.ended.push(connection.clone());
    }
}

fn setup() -> Setup {
    Setup {
        segments: 2000,
        window: 50,
        rtt_ns: 20_000_000,
        gap_ns: 100_000,
        lost_before: 0,
        lost_behind: 0,
        place: 0,
        seed: 1,
        isn: 5,
        stamp: 1_000_000,
    }
}

/// The packets in the order of the capture, the segments' reasons, and how many were sent for which.
pub(crate) fn exchange(setup: Setup) -> (Vec<CapturedPacket>, [u64; 4]) {
    let mut seen = Vec::new();
    let sent = Exchange::new(setup, &mut |packet| seen.push(packet)).run();
    seen.sort_by_key(|packet| packet.time_ns);
    (seen, sent)
}

fn reconstruct(seen: &[CapturedPacket]) -> ObservedConnections {
    let (mut all, mut told) = (Reconstruction::default(), ObservedConnections::default());
    for packet in seen {
        all.push(&Packet::new(packet.time_ns, LinkType(1), packet.original, &packet.frame), &mut told);
    }
    let counts = all.finish(&mut told);
    assert_eq!((counts.not_understood(), counts.connections), (0, 1));
    told
}

/// What passed, by sequence numbers alone: another computation than the scoreboard's.
#[derive(Default)]
struct Union {
    bytes: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
}

/// Of the data that side A sends, whose SYN has `isn`. What the other side had acknowledged by then extends no time, unless it was not seen.
fn union_of_ranges(seen: &[CapturedPacket], isn: u32) -> Union {
    let mut union = Union::default();
    let mut a_port = None;
    let (mut passed, mut acked) = (std::collections::BTreeSet::new(), 0);
    for packet in seen {
        let packet = Packet::new(packet.time_ns, LinkType(1), packet.original, &packet.frame);
        let segment = headers::segment(&packet).expect("a segment");
        if segment.payload == 0 {
            let is_of_a = segment.source.port == *a_port.get_or_insert(segment.source.port);
            acked = if is_of_a { acked } else { acked.max(segment.ack.wrapping_sub(isn)) };
            continue;
        }
        let from = segment.seq.wrapping_sub(isn);
        // All segments are full: the first one begins behind the SYN.
        assert_eq!((u64::from(from) % MSS, u64::from(segment.payload) % MSS), (1, 0));
        let numbers = u64::from(from) / MSS..(u64::from(from) + u64::from(segment.payload)) / MSS;
        let is_new = numbers.filter(|&number| passed.insert(number)).count() > 0;
        union.first_ns.get_or_insert(segment.time_ns);
        if is_new || from + segment.payload > acked {
            union.last_ns = Some(segment.time_ns);
        }
    }
    union.bytes = passed.len() as u64 * MSS;
    union
}

fn kind(why: Why) -> SegmentKind {
    match why {
        Why::New => SegmentKind::New,
        Why::Fast => SegmentKind::FastRetransmit,
        Why::Rto => SegmentKind::RtoRetransmit,
        Why::Tlp => SegmentKind::TlpRetransmit,
    }
}

fn truth(seen: &[CapturedPacket]) -> Vec<SegmentKind> {
    seen.iter().filter_map(|packet| packet.why).map(kind).collect()
}

/// The first segments that differ, for the message.
fn difference(found: &[SegmentKind], truth: &[SegmentKind]) -> Option<String> {
    let at = (0..found.len().max(truth.len())).find(|&at| found.get(at) != truth.get(at))?;
    Some(format!("segment {at}: {:?}, and it was {:?}", found.get(at), truth.get(at)))
}

#[test]
fn a_clean_transfer_has_its_rtt_its_window_and_its_rate() {
    let (seen, sent) = exchange(setup());
    assert_eq!(sent, [2000, 0, 0, 0]);
    let told = reconstruct(&seen);
    let [connection] = &told.ended[..] else { panic!("one connection") };
    let half = connection.half(Side::A);
    let counts = half.counts();
    assert_eq!((counts.new_bytes, counts.segments, half.retransmits()), (2000 * MSS, 2000, 0));
    assert_eq!((half.mss_bytes(), half.window_scale()), (1448, Some(7)));
    assert_eq!(connection.half(Side::B).window_bytes(), Some(1000 << 8));
    assert_eq!(half.min_rtt_us(), Some(20_000));
    assert_eq!(told.worst_in_flight, 50);
    assert_eq!(half.largest_flight_bytes().map(|bytes| bytes / MSS), Some(50));
    assert_eq!(connection.vantage(), Vantage::NearA);
    assert!(connection.is_closed());
    // 50 segments in each round trip of 20 ms, and what they wait for each other.
    let bps = half.bottleneck_bps().expect("many rounds") as f64;
    let expected = 50.0 * 1448.0 * 8.0 / 0.0205;
    assert!((bps / expected - 1.0).abs() < 0.05, "{bps} beside {expected}");
    assert!(told.rtts.len() > 1900);
}

#[test]
fn every_place_of_the_path_is_found() {
    for (place, expected) in [(0, Vantage::NearA), (500, Vantage::Between), (1000, Vantage::NearB)] {
        let (seen, _) = exchange(Setup { place, ..setup() });
        let told = reconstruct(&seen);
        assert_eq!(told.ended[0].vantage(), expected, "at {place}");
        assert_eq!(told.ended[0].full_rtt_us(), Some(20_000));
    }
}

#[test]
fn losses_before_the_capture_point_leave_holes_that_are_filled() {
    let (seen, sent) = exchange(Setup { place: 1000, lost_before: 20_000, ..setup() });
    let told = reconstruct(&seen);
    let counts = told.ended[0].half(Side::A).counts();
    let resent_and_seen = truth(&seen).iter().filter(|kind| kind.is_retransmit()).count();
    assert!(resent_and_seen > 20 && sent[1] > 20, "{sent:?}");
    // A last segment that was lost is seen once, and looks new.
    let found = counts.retransmits() as usize;
    assert!(found <= resent_and_seen && found + 3 >= resent_and_seen, "{found} of {resent_and_seen}");
    assert_eq!((counts.lost_behind, counts.out_of_order), (0, 0));
    assert_eq!(counts.lost_before, counts.retransmits());
}

#[test]
fn losses_behind_the_capture_point_are_seen_twice() {
    let (seen, sent) = exchange(Setup { place: 500, lost_behind: 20_000, ..setup() });
    let counts = reconstruct(&seen).ended[0].half(Side::A).counts();
    assert_eq!(u64::from(counts.retransmits()), sent[1..].iter().sum::<u64>());
    assert_eq!((counts.lost_before, counts.lost_behind), (0, counts.retransmits()));
}

#[test]
fn a_retransmission_that_is_lost_as_its_recovery_ends_waits_for_the_timer() {
    let path = Setup { segments: 1580, window: 58, rtt_ns: 1_000_000, gap_ns: 1000, ..setup() };
    let (seen, sent) =
        exchange(Setup { lost_behind: 10_351, seed: 4_933_479_342_392_578_776, isn: 0, stamp: 0, ..path });
    assert!(sent[2] > 0, "{sent:?}");
    assert_eq!(difference(&reconstruct(&seen).kinds, &truth(&seen)), None);
}

#[test]
fn a_connection_without_its_beginning_says_what_it_does_not_know() {
    let (seen, _) = exchange(Setup { lost_behind: 10_000, ..setup() });
    let at = seen.iter().position(|packet| packet.why == Some(Why::New)).expect("data") + 700;
    let told = reconstruct(&seen[at..]);
    let [connection] = &told.ended[..] else { panic!("one connection") };
    assert!(!connection.has_handshake());
    let data = if connection.half(Side::A).payload_bytes() > 0 { Side::A } else { Side::B };
    let (half, other) = (connection.half(data), connection.half(data.other()));
    assert_eq!((half.window_scale(), other.window_bytes()), (None, None));
    assert!(half.retransmits() > 5);
    assert_eq!(half.counts().not_captured_bytes, 0, "what was outstanding at the beginning is not counted");
}

fn setups() -> impl Strategy<Value = Setup> {
    let path = (1..200u64, 1_000_000..200_000_000u64, 1_000..300_000u64);
    (path, 2..80usize, 0..60_000u32, any::<u64>(), any::<u32>(), any::<u32>()).prop_map(
        |((segments, rtt_ns, gap_ns), window, lost_behind, seed, isn, stamp)| Setup {
            segments: segments * 10,
            window,
            rtt_ns,
            gap_ns,
            lost_behind,
            seed,
            isn,
            stamp,
            ..setup()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn at_the_sender_every_reason_is_found(setup in setups()) {
        let (seen, sent) = exchange(setup);
        let told = reconstruct(&seen);
        let problem = difference(&told.kinds, &truth(&seen));
        prop_assert!(problem.is_none(), "{} in {:?}", problem.unwrap_or_default(), setup);
        let half = told.ended[0].half(Side::A);
        let counts = half.counts();
        prop_assert_eq!([counts.fast, counts.rto, counts.tlp].map(u64::from), [sent[1], sent[2], sent[3]]);
        prop_assert_eq!(counts.new_bytes, setup.segments * MSS);
        prop_assert_eq!(counts.not_captured_bytes, 0);
    }

    #[test]
    fn anywhere_on_the_path_the_bytes_are_conserved(
        setup in setups(),
        place in 0..=1000u64,
        lost_before in 0..40_000u32,
    ) {
        let (seen, _) = exchange(Setup { place, lost_before, ..setup });
        let told = reconstruct(&seen);
        let counts = told.ended[0].half(Side::A).counts();
        let union = union_of_ranges(&seen, setup.isn);
        prop_assert_eq!(counts.new_bytes, union.bytes);
        prop_assert_eq!(told.ended[0].half(Side::A).data_ns(), union.first_ns.zip(union.last_ns));
        prop_assert_eq!(counts.captured_twice, 0);
        prop_assert_eq!(counts.lost_before + counts.lost_behind, counts.retransmits());
        prop_assert_eq!(counts.out_of_order, 0);
    }

    #[test]
    fn a_capture_at_two_interfaces_changes_nothing(setup in setups()) {
        let (seen, _) = exchange(setup);
        let twice: Vec<CapturedPacket> = seen.iter().flat_map(|packet| {
            let copy = CapturedPacket { time_ns: packet.time_ns + 20, ..packet.clone() };
            [packet.clone(), copy]
        }).collect();
        let (once, twice) = (reconstruct(&seen), reconstruct(&twice));
        let [once, twice] = [&once.ended[0], &twice.ended[0]].map(|connection| connection.half(Side::A).counts());
        prop_assert_eq!(once.retransmits(), twice.retransmits());
        prop_assert_eq!(once.new_bytes, twice.new_bytes);
        prop_assert!(u64::from(twice.captured_twice) >= setup.segments);
    }

    #[test]
    fn sequence_numbers_and_stamps_may_begin_anywhere(setup in setups(), isn: u32, stamp: u32) {
        let kinds = |setup| reconstruct(&exchange(setup).0).kinds;
        prop_assert_eq!(kinds(setup), kinds(Setup { isn, stamp, ..setup }));
        prop_assert_eq!(kinds(setup), kinds(Setup { isn: u32::MAX - 3000, stamp: u32::MAX - 50, ..setup }));
    }
}

#[test]
fn the_frames_are_what_they_should_be() {
    let (seen, _) = exchange(setup());
    for packet in &seen {
        let found =
            headers::segment(&Packet::new(packet.time_ns, LinkType(1), packet.original, &packet.frame));
        assert_eq!(found.map(|segment| segment.payload > 0), Ok(packet.why.is_some()));
    }
}
