//! IP packets in others: GRE (RFC 2784, 2890, 2637), VXLAN (RFC 7348), Geneve (RFC 8926), GTP-U (3GPP TS 29.281), MPLS in IP (RFC 4023) and in UDP
//! (RFC 7510), and IP in IP.

use super::Other;
use super::ip::{self, Carried, Inner};
use super::link::{self, Found, Frame};
use super::ppp;

/// Tunnels in tunnels that are followed: GTP-U in VXLAN in IP has two.
const NESTED_MAX: usize = 4;
const UDP_HEADER: usize = 8;
/// VXLAN's port, and the one that Linux had before.
const VXLAN_PORTS: [u16; 2] = [4789, 8472];
const GENEVE_PORT: u16 = 6081;
const GTP_PORT: u16 = 2152;
const MPLS_PORT: u16 = 6635;

/// What holds another packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tunnel {
    Ip,
    Gre,
    Mpls,
    Vxlan,
    Geneve,
    Gtp,
    MplsInUdp,
}

/// The tunnel in a UDP datagram, by its ports and by what its header has to begin with.
pub(super) fn of_udp(carried: &Carried<'_>) -> Option<Tunnel> {
    let &[_, _, high, low, _, _, _, _, ref body @ ..] = carried.bytes else { return None };
    let port = u16::from_be_bytes([high, low]);
    match body {
        [flags, ..] if VXLAN_PORTS.contains(&port) => (flags & 0x08 != 0).then_some(Tunnel::Vxlan),
        // Version 0.
        [first, ..] if port == GENEVE_PORT => (first >> 6 == 0).then_some(Tunnel::Geneve),
        // Version 1, GTP and not GTP', a packet of a user.
        [first, 255, ..] if port == GTP_PORT => (first >> 4 == 0b0011).then_some(Tunnel::Gtp),
        [_, ..] if port == MPLS_PORT => Some(Tunnel::MplsInUdp),
        _ => None,
    }
}

/// The innermost packet of an IP packet whose frame had `length` bytes.
pub(super) fn innermost(bytes: &[u8], length: u32) -> Result<Inner<'_>, Other> {
    let mut inner = ip::read(bytes, length)?;
    for _ in 0..NESTED_MAX {
        let Inner::Tunnel(tunnel, carried) = inner else { return Ok(inner) };
        let (bytes, from) = tunnel.body(carried.bytes)?;
        inner = ip::read(bytes, carried.length.saturating_sub(from as u32))?;
    }
    match inner {
        Inner::Tunnel(..) => Err(Other::NestedTunnel),
        inner => Ok(inner),
    }
}

impl Tunnel {
    /// The IP packet behind the tunnel's own headers.
    fn body(self, bytes: &[u8]) -> Found<'_> {
        let frame = Frame::new(bytes);
        let found = match self {
            Self::Ip => Ok((bytes, 0)),
            Self::Gre => gre(frame),
            Self::Mpls => link::mpls(frame),
            Self::Vxlan => link::ethernet(frame.skip(UDP_HEADER + 8)),
            Self::Geneve => geneve(frame.skip(UDP_HEADER)),
            Self::Gtp => gtp(frame.skip(UDP_HEADER)),
            Self::MplsInUdp => link::mpls(frame.skip(UDP_HEADER)),
        };
        // Behind IP's header a cut is no cut of the link.
        found.map_err(|other| if other == Other::CutLink { Other::CutIp } else { other })
    }
}

/// RFC 2784 2.1, with the key and sequence number of RFC 2890; version 1 is PPTP's (RFC 2637 4.1), with an acknowledgment number.
fn gre(frame: Frame<'_>) -> Found<'_> {
    const PPP: u16 = 0x880b;
    let header = frame.chunk::<4>()?;
    let ethertype = u16::from_be_bytes([header[2], header[3]]);
    let fields = (header[0] & 0xb0).count_ones();
    let behind = |fields: u32| frame.skip(4 + 4 * fields as usize);
    match (header[1] & 7, ethertype) {
        (0, ethertype) => link::typed(ethertype, behind(fields)),
        (1, PPP) => ppp::framed(behind(fields + u32::from(header[1] >> 7))),
        _ => Err(Other::Protocol(47)),
    }
}

/// RFC 8926 3.4: options of four bytes each, a type.
fn geneve(frame: Frame<'_>) -> Found<'_> {
    let header = frame.chunk::<8>()?;
    let options = usize::from(header[0] & 0x3f) * 4;
    link::typed(u16::from_be_bytes([header[2], header[3]]), frame.skip(8 + options))
}

/// 3GPP TS 29.281 5.1: eight bytes; with any of three flags four more, of which the last announces extension headers, each with its length in
/// units of four bytes first and the next one's type last.
fn gtp(frame: Frame<'_>) -> Found<'_> {
    const OPTIONAL: u8 = 0x07;
    const EXTENSIONS_MAX: usize = 8;
    let mut body = frame.skip(8);
    if frame.chunk::<1>()?[0] & OPTIONAL != 0 {
        let mut next = body.chunk::<4>()?[3];
        body = body.skip(4);
        for depth in 0.. {
            if next == 0 {
                break;
            }
            let length = usize::from(body.chunk::<1>()?[0]) * 4;
            if depth == EXTENSIONS_MAX || length == 0 {
                return Err(Other::TooDeep);
            }
            next = body.skip(length - 1).chunk::<1>()?[0];
            body = body.skip(length);
        }
    }
    body.ip()
}
