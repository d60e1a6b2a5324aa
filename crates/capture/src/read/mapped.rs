//! A capture whose file lies in memory without a copy, as `mmap(2)` gives it: of packets with their payload one reads a tenth of the bytes.

use super::{Compression, Reader};
use std::io;

/// How many bytes of a capture are looked at to find whether its packets have payload.
pub const BEGINNING: usize = 256 << 10;
/// Packets of fewer bytes, in the mean, are read faster with a copy: most of their cache lines are needed.
const SPARSE: u64 = 512;

/// A file in memory.
pub trait Mapped {
    /// All of its bytes.
    fn bytes(&self) -> &[u8];

    /// A header will be read at `offset` soon, and perhaps others each `stride` bytes behind it: brings them into the cache. They may lie
    /// behind the end.
    fn fetch(&self, offset: usize, stride: usize);

    /// What lies before `offset` is not read any more.
    fn pass(&self, offset: usize);

    /// Why bytes can't be had any more, where that is so: the file became shorter, or its medium fails. They are zeros then.
    fn failure(&self) -> Option<io::Error>;
}

/// Whether a capture that begins with these bytes is read faster where it is mapped: it is not packed, and most of it is payload.
pub fn is_sparse(beginning: &[u8]) -> bool {
    if Compression::of(beginning).is_some() {
        return false;
    }
    let Ok(mut reader) = Reader::open(beginning) else { return false };
    while let Ok(Some(_)) = reader.next_packet() {}
    reader.packets() > 0 && reader.bytes_read() / reader.packets() >= SPARSE
}
