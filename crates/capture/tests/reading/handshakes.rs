//! What handshakes say: ECN, the form of a SYN, the subflows of Multipath TCP.

use pipefill_capture::headers::OptionKind;
use pipefill_capture::mptcp::mptcp_connections;
use pipefill_capture::read::{LinkType, Packet};
use pipefill_capture::tcp::{Connection, EcnMode, Reconstruction, Side};
use pipefill_testkit::captures::frame::{ACK, CWR, ECE, SYN, Tcp, syn_options};

/// The connections of raw IPv4 packets, in their order.
fn connections(packets: &[Vec<u8>]) -> Vec<Connection> {
    let mut all = Reconstruction::default();
    for (at, bytes) in packets.iter().enumerate() {
        all.push(&Packet::new(at as u64 * 1_000, LinkType(101), bytes.len() as u32, bytes), &mut ());
    }
    let mut found: Vec<Connection> = all.connections().cloned().collect();
    found.sort_by_key(Connection::id);
    found
}

fn only(packets: &[Vec<u8>]) -> Connection {
    connections(packets).pop().expect("a connection")
}

fn syn(flags: u8) -> Tcp {
    Tcp { options: syn_options(1460, 7, 1, 0), ..Tcp::new(100, 0, SYN | flags, 0) }
}

fn answer(flags: u8) -> Tcp {
    Tcp { options: syn_options(1400, 8, 2, 1), ..Tcp::new(500, 101, SYN | ACK | flags, 0) }.back()
}

/// With AE, the bit beside the header's length.
fn with_ae(tcp: &Tcp) -> Vec<u8> {
    let mut bytes = tcp.v4();
    bytes[20 + 12] |= 1;
    bytes
}

#[test]
fn a_syn_keeps_its_form() {
    use OptionKind::{Mss, Nop, SackPermitted, Timestamps, WindowScale};
    let found = only(&[syn(0).v4(), answer(0).v4()]);
    let opening = found.opening(Side::A).expect("a SYN");
    assert!(opening.layout.kinds().eq([Mss, SackPermitted, Timestamps, Nop, WindowScale]));
    assert_eq!((opening.hops, opening.dont_fragment, opening.is_answer), (64, true, false));
    assert_eq!((opening.mss, opening.window_scale, opening.window), (Some(1460), Some(7), 1000));
    assert!(found.opening(Side::B).is_some_and(|answer| answer.is_answer && answer.mss == Some(1400)));
    // Data alone.
    assert!(only(&[Tcp::new(100, 1, ACK, 0).v4()]).opening(Side::A).is_none());
}

#[test]
fn both_syns_decide_on_ecn() {
    let mode = |packets: &[Vec<u8>]| only(packets).ecn_mode();
    assert_eq!(mode(&[syn(0).v4(), answer(0).v4()]), Some(EcnMode::Off));
    assert_eq!(mode(&[syn(ECE | CWR).v4(), answer(ECE).v4()]), Some(EcnMode::Classic));
    assert_eq!(mode(&[with_ae(&syn(ECE | CWR)), answer(CWR).v4()]), Some(EcnMode::Accurate));
    assert_eq!(mode(&[with_ae(&syn(ECE | CWR)), answer(ECE).v4()]), Some(EcnMode::Classic));
    // RFC 9768 3.1.4: the SYN that is sent again offers no ECN any more.
    assert_eq!(mode(&[with_ae(&syn(ECE | CWR)), syn(0).v4(), answer(0).v4()]), Some(EcnMode::Off));
    assert_eq!(mode(&[syn(ECE | CWR).v4()]), None);
}

/// A handshake from `port` with these options of Multipath TCP in its three segments.
fn handshake(port: u16, mptcp: [&[u8]; 3]) -> Vec<Vec<u8>> {
    let option = |value: &[u8]| {
        let length = value.len() as u8 + 2;
        if value.is_empty() { Vec::new() } else { [&[30, length], value].concat() }
    };
    let [a, b, c] = mptcp.map(option);
    let ports = (port, 80);
    let first = Tcp { ports, options: a, ..Tcp::new(100, 0, SYN, 0) };
    let second = Tcp { ports, options: b, ..Tcp::new(500, 101, SYN | ACK, 0) }.back();
    let third = Tcp { ports, options: c, ..Tcp::new(101, 501, ACK, 0) };
    [first, second, third].map(|tcp| tcp.v4()).to_vec()
}

const KEY: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
const OTHER_KEY: [u8; 8] = [9; 8];
/// The begin of SHA-256 and of SHA-1 of `KEY`, by sha256sum and sha1sum.
const TOKEN: [u8; 4] = [0x66, 0x84, 0x0d, 0xda];
const TOKEN_0: [u8; 4] = [0xdd, 0x57, 0x83, 0xbc];

#[test]
fn subflows_of_one_connection_belong_together() {
    let join = |token: [u8; 4]| [&[0x10, 1][..], &token, &[7; 4]].concat();
    let (v1, both) = ([&[0x01, 1][..], &KEY].concat(), [&[0x01, 1][..], &OTHER_KEY, &KEY].concat());
    let (v0, v0_client) = ([&[0x00, 1][..], &KEY].concat(), [&[0x00, 1][..], &OTHER_KEY].concat());
    let joined = [&[0x10, 2][..], &[3; 12]].concat();
    let packets = [
        handshake(50_001, [&[0x01, 1], &v1, &both]),
        handshake(50_002, [&[], &[], &[]]),
        handshake(50_003, [&join(TOKEN), &joined, &[]]),
        handshake(50_004, [&v0_client, &v0, &[]]),
        handshake(50_005, [&join(TOKEN_0), &joined, &[]]),
        // Of a connection whose begin is not there.
        handshake(50_006, [&join([1; 4]), &joined, &[]]),
        handshake(50_007, [&join([1; 4]), &joined, &[]]),
        // The server does not take it.
        handshake(50_008, [&[0x01, 1], &[], &[]]),
    ];
    let found = connections(&packets.concat());
    let groups = mptcp_connections(&found.iter().collect::<Vec<_>>());
    let told: Vec<_> =
        groups.iter().map(|group| (group.version, group.token, group.subflows.clone())).collect();
    assert_eq!(
        told,
        [
            (Some(1), u32::from_be_bytes(TOKEN), vec![0, 2]),
            (Some(0), u32::from_be_bytes(TOKEN_0), vec![3, 4]),
            (None, 0x0101_0101, vec![5, 6]),
        ]
    );
}
