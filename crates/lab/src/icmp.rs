//! ICMP messages that a router on the path sends: a packet is larger than the next link (RFC 1191, RFC 4443).

use crate::sys::packet::{Outgoing, SNAP};
use crate::sys::received::VNET_LEN;
use pipefill_capture::write::checksum::{fold, sum};
use pipefill_core::address;
use pipefill_core::cell::Family;
use std::net::IpAddr;

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const IPV6: usize = 40;
const ICMP: usize = 8;
const TTL: u8 = 64;
const PROTOCOL_ICMP: u8 = 1;
const PROTOCOL_ICMPV6: u8 = 58;
/// Destination unreachable, fragmentation needed (RFC 1191, section 4).
const FRAGMENTATION_NEEDED: [u8; 2] = [3, 4];
/// Packet Too Big (RFC 4443, section 3.2).
const PACKET_TOO_BIG: [u8; 2] = [2, 0];

/// The message to the sender of the packet with the headers of `dropped` that the next link carries `mtu` bytes; `None` where it is no IP
/// packet. It quotes the headers.
pub(crate) fn packet_too_big(dropped: &Outgoing, mtu: u16) -> Option<Outgoing> {
    let quoted = dropped.head.get(..dropped.head_len)?;
    let ip = quoted.get(ETHERNET..)?;
    let (header, source) = match quoted.get(12..ETHERNET)? {
        [0x08, 0x00] => (IPV4, ip.get(12..16)?),
        [0x86, 0xdd] => (IPV6, ip.get(8..24)?),
        _ => return None,
    };
    let quoted_len = ip.len().min(SNAP - ETHERNET - header - ICMP);
    let ip = &ip[..quoted_len];
    let mut message = Vec::with_capacity(SNAP);
    // Back to where it came from.
    message.extend([&quoted[6..12], &quoted[..6], &quoted[12..ETHERNET]].concat());
    if header == IPV4 {
        message.extend(ipv4(source, (IPV4 + ICMP + quoted_len) as u16));
        message.extend(body(FRAGMENTATION_NEEDED, u32::from(mtu), ip, 0));
    } else {
        let length = (ICMP + quoted_len) as u16;
        message.extend(ipv6(source, length));
        let pseudo = sum(&message[ETHERNET + 8..]) + u32::from(length) + u32::from(PROTOCOL_ICMPV6);
        message.extend(body(PACKET_TOO_BIG, u32::from(mtu), ip, pseudo));
    }
    let mut head = [0; SNAP];
    head[..message.len()].copy_from_slice(&message);
    Some(Outgoing {
        vnet: [0; VNET_LEN],
        head,
        head_len: message.len(),
        len: message.len(),
        payload: None,
        held: None,
    })
}

/// An ICMP message with this type and code that quotes `quoted`; `pseudo` is the sum of the pseudo header.
fn body(kind: [u8; 2], mtu: u32, quoted: &[u8], pseudo: u32) -> Vec<u8> {
    let mut body = [&kind[..], &[0, 0], &mtu.to_be_bytes(), quoted].concat();
    let checksum = !fold(sum(&body) + pseudo);
    body[2..4].copy_from_slice(&checksum.to_be_bytes());
    body
}

fn ipv4(to: &[u8], length: u16) -> Vec<u8> {
    let mut header = vec![0x45, 0];
    header.extend(length.to_be_bytes());
    header.extend([0, 0, 0, 0, TTL, PROTOCOL_ICMP, 0, 0]);
    header.extend(gateway(Family::Ipv4));
    header.extend(to);
    let checksum = !fold(sum(&header));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

fn ipv6(to: &[u8], length: u16) -> Vec<u8> {
    let mut header = vec![0x60, 0, 0, 0];
    header.extend(length.to_be_bytes());
    header.extend([PROTOCOL_ICMPV6, TTL]);
    header.extend(gateway(Family::Ipv6));
    header.extend(to);
    header
}

fn gateway(family: Family) -> Vec<u8> {
    match address::of_gateway(family) {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::{super_packet, super_packet_of_ipv6};

    #[test]
    fn a_message_goes_back_with_valid_checksums_and_the_headers() {
        let message = packet_too_big(&super_packet(3 * 1448).outgoing(1, 1), 1400).expect("IPv4");
        let bytes = &message.head[..message.head_len];
        assert_eq!(fold(sum(&bytes[ETHERNET..ETHERNET + IPV4])), 0xffff);
        assert_eq!(fold(sum(&bytes[ETHERNET + IPV4..])), 0xffff);
        assert_eq!(bytes[ETHERNET + 16..ETHERNET + 20], [10, 77, 0, 1], "to its sender");
        assert_eq!(bytes[ETHERNET + IPV4..ETHERNET + IPV4 + 2], FRAGMENTATION_NEEDED);
        assert_eq!(bytes[ETHERNET + IPV4 + 6..ETHERNET + IPV4 + 8], 1400_u16.to_be_bytes());
        // The message quotes the second segment's sequence number.
        let quoted = &bytes[ETHERNET + IPV4 + ICMP..];
        assert_eq!(quoted[24..28], 0xffff_ff00_u32.wrapping_add(1448).to_be_bytes());
    }

    #[test]
    fn over_ipv6_the_checksum_has_the_pseudo_header() {
        let message = packet_too_big(&super_packet_of_ipv6(2 * 1448, false).outgoing(0, 1), 1280);
        let message = message.expect("IPv6");
        let bytes = &message.head[..message.head_len];
        let length = bytes.len() - ETHERNET - IPV6;
        let pseudo = sum(&bytes[ETHERNET + 8..ETHERNET + IPV6]) + length as u32 + u32::from(PROTOCOL_ICMPV6);
        assert_eq!(fold(sum(&bytes[ETHERNET + IPV6..]) + pseudo), 0xffff);
        assert_eq!(bytes[ETHERNET + IPV6 + 4..ETHERNET + IPV6 + 8], 1280_u32.to_be_bytes());
    }

    #[test]
    fn what_is_no_ip_packet_has_no_message() {
        let mut arp = super_packet(1448).outgoing(0, 1);
        arp.head[12..14].copy_from_slice(&[0x08, 0x06]);
        assert!(packet_too_big(&arp, 1400).is_none());
    }
}
