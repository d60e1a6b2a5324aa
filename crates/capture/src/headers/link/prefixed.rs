//! What a system's own means of capture put before a packet: an interface's name, a filter's decision, a driver's notes; then the link type's frame.

use super::{Frame, IpInFrame, of_type, wireless};
use crate::headers::Other;

/// macOS: the length of the header, what follows, its link type, each four bytes in the order of the machine (`bsd/net/pktap.h`).
pub(super) fn pktap(frame: Frame<'_>) -> IpInFrame<'_> {
    let [header, link] = [frame, frame.skip(8)].map(|at| at.chunk().map(|&bytes| u32::from_le_bytes(bytes)));
    behind(frame, header? as usize, link?)
}

/// PPI, notes of a wireless driver: version, flags, the length of the header, the link type.
pub(super) fn ppi(frame: Frame<'_>) -> IpInFrame<'_> {
    let header = frame.chunk::<8>()?;
    let length = u16::from_le_bytes([header[2], header[3]]);
    behind(frame, length.into(), u32::from_le_bytes([header[4], header[5], header[6], header[7]]))
}

fn behind(frame: Frame<'_>, header: usize, link: u32) -> IpInFrame<'_> {
    let link = u16::try_from(link).map_err(|_| Other::CutLink)?;
    of_type(link, frame.skip(header).enter()?)
}

/// Linux' log of netfilter: family, version, group; then attributes of length, kind and value, in the order of the machine, padded to four bytes. One is the IP
/// packet (`NFULA_PAYLOAD`).
pub(super) fn nflog(frame: Frame<'_>) -> IpInFrame<'_> {
    const PAYLOAD: u16 = 9;
    const HEADER: usize = 4;
    let attributes = frame.skip(HEADER);
    // No attribute is longer than 255 bytes but the packet, which comes last.
    let is_big = attributes.chunk::<2>()?[0] == 0;
    let number = |at: Frame<'_>| {
        at.chunk().map(|&bytes| if is_big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    };
    let mut at = attributes;
    loop {
        let (length, kind) = (usize::from(number(at)?), number(at.skip(2))?);
        if kind == PAYLOAD {
            return at.skip(HEADER).ip();
        }
        if length < HEADER {
            return Err(Other::CutLink);
        }
        at = at.skip(length.next_multiple_of(HEADER));
    }
}

/// OpenBSD's packet filter: the length of what it tells, itself included, which is padded to four bytes.
pub(super) fn pflog(frame: Frame<'_>) -> IpInFrame<'_> {
    frame.skip(usize::from(frame.chunk::<1>()?[0]).next_multiple_of(4)).ip()
}

/// Packets of IPsec on OpenBSD: address family, index and flags.
pub(super) fn enc(frame: Frame<'_>) -> IpInFrame<'_> {
    frame.skip(12).ip()
}

/// Notes of old wireless drivers, Prism and AVS: a magic number and the length, in one order or the other.
pub(super) fn prism(frame: Frame<'_>) -> IpInFrame<'_> {
    const AVS: [u8; 3] = [0x80, 0x21, 0x10];
    /// Of Prism.
    const LENGTH: usize = 144;
    let is_avs = frame.chunk::<3>()? == &AVS;
    let length = if is_avs { u32::from_be_bytes(*frame.skip(4).chunk()?) as usize } else { LENGTH };
    wireless::frame(frame.skip(length))
}
