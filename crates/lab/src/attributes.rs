//! Attributes of netlink as bytes.

use netlink_packet_core::{DefaultNla, Emitable, NLA_HEADER_SIZE, NlasIterator};

/// All of them, one after the other.
pub(crate) fn bytes(all: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; all.buffer_len()];
    all.emit(&mut bytes);
    bytes
}

/// The largest number that fits, where this one does not.
pub(crate) fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The value of the first attribute of this kind. What is damaged ends the search.
pub(crate) fn attribute(attributes: &[u8], kind: u16) -> Option<&[u8]> {
    let found =
        NlasIterator::new(attributes).map_while(Result::ok).find(|attribute| attribute.kind() == kind)?;
    let length = usize::from(found.length());
    found.into_inner().get(NLA_HEADER_SIZE..length)
}

/// The word of four bytes that begins at byte `at`; 0 where there is none.
pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    let chunk = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    chunk.map_or(0, |chunk| u32::from_ne_bytes(*chunk))
}

/// An attribute that holds others.
pub(crate) fn nested(kind: u16, all: &[DefaultNla]) -> DefaultNla {
    DefaultNla::new(kind, bytes(all))
}
