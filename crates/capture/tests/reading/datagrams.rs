//! UDP flows: their counts, RTP, QUIC, and what a capture made to fill memory leaves of them.

use pipefill_capture::read::{LinkType, Packet};
use pipefill_capture::tcp::Reconstruction;
use pipefill_capture::udp::{Quic, QuicVersion, UdpFlow, UdpFlows};
use pipefill_testkit::captures::datagram::{quic_long, quic_short, rtp, udp};

const MS: u64 = 1_000_000;
/// RTP of a dynamic payload type, from port 5004 to 6004.
const MEDIA: (u16, u16) = (6_004, 5_004);
const CLIENT: (u16, u16) = (50_000, 4_433);
const SERVER: (u16, u16) = (4_433, 50_000);

/// The flows of packets at these times, and how many were left out.
fn flows(limit: usize, packets: &[(u64, Vec<u8>)]) -> (Vec<UdpFlow>, u64) {
    let (mut all, mut flows) = (Reconstruction::default(), UdpFlows::new(limit));
    for (time_ns, bytes) in packets {
        let length = u32::from(u16::from_be_bytes([bytes[2], bytes[3]]));
        all.push(&Packet::new(*time_ns, LinkType(101), length, bytes), &mut flows);
    }
    assert_eq!(all.finish(&mut flows).udp, packets.len() as u64);
    flows.finish()
}

fn only_flow(packets: &[(u64, Vec<u8>)]) -> UdpFlow {
    let (mut found, _) = flows(10, packets);
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn a_flow_has_its_bytes_its_span_and_its_pauses() {
    let times = [0, 10, 20, 1_520, 1_530, 1_540];
    let flow = only_flow(&times.map(|ms| (ms * MS, udp((9, 7), &[1; 10], 990))));
    assert_eq!((flow.datagrams, flow.bytes, flow.span_ns()), (6, 6_000, 1_540 * MS));
    assert_eq!((flow.gaps, flow.longest_gap_ns), (1, 1_500 * MS));
    // Spacings 10, 10, 1500, 10, 10: they change by 0, 1490, 1490, 0.
    assert_eq!(flow.spacing_change_ns(), Some(745 * MS));
    assert!(flow.rtp().is_empty() && flow.quic().is_none());
}

/// 50 packets a second of a clock of 48 kHz, of which some are lost; each second one comes 4 ms late.
fn media(lost: &[u16]) -> Vec<(u64, Vec<u8>)> {
    let packets = (0..500_u16).filter(|number| !lost.contains(number));
    packets
        .map(|number| {
            let (at, sequence) = (u64::from(number), number.wrapping_add(65_400));
            let time_ns = at * 20 * MS + u64::from(number % 2) * 4 * MS;
            (time_ns, udp(MEDIA, &rtp(96, sequence, u32::from(number) * 960, 0x1234_5678), 160))
        })
        .collect()
}

#[test]
fn rtp_has_losses_across_a_wrap_around_and_jitter() {
    let flow = only_flow(&media(&[7, 8, 200, 450]));
    let streams = flow.rtp();
    let [stream] = streams[..] else { panic!("{streams:?}") };
    assert_eq!((stream.source, stream.payload_type), (0x1234_5678, 96));
    assert_eq!((stream.packets, stream.expected(), stream.lost()), (496, 500, 4));
    assert_eq!(stream.clock_hz(), Some(48_000));
    // |D| is 4 ms from each packet to the next.
    let jitter_ns = stream.jitter_ns().expect("a clock");
    assert!(jitter_ns.abs_diff(4 * MS) < MS / 10, "{jitter_ns}");
}

#[test]
fn overtaken_packets_of_rtp_are_not_lost() {
    let mut packets = media(&[]);
    let (early, late) = (packets[100].1.clone(), packets[101].1.clone());
    (packets[100].1, packets[101].1) = (late, early);
    let flow = only_flow(&packets);
    let stream = flow.rtp()[0];
    assert_eq!((stream.lost(), stream.reordered, stream.restarts), (0, 1, 0));
}

#[test]
fn media_behind_stun_on_one_port_is_rtp_and_other_sources_are_not_listed() {
    let mut packets: Vec<_> =
        (0..5).map(|at| (at * MS, udp(MEDIA, &[0, 1, 0, 0x40, 0x21, 0x12, 0xa4, 0x42], 80))).collect();
    packets.extend(media(&[]));
    packets.push((20_000 * MS, udp(MEDIA, &rtp(97, 9, 9, 9), 160)));
    packets.sort_by_key(|(time_ns, _)| *time_ns);
    let flow = only_flow(&packets);
    let sources: Vec<u32> = flow.rtp().iter().map(|stream| stream.source).collect();
    assert_eq!((flow.datagrams, sources), (506, vec![0x1234_5678]));
}

#[test]
fn what_only_begins_like_rtp_is_none() {
    // Version 2 by chance, sequence numbers and sources at random.
    let random = |at: u64| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16) as u32;
    let packets = (0..200).map(|at| {
        (at * MS, udp((9, 7), &rtp(96, random(at) as u16, random(at + 500), random(at + 900)), 50))
    });
    assert!(only_flow(&packets.collect::<Vec<_>>()).rtp().is_empty());
    // RTCP alone (RFC 5761).
    let reports = (0..20).map(|at| (at * MS, udp((9, 7), &rtp(200, at as u16, 0, 7), 50)));
    assert!(only_flow(&reports.collect::<Vec<_>>()).rtp().is_empty());
    // One packet is no sequence.
    assert!(only_flow(&media(&[])[..3]).rtp().is_empty());
}

/// A handshake of 30 ms seen at the client, whose spin bit changes each 30 ms.
fn connection(version: u32) -> Vec<(u64, Vec<u8>)> {
    let mut packets = vec![
        (0, udp(CLIENT, &quic_long(0, version), 1_230)),
        (30 * MS, udp(SERVER, &quic_long(0, version), 1_230)),
        (31 * MS, udp(CLIENT, &quic_long(2, version), 100)),
    ];
    for at in 0..300 {
        let time_ns = (40 + at) * MS;
        packets.push((time_ns, udp(CLIENT, &quic_short(at / 30 % 2 == 1), 0)));
        packets.push((time_ns, udp(SERVER, &quic_short(at / 30 % 2 == 1), 1_200)));
    }
    packets
}

#[test]
fn quic_has_a_version_the_times_of_its_handshake_and_a_round_trip() {
    let (found, _) = flows(10, &connection(1));
    let [server, client] = &found[..] else { panic!("{found:?}") };
    for flow in [server, client] {
        let quic = flow.quic().expect("QUIC");
        assert_eq!(quic.version().map(QuicVersion::name).as_deref(), Some("1"));
        assert_eq!(quic.spin_rtt_ns(Some(30 * MS)), Some(30 * MS));
        assert_eq!(quic.spin_rtt_ns(None), Some(30 * MS));
        assert_eq!(quic.first_short_ns(), Some(40 * MS));
    }
    let first = |flow: &UdpFlow| flow.quic().and_then(Quic::first_initial_ns);
    assert_eq!((first(client), first(server)), (Some(0), Some(30 * MS)));
}

#[test]
fn versions_have_names() {
    for (version, name) in
        [(0x6b33_43cf, "2"), (0xff00_001d, "draft-29"), (0xface_b002, "mvfst-02"), (0x5130_3530, "Q050")]
    {
        let flow = only_flow(&[(0, udp(CLIENT, &quic_long(1, version), 1_200))]);
        let found = flow.quic().and_then(Quic::version).map(QuicVersion::name);
        assert_eq!(found.as_deref(), Some(name));
    }
    let google = [&[0x0d][..], &[7; 8], b"Q043", &[1, 2, 3]].concat();
    let found = only_flow(&[(0, udp(CLIENT, &google, 1_300))]).quic().and_then(Quic::version);
    assert_eq!(found.map(QuicVersion::name).as_deref(), Some("Q043"));
}

#[test]
fn a_spin_bit_at_random_is_no_round_trip() {
    let mut packets = connection(1)[..3].to_vec();
    let mut state = 1_u32;
    for at in 0..400 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        packets.push(((40 + at) * MS, udp(CLIENT, &quic_short(state >> 31 == 1), 0)));
    }
    let (found, _) = flows(10, &packets);
    let quic = found.iter().find(|flow| flow.source.port == CLIENT.0).and_then(UdpFlow::quic).expect("QUIC");
    assert_eq!((quic.spin_rtt_ns(Some(30 * MS)), quic.spin_rtt_ns(None)), (None, None));
}

#[test]
fn what_only_has_the_bits_of_a_long_header_is_no_quic() {
    for payload in
        [quic_long(0, 0x1234_5678), quic_long(0, 0), [&[0xc0, 0, 0, 0, 1, 60][..], &[0; 80]].concat()]
    {
        assert!(only_flow(&[(0, udp(CLIENT, &payload, 1_200))]).quic().is_none());
    }
}

#[test]
fn without_payload_the_port_of_http_3_and_large_datagrams_are_quic() {
    let (there, back) = ((50_000, 443), (443, 50_000));
    let (found, _) = flows(10, &[(0, udp(there, &[], 1_350)), (MS, udp(back, &[], 60))]);
    assert!(found.iter().all(|flow| flow.quic().is_some_and(|quic| quic.version().is_none())));
    // Small ones may be anything, and so may what does not look like a short header.
    assert!(only_flow(&[(0, udp(there, &[], 300))]).quic().is_none());
    assert!(only_flow(&[(0, udp(there, &[0x17, 0xfe, 0xfd], 1_300))]).quic().is_none());
}

#[test]
fn of_more_flows_than_are_kept_the_smaller_half_goes_and_is_counted() {
    let packets: Vec<_> = (0..1_000_u16)
        .map(|port| (u64::from(port), udp((port + 2_000, 7), &[], if port % 100 == 0 { 900 } else { 9 })))
        .collect();
    let (found, left_out) = flows(64, &packets);
    assert!(found.len() <= 64);
    assert_eq!(found.len() as u64 + left_out, 1_000);
    assert_eq!(found.iter().filter(|flow| flow.bytes == 900).count(), 10, "the large ones are all there");
    assert!(found.is_sorted_by_key(|flow| std::cmp::Reverse(flow.bytes)));
}
