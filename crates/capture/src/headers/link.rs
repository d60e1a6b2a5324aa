//! What stands before IP: the headers of the link, tags, labels and sessions (VLAN, PPPoE, MPLS, LLC).

pub(super) mod ppp;
mod prefixed;
mod wireless;

use super::Other;
use crate::read::LinkType;

/// Link types: <https://www.tcpdump.org/linktypes.html>.
const NULL: u16 = 0;
pub(super) const ETHERNET: u16 = 1;
const TOKEN_RING: u16 = 6;
const PPP: u16 = 9;
const FDDI: u16 = 10;
/// What BSDs and OpenBSD write for raw IP instead of 101.
const RAW_BSD: u16 = 12;
const RAW_OPENBSD: u16 = 14;
const PPP_SERIAL: u16 = 50;
const PPP_ETHER: u16 = 51;
const ATM: u16 = 100;
const RAW: u16 = 101;
const CISCO_HDLC: u16 = 104;
const WIRELESS: u16 = 105;
const FRAME_RELAY: u16 = 107;
const LOOP: u16 = 108;
const ENC: u16 = 109;
const COOKED: u16 = 113;
const PFLOG: u16 = 117;
const PRISM: u16 = 119;
const SUN_ATM: u16 = 123;
const RADIOTAP: u16 = 127;
const AVS: u16 = 163;
const PPI: u16 = 192;
const PPP_WITH_DIRECTION: u16 = 204;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const NFLOG: u16 = 239;
const PKTAP: u16 = 258;
const COOKED_2: u16 = 276;

/// Types of what is in a frame: <https://www.iana.org/assignments/ieee-802-numbers>.
pub(super) const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad (QinQ), and what QinQ was before its standard.
const TYPE_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const TYPE_PPPOE_SESSION: u16 = 0x8864;
/// RFC 3032 5, RFC 5332 3.
const TYPE_MPLS: [u16; 2] = [0x8847, 0x8848];
/// A whole Ethernet frame (RFC 1701).
const TYPE_BRIDGED: u16 = 0x6558;
/// ERSPAN of the types I and II (draft-foschiano-erspan).
const TYPE_ERSPAN: u16 = 0x88be;
/// A smaller number in place of the type is a length: LLC follows (IEEE 802.3 3.2.6).
const TYPE_MIN: u16 = 0x0600;
/// Linux' cooked captures have this number for LLC (`ETH_P_802_2`).
const COOKED_LLC: u16 = 0x0004;
/// Two addresses and the type.
pub(super) const ETHERNET_HEADER: usize = 14;
/// Frame control and two addresses.
const FDDI_HEADER: usize = 13;
/// Headers, tags and labels that are followed in one frame.
const LAYERS_MAX: u8 = 10;

/// A frame, and how far its headers are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    bytes: &'a [u8],
    at: usize,
    layers: u8,
}

/// The IP packet in a frame, and where it begins.
pub(super) type IpInFrame<'a> = Result<(&'a [u8], usize), Other>;

impl<'a> Frame<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, layers: 0 }
    }

    /// Behind `count` bytes more.
    pub(super) const fn skip(self, count: usize) -> Self {
        Self { at: self.at.saturating_add(count), ..self }
    }

    /// The bytes from here on; at least one.
    pub(super) fn rest(self) -> Result<&'a [u8], Other> {
        self.bytes.get(self.at..).filter(|rest| !rest.is_empty()).ok_or(Other::CutLink)
    }

    /// The first `N` bytes from here on.
    pub(super) fn chunk<const N: usize>(self) -> Result<&'a [u8; N], Other> {
        self.bytes.get(self.at..).and_then(<[u8]>::first_chunk).ok_or(Other::CutLink)
    }

    pub(super) fn number(self) -> Result<u16, Other> {
        self.chunk().map(|&bytes| u16::from_be_bytes(bytes))
    }

    pub(super) fn ip(self) -> IpInFrame<'a> {
        self.bytes.get(self.at..).map(|ip| (ip, self.at)).ok_or(Other::CutLink)
    }

    /// One header more.
    fn enter(mut self) -> Result<Self, Other> {
        self.layers += 1;
        if self.layers > LAYERS_MAX { Err(Other::TooDeep) } else { Ok(self) }
    }
}

/// The IP packet in `bytes`, and where it begins.
#[inline(always)]
pub(super) fn ip(link: LinkType, bytes: &[u8]) -> IpInFrame<'_> {
    of_type(link.0, Frame::new(bytes))
}

#[inline(always)]
fn of_type(link: u16, frame: Frame<'_>) -> IpInFrame<'_> {
    match link {
        ETHERNET => ethernet(frame),
        RAW | RAW_BSD | RAW_OPENBSD | IPV4 | IPV6 => frame.ip(),
        _ => rarer(link, frame),
    }
}

fn rarer(link: u16, frame: Frame<'_>) -> IpInFrame<'_> {
    match link {
        COOKED => cooked(frame.skip(14), frame.skip(16)),
        COOKED_2 => cooked(frame, frame.skip(20)),
        NULL | LOOP => loopback(frame),
        PPP | PPP_SERIAL => ppp::framed(frame),
        PPP_ETHER => pppoe(frame),
        PPP_WITH_DIRECTION => ppp::framed(frame.skip(1)),
        CISCO_HDLC => ppp::cisco(frame),
        FDDI => fddi(frame),
        WIRELESS => wireless::frame(frame),
        RADIOTAP => wireless::radiotap(frame),
        PRISM | AVS => prefixed::prism(frame),
        PPI => prefixed::ppi(frame),
        PKTAP => prefixed::pktap(frame),
        NFLOG => prefixed::nflog(frame),
        PFLOG => prefixed::pflog(frame),
        ENC => prefixed::enc(frame),
        TOKEN_RING => token_ring(frame),
        ATM => llc(frame),
        SUN_ATM => llc(frame.skip(4)),
        FRAME_RELAY => frame_relay(frame.skip(2)),
        _ => Err(Other::Link(link)),
    }
}

/// The IP packet in an Ethernet frame.
pub(super) fn ethernet(frame: Frame<'_>) -> IpInFrame<'_> {
    typed(frame.skip(ETHERNET_HEADER - 2).number()?, frame.skip(ETHERNET_HEADER))
}

/// What `ethertype` says is in `frame`.
#[inline(always)]
pub(super) fn typed(ethertype: u16, frame: Frame<'_>) -> IpInFrame<'_> {
    match ethertype {
        TYPE_IPV4 | TYPE_IPV6 => frame.ip(),
        _ => wrapped(ethertype, frame.enter()?),
    }
}

fn wrapped(ethertype: u16, frame: Frame<'_>) -> IpInFrame<'_> {
    match ethertype {
        tag if TYPE_VLAN.contains(&tag) => typed(frame.skip(2).number()?, frame.skip(4)),
        TYPE_PPPOE_SESSION => pppoe(frame),
        label if TYPE_MPLS.contains(&label) => mpls(frame),
        TYPE_BRIDGED => ethernet(frame),
        TYPE_ERSPAN => erspan(frame),
        length if length < TYPE_MIN => llc(frame),
        other => Err(Other::EtherType(other)),
    }
}

fn cooked<'a>(kind: Frame<'a>, body: Frame<'a>) -> IpInFrame<'a> {
    match kind.number()? {
        COOKED_LLC => llc(body),
        // Numbers of Linux alone, for what has no type.
        kind if kind < TYPE_MIN => Err(Other::EtherType(kind)),
        ethertype => typed(ethertype, body),
    }
}

/// RFC 2516 4: version and type, code, session, length; then PPP without its framing.
fn pppoe(frame: Frame<'_>) -> IpInFrame<'_> {
    ppp::protocol(frame.skip(6))
}

/// RFC 3032 2.1: labels of four bytes up to the bottom of the stack. What follows has no type: IP by its version, else a pseudo-wire of Ethernet,
/// with a control word that begins with zeros (RFC 4385 3) or without one.
pub(super) fn mpls(frame: Frame<'_>) -> IpInFrame<'_> {
    let mut frame = frame.enter()?;
    while frame.chunk::<4>()?[2] & 1 == 0 {
        frame = frame.skip(4).enter()?;
    }
    let body = frame.skip(4);
    match body.rest()?[0] >> 4 {
        4 | 6 => body.ip(),
        0 if body.chunk::<4>()?[0] == 0 => ethernet(body.skip(4)).or_else(|_| ethernet(body)),
        _ => ethernet(body),
    }
}

/// Type II has a header of eight bytes, which GRE announces by its sequence number; without it the frame stands at once.
fn erspan(frame: Frame<'_>) -> IpInFrame<'_> {
    match frame.chunk::<8>()?[0] >> 4 {
        1 => ethernet(frame.skip(8)),
        _ => ethernet(frame),
    }
}

fn fddi(frame: Frame<'_>) -> IpInFrame<'_> {
    /// LLC frames, with any priority.
    const LLC_FRAME: u8 = 0x50;
    match frame.chunk::<1>()?[0] & 0xf0 {
        LLC_FRAME => llc(frame.skip(FDDI_HEADER)),
        _ => Err(Other::Fddi),
    }
}

/// Access and frame control, two addresses; where the first bit of the second is set, a route whose first byte has its length (IEEE 802.5 3.3).
fn token_ring(frame: Frame<'_>) -> IpInFrame<'_> {
    const HAS_ROUTE: u8 = 0x80;
    const ROUTE_LENGTH: u8 = 0x1f;
    let frame = frame.skip(8);
    let route = match frame.chunk::<7>()? {
        [source, .., first] if source & HAS_ROUTE != 0 => usize::from(first & ROUTE_LENGTH),
        _ => 0,
    };
    llc(frame.skip(6 + route))
}

/// Behind the address: by RFC 2427, or as Cisco has it a type.
fn frame_relay(frame: Frame<'_>) -> IpInFrame<'_> {
    const UNNUMBERED: u8 = 0x03;
    const SNAP: u8 = 0x80;
    const IPV4: u8 = 0xcc;
    const IPV6: u8 = 0x8e;
    match *frame.chunk::<2>()? {
        [UNNUMBERED, 0] => typed(frame.skip(6).number()?, frame.skip(8)),
        [UNNUMBERED, IPV4 | IPV6] => frame.skip(2).ip(),
        [UNNUMBERED, SNAP] => typed(frame.skip(5).number()?, frame.skip(7)),
        _ => typed(frame.number()?, frame.skip(2)),
    }
}

/// IEEE 802.2, and SNAP behind it (RFC 1042).
fn llc(frame: Frame<'_>) -> IpInFrame<'_> {
    const SNAP: u8 = 0xaa;
    const IP: u8 = 0x06;
    const UNNUMBERED: u8 = 0x03;
    let frame = frame.enter()?;
    match *frame.chunk::<3>()? {
        [SNAP, SNAP, UNNUMBERED] => match frame.skip(3).chunk()? {
            // RFC 1042, and bridged Ethernet (802.1H).
            [0, 0, 0] | [0, 0, 0xf8] => typed(frame.skip(6).number()?, frame.skip(8)),
            _ => Err(Other::Llc(SNAP)),
        },
        [IP, IP, UNNUMBERED] => frame.skip(3).ip(),
        [service, _, _] => Err(Other::Llc(service)),
    }
}

/// Four bytes with the address family, in the order of the machine that captured (null) or of the network (loop). IPv6's number differs
/// from system to system, so both are told from each other by the version of what follows.
fn loopback(frame: Frame<'_>) -> IpInFrame<'_> {
    let family = *frame.chunk::<4>()?;
    match u32::from_le_bytes(family).min(u32::from_be_bytes(family)) {
        // AF_INET; AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, macOS.
        2 | 10 | 24 | 28 | 30 => frame.skip(4).ip(),
        _ => Err(Other::AddressFamily),
    }
}
