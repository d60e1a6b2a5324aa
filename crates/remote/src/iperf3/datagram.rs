//! The first words of a UDP stream, and the header of its datagrams (`iperf_udp.c`).

use super::cookie::{self, Cookie};

/// What a client says to make a stream known: "6789" since 3.10, 123456789 before. In the sender's own byte order.
const HELLOS: [u32; 2] = [0x3637_3839, 123_456_789];
/// What a server answers: "9876", or 987654321 before.
const ANSWERS: [u32; 2] = [0x3938_3736, 987_654_321];
/// Bytes of such a word.
pub const WORD: usize = 4;
/// Bytes of a header: seconds, microseconds, a counter of 32 or 64 bits, all in network order.
pub const HEADER_32: usize = 12;
/// The same with a counter of 64 bits (`--udp-counters-64bit`).
pub const HEADER_64: usize = 16;

/// What our own client says to make a stream of the test `name` known. A stock server reads the word and ignores the rest.
pub fn named_hello(name: &Cookie) -> Vec<u8> {
    [&Dialect::OURS.hello()[..], name.bytes()].concat()
}

/// The name of the test in a client's first datagram; `None` where it has none.
pub fn name_in_hello(bytes: &[u8]) -> Option<Cookie> {
    Cookie::read(*bytes.get(WORD..)?.first_chunk::<{ cookie::LENGTH }>()?)
}

/// Who speaks so: the age of the word, and its byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    index: usize,
    is_big_endian: bool,
}

impl Dialect {
    /// Ours: the newer words, in the byte order of most machines.
    pub const OURS: Self = Self { index: 0, is_big_endian: false };

    /// Reads a client's first word; `None` where it is none. What follows it does not matter.
    pub fn of_hello(bytes: &[u8]) -> Option<Self> {
        Self::of(bytes, HELLOS)
    }

    /// Reads a server's answer; `None` where it is none.
    pub fn of_answer(bytes: &[u8]) -> Option<Self> {
        Self::of(bytes, ANSWERS)
    }

    fn of(bytes: &[u8], words: [u32; 2]) -> Option<Self> {
        let word = bytes.get(..WORD)?.try_into().ok()?;
        let find = |value: u32| words.iter().position(|&known| known == value);
        let little = find(u32::from_le_bytes(word)).map(|index| Self { index, is_big_endian: false });
        little.or_else(|| find(u32::from_be_bytes(word)).map(|index| Self { index, is_big_endian: true }))
    }

    /// The word that begins a stream.
    pub const fn hello(self) -> [u8; WORD] {
        self.bytes(HELLOS[self.index])
    }

    /// The word that answers it.
    pub const fn answer(self) -> [u8; WORD] {
        self.bytes(ANSWERS[self.index])
    }

    const fn bytes(self, word: u32) -> [u8; WORD] {
        if self.is_big_endian { word.to_be_bytes() } else { word.to_le_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_of_both_ages_and_byte_orders_are_known() {
        for word in HELLOS {
            for bytes in [word.to_le_bytes(), word.to_be_bytes()] {
                let dialect = Dialect::of_hello(&bytes).unwrap();
                assert_eq!(dialect.hello(), bytes);
                assert_eq!(Dialect::of_answer(&dialect.answer()), Some(dialect));
            }
        }
        assert_eq!(Dialect::OURS.hello(), *b"9876");
        assert_eq!(Dialect::of_hello(b"678"), None);
        assert_eq!(Dialect::of_hello(b"none"), None);
    }

    #[test]
    fn a_first_datagram_may_name_its_test() {
        let name = Cookie::from_random([7; 36]);
        let hello = named_hello(&name);
        assert_eq!((Dialect::of_hello(&hello), name_in_hello(&hello)), (Some(Dialect::OURS), Some(name)));
        assert_eq!(name_in_hello(&Dialect::OURS.hello()), None, "a stock client's");
        assert_eq!(name_in_hello(&hello[..40]), None);
    }

    proptest! {
        #[test]
        fn no_word_is_both(bytes: [u8; 4]) {
            // "6789" in one byte order is "9876" in the other one: who asks knows which of the two it waits for.
            if let Some(dialect) = Dialect::of_hello(&bytes) {
                prop_assert_eq!(dialect.hello(), bytes);
            }
        }
    }
}
