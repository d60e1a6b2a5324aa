//! The Internet checksum (RFC 1071).

/// The ones' complement sum of big-endian words, not folded. An odd byte at the end is the upper half of a word.
#[inline]
pub fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low))).sum()
}

/// A sum in 16 bits. The checksum is its complement.
#[inline]
pub fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap_or(u16::MAX)
}
