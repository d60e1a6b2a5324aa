//! Where a capture broke, and what was expected there.

use super::Compression;
use std::{fmt, io};

/// Why no more packets come.
#[derive(Debug)]
pub struct ReadError {
    /// Byte of the capture where the part begins that is broken; of the unpacked capture, if it was packed.
    pub offset: u64,
    /// What it was packed with.
    pub compression: Option<Compression>,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a capture.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Not one byte.
    #[error("the capture is empty")]
    Empty,
    /// A capture in the form of another program.
    #[error("a capture of {program}, not a pcap or pcapng file")]
    Foreign {
        /// Whose form it is.
        program: &'static str,
    },
    /// Neither of the containers.
    #[error(
        "not a pcap or pcapng file (it starts with {:02x} {:02x} {:02x} {:02x})",
        found[0], found[1], found[2], found[3]
    )]
    NotACapture {
        /// The first bytes.
        found: [u8; 4],
    },
    /// The capture ends in the middle of something.
    #[error("{what} is cut: {expected} bytes were expected, {found} are there")]
    Cut {
        /// What ends too early.
        what: &'static str,
        /// Bytes that it says it has.
        expected: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// A length that nothing has.
    #[error("{what} says that it has {length} bytes; at most {limit} are read")]
    TooLong {
        /// What says so.
        what: &'static str,
        /// What it says.
        length: u64,
        /// The most that is read.
        limit: u64,
    },
    /// A newer or older form.
    #[error("version {major}.{minor} of the container; read is {read}")]
    Version {
        /// Its first number.
        major: u16,
        /// Its second number.
        minor: u16,
        /// What can be read.
        read: &'static str,
    },
    /// pcapng: a block whose length can't be.
    #[error("a block says that it has {length} bytes; expected was a multiple of 4, of at least {least}")]
    BlockLength {
        /// What it says.
        length: u32,
        /// What a block of its type needs.
        least: u32,
    },
    /// pcapng: the two lengths of a block differ.
    #[error(
        "a block begins with the length {first} and ends with {last}; expected was the same length twice"
    )]
    BlockEnd {
        /// The length at its beginning.
        first: u32,
        /// The length at its end.
        last: u32,
    },
    /// pcapng: a section of no byte order.
    #[error("a section's byte order is {found:08x}; expected was 1a2b3c4d, in either order")]
    ByteOrder {
        /// What stands there.
        found: u32,
    },
    /// pcapng: a packet of an interface that was not described.
    #[error("a packet names interface {interface}; this section has described {known}")]
    NoInterface {
        /// The one that it names.
        interface: u32,
        /// Interfaces of the section so far.
        known: u32,
    },
    /// pcapng: more interfaces than are kept.
    #[error("more than {limit} interfaces")]
    TooManyInterfaces {
        /// The most.
        limit: u32,
    },
    /// pcapng: a packet longer than its block.
    #[error("a packet says that it has {captured} bytes; its block has room for {room}")]
    PacketBeyondBlock {
        /// What it says.
        captured: u32,
        /// What the block holds.
        room: u32,
    },
    /// pcapng: an option longer than its block.
    #[error("option {code} says that it has {length} bytes; its block has {room} left")]
    OptionBeyondBlock {
        /// The option's number.
        code: u16,
        /// What it says.
        length: u16,
        /// What is left.
        room: u32,
    },
    /// pcapng: an `if_tsresol` that no clock has.
    #[error(
        "the resolution of time is {value:#04x}; read are 10^-0 to 10^-38 s (0x00 to 0x26) and 2^-0 to 2^-127 s (0x80 to 0xff)"
    )]
    Resolution {
        /// The option's byte.
        value: u8,
    },
    /// What packed the capture can't be unpacked from here on.
    #[error("unpacking failed: {0}")]
    Unpack(io::Error),
    /// The file or pipe itself.
    #[error("reading failed: {0}")]
    Read(io::Error),
}

impl ReadError {
    pub(super) const fn new(offset: u64, problem: Problem) -> Self {
        Self { offset, compression: None, problem }
    }

    pub(super) const fn cut(offset: u64, what: &'static str, expected: u64, found: u64) -> Self {
        Self::new(offset, Problem::Cut { what, expected, found })
    }

    pub(super) fn within(self, compression: Option<Compression>) -> Self {
        let problem = match self.problem {
            Problem::Read(error) if compression.is_some() => Problem::Unpack(error),
            problem => problem,
        };
        Self { compression, problem, ..self }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.compression {
            None => write!(to, "byte {}: {}", self.offset, self.problem),
            Some(packed) => write!(to, "byte {} (after unpacking {packed}): {}", self.offset, self.problem),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Read(error) | Problem::Unpack(error) => Some(error),
            _ => None,
        }
    }
}
