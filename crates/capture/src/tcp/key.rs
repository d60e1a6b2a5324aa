//! By what a connection is found.

use crate::headers::{Endpoint, Segment};
use std::hash::{Hash, Hasher};

/// Both ends, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) low: Endpoint,
    pub(super) high: Endpoint,
}

impl Key {
    /// Of a segment; and whether the higher end sent it.
    #[inline]
    pub(super) fn of(segment: &Segment) -> (Self, bool) {
        let (source, destination) = (segment.source, segment.destination);
        let order = |end: Endpoint| (end.address.bits(), end.port);
        if order(source) > order(destination) {
            (Self { low: destination, high: source }, true)
        } else {
            (Self { low: source, high: destination }, false)
        }
    }
}

impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, to: &mut H) {
        for (high, low) in [self.low.address.bits(), self.high.address.bits()] {
            to.write_u64(high);
            to.write_u64(low);
        }
        to.write_u32(u32::from(self.low.port) << 16 | u32::from(self.high.port));
    }
}
