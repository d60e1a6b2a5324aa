//! The 37 bytes that name a test: the first thing on each of its connections.

use std::fmt;

/// 36 characters and a zero (`COOKIE_SIZE`).
pub const LENGTH: usize = 37;
/// What iperf3 makes them of (`make_cookie()`).
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Names a test.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cookie([u8; LENGTH]);

impl Cookie {
    /// From 36 random bytes.
    pub fn from_random(random: [u8; LENGTH - 1]) -> Self {
        let mut bytes = [0; LENGTH];
        for (byte, random) in bytes.iter_mut().zip(random) {
            *byte = LETTERS[usize::from(random) % LETTERS.len()];
        }
        Self(bytes)
    }

    /// As it came. `None` where it is no name: iperf3 compares cookies as text, so that all that begin with a zero would be one.
    pub fn read(bytes: [u8; LENGTH]) -> Option<Self> {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(LENGTH);
        let is_name = end > 0 && bytes[..end].iter().all(u8::is_ascii_graphic);
        is_name.then_some(Self(bytes))
    }

    /// As it is sent.
    pub const fn bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }

    /// The characters before the zero.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(LENGTH);
        std::str::from_utf8(&self.0[..end]).unwrap_or_default()
    }
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cookie({})", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_can_be_read_and_zeros_are_no_name() {
        let made = Cookie::from_random([200; 36]);
        assert_eq!(Cookie::read(*made.bytes()), Some(made));
        assert_eq!((made.as_str().len(), made.bytes()[36]), (36, 0));
        assert_eq!(Cookie::read([0; LENGTH]), None);
        let mut spaced = *made.bytes();
        spaced[5] = b'\n';
        assert_eq!(Cookie::read(spaced), None);
    }
}
