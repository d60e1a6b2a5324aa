//! IP packets in others: GRE (RFC 2784, 2890, 2637), VXLAN (RFC 7348), Geneve (RFC 8926), GTP-U (3GPP TS 29.281), MPLS in IP (RFC 4023) and in UDP
//! (RFC 7510), and IP in IP.

use super::ip::{self, Carried, Fragment, Inner};
use super::link::{self, Frame, IpInFrame, ppp};
use super::{Fragments, Other};

/// Protocols of IP that hold packets. RFC 2003, RFC 4213, RFC 2473: 4in4, 6in4, 4in6 and 6in6.
const IPV4_IN_IP: u8 = 4;
const IPV6_IN_IP: u8 = 41;
const GRE: u8 = 47;
const MPLS_IN_IP: u8 = 137;
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
enum Tunnel {
    Ip,
    Gre,
    Mpls,
    Vxlan,
    Geneve,
    Gtp,
    MplsInUdp,
}

/// The innermost packet of an IP packet whose frame had `length` bytes. One that comes in fragments is put together by the first of `fragments`, at the
/// time that is the second; without these its first fragment stands for it.
#[inline]
pub(super) fn innermost<'a>(
    bytes: &'a [u8],
    length: u32,
    mut fragments: Option<(&'a mut Fragments, u64)>,
) -> Result<Inner<'a>, Other> {
    let mut depth = 0;
    let mut inner = ip::read(bytes, length)?;
    loop {
        let (protocol, carried) = match inner.1.fragment {
            None => inner,
            Some(place) => whole(inner, place, fragments.take())?,
        };
        let Some(tunnel) = Tunnel::of(protocol, &carried) else { return Ok((protocol, carried)) };
        if depth == NESTED_MAX {
            return Err(Other::NestedTunnel);
        }
        depth += 1;
        let (bytes, from) = tunnel.body(carried.bytes)?;
        inner = ip::read(bytes, carried.length.saturating_sub(from as u32))?;
    }
}

/// The packet that a fragment completes. The first fragment of a UDP datagram is enough, since its header has the length.
#[cold]
fn whole<'a>(
    (protocol, carried): Inner<'a>,
    place: Fragment,
    fragments: Option<(&'a mut Fragments, u64)>,
) -> Result<Inner<'a>, Other> {
    let is_datagram = protocol == ip::UDP && place.from == 0 && Tunnel::of(protocol, &carried).is_none();
    let carried = match fragments.filter(|_| !is_datagram) {
        Some((fragments, now_ns)) => fragments.join(protocol, &carried, place, now_ns)?,
        None if place.from > 0 => return Err(Other::LaterFragment),
        None => Carried { fragment: None, ..carried },
    };
    if carried.is_v6 { ip::behind_extensions(protocol, carried) } else { Ok((protocol, carried)) }
}

impl Tunnel {
    /// The tunnel that `protocol` is; `None` where it is none.
    #[inline]
    fn of(protocol: u8, carried: &Carried<'_>) -> Option<Self> {
        match protocol {
            ip::TCP => None,
            ip::UDP => Self::in_udp(carried.bytes),
            IPV4_IN_IP | IPV6_IN_IP => Some(Self::Ip),
            GRE => Some(Self::Gre),
            MPLS_IN_IP => Some(Self::Mpls),
            _ => None,
        }
    }

    /// The tunnel in a UDP datagram, by its port and by what its header has to begin with.
    fn in_udp(datagram: &[u8]) -> Option<Self> {
        let &[_, _, high, low, _, _, _, _, ref body @ ..] = datagram else { return None };
        let port = u16::from_be_bytes([high, low]);
        match body {
            [flags, ..] if VXLAN_PORTS.contains(&port) => (flags & 0x08 != 0).then_some(Self::Vxlan),
            // Version 0.
            [first, ..] if port == GENEVE_PORT => (first >> 6 == 0).then_some(Self::Geneve),
            // Version 1, GTP and not GTP', a packet of a user.
            [first, 255, ..] if port == GTP_PORT => (first >> 4 == 0b0011).then_some(Self::Gtp),
            [_, ..] if port == MPLS_PORT => Some(Self::MplsInUdp),
            _ => None,
        }
    }

    /// The IP packet behind the tunnel's own headers.
    fn body(self, bytes: &[u8]) -> IpInFrame<'_> {
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
        // A cut after the IP header is not a cut of the link header.
        found.map_err(|other| if other == Other::CutLink { Other::CutIp } else { other })
    }
}

/// RFC 2784 2.1, with the key and sequence number of RFC 2890; version 1 is PPTP's (RFC 2637 4.1), with an acknowledgment number.
fn gre(frame: Frame<'_>) -> IpInFrame<'_> {
    const PPP: u16 = 0x880b;
    let header = frame.chunk::<4>()?;
    let ethertype = u16::from_be_bytes([header[2], header[3]]);
    let fields = (header[0] & 0xb0).count_ones();
    let behind = |fields: u32| frame.skip(4 + 4 * fields as usize);
    match (header[1] & 7, ethertype) {
        // A keep-alive has no type and no packet.
        (0, 0) => Err(Other::Protocol(GRE)),
        (0, ethertype) => link::typed(ethertype, behind(fields)),
        (1, PPP) => ppp::framed(behind(fields + u32::from(header[1] >> 7))),
        _ => Err(Other::Protocol(GRE)),
    }
}

/// RFC 8926 3.4: options of four bytes each, a type.
fn geneve(frame: Frame<'_>) -> IpInFrame<'_> {
    let header = frame.chunk::<8>()?;
    let options = usize::from(header[0] & 0x3f) * 4;
    link::typed(u16::from_be_bytes([header[2], header[3]]), frame.skip(8 + options))
}

/// 3GPP TS 29.281 5.1: eight bytes; with any of three flags four more, of which the last announces extension headers, each with its length in
/// units of four bytes first and the next one's type last.
fn gtp(frame: Frame<'_>) -> IpInFrame<'_> {
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
