//! pcap: a header, then records of one link type (draft-ietf-opsawg-pcap).
//!
//! Read are the forms of microseconds and of nanoseconds, in both byte orders, and the records of the "modified" form (a1b2cd34), whose
//! headers are eight bytes longer. Some programs write these, or four bytes more (Nokia's), under the usual magic: the second record shows it.

use super::order::Order;
use super::{LinkType, PACKET_LIMIT, Packet, Problem, ReadError, Source};
use std::io::Read;

const HEADER: usize = 24;
const SECOND_NS: u64 = 1_000_000_000;
const YEAR_NS: u64 = 31_536_000 * SECOND_NS;
/// Before this minor version records have the original length first, and with it in either order (libpcap, `lengths_swapped`).
const LAST_SWAPPED_MINOR: u16 = 3;
const RECORD: usize = 16;
const NOKIA_RECORD: usize = 20;
const MODIFIED_RECORD: usize = 24;

pub(super) struct Pcap {
    order: Order,
    link: LinkType,
    ns_per_tick: u64,
    record: usize,
    /// The lengths of a packet may stand in the other order.
    may_swap_lengths: bool,
}

/// What stands before a packet.
pub(super) struct Record {
    time_ns: u64,
    captured: u32,
    original: u32,
    is_in_second: bool,
}

impl Pcap {
    /// The header behind `magic`; `None` where that is no pcap's.
    pub(super) fn open<R: Read>(
        magic: [u8; 4],
        source: &mut Source<'_, R>,
    ) -> Result<Option<Self>, ReadError> {
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
        let mut form =
            Self { order, link, ns_per_tick, record, may_swap_lengths: minor <= LAST_SWAPPED_MINOR };
        if record == RECORD && ns_per_tick > 1 {
            form.record = form.record_length(source);
        }
        Ok(Some(form))
    }

    /// How long a record's header is: longer than it should be, where only so the first record is followed by others. What can't be read is an error later.
    fn record_length<R: Read>(&self, source: &mut Source<'_, R>) -> usize {
        let mut header = |at: usize| {
            source.fill(at + RECORD).ok()?;
            source.available().get(at..)?.first_chunk().map(|bytes| self.header(bytes))
        };
        let may_be =
            |record: &Record| record.is_in_second && record.captured <= record.original.min(PACKET_LIMIT);
        let Some(first) = header(0).filter(|first| first.captured <= PACKET_LIMIT) else { return RECORD };
        let second = |record: usize| record + first.captured as usize;
        if header(second(RECORD)).is_none_or(|next| may_be(&next)) {
            return RECORD;
        }
        let is_near = |record: &Record| may_be(record) && record.time_ns.abs_diff(first.time_ns) < YEAR_NS;
        let are_others = |record: usize| {
            let next = header(second(record)).filter(is_near)?;
            let third = second(record) + record + next.captured as usize;
            header(third).is_none_or(|record| is_near(&record)).then_some(record)
        };
        [NOKIA_RECORD, MODIFIED_RECORD].into_iter().find_map(are_others).unwrap_or(RECORD)
    }

    #[inline(always)]
    fn header(&self, bytes: &[u8; RECORD]) -> Record {
        let [seconds, ticks, mut captured, mut original] = self.order.four_u32(bytes);
        // No more is captured than there was.
        if self.may_swap_lengths && captured > original {
            (captured, original) = (original, captured);
        }
        let part_ns = u64::from(ticks) * self.ns_per_tick;
        let time_ns = u64::from(seconds) * SECOND_NS + part_ns;
        Record { time_ns, captured, original, is_in_second: part_ns < SECOND_NS }
    }

    /// The record that `available` begins with, if all of it is there.
    #[inline(always)]
    pub(super) fn usual(&self, available: &[u8]) -> Option<Record> {
        let record = self.header(available.first_chunk()?);
        // Without a byte: rare, and what zeros in place of what can't be had look like.
        let is_usual = (1..=PACKET_LIMIT).contains(&record.captured);
        let is_there = is_usual && self.length(&record) <= available.len();
        is_there.then_some(record)
    }

    #[inline(always)]
    const fn length(&self, record: &Record) -> usize {
        self.record + record.captured as usize
    }

    /// The next record, all of which the buffer then has; `None` at the end.
    #[cold]
    pub(super) fn next<R: Read>(&self, source: &mut Source<'_, R>) -> Result<Option<Record>, ReadError> {
        let offset = source.offset();
        let available = source.fill(self.record)?;
        let Some(header) = source.available().first_chunk().filter(|_| available >= self.record) else {
            return match available {
                0 => Ok(None),
                found => Err(ReadError::cut(offset, "a packet's header", self.record as u64, found as u64)),
            };
        };
        let record = self.header(header);
        if record.captured == 0 {
            source.check()?;
        }
        if record.captured > PACKET_LIMIT {
            let (length, limit) = (u64::from(record.captured), u64::from(PACKET_LIMIT));
            return Err(ReadError::new(offset, Problem::TooLong { what: "a packet", length, limit }));
        }
        let length = self.length(&record);
        let available = source.fill(length)?;
        if available < length {
            return Err(ReadError::cut(offset, "a packet", length as u64, available as u64));
        }
        Ok(Some(record))
    }

    /// The packet number `number`, which the next record has.
    #[inline(always)]
    pub(super) fn packet<'s, R>(
        &self,
        number: u64,
        record: &Record,
        source: &'s mut Source<'_, R>,
    ) -> Packet<'s> {
        let offset = source.offset();
        Packet {
            number,
            offset,
            time_ns: record.time_ns,
            steady_ns: record.time_ns,
            stretch: 0,
            interface: 0,
            link: self.link,
            original_length: record.original.max(record.captured),
            bytes: &source.take_record(self.length(record))[self.record..],
            options: &[],
            is_big_endian: self.order.is_big_endian,
        }
    }
}
