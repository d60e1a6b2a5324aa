//! A packet as it came from the ring, and the cutting of a TSO super-packet into runs of MTU segments.
//!
//! The path decides about every MTU segment; what survives of a super-packet, in one piece or in several, leaves as
//! super-packets again. The header arithmetic follows `tcp_gso_segment()`, `inet_gso_segment()` and `ipv6_gso_segment()`.

use crate::datagrams::CountedPacket;
use crate::sys::buffers::Buffer;
use crate::sys::packet::{HeldPart, Outgoing, SNAP};
use crate::sys::received::{Packet, Received, VNET_LEN};
use pipefill_capture::write::checksum::{fold, sum};
use pipefill_capture::write::{ecn, set_ecn};
use pipefill_core::cell::Family;
use pipefill_core::prng::fnv1a;
use pipefill_link::Ecn;
use std::ops::Range;
use std::rc::Rc;

const ETHERNET: usize = 14;
const IPV6: usize = 40;
const VNET_NEEDS_CSUM: u8 = 1;
const VNET_GSO_NONE: u8 = 0;
const VNET_GSO_TCPV4: u8 = 1;
const VNET_GSO_TCPV6: u8 = 4;
const VNET_GSO_ECN: u8 = 0x80;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// More Fragments, and the offset, of IPv4.
const FRAGMENT: u16 = 0x3fff;
/// Don't Fragment, in the first byte of IPv4's flags.
const DF: u8 = 0x40;
/// The ECN field of a packet that is marked (RFC 3168, section 5).
const CE: u8 = 3;
const TCP_FIN: u8 = 0x01;
const TCP_PSH: u8 = 0x08;
const TCP_CWR: u8 = 0x80;

/// The headers of a packet and how it divides into MTU segments.
pub(crate) struct Frame {
    vnet: [u8; VNET_LEN],
    head: [u8; SNAP],
    head_len: usize,
    /// Length with payload, Ethernet header included.
    len: usize,
    cut: Option<Cut>,
    /// The whole packet, where payload is kept.
    whole: Option<Rc<Buffer>>,
    /// The number under which the kernel holds it.
    held: Option<u32>,
    /// The flow of datagrams that counts it.
    counted: Option<CountedPacket>,
}

/// `VIRTIO_NET_HDR_GSO_*`.
const fn gso_type(family: Family) -> u8 {
    match family {
        Family::Ipv4 => VNET_GSO_TCPV4,
        Family::Ipv6 => VNET_GSO_TCPV6,
    }
}

/// Where both addresses are.
const fn addresses(family: Family) -> Range<usize> {
    match family {
        Family::Ipv4 => ETHERNET + 12..ETHERNET + 20,
        Family::Ipv6 => ETHERNET + 8..ETHERNET + IPV6,
    }
}

/// Where a TCP super-packet may be cut.
#[derive(Clone, Copy)]
struct Cut {
    family: Family,
    tcp_at: usize,
    /// Ethernet, IP and TCP headers.
    headers: usize,
    mss: usize,
}

impl Frame {
    /// Copies the headers out of the ring's slot.
    pub(crate) fn new(received: Received<'_>) -> Self {
        let bytes = received.bytes();
        let mut head = [0; SNAP];
        let head_len = bytes.len().min(SNAP);
        head[..head_len].copy_from_slice(&bytes[..head_len]);
        let len = received.len as usize;
        let cut = cut_of(&received.vnet, &head[..head_len], len);
        let (whole, held) = match received.packet {
            Packet::Head(_) => (None, None),
            Packet::Whole(packet) => (Some(Rc::new(packet)), None),
            Packet::Held(id, _) => (None, Some(id)),
        };
        Self { vnet: received.vnet, head, head_len, len, cut, whole, held, counted: None }
    }

    /// The packet as one of a flow that counts its fate.
    pub(crate) fn counted_by(self, counted: Option<CountedPacket>) -> Self {
        Self { counted, ..self }
    }

    /// The flow of datagrams that counts it.
    pub(crate) const fn counted(&self) -> Option<&CountedPacket> {
        self.counted.as_ref()
    }

    /// Number of MTU segments, at least 1.
    pub(crate) fn segments(&self) -> u16 {
        let count = self.cut.map_or(1, |cut| (self.len - cut.headers).div_ceil(cut.mss).max(1));
        u16::try_from(count).unwrap_or(u16::MAX)
    }

    /// Length of one segment as an Ethernet frame without FCS.
    pub(crate) fn segment_len(&self, index: u16) -> u32 {
        let len = self.cut.map_or(self.len, |cut| cut.headers + self.payload(cut, index, 1));
        u32::try_from(len).unwrap_or(u32::MAX)
    }

    /// Its ECN field.
    pub(crate) fn ecn(&self) -> Ecn {
        Ecn::from_bits(ecn(&self.head[..self.head_len]))
    }

    /// A hash of its protocol and addresses, and of its ports where it is not a fragment (`skb_get_hash()`).
    pub(crate) fn flow(&self) -> u64 {
        let head = &self.head[..self.head_len];
        let (family, protocol, ports_at) = match head.get(12..ETHERNET) {
            Some([0x08, 0x00]) if head.len() >= ETHERNET + 20 => {
                let is_fragment = get_u16(head, ETHERNET + 6) & FRAGMENT != 0;
                let ports_at = ETHERNET + usize::from(head[ETHERNET] & 0x0f) * 4;
                (Family::Ipv4, head[ETHERNET + 9], (!is_fragment).then_some(ports_at))
            }
            Some([0x86, 0xdd]) if head.len() >= ETHERNET + IPV6 => {
                (Family::Ipv6, head[ETHERNET + 6], Some(ETHERNET + IPV6))
            }
            _ => return 0,
        };
        let ports = ports_at.filter(|_| [TCP, UDP].contains(&protocol)).and_then(|at| head.get(at..at + 4));
        let mut tuple = [0; 37];
        let addresses = &head[addresses(family)];
        tuple[..addresses.len()].copy_from_slice(addresses);
        tuple[32] = protocol;
        tuple[33..].copy_from_slice(ports.unwrap_or(&[0; 4]));
        fnv1a(&tuple)
    }

    /// Whether no router may fragment it: IPv4 with DF, and IPv6.
    pub(crate) fn has_df(&self) -> bool {
        match self.head[12..ETHERNET] {
            [0x08, 0x00] => self.head[ETHERNET + 6] & DF != 0,
            [0x86, 0xdd] => true,
            _ => false,
        }
    }

    /// The packet that carries the `count` segments from `first` on.
    pub(crate) fn outgoing(&self, first: u16, count: u16) -> Outgoing {
        let head_len = self.head_len.min(self.len);
        let mut out = Outgoing {
            vnet: self.vnet,
            head: self.head,
            head_len,
            len: self.len,
            payload: self.payload_at(head_len),
            held: self.held.map(|id| HeldPart { id, is_whole: true, payload_at: head_len }),
        };
        if let Some(cut) = self.cut
            && count < self.segments()
        {
            self.carve(&mut out, cut, first, count);
        }
        out
    }

    /// The payload that is kept, from this place of the packet on.
    fn payload_at(&self, at: usize) -> Option<(Rc<Buffer>, usize)> {
        self.whole.as_ref().map(|whole| (Rc::clone(whole), at))
    }

    fn payload(&self, cut: Cut, first: u16, count: u16) -> usize {
        let start = usize::from(first) * cut.mss;
        (usize::from(count) * cut.mss).min((self.len - cut.headers).saturating_sub(start))
    }

    fn carve(&self, out: &mut Outgoing, cut: Cut, first: u16, count: u16) {
        let payload = self.payload(cut, first, count);
        out.len = cut.headers + payload;
        out.head_len = cut.headers;
        let payload_at = cut.headers + usize::from(first) * cut.mss;
        out.payload = self.payload_at(payload_at);
        out.held = self.held.map(|id| HeldPart { id, is_whole: false, payload_at });
        let is_last = first + count == self.segments();
        match cut.family {
            Family::Ipv4 => carve_ipv4(&mut out.head, first, out.len - ETHERNET),
            Family::Ipv6 => put_u16(&mut out.head, ETHERNET + 4, (out.len - ETHERNET - IPV6) as u16),
        }
        carve_tcp(&mut out.head, cut, first, is_last, out.len - cut.tcp_at);
        out.vnet = vnet_header(cut, payload, out.head[cut.tcp_at + 13] & TCP_CWR != 0);
    }
}

/// Marks a packet CE.
pub(crate) fn mark(packet: &mut Outgoing) {
    set_ecn(&mut packet.head, CE);
}

fn cut_of(vnet: &[u8; VNET_LEN], head: &[u8], len: usize) -> Option<Cut> {
    let mss = usize::from(u16::from_ne_bytes([vnet[4], vnet[5]]));
    let (family, tcp_at) = match (vnet[1] & !VNET_GSO_ECN, head.get(12..ETHERNET)?) {
        (VNET_GSO_TCPV4, [0x08, 0x00]) => {
            let is_tcp = *head.get(ETHERNET + 9)? == TCP;
            (Family::Ipv4, is_tcp.then_some(ETHERNET + usize::from(head[ETHERNET] & 0x0f) * 4)?)
        }
        // Where TCP begins behind extension headers, the virtio-net header knows: `csum_start`.
        (VNET_GSO_TCPV6, [0x86, 0xdd]) => (Family::Ipv6, usize::from(u16::from_ne_bytes([vnet[6], vnet[7]]))),
        _ => return None,
    };
    if mss == 0 || tcp_at < addresses(family).end || head.len() < tcp_at + 20 {
        return None;
    }
    let headers = tcp_at + usize::from(head[tcp_at + 12] >> 4) * 4;
    (tcp_at + 20 <= headers && headers <= head.len() && headers < len).then_some(Cut {
        family,
        tcp_at,
        headers,
        mss,
    })
}

/// The virtio-net header of a super-packet that came without one, from a host whose segments fill the MTU.
pub(crate) fn vnet_of_super_packet(head: &[u8], mtu: u16) -> [u8; VNET_LEN] {
    let start = match head.get(12..ETHERNET) {
        Some([0x08, 0x00]) => {
            head.get(ETHERNET).map(|first| (Family::Ipv4, ETHERNET + usize::from(first & 0x0f) * 4))
        }
        Some([0x86, 0xdd]) if head.get(ETHERNET + 6) == Some(&TCP) => Some((Family::Ipv6, ETHERNET + IPV6)),
        _ => None,
    };
    let with_headers = start.and_then(|(family, tcp_at)| {
        let headers = tcp_at + usize::from(head.get(tcp_at + 12)? >> 4) * 4;
        Some(Cut { family, tcp_at, headers, mss: (ETHERNET + usize::from(mtu)).checked_sub(headers)? })
    });
    with_headers.map_or([0; VNET_LEN], |cut| vnet_header(cut, usize::MAX, false))
}

fn carve_ipv4(head: &mut [u8; SNAP], first: u16, total_len: usize) {
    let total_len = u16::try_from(total_len).unwrap_or(u16::MAX);
    put_u16(head, ETHERNET + 2, total_len);
    let id = get_u16(head, ETHERNET + 4).wrapping_add(first);
    put_u16(head, ETHERNET + 4, id);
    put_u16(head, ETHERNET + 10, 0);
    let end = ETHERNET + usize::from(head[ETHERNET] & 0x0f) * 4;
    let checksum = !fold(sum(&head[ETHERNET..end]));
    put_u16(head, ETHERNET + 10, checksum);
}

fn carve_tcp(head: &mut [u8; SNAP], cut: Cut, first: u16, is_last: bool, tcp_len: usize) {
    let at = cut.tcp_at;
    let sequence = u32::from_be_bytes([head[at + 4], head[at + 5], head[at + 6], head[at + 7]]);
    let offset = u32::from(first) * u32::try_from(cut.mss).unwrap_or(0);
    head[at + 4..at + 8].copy_from_slice(&sequence.wrapping_add(offset).to_be_bytes());
    if !is_last {
        head[at + 13] &= !(TCP_FIN | TCP_PSH);
    }
    if first > 0 {
        head[at + 13] &= !TCP_CWR;
    }
    // CHECKSUM_PARTIAL: the field holds the folded sum of the pseudo header, not complemented (`__tcp_v4_send_check()`, `__tcp_v6_send_check()`).
    let addresses = sum(&head[addresses(cut.family)]);
    let pseudo = addresses + u32::from(TCP) + u32::try_from(tcp_len).unwrap_or(0);
    put_u16(head, at + 16, fold(pseudo));
}

fn vnet_header(cut: Cut, payload: usize, has_cwr: bool) -> [u8; VNET_LEN] {
    let mut vnet = [0; VNET_LEN];
    vnet[0] = VNET_NEEDS_CSUM;
    vnet[1] = VNET_GSO_NONE;
    let mut put = |at: usize, value: usize| {
        vnet[at..at + 2].copy_from_slice(&u16::try_from(value).unwrap_or(0).to_ne_bytes());
    };
    if payload > cut.mss {
        put(2, cut.headers);
        put(4, cut.mss);
    }
    put(6, cut.tcp_at);
    put(8, 16);
    if payload > cut.mss {
        vnet[1] = gso_type(cut.family) | if has_cwr { VNET_GSO_ECN } else { 0 };
    }
    vnet
}

fn get_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: usize = 1448;
    const HEADERS: usize = ETHERNET + 20 + 32;

    /// A TSO super-packet with `payload` bytes, PSH, FIN and CWR set, as virtio-net hands it over.
    pub(crate) fn super_packet(payload: usize) -> Frame {
        let mut head = [0_u8; HEADERS];
        head[12..14].copy_from_slice(&[0x08, 0x00]);
        head[ETHERNET] = 0x45;
        // ECT(0), DF.
        head[ETHERNET + 1] = 2;
        head[ETHERNET + 6] = DF;
        put_len(&mut head, ETHERNET + 2, HEADERS - ETHERNET + payload);
        put_len(&mut head, ETHERNET + 4, 0xfffe);
        head[ETHERNET + 9] = TCP;
        head[ETHERNET + 12..ETHERNET + 20].copy_from_slice(&[10, 77, 0, 1, 10, 77, 0, 2]);
        head[ETHERNET + 20 + 4..ETHERNET + 20 + 8].copy_from_slice(&0xffff_ff00_u32.to_be_bytes());
        head[ETHERNET + 20 + 12] = 8 << 4;
        head[ETHERNET + 20 + 13] = 0x10 | TCP_PSH | TCP_FIN | TCP_CWR;
        let mut vnet = [0; VNET_LEN];
        vnet[0] = VNET_NEEDS_CSUM;
        vnet[1] = VNET_GSO_TCPV4;
        vnet[4..6].copy_from_slice(&u16::try_from(MSS).unwrap().to_ne_bytes());
        Frame::new(Received {
            realtime_ns: 0,
            is_outgoing: false,
            len: u32::try_from(HEADERS + payload).unwrap(),
            vnet,
            packet: Packet::Head(&head),
        })
    }

    fn put_len(head: &mut [u8], at: usize, value: usize) {
        head[at..at + 2].copy_from_slice(&u16::try_from(value).unwrap().to_be_bytes());
    }

    fn sequence(out: &Outgoing) -> u32 {
        u32::from_be_bytes(out.head[ETHERNET + 24..ETHERNET + 28].try_into().unwrap())
    }

    fn flags(out: &Outgoing) -> u8 {
        out.head[ETHERNET + 33]
    }

    /// A flow is protocol, addresses and ports; later fragments have no ports, so that the first ones count without theirs too.
    #[test]
    fn packets_of_one_flow_have_one_hash_and_those_of_others_another() {
        let of = |change: &dyn Fn(&mut [u8])| {
            let mut head = super_packet(MSS).head;
            change(&mut head);
            let received = Received {
                realtime_ns: 0,
                is_outgoing: false,
                len: HEADERS as u32,
                vnet: [0; VNET_LEN],
                packet: Packet::Head(&head[..HEADERS]),
            };
            Frame::new(received).flow()
        };
        let plain = of(&|_| {});
        assert_eq!(of(&|head| head[ETHERNET + 4] ^= 1), plain, "the identification is no part of it");
        assert_eq!(of(&|head| head[ETHERNET + 24] ^= 1), plain, "nor is the sequence number");
        for at in [ETHERNET + 9, ETHERNET + 12, ETHERNET + 19, ETHERNET + 20, ETHERNET + 23] {
            assert_ne!(of(&|head| head[at] ^= 1), plain, "{at}");
        }
        let fragment = |port: u8| of(&move |head| (head[ETHERNET + 6], head[ETHERNET + 20]) = (0x20, port));
        assert_eq!(fragment(1), fragment(2));
    }

    #[test]
    fn a_plain_packet_is_one_segment_and_leaves_as_it_came() {
        let head = [7_u8; 60];
        let frame = Frame::new(Received {
            realtime_ns: 0,
            is_outgoing: false,
            len: 90,
            vnet: [0; VNET_LEN],
            packet: Packet::Head(&head),
        });
        assert_eq!((frame.segments(), frame.segment_len(0)), (1, 90));
        let out = frame.outgoing(0, 1);
        assert_eq!((out.len, out.head_len, &out.head[..60]), (90, 60, &head[..]));
    }

    #[test]
    fn flags_stay_on_the_segment_that_carried_them() {
        let frame = super_packet(3 * MSS);
        let parts = [frame.outgoing(0, 1), frame.outgoing(1, 1), frame.outgoing(2, 1)];
        let has = |bit: u8| parts.each_ref().map(|part| flags(part) & bit != 0);
        assert_eq!(has(TCP_FIN), [false, false, true]);
        assert_eq!(has(TCP_PSH), [false, false, true]);
        assert_eq!(has(TCP_CWR), [true, false, false]);
    }

    #[test]
    fn a_mark_is_the_ecn_field_alone_and_the_checksum_follows() {
        for count in [1, 2, 3] {
            let frame = super_packet(3 * MSS);
            assert!(frame.ecn() == Ecn::Ect0 && frame.has_df());
            let (plain, mut marked) = (frame.outgoing(0, count), frame.outgoing(0, count));
            mark(&mut marked);
            let differ: Vec<usize> =
                (0..plain.head_len).filter(|&at| plain.head[at] != marked.head[at]).collect();
            assert!(
                differ.iter().all(|at| [ETHERNET + 1, ETHERNET + 10, ETHERNET + 11].contains(at)),
                "{differ:?}"
            );
            assert_eq!((ecn(&plain.head), ecn(&marked.head)), (2, CE));
            assert_eq!(fold(sum(&marked.head[ETHERNET..ETHERNET + 20])), 0xffff);
        }
        let frame = super_packet_of_ipv6(3 * MSS, false);
        assert!(frame.ecn() == Ecn::NotEct && frame.has_df(), "the traffic class is 0");
        let mut marked = frame.outgoing(0, 3);
        mark(&mut marked);
        assert_eq!((ecn(&marked.head), marked.head[ETHERNET] >> 4), (CE, 6));
    }

    #[test]
    fn a_segment_alone_is_no_super_packet_and_two_are() {
        let frame = super_packet(3 * MSS);
        assert_eq!(frame.outgoing(1, 1).vnet[1], VNET_GSO_NONE);
        assert_eq!(frame.outgoing(1, 2).vnet[1], VNET_GSO_TCPV4);
        assert_eq!(frame.outgoing(0, 2).vnet[1], VNET_GSO_TCPV4 | VNET_GSO_ECN);
    }

    /// A super-packet over IPv6 with its payload, with a hop-by-hop extension of 8 bytes where `is_extended`.
    pub(crate) fn super_packet_of_ipv6(payload: usize, is_extended: bool) -> Frame {
        let tcp_at = ETHERNET + IPV6 + if is_extended { 8 } else { 0 };
        let mut bytes = vec![0_u8; tcp_at + 32 + payload];
        bytes[12..14].copy_from_slice(&[0x86, 0xdd]);
        bytes[ETHERNET] = 0x60;
        bytes[ETHERNET + 8..ETHERNET + 24].fill(0xfd);
        bytes[tcp_at + 12] = 8 << 4;
        bytes[tcp_at + 13] = 0x10 | TCP_PSH;
        for (at, byte) in bytes[tcp_at + 32..].iter_mut().enumerate() {
            *byte = (at % 251) as u8;
        }
        let mut vnet = [0; VNET_LEN];
        (vnet[0], vnet[1]) = (VNET_NEEDS_CSUM, VNET_GSO_TCPV6);
        vnet[4..6].copy_from_slice(&u16::try_from(MSS).unwrap().to_ne_bytes());
        vnet[6..8].copy_from_slice(&u16::try_from(tcp_at).unwrap().to_ne_bytes());
        let length = bytes.len();
        let mut landing = crate::sys::buffers::Buffers::large();
        landing[..length].copy_from_slice(&bytes);
        let whole = crate::sys::buffers::Buffers::new(1 << 20).keep(&mut landing, 0..length);
        Frame::new(Received {
            realtime_ns: 0,
            is_outgoing: false,
            len: u32::try_from(length).unwrap(),
            vnet,
            packet: Packet::Whole(whole.expect("room")),
        })
    }

    proptest! {
        /// Over IPv6 too every byte of the payload leaves once, in order, in packets whose length is right.
        #[test]
        fn cutting_ipv6_conserves_the_payload(payload in 1_usize..60_000, is_extended: bool, cuts in prop::collection::vec(1_u16..20, 1..20)) {
            let frame = super_packet_of_ipv6(payload, is_extended);
            let (segments, mut first, mut carried) = (frame.segments(), 0_u16, Vec::new());
            prop_assert_eq!(usize::from(segments), payload.div_ceil(MSS));
            for cut in cuts.iter().cycle() {
                let count = (*cut).min(segments - first);
                let out = frame.outgoing(first, count);
                let headers = ETHERNET + IPV6 + 32 + if is_extended { 8 } else { 0 };
                let length = usize::from(get_u16(&out.head, ETHERNET + 4));
                if count < segments {
                    prop_assert_eq!((length, out.head_len), (out.len - ETHERNET - IPV6, headers));
                    prop_assert_eq!(out.vnet[1], if count > 1 && out.len - headers > MSS { VNET_GSO_TCPV6 } else { VNET_GSO_NONE });
                }
                let all = [&out.head[..out.head_len], out.payload()].concat();
                prop_assert_eq!(all.len(), out.len);
                carried.extend_from_slice(&all[headers..]);
                first += count;
                if first == segments { break; }
            }
            let sent: Vec<u8> = (0..payload).map(|at| (at % 251) as u8).collect();
            prop_assert!(carried == sent);
        }

        /// However a super-packet is cut, every payload byte leaves exactly once, in order, under right headers.
        #[test]
        fn cutting_conserves_bytes_and_sequence(payload in 1_usize..60_000, cuts in prop::collection::vec(1_u16..20, 1..20)) {
            let frame = super_packet(payload);
            let segments = frame.segments();
            prop_assert_eq!(usize::from(segments), payload.div_ceil(MSS));
            let (mut first, mut carried) = (0_u16, 0_usize);
            for cut in cuts.iter().cycle() {
                let count = (*cut).min(segments - first);
                let out = frame.outgoing(first, count);
                let bytes = out.len - HEADERS;
                let wire: u32 = (first..first + count).map(|i| frame.segment_len(i)).sum();
                prop_assert_eq!(wire as usize, bytes + usize::from(count) * HEADERS);
                prop_assert_eq!(sequence(&out), 0xffff_ff00_u32.wrapping_add(u32::try_from(carried).unwrap()));
                prop_assert_eq!(usize::from(get_u16(&out.head, ETHERNET + 2)), out.len - ETHERNET);
                if count < segments {
                    prop_assert_eq!(fold(sum(&out.head[ETHERNET..ETHERNET + 20])), 0xffff);
                    prop_assert_eq!(get_u16(&out.head, ETHERNET + 4), 0xfffe_u16.wrapping_add(first));
                }
                carried += bytes;
                first += count;
                if first == segments { break; }
            }
            prop_assert_eq!(carried, payload);
        }

        /// Whatever the ring hands over, nothing panics and no packet grows.
        #[test]
        fn any_header_is_survived(head in prop::collection::vec(any::<u8>(), 0..200), vnet in any::<[u8; VNET_LEN]>(), len in 0_u32..70_000) {
            let frame = Frame::new(Received { realtime_ns: 0, is_outgoing: false, len, vnet, packet: Packet::Head(&head) });
            for index in 0..frame.segments().min(50) {
                prop_assert!(frame.outgoing(index, 1).len <= len as usize);
            }
        }
    }
}
