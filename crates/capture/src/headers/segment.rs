//! A TCP segment: the fields of its header (RFC 9293 3.1), and facts from its IP header.

use super::ip::{Address, Carried};
use super::{Other, PAYLOAD_LIMIT, TcpOptions};
use core::net::SocketAddr;
use std::fmt;

pub(super) const HEADER: usize = 20;
/// Of these, what is read: the checksum and the urgent pointer are not needed.
pub(super) const FIELDS: usize = 16;

/// An address and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Endpoint {
    /// Of a host.
    pub address: Address,
    /// Of TCP.
    pub port: u16,
}

impl Endpoint {
    /// Whether the other is the same one. Without a branch, unlike `==`.
    #[inline(always)]
    pub(crate) const fn is(&self, other: &Self) -> bool {
        let ((high, low), (other_high, other_low)) = (self.address.bits(), other.address.bits());
        ((high ^ other_high) | (low ^ other_low) == 0) & (self.port == other.port)
    }
}

impl fmt::Display for Endpoint {
    /// `192.0.2.1:80`, `[2001:db8::1]:80`.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::new(self.address.ip(), self.port).fmt(to)
    }
}

/// The control bits of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Sequence numbers begin.
    pub const SYN: Self = Self(0x02);
    /// The connection is reset.
    pub const RST: Self = Self(0x04);
    /// Data goes to the application now.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment number counts.
    pub const ACK: Self = Self(0x10);
    /// RFC 3168: congestion was experienced.
    pub const ECE: Self = Self(0x40);
    /// RFC 3168: the congestion window was reduced.
    pub const CWR: Self = Self(0x80);

    /// Whether all of `flags` are set.
    #[inline]
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

/// One TCP segment, or a super-packet of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Nanoseconds since 1970, as if the capture's clock had not been set back.
    pub time_ns: u64,
    /// How often the clock had been set back by then.
    pub stretch: u32,
    /// The packet's number in its capture, from 1.
    pub number: u64,
    /// Who sent it.
    pub source: Endpoint,
    /// To whom.
    pub destination: Endpoint,
    /// Whether it came over IPv6.
    pub is_v6: bool,
    /// IPv4's identification; 0 for IPv6.
    pub ip_id: u16,
    /// The ECN bits of IP (RFC 3168 5): 3 is CE.
    pub ecn: u8,
    /// Time to live, hop limit.
    pub hops: u8,
    /// IPv4's Don't Fragment; false for IPv6.
    pub dont_fragment: bool,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number; counts with [`Flags::ACK`].
    pub ack: u32,
    /// Control bits.
    pub flags: Flags,
    /// The bit of accurate ECN beside them (AE, RFC 9768).
    pub has_ae: bool,
    /// The window field, not scaled.
    pub window: u16,
    /// Bytes of payload on the wire.
    pub payload: u32,
    /// Its options, as far as they were captured.
    pub options: TcpOptions,
}

/// The segment in an IP packet.
#[inline(always)]
pub(super) fn read(carried: &Carried<'_>, to: &mut Segment) -> Result<(), Other> {
    let bytes = carried.bytes.first_chunk().ok_or(Other::CutTcp)?;
    let header = length(bytes);
    let payload = carried.length.checked_sub(header as u32).ok_or(Other::BadTcp)?;
    if header < HEADER || payload > PAYLOAD_LIMIT {
        return Err(Other::BadTcp);
    }
    write(carried, bytes, payload, to);
    to.options.read(carried.bytes.get(HEADER..header.min(carried.bytes.len())).unwrap_or_default());
    Ok(())
}

/// Bytes of a header with its options.
#[inline(always)]
pub(super) fn length(header: &[u8; FIELDS]) -> usize {
    usize::from(header[12] >> 4) * 4
}

/// Everything but the options and what the packet's record has. Written in place: a copy of what was just written piece by piece costs more than the writing.
#[inline(always)]
pub(super) fn write(carried: &Carried<'_>, header: &[u8; FIELDS], payload: u32, to: &mut Segment) {
    let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    to.source = Endpoint { address: carried.source, port: port(0) };
    to.destination = Endpoint { address: carried.destination, port: port(2) };
    (to.is_v6, to.ip_id, to.ecn, to.hops) = (carried.is_v6, carried.id, carried.ecn, carried.hops);
    to.dont_fragment = carried.dont_fragment;
    (to.seq, to.ack) = (number(4), number(8));
    to.has_ae = header[12] & 1 != 0;
    to.flags = Flags(header[13]);
    to.window = u16::from_be_bytes([header[14], header[15]]);
    to.payload = payload;
}
