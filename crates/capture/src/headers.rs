//! From a packet's bytes to its TCP segment or UDP datagram: link header, tags, tunnels, IP, TCP or UDP.
//!
//! Lengths come from the headers, not from the captured bytes, so that a capture of headers alone gives the same result. What is neither, or can't
//! be understood, is counted by its kind ([`Other`]) and never guessed. Own code: etherparse reads no PPPoE, MPLS, PPP, 802.11 or tunnel, and needs whole headers.

mod datagram;
mod fragments;
mod ip;
mod link;
mod mptcp;
mod options;
mod other;
mod segment;
mod tunnel;
mod usual;

pub use datagram::Datagram;
pub(crate) use fragments::Fragments;
pub use ip::Address;
pub use mptcp::Mptcp;
pub use options::{Layout, OptionKind, SACKS_MAX, TcpOptions};
pub use other::{Other, Others};
pub use segment::{Endpoint, Flags, Segment};

use crate::read::{LinkType, Packet};

/// Larger payloads are a damaged length. BIG TCP has up to 512 KiB (`GSO_MAX_SIZE` and `IPV6_MAXPLEN` in Linux).
pub const PAYLOAD_LIMIT: u32 = 1 << 20;

/// The TCP segment of a packet. Of an IP packet in fragments it is what the first of them has.
///
/// # Errors
/// The kind of what else it is.
pub fn segment(packet: &Packet<'_>) -> Result<Segment, Other> {
    let mut segment = Segment::default();
    match read(packet, None, &mut segment) {
        Ok(()) => Ok(segment),
        Err(Else::Datagram(_)) => Err(Other::Udp),
        Err(Else::Other(other)) => Err(other),
    }
}

/// The UDP datagram of a packet.
///
/// # Errors
/// The kind of what else it is.
pub fn datagram<'a>(packet: &Packet<'a>) -> Result<Datagram<'a>, Other> {
    let (ip, from) = link::ip(packet.link, packet.bytes)?;
    match tunnel::innermost(ip, packet.original_length.saturating_sub(from as u32), None)? {
        (ip::UDP, carried) => Datagram::read(packet, &carried),
        (protocol, _) => Err(Other::of_protocol(protocol)),
    }
}

/// What a packet has in place of a TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Else<'a> {
    Datagram(Datagram<'a>),
    Other(Other),
}

/// The same, in place of what is in `to`; an IP packet in fragments is read where all have come that `fragments` waits for.
#[inline(always)]
pub(crate) fn read<'a>(
    packet: &Packet<'a>,
    fragments: Option<&'a mut Fragments>,
    to: &mut Segment,
) -> Result<(), Else<'a>> {
    (to.time_ns, to.stretch, to.number) = (packet.steady_ns, packet.stretch, packet.number);
    if usual::read(packet, to) {
        Ok(())
    } else {
        let fragments = fragments.map(|fragments| (fragments, packet.steady_ns));
        match read_any(packet.link, packet.original_length, packet.bytes, fragments, to) {
            Ok(None) => Ok(()),
            Ok(Some(carried)) => {
                Err(Datagram::read(packet, &carried).map_or_else(Else::Other, Else::Datagram))
            }
            Err(other) => Err(Else::Other(other)),
        }
    }
}

/// Reads a TCP segment to `to`, or returns a UDP datagram. Not of a [`Packet`]: what a call gets the address of has to be in memory, also where it
/// is not made.
#[inline(never)]
fn read_any<'a>(
    link: LinkType,
    original_length: u32,
    bytes: &'a [u8],
    fragments: Option<(&'a mut Fragments, u64)>,
    to: &mut Segment,
) -> Result<Option<ip::Carried<'a>>, Other> {
    let (ip, from) = link::ip(link, bytes)?;
    match tunnel::innermost(ip, original_length.saturating_sub(from as u32), fragments)? {
        (ip::TCP, carried) => segment::read(&carried, to).map(|()| None),
        (ip::UDP, carried) => Ok(Some(carried)),
        (protocol, _) => Err(Other::of_protocol(protocol)),
    }
}
