//! A file in memory, as its mapping would be.

use pipefill_capture::read::Mapped;
use std::cell::Cell;
use std::io;

/// Its bytes, how far they were passed, and where they can't be had any more.
pub struct InMemory<'a> {
    bytes: &'a [u8],
    passed: Cell<usize>,
    /// The first byte that can't be had; that is known once it was asked for.
    cut: usize,
    asked: Cell<usize>,
}

impl<'a> InMemory<'a> {
    /// All of them are there.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self::cut(bytes, usize::MAX)
    }

    /// Those from `cut` on stand for what can't be had.
    pub fn cut(bytes: &'a [u8], cut: usize) -> Self {
        Self { bytes, passed: Cell::new(0), cut, asked: Cell::new(0) }
    }

    /// All before it was passed.
    pub fn passed(&self) -> usize {
        self.passed.get()
    }
}

impl Mapped for InMemory<'_> {
    fn bytes(&self) -> &[u8] {
        self.bytes
    }

    fn fetch(&self, offset: usize, stride: usize) {
        self.asked.set(offset + stride);
    }

    fn pass(&self, offset: usize) {
        assert!(offset >= self.passed.get(), "it goes forward");
        self.passed.set(offset);
    }

    fn failure(&self) -> Option<io::Error> {
        (self.asked.get() >= self.cut).then(|| io::Error::other("gone"))
    }
}
