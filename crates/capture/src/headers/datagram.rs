//! A UDP datagram (RFC 768): its ends, its size, and the begin of its payload.

use super::ip::Carried;
use super::{Endpoint, Other};
use crate::read::Packet;

const HEADER: usize = 8;

/// One datagram, as it lies in the reader's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Nanoseconds since 1970, as if the capture's clock had not been set back.
    pub time_ns: u64,
    /// Who sent it.
    pub source: Endpoint,
    /// To whom.
    pub destination: Endpoint,
    /// Bytes of payload on the wire.
    pub length: u32,
    /// What was captured of them.
    pub payload: &'a [u8],
}

impl<'a> Datagram<'a> {
    pub(super) fn read(packet: &Packet<'_>, carried: &Carried<'a>) -> Result<Self, Other> {
        let (header, payload) = carried.bytes.split_first_chunk::<HEADER>().ok_or(Other::CutUdp)?;
        let number = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        // The length of a fragmented datagram is that of all its fragments; super-packets have more than the field holds, or 0 (RFC 2675 4).
        let length = match number(4) {
            0 => carried.length,
            length => u32::from(length),
        };
        let end = |address, port| Endpoint { address, port };
        let length = length.checked_sub(HEADER as u32).ok_or(Other::BadUdp)?;
        Ok(Self {
            time_ns: packet.steady_ns,
            source: end(carried.source, number(0)),
            destination: end(carried.destination, number(2)),
            length,
            payload: &payload[..payload.len().min(length as usize)],
        })
    }
}
