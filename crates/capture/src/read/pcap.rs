//! pcap: a header, then records of one link type (draft-ietf-opsawg-pcap).
//!
//! Read are the forms of microseconds and of nanoseconds, in both byte orders, and the records of the "modified" form (a1b2cd34), whose
//! headers are eight bytes longer.

use super::pcapng::Order;
use super::{LinkType, PACKET_LIMIT, Packet, Problem, ReadError, Source};
use std::io::Read;

const HEADER: usize = 24;
const RECORD: usize = 16;
const MODIFIED_RECORD: usize = 24;

pub(super) struct Pcap {
    order: Order,
    link: LinkType,
    ns_per_tick: u64,
    record: usize,
}

impl Pcap {
    /// The header behind `magic`; `None` where that is no pcap's.
    pub(super) fn open<R: Read>(magic: [u8; 4], source: &mut Source<R>) -> Result<Option<Self>, ReadError> {
        let form = |order: Order| match order.u32(magic) {
            0xa1b2_c3d4 => Some((order, 1000, RECORD)),
            0xa1b2_3c4d => Some((order, 1, RECORD)),
            0xa1b2_cd34 => Some((order, 1000, MODIFIED_RECORD)),
            _ => None,
        };
        let Some((order, ns_per_tick, record)) = form(Order::LITTLE).or_else(|| form(Order::BIG)) else {
            return Ok(None);
        };
        let found = source.fill(HEADER)?;
        let Some(header) = source.available().first_chunk::<HEADER>() else {
            return Err(ReadError::cut(0, "the pcap's header", HEADER as u64, found as u64));
        };
        let (major, minor) = (order.u16_at(header, 4), order.u16_at(header, 6));
        if major != 2 {
            return Err(ReadError::new(4, Problem::Version { major, minor, read: "2 (pcap)" }));
        }
        // The upper half has the length of the frame check sequence (draft-ietf-opsawg-pcap, 4).
        let link = LinkType((order.u32_at(header, 20) & 0xffff) as u16);
        source.consume(HEADER);
        Ok(Some(Self { order, link, ns_per_tick, record }))
    }

    /// The next packet, with everything but its number.
    #[inline(always)]
    pub(super) fn advance<'s, R: Read>(
        &self,
        source: &'s mut Source<R>,
    ) -> Result<Option<Packet<'s>>, ReadError> {
        let offset = source.offset();
        let available = source.fill(self.record)?;
        let Some(header) = source.available().first_chunk::<RECORD>().filter(|_| available >= self.record)
        else {
            return match available {
                0 => Ok(None),
                found => Err(ReadError::cut(offset, "a packet's header", self.record as u64, found as u64)),
            };
        };
        let (seconds, ticks) = (self.order.u32_at(header, 0), self.order.u32_at(header, 4));
        let (captured, original) = (self.order.u32_at(header, 8), self.order.u32_at(header, 12));
        if captured > PACKET_LIMIT {
            let (length, limit) = (u64::from(captured), u64::from(PACKET_LIMIT));
            return Err(ReadError::new(offset, Problem::TooLong { what: "a packet", length, limit }));
        }
        let length = self.record + captured as usize;
        let available = source.fill(length)?;
        if available < length {
            return Err(ReadError::cut(offset, "a packet", length as u64, available as u64));
        }
        Ok(Some(Packet {
            number: 0,
            offset,
            time_ns: u64::from(seconds) * 1_000_000_000 + u64::from(ticks) * self.ns_per_tick,
            interface: 0,
            link: self.link,
            original_length: original.max(captured),
            bytes: &source.take(length)[self.record..],
            options: &[],
            is_big_endian: self.order.is_big_endian,
        }))
    }
}
