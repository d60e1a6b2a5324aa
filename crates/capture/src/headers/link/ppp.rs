//! PPP: its protocol numbers (RFC 1661 2), with and without the framing of HDLC (RFC 1662), and Cisco's HDLC.

use super::{Frame, IpInFrame, mpls, typed};
use crate::headers::Other;

const IPV4: u16 = 0x0021;
const IPV6: u16 = 0x0057;
const MPLS: [u16; 2] = [0x0281, 0x0283];
/// RFC 1662 3.1: all stations, unnumbered information.
const HDLC: [u8; 2] = [0xff, 0x03];
/// Unicast and broadcast of Cisco's HDLC, whose protocol is an Ethernet type.
const CISCO: [[u8; 2]; 2] = [[0x0f, 0], [0x8f, 0]];

/// Address and control may be there, or not (RFC 1662 3.1, RFC 1661 6.6). In the same link type captures of routers have Cisco's HDLC.
pub(in crate::headers) fn framed(frame: Frame<'_>) -> IpInFrame<'_> {
    match *frame.chunk::<2>()? {
        HDLC => protocol(frame.skip(2)),
        begin if CISCO.contains(&begin) => cisco(frame),
        _ => protocol(frame),
    }
}

/// Address, control, type.
pub(super) fn cisco(frame: Frame<'_>) -> IpInFrame<'_> {
    typed(frame.skip(2).number()?, frame.skip(4))
}

/// A protocol of one byte is odd (RFC 1661 6.5).
pub(super) fn protocol(frame: Frame<'_>) -> IpInFrame<'_> {
    let first = frame.chunk::<1>()?[0];
    let (number, body) = match first & 1 {
        1 => (u16::from(first), frame.skip(1)),
        _ => (frame.number()?, frame.skip(2)),
    };
    match number {
        IPV4 | IPV6 => body.ip(),
        label if MPLS.contains(&label) => mpls(body),
        other => Err(Other::Ppp(other)),
    }
}
