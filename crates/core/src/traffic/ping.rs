//! Requests and replies of known size: what both backends send, and what it weighs on the wire.
//!
//! Each size is asked for twice in turn: once with the whole payload sent back, as an ICMP echo has it, and once with a short reply.
//! One alone can't tell the two directions apart.

use crate::cell::{Family, PathSpec, PingSpec};
use crate::units::Bytes;
use std::time::Duration;

/// Payload of a short reply, and the least of a request: our own header.
pub const SHORT_REPLY: Bytes = Bytes::new(24);
/// The Ethernet header.
const ETHERNET_HEADER: u64 = 14;
/// The UDP header, in the first fragment.
const UDP_HEADER: u64 = 8;
/// What all fragments but the last carry is a multiple of this (RFC 791, 3.1; RFC 8200, 4.5).
const FRAGMENT_UNIT: u64 = 8;
/// A reply that takes longer than this beyond four round trips is lost.
const PATIENCE: Duration = Duration::from_secs(1);

/// One request and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Payload of the request.
    pub payload: Bytes,
    /// Payload of the reply.
    pub reply: Bytes,
}

/// The exchange number `number`, from 0: every payload in turn, first with the whole reply, then with the short one.
pub fn exchange(spec: &PingSpec, number: u64) -> Exchange {
    let kinds = (spec.payloads.len() as u64).max(1) * 2;
    let place = usize::try_from(number % kinds).unwrap_or(0);
    let payload = spec.payloads.get(place / 2).copied().unwrap_or(SHORT_REPLY);
    Exchange { payload, reply: if place % 2 == 0 { payload } else { SHORT_REPLY } }
}

/// The IP payloads, in bytes, of the packets that carry a datagram of `payload` on `path`: one where it fits the MTU, else fragments,
/// with IPv6's extension header.
pub fn fragments(payload: Bytes, path: &PathSpec) -> impl Iterator<Item = u32> + use<> {
    let Cut { whole, most, extension } = Cut::new(payload, path);
    (0..whole.div_ceil(most))
        .map(move |index| u32::try_from((whole - index * most).min(most) + extension).unwrap_or(u32::MAX))
}

/// What a datagram of `payload` weighs on `path`: every fragment's Ethernet frame without FCS.
pub fn wire_bytes(payload: Bytes, path: &PathSpec) -> Bytes {
    let Cut { whole, most, extension } = Cut::new(payload, path);
    let headers = ETHERNET_HEADER + u64::from(path.family.header()) + extension;
    Bytes::new(whole.saturating_add(whole.div_ceil(most).saturating_mul(headers)))
}

/// How a datagram is cut for a path.
struct Cut {
    /// Bytes of the datagram with its UDP header.
    whole: u64,
    /// What a packet carries of it at most.
    most: u64,
    /// What it has beside the IP header.
    extension: u64,
}

impl Cut {
    fn new(payload: Bytes, path: &PathSpec) -> Self {
        let whole = payload.get().saturating_add(UDP_HEADER);
        let room = u64::from(path.mtu.saturating_sub(path.family.header()));
        if whole <= room {
            return Self { whole, most: whole, extension: 0 };
        }
        let extension = fragment_header(path.family);
        let units = room.saturating_sub(extension) / FRAGMENT_UNIT;
        Self { whole, most: units.max(1) * FRAGMENT_UNIT, extension }
    }
}

/// What a fragment has beside the IP header: IPv4 says all there (RFC 791, 3.1), IPv6 in an extension header (RFC 8200, 4.5).
pub const fn fragment_header(family: Family) -> u64 {
    match family {
        Family::Ipv4 => 0,
        Family::Ipv6 => 8,
    }
}

/// How long a reply is waited for on a path of this base round trip.
pub fn patience(rtt: Duration) -> Duration {
    PATIENCE + 4 * rtt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_go_round_with_both_replies() {
        let spec = PingSpec {
            payloads: vec![Bytes::new(64), Bytes::new(1400)],
            interval: Duration::from_millis(10),
        };
        let got: Vec<(u64, u64)> = (0..5)
            .map(|number| exchange(&spec, number))
            .map(|sizes| (sizes.payload.get(), sizes.reply.get()))
            .collect();
        assert_eq!(got, [(64, 64), (64, 24), (1400, 1400), (1400, 24), (64, 64)]);
    }

    /// The source of study 3 pinged with 65,500 bytes: 45 fragments, 67 kB on the wire, each way.
    #[test]
    fn a_large_ping_is_many_frames() {
        let path = &PathSpec::EMPTY;
        assert_eq!(fragments(Bytes::new(65_500), path).count(), 45);
        assert_eq!(wire_bytes(Bytes::new(65_500), path), Bytes::new(65_508 + 45 * 34));
        assert_eq!(fragments(Bytes::new(1_472), path).collect::<Vec<_>>(), [1480]);
        assert_eq!(wire_bytes(Bytes::new(1_472), path), Bytes::new(1_514));
        for payload in [24, 1_473, 20_000] {
            let carried: u32 = fragments(Bytes::new(payload), path).sum();
            assert_eq!(u64::from(carried), payload + 8);
        }
    }

    /// RFC 8200, 4.5: 1452 bytes of payload fill an IPv6 packet of 1500; more goes in fragments of 1448 and 8 more of header.
    #[test]
    fn ipv6_fragments_have_a_header_more() {
        let path = &PathSpec { family: Family::Ipv6, ..PathSpec::EMPTY };
        assert_eq!(fragments(Bytes::new(1_452), path).collect::<Vec<_>>(), [1_460]);
        assert_eq!(wire_bytes(Bytes::new(1_452), path), Bytes::new(1_514));
        assert_eq!(fragments(Bytes::new(1_453), path).collect::<Vec<_>>(), [1_456, 21]);
        assert_eq!(wire_bytes(Bytes::new(1_453), path), Bytes::new(1_453 + 8 + 2 * (8 + 54)));
    }

    #[test]
    fn a_fragment_is_as_large_as_the_mtu_allows() {
        for (mtu, want) in [(576, 119), (9000, 8)] {
            let path = &PathSpec { mtu, ..PathSpec::EMPTY };
            assert_eq!(fragments(Bytes::new(65_500), path).count(), want);
            assert!(fragments(Bytes::new(65_500), path).all(|bytes| bytes + 20 <= u32::from(mtu)));
        }
    }
}
