//! IP packets in fragments: put together in any order, within a bound of memory.

use pipefill_capture::headers::Other;
use pipefill_capture::read::{LinkType, Packet};
use pipefill_capture::tcp::{Connection, Counts, Event, Observer, Reconstruction, Side};
use pipefill_capture::udp::UdpFlows;
use pipefill_testkit::captures::datagram::udp;
use pipefill_testkit::captures::frame::{ACK, Tcp, ethernet};

const MS: u64 = 1_000_000;
const PAYLOAD: usize = 2_000;
const ID: u16 = 7;

/// When each segment passed, and its payload.
#[derive(Default)]
struct Passed(Vec<(u64, u32)>);

impl Observer for Passed {
    fn segment(&mut self, _: &Connection, event: &Event) {
        self.0.push((event.time_ns, event.payload));
    }
}

fn data() -> Tcp {
    Tcp { id: ID, ..Tcp::new(1_000, 1, ACK, PAYLOAD) }
}

/// An IPv4 packet in fragments of at most `size` bytes each, of which `kept` are captured.
fn v4_fragments(packet: &[u8], size: usize, kept: usize) -> Vec<Vec<u8>> {
    let (header, body) = packet.split_at(20);
    let count = body.len().div_ceil(size);
    let fragment = |(number, part): (usize, &[u8])| {
        let mut bytes = [header, part].concat();
        bytes[2..4].copy_from_slice(&(20 + part.len() as u16).to_be_bytes());
        let more = if number + 1 < count { 0x2000 } else { 0 };
        bytes[6..8].copy_from_slice(&((number * size / 8) as u16 | more).to_be_bytes());
        bytes.truncate(kept);
        bytes
    };
    body.chunks(size).enumerate().map(fragment).collect()
}

/// The same of an IPv6 packet.
fn v6_fragments(packet: &[u8], size: usize) -> Vec<Vec<u8>> {
    let (header, body) = packet.split_at(40);
    let count = body.len().div_ceil(size);
    let fragment = |(number, part): (usize, &[u8])| {
        let place = (number * size) as u16 | u16::from(number + 1 < count);
        let [high, low] = place.to_be_bytes();
        let mut bytes = [header, &[header[6], 0, high, low, 0, 1, 0, ID as u8], part].concat();
        bytes[4..6].copy_from_slice(&(8 + part.len() as u16).to_be_bytes());
        bytes[6] = 44;
        bytes
    };
    body.chunks(size).enumerate().map(fragment).collect()
}

fn whole(packet: Vec<u8>) -> Vec<u8> {
    [packet, vec![0; PAYLOAD]].concat()
}

/// What passed, one packet every millisecond from 1 ms on.
fn read(packets: &[Vec<u8>]) -> (Vec<(u64, u32)>, Counts) {
    let (mut all, mut passed) = (Reconstruction::default(), Passed::default());
    for (at, bytes) in (1..).zip(packets) {
        let length = bytes.len().max(60) as u32;
        all.push(&Packet::new(at * MS, LinkType(101), length, bytes), &mut passed);
    }
    let counts = all.finish(&mut passed);
    (passed.0, counts)
}

fn count_of(counts: &Counts, wanted: Other) -> u64 {
    counts.others.iter().filter(|(other, _)| *other == wanted).map(|(_, count)| count).sum()
}

#[test]
fn a_segment_in_fragments_is_one_at_the_time_of_the_last() {
    let vxlan = [&[8, 0, 0, 0, 0, 0, 0, 0], &ethernet(&[], 0x0800, &whole(data().v4()))[..]].concat();
    let forms = [
        ("IPv4", v4_fragments(&whole(data().v4()), 800, 9_999)),
        ("IPv4, headers alone", v4_fragments(&whole(data().v4()), 800, 60)),
        ("IPv6", v6_fragments(&whole(data().v6(6, &[])), 800)),
        ("VXLAN", v4_fragments(&udp((40_000, 4_789), &vxlan, 0), 800, 9_999)),
    ];
    for (form, fragments) in forms {
        let (passed, counts) = read(&fragments);
        assert_eq!(passed, [(3 * MS, PAYLOAD as u32)], "{form}");
        assert_eq!((counts.tcp, count_of(&counts, Other::Fragment)), (1, 2), "{form}");
    }
}

#[test]
fn the_order_and_copies_of_fragments_change_nothing() {
    let [a, b, c] = &v4_fragments(&whole(data().v4()), 800, 9_999)[..] else { panic!("three fragments") };
    for order in [[c, b, a], [b, a, c], [c, a, b]] {
        assert_eq!(read(&order.map(Clone::clone)).0, [(3 * MS, PAYLOAD as u32)]);
    }
    assert_eq!(read(&[a, a, c, c, b].map(Clone::clone)).0, [(5 * MS, PAYLOAD as u32)]);
}

/// A first fragment without all of TCP's header, as port scanners send it.
#[test]
fn a_header_may_be_in_several_fragments() {
    let fragments = v4_fragments(&Tcp { id: ID, ..Tcp::new(1_000, 1, ACK, 0) }.v4(), 8, 9_999);
    assert_eq!(read(&fragments).0, [(3 * MS, 0)]);
}

#[test]
fn what_is_missing_leaves_no_segment_and_no_mixture_with_a_later_packet() {
    let [a, b, c] = &v4_fragments(&whole(data().v4()), 800, 9_999)[..] else { panic!("three fragments") };
    assert_eq!(read(&[a, b].map(Clone::clone)).0, []);
    let (mut all, mut passed) = (Reconstruction::default(), Passed::default());
    for (time_ns, bytes) in [(0, a), (31_000 * MS, b), (31_001 * MS, c), (31_002 * MS, a)] {
        all.push(&Packet::new(time_ns, LinkType(101), bytes.len() as u32, bytes), &mut passed);
    }
    assert_eq!(passed.0, [(31_002 * MS, PAYLOAD as u32)]);
}

/// A filter for a port leaves first fragments alone: the length of a datagram is in its header.
#[test]
fn a_datagram_is_told_by_its_first_fragment() {
    let fragments = v4_fragments(&udp((9, 7), &[1; PAYLOAD], 0), 800, 9_999);
    for seen in [&fragments[..1], &fragments] {
        let (mut all, mut flows) = (Reconstruction::default(), UdpFlows::new(10));
        for bytes in seen {
            all.push(&Packet::new(MS, LinkType(101), bytes.len() as u32, bytes), &mut flows);
        }
        assert_eq!(all.finish(&mut flows).udp, 1);
        assert_eq!(flows.finish().0[0].bytes, PAYLOAD as u64);
    }
}

#[test]
fn fragments_that_never_end_take_little_memory() {
    let mut all = Reconstruction::default();
    let mut fragment = v4_fragments(&whole(data().v4()), 800, 9_999).remove(0);
    for n in 0..100_000_u32 {
        fragment[4..6].copy_from_slice(&((n / 2) as u16).to_be_bytes());
        // Each second one is of the same packet, with a hole before it.
        let place = if n % 2 == 0 { 0x2000 } else { 0x2000 | (n * 2 % 8_000) as u16 };
        fragment[6..8].copy_from_slice(&place.to_be_bytes());
        all.push(&Packet::new(u64::from(n), LinkType(101), 820, &fragment), &mut ());
    }
    assert!(all.memory() < 100_000, "{} bytes", all.memory());
    assert_eq!(all.counts().tcp, 0);
}

/// A mark of any fragment is the packet's (RFC 3168 5.3).
#[test]
fn a_mark_on_one_fragment_is_a_mark() {
    let mut fragments = v4_fragments(&whole(data().v4()), 800, 9_999);
    fragments[1][1] |= 3;
    let mut all = Reconstruction::default();
    for bytes in &fragments {
        all.push(&Packet::new(MS, LinkType(101), bytes.len() as u32, bytes), &mut ());
    }
    let connection = all.connections().next().expect("a connection");
    assert_eq!(connection.half(Side::A).ecn().ce, 1);
}
