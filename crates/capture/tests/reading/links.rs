//! The same segment, whatever stands before it; and the kinds of what is no segment.

use pipefill_capture::headers::{Other, Segment, segment};
use pipefill_capture::read::{LinkType, Packet};
use pipefill_testkit::captures::frame::{ACK, Tcp, ethernet, sack, stamps};
use proptest::prelude::*;

fn tcp() -> Tcp {
    Tcp { id: 9, ecn: 3, options: stamps(5, 6), ..Tcp::new(1000, 2000, ACK, 700) }
}

/// Bytes that were captured; the payload was not.
fn parse(link: u16, bytes: &[u8]) -> Result<Segment, Other> {
    parse_sized(link, bytes, bytes.len() as u32 + 700)
}

fn parse_sized(link: u16, bytes: &[u8], original: u32) -> Result<Segment, Other> {
    segment(&Packet::new(1, LinkType(link), original, bytes))
}

fn gre(flags: u8, fields: usize, kind: u16, inner: &[u8]) -> Vec<u8> {
    let body = [&[flags, 0], &kind.to_be_bytes()[..], &vec![0; fields * 4], inner].concat();
    ip(47, &body)
}

fn vxlan(port: u16, inner: &[u8]) -> Vec<u8> {
    let body = [&[0, 1], &port.to_be_bytes()[..], &[0; 4], &[8, 0, 0, 0, 0, 0, 1, 0], inner].concat();
    ip(17, &body)
}

/// A UDP datagram to `port`.
fn udp(port: u16, body: &[u8]) -> Vec<u8> {
    ip(17, &[&[0, 1], &port.to_be_bytes()[..], &[0; 4], body].concat())
}

/// LLC with SNAP, then IPv4.
const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// A data frame of 802.11; `more` stands behind the three addresses and the sequence number.
fn wireless(control: u8, flags: u8, more: &[u8], ip: &[u8]) -> Vec<u8> {
    [&[control, flags, 0, 0][..], &[2; 18], &[0, 0], more, &SNAP, ip].concat()
}

/// An IPv4 packet of another protocol; 700 bytes of it were not captured.
fn ip(protocol: u8, body: &[u8]) -> Vec<u8> {
    let length = (20 + body.len() + 700) as u16;
    let length = length.to_be_bytes();
    let header = [0x45, 0, length[0], length[1], 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&header, body].concat()
}

#[test]
fn every_link_brings_the_same_segment() {
    let (v4, v6) = (tcp().v4(), tcp().v6(6, &[]));
    let cooked = |kind: u16| [&[0; 14], &kind.to_be_bytes()[..]].concat();
    let cooked_2 = |kind: u16| [&kind.to_be_bytes()[..], &[0; 18]].concat();
    let tag = |kind: u16| [kind.to_be_bytes(), [0, 5]].concat();
    let frame = ethernet(&[], 0x0800, &v4);
    let table = [
        ("Ethernet", 1, frame.clone()),
        ("VLAN", 1, ethernet(&tag(0x8100), 0x0800, &v4)),
        ("QinQ", 1, ethernet(&[tag(0x88a8), tag(0x8100)].concat(), 0x0800, &v4)),
        ("old QinQ", 1, ethernet(&[tag(0x9100), tag(0x8100)].concat(), 0x0800, &v4)),
        ("cooked", 113, [cooked(0x0800), v4.clone()].concat()),
        ("cooked with a tag", 113, [cooked(0x8100), vec![0, 5, 8, 0], v4.clone()].concat()),
        ("cooked v2", 276, [cooked_2(0x0800), v4.clone()].concat()),
        ("raw", 101, v4.clone()),
        ("raw of BSD", 12, v4.clone()),
        ("raw of OpenBSD", 14, v4.clone()),
        ("IPv4", 228, v4.clone()),
        ("null", 0, [&[2, 0, 0, 0], &v4[..]].concat()),
        ("null of the other order", 0, [&[0, 0, 0, 2], &v4[..]].concat()),
        ("loop", 108, [&[0, 0, 0, 2], &v4[..]].concat()),
        ("GRE", 101, gre(0, 0, 0x0800, &v4)),
        ("GRE with sum, key and number", 101, gre(0xb0, 3, 0x0800, &v4)),
        ("GRE with Ethernet", 101, gre(0x20, 1, 0x6558, &frame)),
        (
            "GRE of PPTP",
            101,
            ip(47, &[&[0x30, 0x81, 0x88, 0x0b][..], &[0; 12], &[0xff, 3, 0, 0x21], &v4].concat()),
        ),
        ("ERSPAN I", 101, gre(0, 0, 0x88be, &frame)),
        ("ERSPAN II", 101, gre(0x10, 1, 0x88be, &[&[0x10, 0, 0, 0, 0, 0, 0, 0], &frame[..]].concat())),
        ("4in4", 101, ip(4, &v4)),
        ("MPLS in IP", 101, ip(137, &[&[0, 0, 0x11, 64], &v4[..]].concat())),
        ("MPLS in UDP", 101, udp(6635, &[&[0, 0, 0x11, 64], &v4[..]].concat())),
        ("Geneve", 101, udp(6081, &[&[1, 0, 0x65, 0x58, 0, 0, 1, 0, 9, 9, 9, 0], &frame[..]].concat())),
        ("Geneve of IP", 101, udp(6081, &[&[0, 0, 8, 0, 0, 0, 1, 0], &v4[..]].concat())),
        ("GTP-U", 101, udp(2152, &[&[0x30, 255, 0, 0, 0, 0, 0, 1], &v4[..]].concat())),
        (
            "GTP-U with an extension header",
            101,
            udp(2152, &[&[0x34, 255, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0], &v4[..]].concat()),
        ),
        (
            "GTP-U in VXLAN",
            101,
            vxlan(
                4789,
                &ethernet(&[], 0x0800, &udp(2152, &[&[0x30, 255, 0, 0, 0, 0, 0, 1], &v4[..]].concat())),
            ),
        ),
        ("MPLS", 1, ethernet(&[], 0x8847, &[&[0, 0, 0x10, 64, 0, 0, 0x21, 64], &v4[..]].concat())),
        ("pseudo-wire", 1, ethernet(&[], 0x8847, &[&[0, 0, 0x11, 64], &frame[..]].concat())),
        (
            "pseudo-wire with a control word",
            1,
            ethernet(&[], 0x8847, &[&[0, 0, 0x11, 64, 0, 0, 0, 7], &frame[..]].concat()),
        ),
        ("PPPoE", 1, ethernet(&[], 0x8864, &[&[0x11, 0, 0, 5, 5, 0xdc, 0, 0x21], &v4[..]].concat())),
        (
            "PPPoE in a VLAN, protocol of one byte",
            1,
            ethernet(&tag(0x8100), 0x8864, &[&[0x11, 0, 0, 5, 5, 0xdc, 0x21], &v4[..]].concat()),
        ),
        ("PPPoE without Ethernet", 51, [&[0x11, 0, 0, 5, 5, 0xdc, 0, 0x21], &v4[..]].concat()),
        ("PPP", 9, [&[0, 0x21], &v4[..]].concat()),
        ("PPP in HDLC", 50, [&[0xff, 3, 0, 0x21], &v4[..]].concat()),
        ("PPP with MPLS", 9, [&[0xff, 3, 2, 0x81, 0, 0, 0x11, 64], &v4[..]].concat()),
        ("Cisco HDLC as PPP", 50, [&[0x0f, 0, 8, 0], &v4[..]].concat()),
        ("Cisco HDLC", 104, [&[0x8f, 0, 8, 0], &v4[..]].concat()),
        ("PPP with a direction", 204, [&[1, 0xff, 3, 0, 0x21], &v4[..]].concat()),
        ("FDDI", 10, [&[0x57][..], &[2; 12], &SNAP, &v4].concat()),
        ("802.3 with SNAP", 1, ethernet(&[], 1400, &[&SNAP[..], &v4].concat())),
        ("802.3 with LLC of IP", 1, ethernet(&[], 1400, &[&[6, 6, 3], &v4[..]].concat())),
        ("802.11", 105, wireless(0x08, 0x01, &[], &v4)),
        ("802.11 with QoS", 105, wireless(0x88, 0x02, &[0, 0], &v4)),
        (
            "802.11 between systems, QoS and HT control",
            105,
            wireless(0x88, 0x83, &[2, 2, 2, 2, 2, 2, 5, 0, 0, 0, 0, 0], &v4),
        ),
        ("radiotap", 127, [&[0, 0, 8, 0, 0, 0, 0, 0], &wireless(0x08, 0x01, &[], &v4)[..]].concat()),
        (
            "radiotap with time, flags and padding",
            127,
            [
                &[0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0][..],
                &[0; 4],
                &[9; 8],
                &[0x20],
                &wireless(0x88, 0x01, &[0, 0, 0, 0], &v4),
            ]
            .concat(),
        ),
        ("token ring", 6, [&[0x10, 0x40][..], &[2; 12], &SNAP, &v4].concat()),
        (
            "token ring with a route",
            6,
            [&[0x10, 0x40][..], &[2; 6], &[0x82, 2, 2, 2, 2, 2, 6, 0xb0, 0, 1, 0, 0x10], &SNAP, &v4].concat(),
        ),
        ("ATM", 100, [&SNAP, &v4[..]].concat()),
        ("ATM of Solaris", 123, [&[0x82, 0, 0, 100], &SNAP[..], &v4].concat()),
        ("frame relay", 107, [&[0x18, 0x41, 3, 0xcc], &v4[..]].concat()),
        ("frame relay with SNAP", 107, [&[0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0], &v4[..]].concat()),
        ("frame relay of Cisco", 107, [&[0x18, 0x41, 8, 0], &v4[..]].concat()),
        ("Prism", 119, [&[0; 144], &wireless(0x08, 0x01, &[], &v4)[..]].concat()),
        (
            "AVS",
            163,
            [&[0x80, 0x21, 0x10, 1, 0, 0, 0, 64][..], &[0; 56], &wireless(0x08, 0x01, &[], &v4)].concat(),
        ),
        ("PPI", 192, [&[0, 0, 8, 0, 105, 0, 0, 0], &wireless(0x08, 0x01, &[], &v4)[..]].concat()),
        ("PKTAP", 258, [&[16, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7, 7, 7, 7], &frame[..]].concat()),
        ("PKTAP of a tunnel", 258, [&[12, 0, 0, 0, 1, 0, 0, 0, 12, 0, 0, 0], &v4[..]].concat()),
        (
            "NFLOG",
            239,
            [&[2, 0, 0, 5, 8, 0, 1, 0, 8, 0, 0, 0, 5, 0, 10, 0, 0, 9, 9, 9, 4, 0, 9, 0], &v4[..]].concat(),
        ),
        (
            "NFLOG of the other order",
            239,
            [&[2, 0, 0, 5, 0, 8, 0, 1, 8, 0, 0, 0, 0, 4, 0, 9], &v4[..]].concat(),
        ),
        ("PFLOG", 117, [&[61][..], &[0; 63], &v4].concat()),
        ("IPsec of OpenBSD", 109, [&[0, 0, 0, 2][..], &[0; 8], &v4].concat()),
        ("VXLAN", 101, vxlan(4789, &frame)),
        ("VXLAN of Linux", 1, ethernet(&[], 0x0800, &vxlan(8472, &frame))),
    ];
    let expected = parse(101, &v4).expect("TCP");
    assert_eq!(
        (expected.seq, expected.ack, expected.payload, expected.ip_id, expected.ecn),
        (1000, 2000, 700, 9, 3)
    );
    assert_eq!(expected.options.timestamps, Some((5, 6)));
    assert_eq!(expected.source.to_string(), "192.0.2.1:40000");
    assert_eq!(expected.destination.to_string(), "198.51.100.2:80");
    for (name, link, bytes) in table {
        assert_eq!(parse(link, &bytes), Ok(expected), "{name}");
    }

    let expected = parse(101, &v6).expect("TCP");
    assert_eq!((expected.payload, expected.is_v6, expected.ecn), (700, true, 3));
    assert_eq!(expected.source.to_string(), "[2001:db8::1]:40000");
    let table = [
        ("Ethernet", 1, ethernet(&[], 0x86dd, &v6)),
        ("cooked", 113, [cooked(0x86dd), v6.clone()].concat()),
        ("cooked v2", 276, [cooked_2(0x86dd), v6.clone()].concat()),
        ("IPv6", 229, v6.clone()),
        ("null of Linux", 0, [&[10, 0, 0, 0], &v6[..]].concat()),
        ("null of FreeBSD", 0, [&[28, 0, 0, 0], &v6[..]].concat()),
        ("null of macOS, other order", 0, [&[0, 0, 0, 30], &v6[..]].concat()),
        ("options for the destination", 101, tcp().v6(60, &[6, 0, 1, 4, 0, 0, 0, 0])),
        (
            "hop by hop, then routing",
            101,
            tcp().v6(0, &[&[43, 0, 1, 4, 0, 0, 0, 0], &[6, 0, 0, 0, 0, 0, 0, 0][..]].concat()),
        ),
        ("authentication", 101, tcp().v6(51, &[&[6, 4], &[0; 22][..]].concat())),
        ("first fragment", 101, tcp().v6(44, &[6, 0, 0, 1, 0, 0, 0, 7])),
        ("GRE", 101, gre(0, 0, 0x86dd, &v6)),
        ("6in4", 101, ip(41, &v6)),
        ("PPP", 9, [&[0, 0x57], &v6[..]].concat()),
    ];
    for (name, link, bytes) in table {
        assert_eq!(parse(link, &bytes), Ok(expected), "{name}");
    }
}

#[test]
fn what_is_no_segment_is_told_by_its_kind() {
    let v4 = tcp().v4();
    let with = |at: usize, value: u8| {
        let mut bytes = v4.clone();
        bytes[at] = value;
        bytes
    };
    let frame = ethernet(&[], 0x0800, &v4);
    let tags: Vec<u8> = [0x81, 0, 0, 1].repeat(11);
    let extensions: Vec<u8> = [60, 0, 0, 0, 0, 0, 0, 0].repeat(9);
    let nested = (0..5).fold(v4.clone(), |inner, _| gre(0, 0, 0x0800, &inner));
    let data = wireless(0x08, 0x01, &[], &v4);
    let radiotap = |flags: u8| [&[0, 0, 9, 0, 2, 0, 0, 0, flags], &data[..]].concat();
    let table = [
        (Other::Udp, 101, ip(17, &[0; 8])),
        (Other::Udp, 101, udp(4789, &[0; 40])),
        (Other::Udp, 101, udp(2152, &[0x32, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (Other::CutUdp, 101, ip(17, &[0; 7])),
        (Other::BadUdp, 101, ip(17, &[0, 1, 0, 2, 0, 7, 0, 0])),
        (Other::Icmp, 101, with(9, 1)),
        (Other::Protocol(132), 101, with(9, 132)),
        (Other::Protocol(33), 101, with(9, 33)),
        (Other::EtherType(0x22eb), 101, gre(0, 0, 0x22eb, &v4)),
        (Other::Protocol(47), 101, gre(0, 0, 0, &[])),
        (Other::EtherType(0x0806), 1, ethernet(&[], 0x0806, &[0; 28])),
        (Other::EtherType(0x88cc), 1, ethernet(&[], 0x88cc, &[0; 28])),
        (Other::EtherType(0x8863), 1, ethernet(&[], 0x8863, &[0; 28])),
        (Other::Llc(0x42), 1, ethernet(&[], 0x0026, &[0x42; 38])),
        (Other::Ppp(0xc021), 9, vec![0xff, 3, 0xc0, 0x21, 1, 1]),
        (Other::Fddi, 10, vec![0x80; 40]),
        (Other::AddressFamily, 0, vec![7, 0, 0, 0, 0x45]),
        (Other::WirelessManagement, 105, wireless(0x80, 0, &[], &v4)),
        (Other::WirelessControl, 105, vec![0xd4, 0, 0, 0, 2, 2, 2, 2, 2, 2]),
        (Other::WirelessWithoutData, 105, wireless(0x48, 1, &[], &v4)),
        (Other::WirelessProtected, 105, wireless(0x08, 0x41, &[], &v4)),
        (Other::WirelessAggregate, 105, wireless(0x88, 0x01, &[0x80, 0], &v4)),
        (Other::WirelessBadFcs, 127, radiotap(0x40)),
        (
            Other::WirelessProtected,
            127,
            [&[0, 0, 8, 0, 0, 0, 0, 0], &wireless(0x08, 0x41, &[], &v4)[..]].concat(),
        ),
        (Other::WirelessBroken, 127, [&[0, 0, 7, 0, 0, 0, 0, 0], &data[..]].concat()),
        (Other::LaterFragment, 101, with(7, 5)),
        (Other::LaterFragment, 101, tcp().v6(44, &[6, 0, 0, 8, 0, 0, 0, 7])),
        (Other::Link(147), 147, v4.clone()),
        (Other::TooDeep, 1, ethernet(&tags, 0x0800, &v4)),
        (Other::TooDeep, 1, ethernet(&[], 0x8847, &[0; 80])),
        (Other::TooDeep, 101, tcp().v6(60, &extensions)),
        (Other::NestedTunnel, 101, nested),
        (Other::CutLink, 1, frame[..13].to_vec()),
        (Other::CutLink, 113, vec![0; 15]),
        (Other::CutLink, 108, vec![0; 3]),
        (Other::CutLink, 127, vec![0, 0, 8, 0, 0, 0, 0]),
        (Other::CutLink, 105, data[..30].to_vec()),
        (Other::CutIp, 101, gre(0, 0, 0x0800, &v4)[..22].to_vec()),
        (Other::CutIp, 101, Vec::new()),
        (Other::CutIp, 101, v4[..19].to_vec()),
        (Other::CutIp, 101, tcp().v6(6, &[])[..39].to_vec()),
        (Other::CutIp, 101, tcp().v6(60, &[6, 9, 0, 0])),
        (Other::CutTcp, 101, v4[..20].to_vec()),
        (Other::CutTcp, 101, v4[..35].to_vec()),
        (Other::BadIp, 101, with(0, 0x55)),
        (Other::BadIp, 101, with(0, 0x44)),
        (Other::BadIp, 101, [&[0x45, 0, 0, 19], &v4[4..]].concat()),
        (Other::BadIp, 101, with_options(&v4, &[130, 2, 0, 0])),
        (Other::BadIp, 101, with_options(&v4, &[1, 1, 1, 7])),
        (Other::BadIp, 101, with_options(&v4, &[68, 12, 5, 0])),
        (Other::BadTcp, 101, with(32, 0x40)),
        (Other::BadTcp, 101, [&[0x45, 0, 0, 41], &v4[4..]].concat()),
    ];
    for (expected, link, bytes) in table {
        assert_eq!(parse(link, &bytes).map(|_| ()), Err(expected), "link {link}: {bytes:02x?}");
        assert!(!expected.name().is_empty());
    }
}

/// An IPv4 packet with options behind its header.
fn with_options(v4: &[u8], options: &[u8]) -> Vec<u8> {
    let length = u16::from_be_bytes([v4[2], v4[3]]) + options.len() as u16;
    let first = 0x45 + options.len() as u8 / 4;
    [&[first, 0][..], &length.to_be_bytes(), &v4[4..20], options, &v4[20..]].concat()
}

#[test]
fn options_of_ipv4_change_no_segment() {
    let v4 = tcp().v4();
    let plain = parse(101, &v4).expect("TCP").payload;
    for options in [vec![1, 1, 1, 0], vec![0, 9, 9, 9], vec![148, 4, 0, 0], vec![7, 7, 4, 10, 0, 0, 1, 0]] {
        assert_eq!(parse(101, &with_options(&v4, &options)).expect("TCP").payload, plain, "{options:?}");
    }
}

#[test]
fn a_super_packet_without_a_length_has_that_of_its_frame() {
    let mut v4 = tcp().v4();
    v4[2..4].copy_from_slice(&[0, 0]);
    let frame = ethernet(&[], 0x0800, &v4);
    let found = parse_sized(1, &frame, frame.len() as u32 + 180_000).expect("TCP");
    assert_eq!(found.payload, 180_000);
    let mut v6 = tcp().v6(6, &[]);
    v6[4..6].copy_from_slice(&[0, 0]);
    let frame = ethernet(&[], 0x86dd, &v6);
    assert_eq!(parse_sized(1, &frame, frame.len() as u32 + 300_000).expect("TCP").payload, 300_000);
    // RFC 2675: the option has the length of all behind IPv6's header.
    let mut jumbo = tcp().v6(0, &[6, 0, 0xc2, 4, 0, 1, 0x86, 0xa0]);
    jumbo[4..6].copy_from_slice(&[0, 0]);
    assert_eq!(parse_sized(101, &jumbo, 0).expect("TCP").payload, 100_000 - 8 - 32);
    // No card takes this much.
    assert_eq!(parse_sized(1, &frame, 100_000_000).map(|_| ()), Err(Other::BadTcp));
}

#[test]
fn padding_is_no_payload() {
    let v4 = Tcp { payload: 0, ..tcp() }.v4();
    let frame = [ethernet(&[], 0x0800, &v4), vec![0; 6]].concat();
    assert_eq!(parse_sized(1, &frame, frame.len() as u32).expect("TCP").payload, 0);
}

#[test]
fn options_are_read_as_far_as_they_are_whole() {
    let read = |options: Vec<u8>| parse(101, &Tcp { options, ..tcp() }.v4()).expect("TCP").options;
    let all = read([stamps(1, 2), sack(&[(5, 6), (7, 8), (9, 10)])].concat());
    assert_eq!((all.timestamps, all.sacks()), (Some((1, 2)), &[(5, 6), (7, 8), (9, 10)][..]));
    let unknown = read([vec![254, 6, 1, 2, 3, 4, 2, 4, 5, 0xb4, 3, 3, 200, 4, 2], vec![0; 3]].concat());
    assert_eq!((unknown.mss, unknown.window_scale, unknown.sack_permitted), (Some(1460), Some(14), true));
    for broken in [vec![8, 0], vec![8, 1], vec![8, 60, 1], vec![2, 3, 1], vec![5, 3, 0], vec![254]] {
        let found = read(broken.clone());
        assert_eq!((found.timestamps, found.mss, found.sacks().len()), (None, None, 0), "{broken:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_segment_or_a_kind(
        link in prop::sample::select(vec![0u16, 1, 9, 10, 12, 50, 51, 101, 104, 105, 108, 113, 127, 204, 228, 229, 276, 500]),
        bytes in prop::collection::vec(any::<u8>(), 0..120),
        original: u32,
    ) {
        let _ = parse_sized(link, &bytes, original);
    }

    #[test]
    fn a_shorter_capture_changes_nothing_or_is_told(length in 0usize..80, is_v6: bool) {
        let (kind, ip) = if is_v6 { (0x86dd, tcp().v6(6, &[])) } else { (0x0800, tcp().v4()) };
        let frame = ethernet(&[], kind, &ip);
        let whole = parse(1, &frame).expect("TCP");
        let original = frame.len() as u32 + 700;
        match parse_sized(1, &frame[..length.min(frame.len())], original) {
            Ok(found) => prop_assert_eq!((found.seq, found.payload), (whole.seq, whole.payload)),
            Err(kind) => prop_assert!(matches!(kind, Other::CutLink | Other::CutIp | Other::CutTcp)),
        }
    }
}
