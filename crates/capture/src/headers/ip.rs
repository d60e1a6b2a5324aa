//! IPv4 (RFC 791) and IPv6 (RFC 8200), their fragments and extension headers.

use super::Other;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const HOP_BY_HOP: u8 = 0;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
pub(super) const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
/// In the first byte of the fragment offset.
pub(super) const DONT_FRAGMENT: u8 = 0x40;
/// The lower 13 bits, in units of eight bytes.
pub(super) const FRAGMENT_OFFSET: u16 = 0x1fff;
pub(super) const MORE_FRAGMENTS: u16 = 0x2000;
/// Extension headers that are followed.
const EXTENSIONS_MAX: usize = 8;
const JUMBO_PAYLOAD: u8 = 0xc2;

/// An IPv4 or IPv6 address, in a form that compares fast: an IPv4 address as RFC 4291 2.5.5.2 maps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address {
    high: u64,
    low: u64,
}

impl Address {
    const MAPPED: u64 = 0xffff_0000_0000;

    /// Of 32 bits.
    #[inline]
    pub const fn v4(bits: u32) -> Self {
        Self { high: 0, low: Self::MAPPED | bits as u64 }
    }

    /// Of 128 bits.
    #[inline]
    pub const fn v6(bits: u128) -> Self {
        Self { high: (bits >> 64) as u64, low: bits as u64 }
    }

    /// The address as two halves of its bits: unequal for different addresses.
    #[inline]
    pub(crate) const fn bits(self) -> (u64, u64) {
        (self.high, self.low)
    }

    /// As the standard library has it.
    pub fn ip(self) -> IpAddr {
        if self.high == 0 && self.low >> 32 == Self::MAPPED >> 32 {
            IpAddr::V4(Ipv4Addr::from(self.low as u32))
        } else {
            IpAddr::V6(Ipv6Addr::from(u128::from(self.high) << 64 | u128::from(self.low)))
        }
    }
}

/// The IP header's facts on a TCP segment or a UDP datagram, and its captured bytes.
pub(super) struct Carried<'a> {
    pub(super) source: Address,
    pub(super) destination: Address,
    pub(super) is_v6: bool,
    /// The identification, or 0.
    pub(super) id: u16,
    /// The two bits of RFC 3168.
    pub(super) ecn: u8,
    pub(super) hops: u8,
    pub(super) dont_fragment: bool,
    /// Which part of a packet it is; `None` where it is a whole one.
    pub(super) fragment: Option<Fragment>,
    /// Bytes of its header and payload, on the wire.
    pub(super) length: u32,
    pub(super) bytes: &'a [u8],
}

/// A part of what an IP packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fragment {
    /// The same of all parts.
    pub(super) id: u32,
    /// Its first byte.
    pub(super) from: u32,
    /// Others follow.
    pub(super) has_more: bool,
}

impl Fragment {
    /// Whether there are others (RFC 6946: IPv6 has some alone).
    const fn is_part(self) -> bool {
        self.from > 0 || self.has_more
    }
}

/// The protocol in an IP packet, and its header and payload.
pub(super) type Inner<'a> = (u8, Carried<'a>);

/// The IP packet in `bytes`; its frame had `length` bytes from here on.
#[inline(always)]
pub(super) fn read(bytes: &[u8], length: u32) -> Result<Inner<'_>, Other> {
    match bytes.first().map(|first| first >> 4) {
        Some(4) => v4(bytes, length),
        Some(6) => v6(bytes, length),
        Some(_) => Err(Other::BadIp),
        None => Err(Other::CutIp),
    }
}

#[inline(always)]
fn v4(bytes: &[u8], frame_length: u32) -> Result<Inner<'_>, Other> {
    let header = bytes.first_chunk::<IPV4_HEADER>().ok_or(Other::CutIp)?;
    let header_length = usize::from(header[0] & 0xf) * 4;
    let total = u32::from(u16::from_be_bytes([header[2], header[3]]));
    // Linux has no length in super-packets that 16 bits don't hold, and none where the card cuts them (TSO).
    let total = if total == 0 { frame_length } else { total };
    if header_length < IPV4_HEADER || (total as usize) < header_length {
        return Err(Other::BadIp);
    }
    let (id, place) =
        (u16::from_be_bytes([header[4], header[5]]), u16::from_be_bytes([header[6], header[7]]));
    let fragment = Fragment {
        id: u32::from(id),
        from: u32::from(place & FRAGMENT_OFFSET) * 8,
        has_more: place & MORE_FRAGMENTS != 0,
    };
    let body = bytes.get(header_length..).ok_or(Other::CutIp)?;
    if header_length > IPV4_HEADER && !are_options(&bytes[IPV4_HEADER..header_length]) {
        return Err(Other::BadIp);
    }
    let length = total - header_length as u32;
    // Bytes behind the packet are the frame's padding.
    let body = &body[..body.len().min(length as usize)];
    let address = |at: usize| {
        Address::v4(u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]))
    };
    let carried = Carried {
        source: address(12),
        destination: address(16),
        is_v6: false,
        id,
        ecn: header[1] & 3,
        hops: header[8],
        dont_fragment: header[6] & DONT_FRAGMENT != 0,
        fragment: fragment.is_part().then_some(fragment),
        length,
        bytes: body,
    };
    Ok((header[9], carried))
}

/// Whether each of an IPv4 header's options has a length that it may have (RFC 791 3.1, RFC 1108 2.1). Linux refuses short routes and timestamps
/// (`ip_options_compile()`), and takes a short security option; tshark dissects nothing behind one.
#[cold]
fn are_options(mut bytes: &[u8]) -> bool {
    const END: u8 = 0;
    const NO_OPERATION: u8 = 1;
    const RECORDED_ROUTE: u8 = 7;
    const TIMESTAMP: u8 = 68;
    const SECURITY: u8 = 130;
    const LOOSE_ROUTE: u8 = 131;
    const STREAM: u8 = 136;
    const STRICT_ROUTE: u8 = 137;
    while let [kind, rest @ ..] = bytes {
        let length = match (*kind, rest) {
            (END, _) => return true,
            (NO_OPERATION, _) => 1,
            (_, []) => return false,
            (_, [length, ..]) => usize::from(*length),
        };
        let least = match *kind {
            NO_OPERATION => 1,
            RECORDED_ROUTE | LOOSE_ROUTE | STRICT_ROUTE | SECURITY => 3,
            TIMESTAMP | STREAM => 4,
            _ => 2,
        };
        let Some(behind) = bytes.get(length..).filter(|_| length >= least) else { return false };
        bytes = behind;
    }
    true
}

#[inline]
fn v6(bytes: &[u8], frame_length: u32) -> Result<Inner<'_>, Other> {
    let (header, body) = bytes.split_first_chunk::<IPV6_HEADER>().ok_or(Other::CutIp)?;
    let payload = u32::from(u16::from_be_bytes([header[4], header[5]]));
    let next = header[6];
    let length = match payload {
        0 => jumbo(next, body).unwrap_or_else(|| frame_length.saturating_sub(IPV6_HEADER as u32)),
        length => length,
    };
    let address =
        |from: usize| header[from..from + 16].iter().fold(0, |bits, &byte| bits << 8 | u128::from(byte));
    let carried = Carried {
        source: Address::v6(address(8)),
        destination: Address::v6(address(24)),
        is_v6: true,
        id: 0,
        ecn: header[1] >> 4 & 3,
        hops: header[7],
        dont_fragment: false,
        fragment: None,
        length,
        bytes: &body[..body.len().min(length as usize)],
    };
    behind_extensions(next, carried)
}

/// What is behind the extension headers of IPv6 that `carried` begins with, the first of which is `next`; or a fragment, whose rest is not looked at.
pub(super) fn behind_extensions(mut next: u8, mut carried: Carried<'_>) -> Result<Inner<'_>, Other> {
    for depth in 0.. {
        let body = carried.bytes;
        let size = match next {
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY => {
                8 + usize::from(*body.get(1).ok_or(Other::CutIp)?) * 8
            }
            AUTHENTICATION => 8 + usize::from(*body.get(1).ok_or(Other::CutIp)?) * 4,
            FRAGMENT => {
                let &[_, _, high, low, a, b, c, d] = body.first_chunk().ok_or(Other::CutIp)?;
                let place = u16::from_be_bytes([high, low]);
                let fragment = Fragment {
                    id: u32::from_be_bytes([a, b, c, d]),
                    from: u32::from(place & !7),
                    has_more: place & 1 != 0,
                };
                carried.fragment = fragment.is_part().then_some(fragment);
                8
            }
            _ => break,
        };
        if depth == EXTENSIONS_MAX {
            return Err(Other::TooDeep);
        }
        carried.length = carried.length.checked_sub(size as u32).ok_or(Other::BadIp)?;
        next = body[0];
        carried.bytes = body.get(size..).ok_or(Other::CutIp)?;
        if carried.fragment.is_some() {
            break;
        }
    }
    Ok((next, carried))
}

/// The length in a jumbo payload option (RFC 2675), as the first option of the first extension header.
fn jumbo(next: u8, body: &[u8]) -> Option<u32> {
    match (next, body) {
        (HOP_BY_HOP, &[_, _, JUMBO_PAYLOAD, 4, a, b, c, d, ..]) => Some(u32::from_be_bytes([a, b, c, d])),
        _ => None,
    }
}
