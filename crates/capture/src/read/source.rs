//! Bytes from a reader, or from a file in memory, with the place in the stream where they stand.
//!
//! Invariant: the buffer doubles only when it is full of bytes that were read, so no length in a file makes it grow.

use super::{Mapped, Problem, ReadError};
use std::io::{ErrorKind, Read};
use std::mem;
use std::ops::Range;

/// Small enough to stay in a CPU's cache, large enough that calls of the system don't count.
const BUFFER: usize = 128 << 10;

/// Bytes of a file in memory that are in use at once.
const WINDOW: usize = 4 << 20;
/// A packet with payload. What comes behind one is, in bulk, as long again.
const LONG: usize = 512;

/// The slices lie at the same place of both: which it is needs not be asked for each packet.
#[repr(u8)]
enum Bytes<'m> {
    Read(Box<[u8]>),
    Mapped(&'m [u8], &'m dyn Mapped),
}

pub(super) struct Source<'m, R> {
    input: R,
    bytes: Bytes<'m>,
    /// Length of the last record that was long.
    stride: usize,
    start: usize,
    end: usize,
    /// Place of `start` in the stream.
    offset: u64,
    is_at_end: bool,
}

impl<'m, R> Source<'m, R> {
    #[inline]
    fn all(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Read(buffer) => buffer,
            Bytes::Mapped(all, _) => all,
        }
    }

    /// What was read and not yet consumed.
    #[inline]
    pub(super) fn available(&self) -> &[u8] {
        &self.all()[self.start..self.end]
    }

    /// Bytes at places of the buffer, as `range` gave them before the last call of `fill`.
    #[inline]
    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.all()[range]
    }

    /// Where the available bytes from `from` to `to` lie in the buffer.
    #[inline]
    pub(super) const fn range(&self, from: usize, to: usize) -> Range<usize> {
        self.start + from..self.start + to
    }

    /// The next `count` bytes, which are available and a packet's record, and consumes them.
    #[inline]
    pub(super) fn take_record(&mut self, count: usize) -> &[u8] {
        let start = self.start;
        self.consume(count);
        let all = match &self.bytes {
            Bytes::Read(buffer) => &buffer[..],
            Bytes::Mapped(all, file) => {
                if count >= LONG {
                    self.stride = count;
                }
                file.fetch(self.start, self.stride);
                all
            }
        };
        &all[start..start + count]
    }

    /// Why bytes can't be had any more.
    #[cold]
    pub(super) fn check(&self) -> Result<(), ReadError> {
        let Bytes::Mapped(_, file) = &self.bytes else { return Ok(()) };
        match file.failure() {
            Some(error) => Err(ReadError::new(self.offset, Problem::Read(error))),
            None => Ok(()),
        }
    }

    /// From a file in memory; `input` is not read.
    pub(super) fn of_mapped(file: &'m dyn Mapped, input: R) -> Self {
        let bytes = Bytes::Mapped(file.bytes(), file);
        Self { input, bytes, stride: 0, start: 0, end: 0, offset: 0, is_at_end: false }
    }

    #[inline]
    pub(super) const fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    /// Place of the next available byte in the stream.
    #[inline]
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }
}

impl<R: Read> Source<'_, R> {
    pub(super) fn new(input: R) -> Self {
        let bytes = Bytes::Read(vec![0; BUFFER].into());
        Self { input, bytes, stride: 0, start: 0, end: 0, offset: 0, is_at_end: false }
    }

    /// Reads until `wanted` bytes are available, or the stream ends. Returns how many are.
    #[inline]
    pub(super) fn fill(&mut self, wanted: usize) -> Result<usize, ReadError> {
        let available = self.end - self.start;
        if available >= wanted { Ok(available) } else { self.read_more(wanted) }
    }

    #[cold]
    #[inline(never)]
    fn read_more(&mut self, wanted: usize) -> Result<usize, ReadError> {
        let buffer = match &mut self.bytes {
            Bytes::Read(buffer) => buffer,
            Bytes::Mapped(all, file) => {
                file.pass(self.start);
                self.end = self.start.saturating_add(wanted.max(WINDOW)).min(all.len());
                return Ok(self.end - self.start);
            }
        };
        buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < wanted && !self.is_at_end {
            if self.end == buffer.len() {
                let mut longer = mem::take(buffer).into_vec();
                longer.resize(longer.len() * 2, 0);
                *buffer = longer.into();
            }
            match self.input.read(&mut buffer[self.end..]) {
                Ok(0) => self.is_at_end = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(ReadError::new(self.offset + self.end as u64, Problem::Read(error)));
                }
            }
        }
        Ok(self.end)
    }

    /// Passes over `count` bytes without keeping them. Returns how many were there.
    pub(super) fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        let mut left = count;
        while left > 0 {
            let step = self.fill(1)?.min(usize::try_from(left).unwrap_or(usize::MAX));
            if step == 0 {
                break;
            }
            self.consume(step);
            left -= step as u64;
        }
        Ok(count - left)
    }
}
