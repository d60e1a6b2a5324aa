//! What a capture is packed with, found by its first bytes.

use flate2::read::MultiGzDecoder;
use std::fmt;
use std::io::{self, BufReader, Cursor, ErrorKind, Read};

/// The form of packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952; several members in a row are one capture.
    Gzip,
    /// RFC 8878; several frames in a row are one capture.
    Zstd,
}

impl Compression {
    /// The compression of a file with these first four bytes.
    pub fn of(first: &[u8]) -> Option<Self> {
        match first {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // A frame, or one of those that are passed over (RFC 8878 3.1.2).
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// The first bytes, read again before the rest.
type Whole<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// The capture without its packing.
pub(super) enum Input<R: Read> {
    Plain(Whole<R>),
    Gzip(Box<MultiGzDecoder<Whole<R>>>),
    Zstd(zstd::stream::read::Decoder<'static, BufReader<Whole<R>>>),
}

impl<R: Read> Input<R> {
    pub(super) fn detect(mut input: R) -> io::Result<Self> {
        let mut first = Vec::with_capacity(4);
        let mut byte = [0];
        while first.len() < 4 {
            match input.read(&mut byte) {
                Ok(0) => break,
                Ok(_) => first.push(byte[0]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let compression = Compression::of(&first);
        let whole = Cursor::new(first).chain(input);
        Ok(match compression {
            Some(Compression::Gzip) => Self::Gzip(Box::new(MultiGzDecoder::new(whole))),
            Some(Compression::Zstd) => Self::Zstd(zstd::stream::read::Decoder::new(whole)?),
            None => Self::Plain(whole),
        })
    }

    /// What is not packed.
    pub(super) fn plain(input: R) -> Self {
        Self::Plain(Cursor::new(Vec::new()).chain(input))
    }

    pub(super) const fn compression(&self) -> Option<Compression> {
        match self {
            Self::Plain(_) => None,
            Self::Gzip(_) => Some(Compression::Gzip),
            Self::Zstd(_) => Some(Compression::Zstd),
        }
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(to),
            Self::Gzip(input) => input.read(to),
            Self::Zstd(input) => input.read(to),
        }
    }
}
