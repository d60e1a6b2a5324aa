//! From a packet's bytes to its TCP segment: link header, tags and one tunnel, IP, TCP.
//!
//! Lengths come from the headers, not from what was captured, so that a capture of headers alone tells the same. What is no TCP, or can't
//! be understood, is told by its kind ([`Other`]) and never guessed.

mod ip;
mod link;
mod mptcp;
mod options;
mod segment;
mod usual;

pub use ip::Address;
pub use mptcp::Mptcp;
pub use options::{Layout, OptionKind, Options, SACKS_MAX};
pub use segment::{Endpoint, Flags, Segment};

use crate::read::{LinkType, Packet};

/// Larger payloads are a damaged length. BIG TCP has up to 512 KiB (`GSO_MAX_SIZE` and `IPV6_MAXPLEN` in Linux).
pub const PAYLOAD_LIMIT: u32 = 1 << 20;

/// Why a packet brought no TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Other {
    /// UDP, and no VXLAN.
    Udp,
    /// ICMP and ICMPv6.
    Icmp,
    /// Another protocol over IP: SCTP, ESP, …
    OtherProtocol,
    /// ARP.
    Arp,
    /// Another protocol than IP: LLDP, spanning tree, …
    NotIp,
    /// A fragment that is not the first of its packet: it has no ports.
    LaterFragment,
    /// A link type that is not read.
    UnknownLink,
    /// More VLAN tags or extension headers than are followed.
    TooDeep,
    /// A tunnel in a tunnel.
    NestedTunnel,
    /// Too few bytes were captured for the link header.
    CutLink,
    /// Too few bytes were captured for the IP header.
    CutIp,
    /// Too few bytes were captured for the fields of TCP.
    CutTcp,
    /// A version, length or extension that can't be.
    BadIp,
    /// A length of TCP's header that can't be.
    BadTcp,
}

impl Other {
    /// Every kind, in their order.
    pub const ALL: [Self; 14] = [
        Self::Udp,
        Self::Icmp,
        Self::OtherProtocol,
        Self::Arp,
        Self::NotIp,
        Self::LaterFragment,
        Self::UnknownLink,
        Self::TooDeep,
        Self::NestedTunnel,
        Self::CutLink,
        Self::CutIp,
        Self::CutTcp,
        Self::BadIp,
        Self::BadTcp,
    ];

    /// In words, for a table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Udp => "UDP",
            Self::Icmp => "ICMP",
            Self::OtherProtocol => "other protocols over IP",
            Self::Arp => "ARP",
            Self::NotIp => "other protocols than IP",
            Self::LaterFragment => "fragments behind the first",
            Self::UnknownLink => "link types that are not read",
            Self::TooDeep => "too many tags or extension headers",
            Self::NestedTunnel => "tunnels in tunnels",
            Self::CutLink => "link headers cut by the snap length",
            Self::CutIp => "IP headers cut by the snap length",
            Self::CutTcp => "TCP headers cut by the snap length",
            Self::BadIp => "IP headers that can't be",
            Self::BadTcp => "TCP headers that can't be",
        }
    }

    /// Whether the packet may have been TCP: what the capture does not let us know.
    pub const fn is_not_understood(self) -> bool {
        !matches!(self, Self::Udp | Self::Icmp | Self::OtherProtocol | Self::Arp | Self::NotIp)
    }
}

/// The TCP segment of a packet.
///
/// # Errors
/// The kind of what else it is.
pub fn segment(packet: &Packet<'_>) -> Result<Segment, Other> {
    let mut segment = Segment::default();
    read(packet, &mut segment).map(|()| segment)
}

/// The same, in place of what is in `to`.
#[inline(always)]
pub(crate) fn read(packet: &Packet<'_>, to: &mut Segment) -> Result<(), Other> {
    (to.time_ns, to.stretch, to.number) = (packet.steady_ns, packet.stretch, packet.number);
    if usual::read(packet, to) {
        Ok(())
    } else {
        read_any(packet.link, packet.original_length, packet.bytes, to)
    }
}

/// Not of a [`Packet`]: what a call gets the address of has to be in memory, also where it is not made.
#[inline(never)]
fn read_any(link: LinkType, original_length: u32, bytes: &[u8], to: &mut Segment) -> Result<(), Other> {
    let (ip, from) = link::ip(link, bytes)?;
    let length = original_length.saturating_sub(from as u32);
    match ip::read(ip, length)? {
        ip::Inner::Tcp(inner) => segment::read(&inner, to),
        ip::Inner::Tunnel(tunnel) => segment::read(&ip::inside(&tunnel)?, to),
    }
}
