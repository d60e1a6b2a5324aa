//! What single segments are, one situation after the other.

use pipefill_capture::read::{LinkType, Packet};
use pipefill_capture::tcp::{
    Connection, Ended, Event, Handshake, KnownBy, Observer, Reconstruction, SegmentKind, Side, Spurious,
    Vantage,
};
use pipefill_testkit::captures::frame::{ACK, FIN, RST, SYN, Tcp, sack, stamps, syn_options};

/// Takes segments at times, and keeps what was told.
#[derive(Default)]
pub(crate) struct Script {
    all: Reconstruction,
    told: ObservedEvents,
    id: u16,
}

#[derive(Default)]
struct ObservedEvents {
    events: Vec<Event>,
    spurious: Vec<(Side, Spurious)>,
    ended: Vec<(u64, Ended)>,
    last: Option<Connection>,
}

impl Observer for ObservedEvents {
    fn segment(&mut self, connection: &Connection, event: &Event) {
        self.events.push(*event);
        self.last = Some(connection.clone());
    }

    fn spurious(&mut self, _: &Connection, side: Side, spurious: &Spurious) {
        self.spurious.push((side, *spurious));
    }

    fn ended(&mut self, connection: &Connection, why: Ended) {
        self.ended.push((connection.id(), why));
    }
}

pub(crate) const MSS: usize = 1448;

impl Script {
    /// With a handshake, RTT 10 ms, captured at the client.
    fn open() -> Self {
        let mut script = Self::default();
        let syn = Tcp { options: syn_options(1460, 7, 1000, 0), ..Tcp::new(100, 0, SYN, 0) };
        let options = syn_options(1460, 8, 2000, 1000);
        let answer = Tcp { options, window: 60_000, ..Tcp::new(500, 101, SYN | ACK, 0) }.back();
        script.at(0, &syn);
        script.at(10_000, &answer);
        script.at(10_010, &Tcp { options: stamps(1010, 2000), ..Tcp::new(101, 501, ACK, 0) });
        script
    }

    /// At so many microseconds; the packet's identification is one more than the last.
    pub(crate) fn at(&mut self, us: u64, tcp: &Tcp) -> Event {
        self.id += 1;
        self.again(us, &Tcp { id: self.id, ..tcp.clone() })
    }

    /// With the identification that it has.
    fn again(&mut self, us: u64, tcp: &Tcp) -> Event {
        self.packet(1_000_000_000 + us * 1000, &tcp.v4(), tcp.payload)
    }

    /// Over IPv6, without an identification.
    fn v6(&mut self, us: u64, tcp: &Tcp) -> Event {
        self.packet(1_000_000_000 + us * 1000, &tcp.v6(6, &[]), tcp.payload)
    }

    /// Of such a time.
    pub(crate) fn packet(&mut self, time_ns: u64, headers: &[u8], payload: usize) -> Event {
        let original = (headers.len() + payload) as u32;
        self.all.push(&Packet::new(time_ns, LinkType(101), original, headers), &mut self.told);
        *self.told.events.last().expect("a segment was told")
    }

    /// Data of the client, segment `n`, its timestamp in step with the time.
    fn data(&mut self, us: u64, n: usize) -> Event {
        self.at(us, &data(us, n))
    }

    /// The server has all segments before `n`; `blocks` are segments too.
    fn ack(&mut self, us: u64, n: usize, blocks: &[(usize, usize)], echo: u32) -> Event {
        let edges: Vec<_> = blocks.iter().map(|&(from, to)| (seq(from), seq(to))).collect();
        let mut options = stamps(2000 + (us / 1000) as u32, echo);
        if !edges.is_empty() {
            options.extend(sack(&edges));
        }
        self.at(us, &Tcp { options, ..Tcp::new(501, seq(n), ACK, 0) }.back())
    }

    pub(crate) fn state(&self) -> &Connection {
        self.told.last.as_ref().expect("a segment was told")
    }

    fn kinds(&self, side: Side) -> Vec<SegmentKind> {
        self.told.events.iter().filter(|event| event.side == side).map(|event| event.kind).collect()
    }
}

pub(crate) fn seq(n: usize) -> u32 {
    101 + (n * MSS) as u32
}

fn data(us: u64, n: usize) -> Tcp {
    Tcp { options: stamps(1000 + (us / 1000) as u32, 2000), ..Tcp::new(seq(n), 501, ACK, MSS) }
}

#[test]
fn a_handshake_tells_scales_mss_times_and_the_place() {
    let script = Script::open();
    let connection = script.state();
    assert_eq!(script.kinds(Side::A), [SegmentKind::Syn, SegmentKind::PureAck]);
    assert_eq!(script.kinds(Side::B), [SegmentKind::Syn]);
    let times = Handshake { syn_to_syn_ack_us: Some(10_000), syn_ack_to_ack_us: Some(10) };
    assert_eq!((connection.handshake(), connection.vantage()), (times, Vantage::NearA));
    assert_eq!(
        (connection.half(Side::A).mss_bytes(), connection.half(Side::A).mss_option()),
        (1448, Some(1460))
    );
    // A SYN's window is not scaled, the next one's is.
    assert_eq!(connection.half(Side::B).window_bytes(), Some(60_000));
    assert_eq!(connection.half(Side::A).window_bytes(), Some(1000 << 7));
    assert_eq!(connection.endpoint(Side::A).port, 40_000);
}

#[test]
fn without_the_option_windows_are_not_scaled_and_without_a_handshake_it_is_not_known() {
    let mut script = Script::default();
    script.at(0, &Tcp { options: syn_options(1460, 7, 1, 0), ..Tcp::new(100, 0, SYN, 0) });
    script.at(10, &Tcp { options: vec![2, 4, 5, 0xb4], ..Tcp::new(500, 101, SYN | ACK, 0) }.back());
    let event = script.at(20, &Tcp::new(101, 501, ACK, 0));
    assert_eq!(event.window_bytes, Some(1000));
    assert_eq!(script.state().half(Side::A).mss_bytes(), 1460);

    let mut script = Script::default();
    let event = script.at(0, &Tcp::new(101, 501, ACK, 10));
    assert_eq!((event.window_bytes, event.seq_from, event.seq_to, event.ack), (None, 1, 11, Some(1)));
    let zero = script.at(5, &Tcp { window: 0, ..Tcp::new(501, 111, ACK, 0) }.back());
    assert_eq!(zero.window_bytes, Some(0));

    // A SYN-ACK alone has the option only where the SYN had it.
    let mut script = Script::default();
    script.at(0, &Tcp { options: syn_options(1460, 5, 1, 1), ..Tcp::new(500, 101, SYN | ACK, 0) }.back());
    script.at(9, &Tcp::new(101, 501, ACK, 0));
    let connection = script.state();
    assert_eq!(connection.endpoint(Side::A).port, 40_000);
    assert_eq!([Side::A, Side::B].map(|side| connection.half(side).window_scale()), [None, Some(5)]);
}

/// Several machines answer for one address: data follow the answer that is acknowledged, whichever comes once more later.
#[test]
fn of_several_answers_to_a_syn_the_acknowledged_one_counts() {
    const ANSWERS: [u32; 3] = [500, 3_000_000_000, 9_000];
    let mut script = Script::default();
    script.at(0, &Tcp { options: syn_options(1460, 7, 1, 0), ..Tcp::new(100, 0, SYN, 0) });
    let answer =
        |isn: u32| Tcp { options: syn_options(1460, 7, 2, 1), ..Tcp::new(isn, 101, SYN | ACK, 0) }.back();
    for (us, isn) in (1..).zip(ANSWERS) {
        script.at(us * 1_000_000, &answer(isn));
    }
    let [_, late, acknowledged] = ANSWERS;
    script.at(3_000_010, &Tcp::new(101, acknowledged + 1, ACK, 0));
    assert_eq!(script.at(3_100_000, &answer(late)).kind, SegmentKind::Stray);
    for n in 0..3 {
        let data = Tcp::new(acknowledged + 1 + n * 1448, 101, ACK, 1448).back();
        assert_eq!(script.at(3_200_000 + u64::from(n), &data).kind, SegmentKind::New, "{n}");
    }
    let state = script.state();
    assert_eq!(
        (state.half(Side::B).payload_to() - 1, state.handshake().syn_to_syn_ack_us),
        (3 * 1448, Some(1_000_000))
    );
}

/// A server whose handshake was not seen sends as much as `flight` says, and waits for the ACK of all of it, which has this window. The scale of the
/// windows in the end.
fn scale_of(window: u16, flights: &[usize]) -> Option<u8> {
    let mut script = Script::default();
    let mut sent = 1;
    for (turn, &flight) in flights.iter().enumerate() {
        let us = 20_000 * turn as u64;
        let cuts = std::iter::successors(Some(flight), |left| left.checked_sub(1460));
        for left in cuts.filter(|&left| left > 0) {
            script.at(us, &Tcp { window: 1_000, ..Tcp::new(sent, 1, ACK, left.min(1460)) });
            sent += left.min(1460) as u32;
        }
        script.at(us + 10_000, &Tcp { window, ..Tcp::new(1, sent, ACK, 0) }.back());
    }
    script.state().half(Side::B).window_scale()
}

#[test]
fn windows_that_are_filled_to_the_byte_have_no_scale() {
    assert_eq!(scale_of(17_520, &[2_920, 17_520, 17_520, 17_520]), Some(0));
    assert_eq!(scale_of(17_000, &[2_920, 17_000, 17_000, 17_000]), Some(0));
    // Twice by chance; more than it allows, at first or later; what a program writes at once; less than it allows.
    assert_eq!(scale_of(17_520, &[2_920, 17_520, 17_520]), None);
    assert_eq!(scale_of(17_520, &[2_920, 17_520, 18_980, 17_520, 17_520]), None);
    assert_eq!(scale_of(1_024, &[2_920, 1_024, 1_024, 1_024]), None);
    assert_eq!(scale_of(17_520, &[2_920, 16_060, 16_060, 16_060, 16_060]), None);
}

#[test]
fn a_hole_that_sacks_show_is_filled_fast() {
    let mut script = Script::open();
    for n in 0..5 {
        script.data(20_000 + n as u64, n);
    }
    script.ack(30_000, 1, &[], 1020);
    let first = script.ack(30_001, 1, &[(2, 3)], 1020);
    assert_eq!((first.kind, first.sacks.blocks()), (SegmentKind::DuplicateAck, &[(2897, 4345)][..]));
    script.ack(30_002, 1, &[(2, 4)], 1020);
    script.ack(30_003, 1, &[(2, 5)], 1020);
    let half = script.state().half(Side::A);
    let board =
        [half.unacked_segments(), half.sacked_segments(), half.lost_segments(), half.retrans_segments()];
    assert_eq!((board, half.in_flight_segments()), ([4, 3, 1, 0], 0));
    assert_eq!(script.data(30_010, 1).kind, SegmentKind::FastRetransmit);
    let half = script.state().half(Side::A);
    assert_eq!((half.retrans_segments(), half.in_flight_segments()), (1, 1));
    let last = script.ack(40_010, 5, &[], 1030);
    // Its timestamp tells which transmission it answers.
    assert_eq!((last.kind, last.rtt_us), (SegmentKind::PureAck, Some(10_000)));
    let counts = script.state().half(Side::A).counts();
    assert_eq!((counts.fast, counts.recoveries, counts.spurious, counts.duplicate_acks), (1, 1, 0, 3));
    assert_eq!(counts.lost_behind, 1);
}

#[test]
fn a_probe_then_timeouts() {
    let mut script = Script::open();
    for n in 0..3 {
        script.data(20_000 + n as u64, n);
    }
    let kinds =
        [script.data(45_000, 2), script.data(270_000, 0), script.data(700_000, 0)].map(|event| event.kind);
    assert_eq!(kinds, [SegmentKind::TlpRetransmit, SegmentKind::RtoRetransmit, SegmentKind::RtoRetransmit]);
    script.ack(710_000, 1, &[], 1700);
    // Until everything that was outstanding at the timeout is acknowledged, it is the timeout's.
    assert_eq!(script.data(710_010, 1).kind, SegmentKind::RtoRetransmit);
    script.ack(720_000, 3, &[], 1710);
    assert_eq!(script.data(720_010, 3).kind, SegmentKind::New);
    let counts = script.state().half(Side::A).counts();
    assert_eq!((counts.tlp, counts.rto, counts.timeouts, counts.fast), (1, 3, 2, 0));
    assert_eq!(script.state().half(Side::A).retransmits(), 4);
}

#[test]
fn a_retransmission_for_nothing_is_known_by_timestamps_or_by_a_dsack() {
    let mut script = Script::open();
    script.data(20_000, 0);
    script.data(300_000, 0);
    script.ack(300_100, 1, &[], 1020);
    let [(Side::A, found)] = script.told.spurious[..] else { panic!("{:?}", script.told.spurious) };
    assert_eq!((found.known_by, found.seq_from, found.segments), (KnownBy::Timestamps, 1, 1));

    let mut script = Script::open();
    script.data(20_000, 0);
    script.data(300_000, 0);
    script.ack(310_000, 1, &[], 1300);
    assert!(script.told.spurious.is_empty());
    let event = script.ack(310_001, 1, &[(0, 1)], 1300);
    assert!(event.is_dsack);
    let [(Side::A, found)] = script.told.spurious[..] else { panic!("{:?}", script.told.spurious) };
    assert_eq!((found.known_by, found.kind), (KnownBy::Dsack, SegmentKind::TlpRetransmit));
    let counts = script.state().half(Side::A).counts();
    assert_eq!((counts.spurious, counts.dsacks), (1, 1));
}

#[test]
fn what_was_acknowledged_here_and_comes_again_is_for_nothing() {
    let mut script = Script::open();
    script.data(20_000, 0);
    script.ack(20_100, 1, &[], 1020);
    assert!(script.data(300_000, 0).kind.is_retransmit());
    assert_eq!(script.told.spurious[0].1.known_by, KnownBy::Acknowledged);
}

#[test]
fn overtaken_is_not_sent_again() {
    // By timestamps: the late one is older.
    let mut script = Script::open();
    let late = data(20_000, 1);
    script.data(20_000, 0);
    script.data(22_000, 2);
    let event = script.at(24_000, &late);
    assert_eq!((event.kind, event.fills_hole), (SegmentKind::OutOfOrder, true));
    // By identifications: the same timestamp, sent before.
    let mut script = Script::open();
    script.data(20_000, 0);
    script.again(20_000, &Tcp { id: 3000, ..data(20_000, 2) });
    assert_eq!(script.again(20_010, &Tcp { id: 2999, ..data(20_000, 1) }).kind, SegmentKind::OutOfOrder);
    // A newer timestamp is another transmission.
    let mut script = Script::open();
    script.data(20_000, 0);
    script.data(20_000, 2);
    let event = script.data(32_000, 1);
    assert!(event.kind.is_retransmit() && event.fills_hole);
    let counts = script.state().half(Side::A).counts();
    assert_eq!((counts.lost_before, counts.lost_behind, counts.out_of_order), (1, 0, 0));
}

#[test]
fn a_packet_of_two_interfaces_counts_once() {
    let mut script = Script::open();
    let first = Tcp { id: 77, ..data(20_000, 0) };
    script.again(20_000, &first);
    assert_eq!(script.again(20_030, &first).kind, SegmentKind::CapturedTwice);
    // The same bytes with another identification were sent again.
    assert!(script.again(20_040, &Tcp { id: 78, ..first }).kind.is_retransmit());
    let counts = script.state().half(Side::A).counts();
    assert_eq!((counts.captured_twice, counts.segments), (1, 2));
}

#[test]
fn super_packets_count_as_their_segments() {
    let mut script = Script::open();
    let event = script.at(20_000, &Tcp { payload: 10 * MSS, ..data(20_000, 0) });
    assert_eq!(event.segments, 10);
    assert_eq!(script.state().half(Side::A).unacked_segments(), 10);
    // An ACK within it.
    script.ack(30_000, 3, &[], 1020);
    assert_eq!(script.state().half(Side::A).unacked_segments(), 7);
    script.ack(30_001, 3, &[(5, 7)], 1020);
    let half = script.state().half(Side::A);
    assert_eq!((half.sacked_segments(), half.unacked_segments()), (2, 7));
    let event = script.at(30_010, &Tcp { payload: 2 * MSS, ..data(30_010, 3) });
    assert_eq!((event.kind, event.segments), (SegmentKind::FastRetransmit, 2));
    script.ack(40_000, 10, &[], 1030);
    let half = script.state().half(Side::A);
    assert_eq!((half.unacked_segments(), half.in_flight_segments(), half.retransmits()), (0, 0, 2));
}

#[test]
fn probes_and_zero_windows() {
    let mut script = Script::open();
    script.data(20_000, 0);
    let closed = Tcp { window: 0, options: stamps(2020, 1020), ..Tcp::new(501, seq(1), ACK, 0) }.back();
    assert_eq!(script.at(30_000, &closed).window_bytes, Some(0));
    let probe = Tcp { options: stamps(1200, 2020), ..Tcp::new(seq(1) - 1, 501, ACK, 0) };
    assert_eq!(script.at(230_000, &probe).kind, SegmentKind::ZeroWindowProbe);
    script.at(240_000, &closed);
    let open = Tcp { window: 500, ..closed };
    assert_eq!(script.at(530_000, &open).kind, SegmentKind::WindowUpdate);
    let half = script.state().half(Side::B);
    assert_eq!((half.zero_windows(), half.zero_window_ns()), (1, 500_000_000));
    // With a window it asks whether the other end is there.
    assert_eq!(script.at(9_000_000, &probe).kind, SegmentKind::KeepAlive);
    assert_eq!(script.state().half(Side::A).retransmits(), 0);
}

#[test]
fn ports_are_used_again() {
    let mut script = Script::open();
    script.at(20_000, &Tcp::new(101, 501, ACK | FIN, 0));
    script.at(30_000, &Tcp::new(501, 102, ACK | FIN, 0).back());
    assert!(script.state().is_closed());
    script.at(30_010, &Tcp::new(102, 502, ACK, 0));
    assert_eq!(script.at(40_000, &Tcp::new(9000, 0, SYN, 0)).kind, SegmentKind::Syn);
    assert_eq!(script.told.ended, [(0, Ended::Replaced)]);
    assert_eq!(script.state().id(), 1);
    // The same SYN again is a retransmission, after a while.
    assert_eq!(script.at(1_040_000, &Tcp::new(9000, 0, SYN, 0)).kind, SegmentKind::RtoRetransmit);
    assert_eq!((script.state().id(), script.state().half(Side::A).retransmits()), (1, 1));
    // What a capture has twice is no timer's.
    script.again(1_040_020, &Tcp::new(9000, 0, SYN, 0));
    assert_eq!(script.state().opening(Side::A).map(|syn| syn.sent), Some(2));
    assert_eq!(script.state().first_ns(), 1_040_000_000, "the setup begins with the first");
    assert_eq!(script.at(1_050_000, &Tcp::new(501, 9001, RST | ACK, 0).back()).kind, SegmentKind::Reset);
    assert!(script.state().is_reset());
    // What was refused is asked for again; after the end of one that was open the same number opens the next one.
    assert_eq!(script.at(1_550_000, &Tcp::new(9000, 0, SYN, 0)).kind, SegmentKind::RtoRetransmit);
    let mut script = Script::open();
    script.at(20_000, &Tcp::new(101, 501, ACK, 500));
    script.at(30_000, &Tcp::new(501, 0, RST, 0).back());
    assert_eq!(script.at(20_000_000, &Tcp::new(100, 0, SYN, 0)).kind, SegmentKind::Syn);
    assert_eq!((script.told.ended.as_slice(), script.state().id()), (&[(0, Ended::Replaced)][..], 1));
}

#[test]
fn what_was_never_captured_is_counted() {
    let mut script = Script::open();
    script.data(20_000, 0);
    // Of segments 1 and 2 only the ACK is there, of 4 too, behind a hole.
    script.ack(30_000, 3, &[], 1020);
    script.data(30_100, 3);
    script.data(30_101, 5);
    script.ack(40_000, 6, &[], 1030);
    let half = script.state().half(Side::A);
    assert_eq!(half.counts().not_captured_bytes, 3 * MSS as u64);
    assert_eq!((half.retransmits(), half.unacked_bytes()), (0, 0));
}

#[test]
fn an_ack_that_comes_before_its_data_in_the_capture_is_no_loss() {
    let mut script = Script::open();
    let late = data(20_000, 0);
    script.ack(20_001, 1, &[], 1020);
    assert_eq!(script.at(20_002, &late).kind, SegmentKind::OutOfOrder);
    script.data(25_000, 1);
    let half = script.state().half(Side::A);
    assert_eq!((half.counts().not_captured_bytes, half.retransmits()), (0, 0));
    assert_eq!(half.data_ns(), Some((1_020_002_000, 1_025_000_000)));
}

/// Where the times of a capture are beyond what is counted, all of them are the last one.
#[test]
fn the_time_between_times_that_no_clock_can_have_is_unknown() {
    for (time_ns, is_unknown) in [(u64::MAX, true), (u64::MAX / 2, false)] {
        let mut script = Script::default();
        for n in 0..3 {
            script.packet(time_ns, &data(0, n).v4(), MSS);
        }
        let half = script.state().half(Side::A);
        assert_eq!((half.counts().segments, half.has_unknown_span()), (3, is_unknown));
    }
}

/// Without a SYN the first packet sets the numbers; others may have been on the way before it.
#[test]
fn payload_below_the_first_number_is_counted_once() {
    let mut script = Script::default();
    let late = data(20_000, 2);
    script.data(20_000, 4);
    assert_eq!(script.at(20_100, &late).kind, SegmentKind::OutOfOrder);
    // It was sent again: with the same bytes, with others, and with the first that was seen.
    assert!(script.data(400_000, 2).kind.is_retransmit());
    assert!(script.data(400_100, 3).kind.is_retransmit());
    script.at(500_000, &Tcp { payload: 4 * MSS, ..data(500_000, 1) });
    script.data(500_100, 5);
    let half = script.state().half(Side::A);
    assert_eq!((half.counts().new_bytes, half.counts().out_of_order), (5 * MSS as u64, 1));
    assert_eq!(half.data_ns(), Some((1_020_000_000, 1_500_100_000)));
    assert_eq!((half.acked_to(), half.unacked_bytes()), (1, 2 * MSS as u64));
}

#[test]
fn what_was_lost_before_the_capture_began_is_counted_when_it_is_sent_again() {
    let mut script = Script::default();
    script.ack(10_000, 0, &[(1, 2)], 1000);
    script.data(20_000, 2);
    let again = script.data(60_000, 0);
    assert!(again.kind.is_retransmit());
    let half = script.state().half(again.side);
    assert_eq!((half.counts().new_bytes, half.retransmits()), (2 * MSS as u64, 1));
}

#[test]
fn without_a_syn_an_ack_and_a_fin_may_come_before_their_payload() {
    let mut script = Script::default();
    script.at(20_000, &Tcp::new(501, 115, ACK, 0).back());
    script.at(20_010, &Tcp::new(101, 501, ACK, 14));
    let side = script.told.events[1].side;
    let half = script.state().half(side);
    assert_eq!((half.counts().new_bytes, half.retransmits(), half.counts().not_captured_bytes), (14, 0, 0));

    let mut script = Script::default();
    script.at(20_000, &Tcp::new(140, 501, ACK | FIN, 0));
    script.at(220_000, &Tcp::new(101, 501, ACK | FIN, 39));
    assert_eq!(script.state().half(Side::A).counts().new_bytes, 39);
    // The first packet may be a keep-alive.
    let mut script = Script::default();
    script.at(20_000, &Tcp::new(501, 102, ACK, 0).back());
    assert_eq!(script.at(20_010, &Tcp::new(101, 501, ACK, 1)).kind, SegmentKind::KeepAlive);
}

#[test]
fn marks_of_ecn_are_counted() {
    let mut script = Script::open();
    script.at(20_000, &Tcp { ecn: 3, ..data(20_000, 0) });
    script.at(20_001, &Tcp { ecn: 2, ..data(20_001, 1) });
    script.at(30_000, &Tcp { flags: ACK | 0x40, ..Tcp::new(501, seq(2), ACK, 0) }.back());
    script.at(30_010, &Tcp { flags: ACK | 0x80, ..data(30_010, 2) });
    let [a, b] = [Side::A, Side::B].map(|side| script.state().half(side).ecn());
    assert_eq!((a.ce, a.capable, a.cwr, b.ece), (1, 2, 1, 1));
}

#[test]
fn idle_time_and_the_first_flight() {
    let mut script = Script::open();
    for n in 0..10 {
        script.data(20_000 + n as u64, n);
    }
    script.ack(30_100, 10, &[], 1020);
    script.data(2_030_100, 10);
    let half = script.state().half(Side::A);
    assert_eq!(half.initial_window_bytes(), Some(10 * MSS as u64));
    assert_eq!(half.idle_ns(), (2_000_000_000, 2_000_000_000));
    assert_eq!(half.flight_of_round_bytes(), Some(10 * MSS as u64));
}

/// Classes K6 of other people's captures: at the receiver a segment fills a hole of which no earlier copy was seen.
#[test]
fn bytes_that_fill_a_hole_are_counted_once_and_those_seen_twice_too() {
    let mut script = Script::open();
    script.data(20_000, 0);
    script.data(20_100, 2);
    script.data(520_000, 1);
    script.data(530_000, 1);
    let counts = script.state().half(Side::A).counts();
    assert_eq!(counts.new_bytes, 3 * MSS as u64);
    // A packet over two holes, and what lies between them.
    script.data(600_000, 4);
    script.data(600_100, 6);
    script.at(900_000, &Tcp { payload: 4 * MSS, ..data(900_000, 3) });
    assert_eq!(script.state().half(Side::A).counts().new_bytes, 7 * MSS as u64);
}

#[test]
fn a_late_fin_and_a_keep_alive_stretch_no_time() {
    let mut script = Script::open();
    script.data(20_000, 0);
    script.data(21_000, 1);
    script.ack(30_000, 2, &[], 1021);
    script.at(3_000_000, &Tcp { options: stamps(4000, 2030), ..Tcp::new(seq(2) - 1, 501, ACK, 1) });
    // What was acknowledged already.
    script.data(4_000_000, 1);
    script.at(5_000_000, &Tcp { options: stamps(6000, 2030), ..Tcp::new(seq(2), 501, ACK | FIN, 0) });
    let half = script.state().half(Side::A);
    assert_eq!(half.data_ns(), Some((1_020_000_000, 1_021_000_000)));
    assert_eq!(half.counts().new_bytes, 2 * MSS as u64);
}

/// The option says what an end takes, not what it sends: what the other end takes passes in one segment.
#[test]
fn a_segment_is_one_whatever_its_own_end_takes() {
    let syn = |mss| syn_options(mss, 7, 1000, 0);
    let segments = |own, peer, payload| {
        let mut script = Script::default();
        script.at(0, &Tcp { options: syn(own), ..Tcp::new(100, 0, SYN, 0) });
        script.at(10_000, &Tcp { options: syn(peer), ..Tcp::new(500, 101, SYN | ACK, 0) }.back());
        script.at(20_000, &Tcp { payload, ..data(20_000, 0) }).segments
    };
    assert_eq!(segments(1400, 1460, 1460), 1);
    assert_eq!(segments(1460, 1460, 1448), 1);
    assert_eq!(segments(1460, 1460, 1460), 1, "timestamps that were not taken off");
    assert_eq!(segments(1460, 1460, 2 * 1448), 2);
    assert_eq!(segments(1460, 8960, 3 * 1448), 3, "its own link takes no more");
    assert_eq!(segments(8960, 8960, 8948), 1);
}

/// RFC 9293, 3.7.1.
#[test]
fn without_the_option_a_segment_has_536_bytes_and_what_is_in_flight_is_counted_in_bytes() {
    let mut script = Script::default();
    script.at(0, &Tcp::new(100, 0, SYN, 0));
    script.at(10_000, &Tcp::new(500, 101, SYN | ACK, 0).back());
    script.at(10_010, &Tcp::new(101, 501, ACK, 0));
    for n in 0..8 {
        script.at(20_000 + n, &Tcp::new(101 + n as u32 * 512, 501, ACK, 512));
    }
    let half = script.state().half(Side::A);
    assert_eq!((half.mss_bytes(), half.counts().segments), (536, 8));
    assert_eq!((half.in_flight_bytes(), half.largest_flight_bytes()), (4096, Some(4096)));
}

#[test]
fn the_byte_of_a_window_probe_is_counted_with_the_segment_that_follows() {
    let mut script = Script::open();
    script.data(20_000, 0);
    let closed = Tcp { window: 0, options: stamps(2020, 1020), ..Tcp::new(501, seq(1), ACK, 0) }.back();
    script.at(30_000, &closed);
    let probe = |us| Tcp { payload: 1, ..data(us, 1) };
    for us in [230_000, 630_000, 1_430_000] {
        assert_eq!(script.at(us, &probe(us)).kind, SegmentKind::ZeroWindowProbe);
        script.at(us + 10_000, &closed);
    }
    assert_eq!(script.state().half(Side::A).data_ns().map(|(_, last)| last), Some(1_020_000_000));
    script.at(2_000_000, &Tcp { window: 500, ..closed });
    assert_eq!(script.data(2_000_010, 1).kind, SegmentKind::New);
    let half = script.state().half(Side::A);
    assert_eq!((half.counts().new_bytes, half.retransmits()), (2 * MSS as u64, 0));
}

#[test]
fn the_byte_of_a_window_probe_that_is_sent_alone_again_is_data_once() {
    let mut script = Script::open();
    let closed = Tcp { window: 0, options: stamps(2020, 1020), ..Tcp::new(501, seq(0), ACK, 0) }.back();
    script.at(20_000, &closed);
    let byte = |us| Tcp { payload: 1, ..data(us, 0) };
    for us in [230_000, 630_000] {
        assert_eq!(script.at(us, &byte(us)).kind, SegmentKind::ZeroWindowProbe);
        script.at(us + 10_000, &closed);
    }
    script.at(2_000_000, &Tcp { window: 500, ..closed });
    assert_eq!(script.at(2_000_010, &byte(2_000_010)).kind, SegmentKind::New);
    let half = script.state().half(Side::A);
    assert_eq!((half.counts().new_bytes, half.counts().segments, half.retransmits()), (1, 1, 0));
    assert_eq!(half.data_ns(), Some((3_000_010_000, 3_000_010_000)));
    assert!(script.at(3_000_000, &byte(3_000_000)).kind.is_retransmit());
}

/// A router sends it on, 6 ms later, when it was acknowledged and others came behind it.
#[test]
fn a_copy_behind_others_is_known_by_its_identification() {
    let mut script = Script::default();
    script.at(0, &Tcp::new(100, 0, SYN, 0));
    script.at(10_000, &Tcp::new(500, 101, SYN | ACK, 0).back());
    let segment = |n: u32| Tcp { id: 7_000 + n as u16, ..Tcp::new(101 + n * 500, 501, ACK, 500) };
    let mut us = 20_000;
    for n in 0..20 {
        script.again(us, &segment(n));
        script.at(us + 10, &Tcp::new(501, 101 + (n + 1) * 500, ACK, 0).back());
        if n >= 10 {
            assert_eq!(script.again(us + 600, &segment(n - 6)).kind, SegmentKind::CapturedTwice, "{n}");
        }
        us += 1_000;
    }
    let half = script.state().half(Side::A);
    assert_eq!((half.retransmits(), half.counts().captured_twice, half.counts().segments), (0, 10, 20));
    // A retransmission has another one.
    script.at(us, &Tcp { id: 9_000, ..segment(19) });
    assert_eq!(script.state().half(Side::A).retransmits(), 1);
}

/// Near the receiver, 10 ms from the sender, whose clock has ticks of a millisecond: the network doubles and delays packets.
fn delayed() -> Script {
    let mut script = Script::default();
    let options = |tsval, tsecr| syn_options(1460, 7, tsval, tsecr);
    script.v6(0, &Tcp { options: options(1000, 0), ..Tcp::new(100, 0, SYN, 0) });
    script.v6(10, &Tcp { options: options(2000, 1000), ..Tcp::new(500, 101, SYN | ACK, 0) }.back());
    script.v6(10_010, &Tcp { options: stamps(1010, 2000), ..Tcp::new(101, 501, ACK, 0) });
    for n in 0..20 {
        script.v6(20_000 + n as u64 * 1_000, &data(20_000 + n as u64 * 1_000, n));
    }
    script
}

#[test]
fn without_identifications_what_has_the_same_timestamp_within_a_round_trip_or_more_is_a_copy() {
    let mut script = delayed();
    let ack = |n| Tcp { options: stamps(2040, 1020), ..Tcp::new(501, seq(n), ACK, 0) }.back();
    script.v6(39_100, &ack(20));
    // Acknowledged, and not: by more than a round trip later.
    let segment = data(40_000, 20);
    script.v6(40_000, &segment);
    script.v6(40_010, &ack(21));
    script.v6(41_000, &data(41_000, 21));
    assert_eq!(script.v6(52_000, &segment).kind, SegmentKind::CapturedTwice);
    assert_eq!(script.v6(53_000, &data(41_000, 21)).kind, SegmentKind::CapturedTwice);
    // Sent again it has another timestamp; of that one there are copies too.
    assert!(script.v6(63_000, &data(63_000, 21)).kind.is_retransmit());
    script.v6(63_010, &ack(22));
    assert_eq!(script.v6(64_000, &data(63_000, 21)).kind, SegmentKind::CapturedTwice);
    let half = script.state().half(Side::A);
    assert_eq!((half.retransmits(), half.counts().captured_twice), (1, 3));
}

#[test]
fn what_fills_a_hole_with_the_timestamp_of_what_showed_it_was_overtaken_however_late_it_comes() {
    let mut script = delayed();
    script.v6(41_000, &data(41_000, 21));
    assert_eq!(script.v6(53_000, &data(41_000, 20)).kind, SegmentKind::OutOfOrder);
    script.v6(54_000, &data(54_000, 23));
    assert!(script.v6(66_000, &data(66_000, 22)).kind.is_retransmit());
}

/// A receiver's network card puts a copy and the segment behind it together.
#[test]
fn a_packet_that_begins_as_a_copy_and_fills_a_hole_is_none() {
    let mut script = delayed();
    script.v6(41_000, &data(41_000, 20));
    script.v6(41_100, &data(41_000, 22));
    script.v6(41_200, &Tcp { payload: 2 * MSS, ..data(41_000, 20) });
    assert_eq!(script.state().half(Side::A).counts().new_bytes, 23 * MSS as u64);
}

#[test]
fn a_fin_with_another_acknowledgment_was_sent_again() {
    let mut script = delayed();
    let fin = |ack| Tcp { options: stamps(1040, 2040), ..Tcp::new(seq(20), ack, ACK | FIN, 0) };
    script.v6(40_000, &fin(501));
    assert_eq!(script.v6(40_010, &fin(501)).kind, SegmentKind::CapturedTwice);
    script.v6(40_020, &Tcp { options: stamps(2040, 1040), ..Tcp::new(501, seq(20), ACK | FIN, 0) }.back());
    assert!(script.v6(40_030, &fin(502)).kind.is_retransmit());
    assert_eq!(script.v6(40_040, &fin(502)).kind, SegmentKind::CapturedTwice);
}

/// Linux's SYN-ACKs have no identification: the one behind a SYN that was sent again comes some milliseconds after that.
#[test]
fn a_syn_ack_without_an_identification_was_sent_again_after_20_ms() {
    let mut script = Script::default();
    script.again(0, &Tcp::new(100, 0, SYN, 0));
    let answer = Tcp::new(500, 101, SYN | ACK, 0).back();
    let kinds = [10_000, 12_000, 41_000].map(|us| script.again(us, &answer).kind);
    assert_eq!(kinds, [SegmentKind::Syn, SegmentKind::CapturedTwice, SegmentKind::RtoRetransmit]);
}

/// The timer sends a SYN-ACK again, and some milliseconds later one answers the SYN that was sent again: both ends' timers began together.
/// Neither has an identification, and Linux counts both (`inet_rtx_syn_ack()`).
#[test]
fn a_syn_ack_that_answers_a_second_syn_was_sent_again_however_soon() {
    let syn = Tcp { options: syn_options(1460, 7, 1, 0), ..Tcp::new(100, 0, SYN, 0) };
    let answer = |stamp| {
        let options = syn_options(1460, 8, stamp, 1);
        Tcp { options, ..Tcp::new(500, 101, SYN | ACK, 0) }.back()
    };
    for (options, has_seen_the_syn) in [(true, true), (true, false), (false, true)] {
        let answer = |stamp| if options { answer(stamp) } else { Tcp { options: Vec::new(), ..answer(0) } };
        let mut script = Script::default();
        script.at(0, &syn);
        script.again(10, &answer(2_000));
        script.again(1_012_000, &answer(3_012));
        if has_seen_the_syn {
            script.at(1_022_000, &syn);
        }
        script.again(1_022_010, &answer(3_022));
        script.again(1_022_020, &answer(3_022));
        assert_eq!(script.state().half(Side::B).syns_again(), 2, "{options} {has_seen_the_syn}");
    }
}

/// A middlebox sends on a packet that it has put together anew.
#[test]
fn a_packet_with_the_same_identification_and_more_bytes_is_no_copy() {
    let mut script = Script::open();
    script.again(20_000, &Tcp { id: 77, payload: 85, ..data(20_000, 0) });
    let longer = Tcp { id: 77, payload: 138, ..data(20_000, 0) };
    assert!(script.again(20_500, &longer).kind.is_retransmit());
    let counts = script.state().half(Side::A).counts();
    assert_eq!((counts.new_bytes, counts.retransmitted_bytes), (138, 85));
}

/// Sent again with other boundaries, by a stack that gives all packets the same identification.
#[test]
fn the_end_of_a_packet_with_its_identification_is_no_copy() {
    let mut script = Script::open();
    script.again(20_000, &Tcp { id: 1, payload: 4, ..data(20_000, 0) });
    let end = Tcp { id: 1, payload: 3, ..data(20_000, 0) };
    assert!(script.again(21_000, &Tcp { seq: seq(0) + 1, ..end }).kind.is_retransmit());
    let half = script.state().half(Side::A);
    let (first_ns, last_ns) = half.data_ns().expect("data");
    assert_eq!((half.counts().new_bytes, last_ns - first_ns), (4, 1_000_000));
}

#[test]
fn a_syn_with_another_identification_was_sent_again() {
    let mut script = Script::default();
    script.at(0, &Tcp::new(100, 0, SYN, 0));
    script.again(2_000, &Tcp { id: 1, ..Tcp::new(100, 0, SYN, 0) });
    assert_eq!(script.state().half(Side::A).retransmits(), 0);
    script.at(4_000, &Tcp::new(100, 0, SYN, 0));
    assert_eq!(script.state().half(Side::A).retransmits(), 1);
}

#[test]
fn behind_a_fin_that_is_not_answered_a_keep_alive_is_one() {
    let mut script = Script::open();
    script.data(20_000, 0);
    script.ack(30_000, 1, &[], 1020);
    script.at(30_010, &Tcp { options: stamps(1030, 2030), ..Tcp::new(seq(1), 501, ACK | FIN, 0) });
    let last = Tcp { options: stamps(2030, 2030), ..Tcp::new(seq(1) - 1, 501, ACK, 1) };
    assert_eq!(script.at(1_030_000, &last).kind, SegmentKind::KeepAlive);
}
