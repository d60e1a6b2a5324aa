//! Captures that are made here, read with others' code.

use etherparse::TcpOptionElement;
use pipefill_capture::write::{
    About, End, Headers, MOST_SACKS, Packet, PacketDirection, Piece, SNAP_LENGTH, Tcp, Writer, flag,
};
use pipefill_core::units::Seed;
use pipefill_testkit::captures::dissected::{Capture, Checksums, Transport, read};
use proptest::prelude::*;

const ABOUT: About<'_> = About {
    application: "pipefill 1.2.3",
    system: "a test",
    run: "0123456789ab-1",
    seed: Seed::new(7),
    host: "sender",
    zero_unix_ns: 1_000_000_000,
    interface: "path0",
    snap_length: SNAP_LENGTH,
};

/// Both ends, over IPv4 or IPv6.
fn ends(is_ipv6: bool) -> [End; 2] {
    let address = |host: u8| match is_ipv6 {
        true => format!("fd77::{host}").parse().unwrap(),
        false => format!("10.77.0.{host}").parse().unwrap(),
    };
    [1, 2].map(|host| End {
        mac: [2, 0, 0, 0, 0, host],
        address: address(host),
        port: 5000 + u16::from(host),
    })
}

/// The file with packets of these headers.
fn file(all: &[Headers]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::begin(&mut bytes, &ABOUT).unwrap();
    for (at, headers) in all.iter().enumerate() {
        let unix_ns = ABOUT.zero_unix_ns + at as u64;
        let way = if at % 2 == 0 { PacketDirection::Outbound } else { PacketDirection::Inbound };
        let packet = Packet { unix_ns, head: headers.bytes(), length: headers.length(), way };
        writer.packet(&packet).unwrap();
    }
    assert_eq!(writer.packets(), all.len() as u64);
    writer.finish(2_000_000_000, 3).unwrap();
    bytes
}

fn back(all: &[Headers]) -> Capture {
    read(&file(all), Checksums::Valid)
}

#[test]
fn a_file_says_what_it_is_and_what_is_missing() {
    let [from, to] = ends(false);
    let capture = back(&[Headers::udp([&from, &to], 9, 100), Headers::udp([&to, &from], 10, 0)]);
    assert_eq!(capture.comment, "pipefill run=0123456789ab-1 seed=7 host=sender zero_unix_ns=1000000000");
    assert_eq!(capture.application, "pipefill 1.2.3");
    assert_eq!((capture.interface.as_str(), capture.snap_length), ("path0", SNAP_LENGTH));
    assert_eq!((capture.received, capture.dropped), (5, 3));
    let [first, second] = &capture.packets[..] else { panic!("{capture:?}") };
    assert_eq!((first.unix_ns, first.length, first.is_outbound), (1_000_000_000, 142, true));
    assert_eq!((second.unix_ns, second.length, second.is_outbound), (1_000_000_001, 42, false));
    assert_eq!((first.id, second.id), (Some(9), Some(10)));
}

/// A head that is longer than the snap length, or than its packet, is cut; the file is the same on every machine.
#[test]
fn what_is_kept_ends_at_the_snap_length() {
    let mut bytes = Vec::new();
    let about = About { snap_length: 60, ..ABOUT };
    let mut writer = Writer::begin(&mut bytes, &about).unwrap();
    let begin = writer.packets();
    writer
        .packet(&Packet { unix_ns: 1, head: &[0xee; 200], length: 1000, way: PacketDirection::Inbound })
        .unwrap();
    writer
        .packet(&Packet { unix_ns: 1, head: &[0xee; 200], length: 20, way: PacketDirection::Inbound })
        .unwrap();
    assert_eq!(writer.packets() - begin, 2);
    writer.finish(1, 0).unwrap();
    assert_eq!(bytes.iter().filter(|&&byte| byte == 0xee).count(), 80);
    assert_eq!(bytes[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    assert_eq!(bytes[8..12], [0x4d, 0x3c, 0x2b, 0x1a], "little-endian");
}

/// The options of a SYN and of an ACK with SACK blocks, byte by byte as Linux 6.12 orders them.
#[test]
fn options_stand_as_linux_orders_them() {
    let [from, to] = ends(false);
    let options = |tcp: &Tcp| Headers::tcp([&from, &to], 0, tcp, 0).bytes()[54..].to_vec();
    let syn = Tcp {
        flags: flag::SYN,
        mss: Some(1460),
        sack_permitted: true,
        timestamps: Some((1, 0)),
        window_scale: Some(7),
        ..Tcp::default()
    };
    assert_eq!(options(&syn), [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7]);
    let without = Tcp { timestamps: None, ..syn };
    assert_eq!(options(&without), [2, 4, 5, 180, 1, 1, 4, 2, 1, 3, 3, 7]);
    let sacks = [(1, 2), (3, 4), (5, 6), (7, 8)];
    let ack = Tcp { flags: flag::ACK, timestamps: Some((1, 2)), sacks, sack_count: 4, ..Tcp::default() };
    assert_eq!(options(&ack).len(), 40, "three blocks beside timestamps");
    assert_eq!(options(&ack)[..16], [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 26]);
    assert_eq!(options(&Tcp { timestamps: None, ..ack }).len(), 36, "four without");
}

/// A datagram in fragments: each byte of it once, and its ports in the first.
#[test]
fn fragments_are_pieces_of_one_datagram() {
    for is_ipv6 in [false, true] {
        let [from, to] = ends(is_ipv6);
        let pieces = [(0, 1480), (1480, 1480), (2960, 1048)].map(|(offset, length)| Piece { offset, length });
        let all = pieces.map(|piece| Headers::udp_piece([&from, &to], 77, 4000, piece));
        let header = if is_ipv6 { 14 + 40 + 8 } else { 14 + 20 };
        assert_eq!(all.each_ref().map(Headers::length), [1480, 1480, 1048].map(|length| header + length));
        let capture = back(&all);
        assert!(capture.packets.iter().all(|packet| packet.is_fragment));
        // RFC 768 over the whole datagram.
        let mut whole = vec![0_u8; 4008];
        let at = header as usize;
        whole[..8].copy_from_slice(&all[0].bytes()[at..at + 8]);
        let udp = etherparse::UdpSlice::from_slice(&whole).unwrap();
        let right = match is_ipv6 {
            true => {
                let [from, to] = [1, 2]
                    .map(|host| format!("fd77::{host}").parse::<std::net::Ipv6Addr>().unwrap().octets());
                udp.to_header().calc_checksum_ipv6_raw(from, to, udp.payload())
            }
            false => udp.to_header().calc_checksum_ipv4_raw([10, 77, 0, 1], [10, 77, 0, 2], udp.payload()),
        };
        assert_eq!(udp.checksum(), right.unwrap());
        assert_eq!((udp.source_port(), udp.length()), (5001, 4008));
    }
}

proptest! {
    /// Whatever a segment says is read back, with checksums that hold.
    #[test]
    fn any_segment_is_read_back(
        is_ipv6: bool, id: u16, seq: u32, ack: u32, window: u16, flags in 0_u8..32,
        mss in prop::option::of(any::<u16>()), scale in prop::option::of(0_u8..15), sack_permitted: bool,
        timestamps in prop::option::of(any::<(u32, u32)>()),
        sacks in any::<[(u32, u32); MOST_SACKS]>(), sack_count in 0..=MOST_SACKS,
        payload in 0_u32..65_400,
    ) {
        let [from, to] = ends(is_ipv6);
        let is_syn = mss.is_some() || scale.is_some() || sack_permitted;
        let sack_count = if is_syn { 0 } else { sack_count };
        let tcp = Tcp { seq, ack, flags, window, mss, sack_permitted, timestamps, window_scale: scale, sacks, sack_count };
        let capture = back(&[Headers::tcp([&from, &to], id, &tcp, payload)]);
        let seen = &capture.packets[0];
        let (header, length) = seen.tcp().expect("TCP");
        prop_assert_eq!(length, payload as usize);
        prop_assert_eq!((header.sequence_number, header.acknowledgment_number, header.window_size), (seq, ack, window));
        prop_assert_eq!(seen.id, (!is_ipv6).then_some(id));
        prop_assert_eq!((header.syn, header.ack, header.psh), (flags & flag::SYN != 0, flags & flag::ACK != 0, flags & flag::PSH != 0));
        let kept = if timestamps.is_some() { 3 } else { 4 };
        prop_assert_eq!(&seen.sacks()[..], &sacks[..sack_count.min(kept)]);
        let has = |wanted: TcpOptionElement| header.options_iterator().any(|option| option.as_ref() == Ok(&wanted));
        prop_assert!(mss.is_none_or(|mss| has(TcpOptionElement::MaximumSegmentSize(mss))));
        prop_assert!(scale.is_none_or(|scale| has(TcpOptionElement::WindowScale(scale))));
        prop_assert!(timestamps.is_none_or(|(value, echo)| has(TcpOptionElement::Timestamp(value, echo))));
        prop_assert_eq!(has(TcpOptionElement::SelectiveAcknowledgementPermitted), sack_permitted);
    }

    /// So is a datagram.
    #[test]
    fn any_datagram_is_read_back(is_ipv6: bool, id: u16, payload in 0_u32..65_400) {
        let [from, to] = ends(is_ipv6);
        let capture = back(&[Headers::udp([&from, &to], id, payload)]);
        let Transport::Udp { ports, payload: read } = capture.packets[0].transport else { panic!("{capture:?}") };
        prop_assert_eq!((ports, read), ([5001, 5002], payload as usize));
    }
}
