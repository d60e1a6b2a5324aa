//! Memory for whole packets: buffers of three sizes that go back to where they came from, and a bound on what is out.

use std::cell::{Cell, RefCell};
use std::ops::{Deref, Range};
use std::rc::Rc;

/// The largest packet: an Ethernet header and 64 KiB of IPv6 behind its own header.
pub(crate) const LARGEST: usize = 14 + 40 + (1 << 16);
/// What buffers hold: a frame of an MTU of 1500, one of 9000 or a few smaller ones together, the largest with what stands before it.
const SIZES: [usize; 3] = [2 << 10, 16 << 10, LARGEST + 64];
/// Buffers of this size are handed over; what fits a smaller one is copied.
const LARGE: usize = 2;

/// Buffers that are free, and how many bytes are out.
pub(crate) struct Buffers {
    free: RefCell<[Vec<Vec<u8>>; 3]>,
    out: Cell<usize>,
    most: usize,
}

impl Buffers {
    /// At most `most` bytes are out at a time.
    pub(crate) fn new(most: usize) -> Rc<Self> {
        Rc::new(Self { free: RefCell::default(), out: Cell::new(0), most })
    }

    /// A buffer of the largest size, which does not count as out.
    pub(crate) fn large() -> Vec<u8> {
        vec![0; SIZES[LARGE]]
    }

    /// The bytes of `range` in `large`, a buffer of the largest size; `None` where too many bytes are out. A large packet takes the memory with
    /// it: another buffer is there then.
    pub(crate) fn keep(self: &Rc<Self>, large: &mut Vec<u8>, range: Range<usize>) -> Option<Buffer> {
        let class = SIZES.iter().position(|&size| range.len() <= size)?;
        let out = self.out.get() + SIZES[class];
        if out > self.most {
            return None;
        }
        self.out.set(out);
        let free = self.free.borrow_mut()[class].pop();
        let (bytes, range) = if class == LARGE {
            (std::mem::replace(large, free.unwrap_or_else(Self::large)), range)
        } else {
            let mut bytes = free.unwrap_or_else(|| Vec::with_capacity(SIZES[class]));
            bytes.clear();
            bytes.extend_from_slice(&large[range.clone()]);
            (bytes, 0..range.len())
        };
        Some(Buffer { bytes, range, class, buffers: Rc::clone(self) })
    }
}

/// The bytes of a packet, from its Ethernet header on.
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    range: Range<usize>,
    class: usize,
    buffers: Rc<Buffers>,
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.buffers.out.set(self.buffers.out.get() - SIZES[self.class]);
        self.buffers.free.borrow_mut()[self.class].push(std::mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_is_bounded_and_comes_back() {
        let buffers = Buffers::new(SIZES[0] + SIZES[LARGE]);
        let mut landing = Buffers::large();
        landing.fill(7);
        let small = buffers.keep(&mut landing, 10..70).expect("room");
        landing.fill(8);
        let large = buffers.keep(&mut landing, 10..65_010).expect("room");
        landing.fill(9);
        assert_eq!((&small[..], large.len(), large[64_999]), (&[7; 60][..], 65_000, 8));
        assert!(buffers.keep(&mut landing, 0..1).is_none(), "all is out");
        let memory = small.as_ptr();
        drop(small);
        let again = buffers.keep(&mut landing, 0..2048).expect("room again");
        assert_eq!(
            (again.as_ptr(), again.len(), again[0]),
            (memory, 2048, 9),
            "the same memory, the new bytes"
        );
        drop((again, large));
        assert_eq!(buffers.out.get(), 0);
    }
}
