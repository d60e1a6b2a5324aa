//! The packets of a capture, one after the other, from anything that can be read: a file, standard input.
//!
//! Containers: pcap (draft-ietf-opsawg-pcap) and pcapng (draft-ietf-opsawg-pcapng), also in gzip (RFC 1952) and zstd (RFC 8878), found
//! by their first bytes. Own code, since the well-kept parsers allocate the options of each packet and don't say where a file broke.
//!
//! Invariant: what could be read is yielded, then one error says where the rest broke, then nothing more. Memory: the buffer grows with
//! bytes that were there, never with a length that a file claims.

mod clock;
mod comments;
mod compression;
mod error;
mod foreign;
mod mapped;
mod order;
mod pcap;
mod pcapng;
mod resolution;
mod source;

pub use clock::{BackwardTimes, SET_BACK_NS};
pub use comments::Comments;
pub use compression::Compression;
pub use error::{Problem, ReadError};
pub use mapped::{BEGINNING, Mapped, is_sparse};

use clock::CaptureClock;
use compression::Input;
use pcap::Pcap;
use pcapng::Pcapng;
use source::Source;
use std::io::Read;
use std::ops::Range;

/// A larger length of a captured packet is damaged: the largest packets of Linux, those of BIG TCP, have 512 KiB.
pub const PACKET_LIMIT: u32 = 16 << 20;

/// The kind of a packet's first header: a number of `LINKTYPE_` (<https://www.tcpdump.org/linktypes.html>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkType(pub u16);

/// The form of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// One link type, one byte order, one resolution of time for all packets.
    Pcap,
    /// Blocks, with sections and interfaces of their own.
    Pcapng,
}

/// One packet, as it lies in the reader's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The how many-eth of the capture, from 1, as Wireshark counts them.
    pub number: u64,
    /// Byte of the (unpacked) capture where its record begins.
    pub offset: u64,
    /// Nanoseconds since 1970. 0 where the container has no time for it (a simple packet block), the ends of the type for times before
    /// 1970 and after 2554.
    pub time_ns: u64,
    /// The time without steps back of the clock: times continue from the latest one. A packet without a time has the previous packet's.
    pub steady_ns: u64,
    /// How often the clock had been set back by then: from packets with the same number times can be measured.
    pub stretch: u32,
    /// The interface that saw it, counted through all sections from 0; 0 in a pcap.
    pub interface: u32,
    /// What its bytes begin with.
    pub link: LinkType,
    /// Bytes that it had on the wire; at least as many as were captured.
    pub original_length: u32,
    /// The bytes that were captured.
    pub bytes: &'a [u8],
    /// Its options, in pcapng's form and the byte order of its section.
    options: &'a [u8],
    is_big_endian: bool,
}

impl<'a> Packet<'a> {
    /// A packet that comes from no file.
    pub const fn new(time_ns: u64, link: LinkType, original_length: u32, bytes: &'a [u8]) -> Self {
        Self {
            number: 1,
            offset: 0,
            time_ns,
            steady_ns: time_ns,
            stretch: 0,
            interface: 0,
            link,
            original_length,
            bytes,
            options: &[],
            is_big_endian: false,
        }
    }

    /// The comments on this packet (pcapng's `opt_comment`) that are UTF-8.
    pub fn comments(&self) -> Comments<'a> {
        Comments::new(self.options, self.is_big_endian)
    }
}

/// Where the parts of a packet of a pcapng lie in the buffer.
struct PacketLocation {
    offset: u64,
    time_ns: u64,
    interface: u32,
    link: LinkType,
    original_length: u32,
    bytes: Range<usize>,
    options: Range<usize>,
    is_big_endian: bool,
}

impl PacketLocation {
    fn packet<'s, R>(self, source: &'s Source<'_, R>) -> Packet<'s> {
        Packet {
            number: 0,
            offset: self.offset,
            time_ns: self.time_ns,
            steady_ns: self.time_ns,
            stretch: 0,
            interface: self.interface,
            link: self.link,
            original_length: self.original_length,
            bytes: source.bytes(self.bytes),
            options: source.bytes(self.options),
            is_big_endian: self.is_big_endian,
        }
    }
}

/// A tag of its own: it is looked at for each packet.
#[repr(u8)]
enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
    /// An error was returned.
    Broken,
}

/// Reads the packets of a capture.
pub struct Reader<'m, R: Read> {
    source: Source<'m, Input<R>>,
    format: Format,
    container: Container,
    compression: Option<Compression>,
    packets: u64,
    clock: CaptureClock,
    comments: Vec<String>,
    dropped: Option<u64>,
}

impl<'m, R: Read> Reader<'m, R> {
    /// Looks at the first bytes: the compression, the container, its header.
    ///
    /// # Errors
    /// No capture, a version or form that is not read, a header that is cut.
    pub fn open(input: R) -> Result<Self, ReadError> {
        let input = Input::detect(input).map_err(|error| ReadError::new(0, Problem::Read(error)))?;
        let compression = input.compression();
        Self::begin(Source::new(input), compression)
    }

    /// The same, from a file in memory that is not packed; `rest` is not read.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn of_mapped(file: &'m dyn Mapped, rest: R) -> Result<Self, ReadError> {
        Self::begin(Source::of_mapped(file, Input::plain(rest)), None)
    }

    fn begin(mut source: Source<'m, Input<R>>, compression: Option<Compression>) -> Result<Self, ReadError> {
        let opened = open(&mut source);
        let (format, container) = opened.map_err(|error| error.within(compression))?;
        let clock = CaptureClock::default();
        Ok(Self {
            source,
            format,
            container,
            compression,
            packets: 0,
            clock,
            comments: Vec::new(),
            dropped: None,
        })
    }

    /// The next packet; `None` at the end, and after an error.
    ///
    /// # Errors
    /// Where the capture broke, and what was expected there. Returned once.
    #[inline(always)]
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        let read = match &mut self.format {
            Format::Pcap(pcap) => {
                if let Some(usual) = pcap.usual(self.source.available()) {
                    self.packets += 1;
                    let packet = pcap.packet(self.packets, &usual, &mut self.source);
                    let steady_ns = self.clock.time_ns(packet.time_ns);
                    return Ok(Some(Packet { steady_ns, stretch: self.clock.stretch(), ..packet }));
                }
                next_of_pcap(pcap, &mut self.source)
            }
            Format::Pcapng(pcapng) => {
                if let Some(usual) = pcapng.usual(self.source.available()) {
                    self.packets += 1;
                    let packet = usual.packet(self.packets, &mut self.source);
                    let steady_ns = self.clock.time_at_ns(packet.interface, packet.time_ns);
                    return Ok(Some(Packet { steady_ns, stretch: self.clock.stretch(), ..packet }));
                }
                next_of_pcapng(pcapng, &mut self.source, &mut self.comments, &mut self.dropped)
            }
            Format::Broken => Ok(None),
        };
        match read {
            Ok(Some(packet)) => {
                self.packets += 1;
                let steady_ns = self.clock.time_at_ns(packet.interface, packet.time_ns);
                Ok(Some(Packet { number: self.packets, steady_ns, stretch: self.clock.stretch(), ..packet }))
            }
            Ok(None) => Ok(None),
            Err(error) => {
                self.format = Format::Broken;
                Err(error.within(self.compression))
            }
        }
    }

    /// The container of this capture.
    pub const fn container(&self) -> Container {
        self.container
    }

    /// What it was packed with.
    pub const fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// How many packets were read.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// How many bytes of the unpacked capture were read.
    pub const fn bytes_read(&self) -> u64 {
        self.source.offset()
    }

    /// How often and how far the times of packets that were read ran backwards.
    pub const fn backward_times(&self) -> BackwardTimes {
        self.clock.backward()
    }

    /// The resolution of the clock that gave the times so far, nanoseconds, where that is 1 ms or coarser; `None` too where times are too few to tell.
    pub fn clock_resolution_ns(&self) -> Option<u64> {
        self.clock.resolution_ns()
    }

    /// Comments of sections, interfaces and statistics so far; those of packets are at the packets. At most 1024.
    pub fn comments(&self) -> &[String] {
        &self.comments
    }

    /// Packets that the capture itself missed, by the statistics blocks that were read (`isb_ifdrop`); `None` without such a block.
    pub const fn dropped(&self) -> Option<u64> {
        self.dropped
    }
}

#[inline(never)]
fn next_of_pcap<'s, R: Read>(
    pcap: &Pcap,
    source: &'s mut Source<'_, R>,
) -> Result<Option<Packet<'s>>, ReadError> {
    let record = pcap.next(source)?;
    Ok(record.map(|record| pcap.packet(0, &record, source)))
}

#[inline(never)]
fn next_of_pcapng<'s, R: Read>(
    pcapng: &mut Pcapng,
    source: &'s mut Source<'_, R>,
    comments: &mut Vec<String>,
    dropped: &mut Option<u64>,
) -> Result<Option<Packet<'s>>, ReadError> {
    match pcapng.advance(source, comments, dropped) {
        Ok(Some(found)) => Ok(Some(found.packet(source))),
        // Where bytes could not be read, zeros stand in for them: those are not a block.
        end_or_error => source.check().and(end_or_error.map(|_| None)),
    }
}

fn open<R: Read>(source: &mut Source<'_, Input<R>>) -> Result<(Format, Container), ReadError> {
    let found = source.fill(4)?;
    if found == 0 {
        return Err(ReadError::new(0, Problem::Empty));
    }
    let Some(magic) = source.available().first_chunk::<4>().copied() else {
        return Err(ReadError::cut(0, "the capture's first four bytes", 4, found as u64));
    };
    if magic == pcapng::SECTION {
        return Ok((Format::Pcapng(Pcapng::new()), Container::Pcapng));
    }
    match Pcap::open(magic, source)? {
        Some(pcap) => Ok((Format::Pcap(pcap), Container::Pcap)),
        None => {
            source.fill(foreign::LONGEST)?;
            Err(ReadError::new(
                0,
                match foreign::program(source.available()) {
                    Some(program) => Problem::Foreign { program },
                    None => Problem::NotACapture { found: magic },
                },
            ))
        }
    }
}
