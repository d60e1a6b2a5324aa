//! The options at the end of a block (draft-ietf-opsawg-pcapng, 3.5).

use crate::read::comments::{COMMENT, END};
use crate::read::order::Order;
use crate::read::{Problem, ReadError};

/// More comments than this are not kept.
const COMMENTS_MAX: usize = 1024;
/// `isb_ifdrop` (4.6).
const INTERFACE_DROPS: u16 = 5;

/// One option.
pub(super) struct OptionOf<'a> {
    pub(super) code: u16,
    pub(super) value: &'a [u8],
    /// Its place in the capture.
    pub(super) offset: u64,
}

/// The options of a block that describes something.
pub(super) struct BlockOptions<'a> {
    order: Order,
    offset: u64,
    bytes: &'a [u8],
}

impl<'a> BlockOptions<'a> {
    pub(super) const fn new(order: Order, offset: u64, bytes: &'a [u8]) -> Self {
        Self { order, offset, bytes }
    }

    /// Hands over each.
    pub(super) fn read(mut self, mut each: impl FnMut(&OptionOf<'a>)) -> Result<(), ReadError> {
        while let Some((head, rest)) = self.bytes.split_first_chunk::<4>() {
            let code = self.order.u16([head[0], head[1]]);
            let length = self.order.u16([head[2], head[3]]);
            if code == END {
                break;
            }
            let size = usize::from(length);
            let Some(value) = rest.get(..size) else {
                let problem = Problem::OptionBeyondBlock { code, length, room: rest.len() as u32 };
                return Err(ReadError::new(self.offset, problem));
            };
            each(&OptionOf { code, value, offset: self.offset });
            let padded = size.next_multiple_of(4).min(rest.len());
            self.bytes = &rest[padded..];
            self.offset += 4 + padded as u64;
        }
        Ok(())
    }
}

/// Collects the comments and statistics of a capture.
pub(super) struct Sink<'a> {
    pub(super) comments: &'a mut Vec<String>,
    pub(super) dropped: &'a mut Option<u64>,
}

impl Sink<'_> {
    pub(super) fn comment(&mut self, option: &OptionOf<'_>) {
        if option.code == COMMENT && self.comments.len() < COMMENTS_MAX {
            self.comments.push(String::from_utf8_lossy(option.value).into_owned());
        }
    }

    /// A later statistics block of an interface replaces an earlier one; captures have one for each interface at their end, so they are
    /// added up.
    pub(super) fn drops(&mut self, option: &OptionOf<'_>, order: Order) {
        if let (INTERFACE_DROPS, Ok(bytes)) = (option.code, <[u8; 8]>::try_from(option.value)) {
            *self.dropped = Some(self.dropped.unwrap_or(0).saturating_add(order.u64(bytes)));
        }
    }
}
