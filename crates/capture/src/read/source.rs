//! Bytes from a reader, with the place in the stream where they stand.
//!
//! Invariant: the buffer doubles only when it is full of bytes that were read, so no length in a file makes it grow.

use super::{Problem, ReadError};
use std::io::{ErrorKind, Read};
use std::ops::Range;

/// Small enough to stay in a CPU's cache, large enough that calls of the system don't count.
const BUFFER: usize = 128 << 10;

pub(super) struct Source<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Place of `start` in the stream.
    offset: u64,
    is_at_end: bool,
}

impl<R> Source<R> {
    /// What was read and not yet consumed.
    #[inline]
    pub(super) fn available(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Bytes at places of the buffer, as `range` gave them before the last call of `fill`.
    #[inline]
    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    /// Where the available bytes from `from` to `to` lie in the buffer.
    #[inline]
    pub(super) const fn range(&self, from: usize, to: usize) -> Range<usize> {
        self.start + from..self.start + to
    }

    /// The next `count` bytes, which are available, and consumes them.
    #[inline]
    pub(super) fn take(&mut self, count: usize) -> &[u8] {
        let start = self.start;
        self.consume(count);
        &self.buffer[start..start + count]
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

impl<R: Read> Source<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: vec![0; BUFFER], start: 0, end: 0, offset: 0, is_at_end: false }
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
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < wanted && !self.is_at_end {
            if self.end == self.buffer.len() {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            match self.input.read(&mut self.buffer[self.end..]) {
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
