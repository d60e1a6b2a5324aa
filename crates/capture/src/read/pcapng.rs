//! pcapng: blocks in sections, each with its byte order and its interfaces (draft-ietf-opsawg-pcapng).
//!
//! Packets are in enhanced, simple and obsolete packet blocks; interfaces tell their link type, resolution and offset of time. All other
//! blocks are passed over, whatever their length; of statistics the drops are counted.

mod interface;
mod options;

use super::order::Order;
use super::{LinkType, PACKET_LIMIT, Packet, PacketLocation, Problem, ReadError, Source};
use interface::{INTERFACES_MAX, Interface};
use options::{BlockOptions, Sink};
use std::io::Read;

/// The type of a section header block; it reads the same in both byte orders (4.1).
pub(super) const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
/// Type and length before a block's body, length behind it.
const HEAD: usize = 8;
const FRAME: u32 = 12;
/// What stands before the bytes of an enhanced packet block.
const PACKET_HEAD: usize = 28;
const MAGIC: u32 = 0x1a2b_3c4d;
/// The longest block without packets that is read; a longer one has a damaged length.
const DESCRIPTION_LIMIT: u32 = 1 << 20;
/// The longest packet block: the largest packet, with fields, options and padding.
const PACKET_BLOCK_LIMIT: u32 = PACKET_LIMIT + (1 << 20);

pub(super) struct Pcapng {
    order: Order,
    interfaces: Vec<Interface>,
    /// Interfaces of the sections before this one.
    interfaces_before: u32,
}

/// An enhanced packet block, all of which the buffer has: what nearly every block of a capture is.
pub(super) struct UsualPacket {
    time_ns: u64,
    interface: u32,
    link: LinkType,
    captured: usize,
    original: u32,
    /// Of the block.
    length: usize,
}

/// A block, in the buffer from its type to its second length.
struct Block {
    offset: u64,
    kind: u32,
    length: usize,
}

impl Pcapng {
    pub(super) const fn new() -> Self {
        Self { order: Order::LITTLE, interfaces: Vec::new(), interfaces_before: 0 }
    }

    /// The next block, where it is an enhanced packet block in little endian that `available` has; the general way gets every other one, and says
    /// what is wrong with it.
    #[inline(always)]
    pub(super) fn usual(&self, available: &[u8]) -> Option<UsualPacket> {
        let head = available.first_chunk::<PACKET_HEAD>()?;
        let field = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (index, length, captured) = (field(8), field(4) as usize, field(20) as usize);
        let body = available.get(..length)?.get(PACKET_HEAD..)?;
        let (body, last) = body.split_last_chunk::<4>()?;
        let is_usual = field(0) == ENHANCED_PACKET && !self.order.is_big_endian;
        let fits = length % 4 == 0 && length <= PACKET_BLOCK_LIMIT as usize && captured <= body.len();
        if !is_usual || !fits || u32::from_le_bytes(*last) as usize != length {
            return None;
        }
        let interface = self.interfaces.get(index as usize)?;
        Some(UsualPacket {
            time_ns: interface.time_ns(field(12), field(16)),
            interface: self.interfaces_before + index,
            link: interface.link(),
            captured,
            original: field(24),
            length,
        })
    }

    #[inline]
    pub(super) fn advance<R: Read>(
        &mut self,
        source: &mut Source<'_, R>,
        comments: &mut Vec<String>,
        dropped: &mut Option<u64>,
    ) -> Result<Option<PacketLocation>, ReadError> {
        loop {
            let Some(block) = self.block(source)? else { return Ok(None) };
            let found = match block.kind {
                ENHANCED_PACKET => Some(self.enhanced(&block, source)?),
                SIMPLE_PACKET => Some(self.simple(&block, source)?),
                OBSOLETE_PACKET => Some(self.obsolete(&block, source)?),
                _ => {
                    self.describe(&block, source, &mut Sink { comments, dropped })?;
                    None
                }
            };
            source.take_record(block.length);
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// The next block that is looked into, whole in the buffer. `None` at the end.
    #[inline]
    fn block<R: Read>(&mut self, source: &mut Source<'_, R>) -> Result<Option<Block>, ReadError> {
        loop {
            let offset = source.offset();
            let available = source.fill(HEAD)?;
            if available < HEAD {
                return match available {
                    0 => Ok(None),
                    found => Err(ReadError::cut(offset, "a block's header", HEAD as u64, found as u64)),
                };
            }
            let head = source.available();
            let is_section = head.starts_with(&SECTION);
            if is_section {
                self.section(source)?;
            }
            let head = source.available();
            let (kind, length) = (self.order.u32_at(head, 0), self.order.u32_at(head, 4));
            let (least, limit) = match kind {
                _ if is_section => (28, DESCRIPTION_LIMIT),
                INTERFACE => (20, DESCRIPTION_LIMIT),
                STATISTICS => (24, DESCRIPTION_LIMIT),
                ENHANCED_PACKET | OBSOLETE_PACKET => (32, PACKET_BLOCK_LIMIT),
                SIMPLE_PACKET => (16, PACKET_BLOCK_LIMIT),
                _ => (FRAME, u32::MAX),
            };
            if length < least || length % 4 != 0 {
                return Err(ReadError::new(offset, Problem::BlockLength { length, least }));
            }
            if length > limit {
                let (length, limit) = (u64::from(length), u64::from(limit));
                return Err(ReadError::new(offset, Problem::TooLong { what: "a block", length, limit }));
            }
            if limit == u32::MAX {
                self.pass_over(offset, length, source)?;
                continue;
            }
            let size = length as usize;
            let found = source.fill(size)?;
            if found < size {
                return Err(ReadError::cut(offset, "a block", u64::from(length), found as u64));
            }
            let last = self.order.u32_at(source.available(), size - 4);
            if last != length {
                return Err(ReadError::new(offset, Problem::BlockEnd { first: length, last }));
            }
            return Ok(Some(Block { offset, kind: if is_section { MAGIC } else { kind }, length: size }));
        }
    }

    fn pass_over<R: Read>(
        &self,
        offset: u64,
        length: u32,
        source: &mut Source<'_, R>,
    ) -> Result<(), ReadError> {
        let passed = source.skip(u64::from(length) - 4)?;
        let found = source.fill(4)?.min(4) as u64;
        if passed + found < u64::from(length) {
            return Err(ReadError::cut(offset, "a block", u64::from(length), passed + found));
        }
        let last = self.order.u32_at(source.available(), 0);
        if last != length {
            return Err(ReadError::new(offset, Problem::BlockEnd { first: length, last }));
        }
        source.consume(4);
        Ok(())
    }

    /// A section begins: its byte order, no interface yet.
    fn section<R: Read>(&mut self, source: &mut Source<'_, R>) -> Result<(), ReadError> {
        let offset = source.offset();
        let found = source.fill(16)?;
        let Some(head) = source.available().first_chunk::<16>() else {
            return Err(ReadError::cut(offset, "a section's header", 28, found as u64));
        };
        self.order = if Order::LITTLE.u32_at(head, 8) == MAGIC {
            Order::LITTLE
        } else if Order::BIG.u32_at(head, 8) == MAGIC {
            Order::BIG
        } else {
            let found = Order::BIG.u32_at(head, 8);
            return Err(ReadError::new(offset + 8, Problem::ByteOrder { found }));
        };
        let (major, minor) = (self.order.u16_at(head, 12), self.order.u16_at(head, 14));
        if major != 1 {
            let read = "1 (pcapng)";
            return Err(ReadError::new(offset + 12, Problem::Version { major, minor, read }));
        }
        self.interfaces_before = self.interfaces_before.saturating_add(self.interfaces.len() as u32);
        self.interfaces.clear();
        Ok(())
    }

    /// Reads a block that describes the following ones.
    #[cold]
    fn describe<R>(
        &mut self,
        block: &Block,
        source: &Source<'_, R>,
        sink: &mut Sink<'_>,
    ) -> Result<(), ReadError> {
        let bytes = &source.available()[..block.length - 4];
        let options = |from: usize| BlockOptions::new(self.order, block.offset + from as u64, &bytes[from..]);
        match block.kind {
            MAGIC => options(24).read(|option| sink.comment(option)),
            STATISTICS => {
                let order = self.order;
                options(20).read(|option| {
                    sink.comment(option);
                    sink.drops(option, order);
                })
            }
            _ => {
                if self.interfaces.len() >= INTERFACES_MAX as usize {
                    let problem = Problem::TooManyInterfaces { limit: INTERFACES_MAX };
                    return Err(ReadError::new(block.offset, problem));
                }
                let interface = Interface::read(self.order, bytes, options(16), sink)?;
                self.interfaces.push(interface);
                Ok(())
            }
        }
    }

    fn interface(&self, index: u32, offset: u64) -> Result<&Interface, ReadError> {
        let known = self.interfaces.len() as u32;
        let none = || ReadError::new(offset, Problem::NoInterface { interface: index, known });
        self.interfaces.get(index as usize).ok_or_else(none)
    }

    /// 4.3 of the draft.
    #[inline]
    fn enhanced<R>(&self, block: &Block, source: &Source<'_, R>) -> Result<PacketLocation, ReadError> {
        let bytes = source.available();
        let field = |at: usize| self.order.u32_at(bytes, at);
        let (index, high, low, captured, original) = (field(8), field(12), field(16), field(20), field(24));
        self.packet(block, source, &Fields { index, high, low, captured, original, from: PACKET_HEAD })
    }

    /// Appendix A of the draft: as an enhanced one, its interface in 16 bits, its drops behind it.
    fn obsolete<R>(&self, block: &Block, source: &Source<'_, R>) -> Result<PacketLocation, ReadError> {
        let bytes = source.available();
        let index = u32::from(self.order.u16_at(bytes, 8));
        let field = |at: usize| self.order.u32_at(bytes, at);
        let (high, low, captured, original) = (field(12), field(16), field(20), field(24));
        self.packet(block, source, &Fields { index, high, low, captured, original, from: PACKET_HEAD })
    }

    /// 4.4: no time, no options, the first interface; its bytes end with its interface's snap length or with the block.
    fn simple<R>(&self, block: &Block, source: &Source<'_, R>) -> Result<PacketLocation, ReadError> {
        let original = self.order.u32_at(source.available(), 8);
        let interface = self.interface(0, block.offset)?;
        let room = (block.length - 16) as u32;
        let captured = original.min(interface.snap_length());
        if captured.next_multiple_of(4) != room {
            return Err(ReadError::new(block.offset, Problem::PacketBeyondBlock { captured, room }));
        }
        let fields = Fields { index: 0, high: 0, low: 0, captured, original, from: 12 };
        Ok(PacketLocation { time_ns: 0, ..self.packet(block, source, &fields)? })
    }

    #[inline]
    fn packet<R>(
        &self,
        block: &Block,
        source: &Source<'_, R>,
        fields: &Fields,
    ) -> Result<PacketLocation, ReadError> {
        let interface = self.interface(fields.index, block.offset)?;
        let captured = fields.captured;
        let room = (block.length - fields.from - 4) as u32;
        if captured > room {
            return Err(ReadError::new(block.offset, Problem::PacketBeyondBlock { captured, room }));
        }
        let end = fields.from + captured as usize;
        let options = end.next_multiple_of(4).min(block.length - 4);
        Ok(PacketLocation {
            offset: block.offset,
            time_ns: interface.time_ns(fields.high, fields.low),
            interface: self.interfaces_before + fields.index,
            link: interface.link(),
            original_length: fields.original.max(captured),
            bytes: source.range(fields.from, end),
            options: source.range(options, block.length - 4),
            is_big_endian: self.order.is_big_endian,
        })
    }
}

impl UsualPacket {
    /// The packet number `number`; consumes its block, which is the next one.
    #[inline(always)]
    pub(super) fn packet<'s, R>(self, number: u64, source: &'s mut Source<'_, R>) -> Packet<'s> {
        let offset = source.offset();
        let block = source.take_record(self.length);
        let end = PACKET_HEAD + self.captured;
        let options = end.next_multiple_of(4).min(self.length - 4);
        Packet {
            number,
            offset,
            time_ns: self.time_ns,
            steady_ns: self.time_ns,
            stretch: 0,
            interface: self.interface,
            link: self.link,
            original_length: self.original.max(self.captured as u32),
            bytes: &block[PACKET_HEAD..end],
            options: &block[options..self.length - 4],
            is_big_endian: false,
        }
    }
}

/// The fields of a packet block; its bytes begin at `from`.
struct Fields {
    index: u32,
    high: u32,
    low: u32,
    captured: u32,
    original: u32,
    from: usize,
}
