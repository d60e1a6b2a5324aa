//! The checksum of a JSON document, as its own last member, so that a changed byte does not become another figure.
//!
//! ```text
//!   …,
//!   "checksum": "sha256:64 hex digits of everything before this member's comma"
//! }
//! ```

use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// What stands before the digits.
const BEFORE: &str = ",\n  \"checksum\": \"sha256:";
/// What stands behind them.
const BEHIND: &str = "\"\n}\n";
/// The end of a pretty object.
const END: &str = "\n}";

/// What a document's checksum says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checksum {
    /// Nothing has changed.
    Right,
    /// Something has.
    Wrong,
    /// There is none: 0.1.0 wrote it, or somebody else.
    Absent,
}

/// `object`, pretty JSON with at least one member, with its checksum.
pub(super) fn with_checksum(object: &str) -> String {
    match object.trim_end().strip_suffix(END) {
        Some(body) => format!("{body}{BEFORE}{}{BEHIND}", hex(&Sha256::digest(body))),
        None => object.to_owned(),
    }
}

/// Compares.
pub(super) fn check(document: &[u8]) -> Checksum {
    let Some(at) = document.windows(BEFORE.len()).rposition(|bytes| bytes == BEFORE.as_bytes()) else {
        return Checksum::Absent;
    };
    let (body, rest) = document.split_at(at);
    let is_right = rest == format!("{BEFORE}{}{BEHIND}", hex(&Sha256::digest(body))).as_bytes();
    if is_right { Checksum::Right } else { Checksum::Wrong }
}

/// Bytes on their way to `inner`, counted and hashed.
pub(super) struct Hashing<W> {
    inner: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> Hashing<W> {
    pub(super) fn new(inner: W) -> Self {
        Self { inner, hash: Sha256::new(), bytes: 0 }
    }

    /// Where the bytes went, how many they were, and their SHA-256 in hex.
    pub(super) fn finish(self) -> (W, u64, String) {
        (self.inner, self.bytes, hex(&self.hash.finalize()))
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The SHA-256 of `bytes` in hex.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_changed_byte_passes_for_the_same_document() {
        let object = serde_json::to_string_pretty(&serde_json::json!({"a": [1, 2], "b": "x"})).unwrap();
        let text = with_checksum(&object);
        assert_eq!(check(text.as_bytes()), Checksum::Right);
        assert_eq!(check(object.as_bytes()), Checksum::Absent);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&read["a"][1], &read["b"]), (&2.into(), &"x".into()));
        for at in 0..object.len() - END.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] ^= 1;
            assert_eq!(check(&changed), Checksum::Wrong, "byte {at}");
        }
    }

    #[test]
    fn bytes_are_hashed_as_sha256sum_does() {
        let mut hashing = Hashing::new(Vec::new());
        hashing.write_all(b"abc").unwrap();
        let (inner, bytes, hash) = hashing.finish();
        assert_eq!((inner.as_slice(), bytes), (b"abc".as_slice(), 3));
        assert_eq!(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
