//! A key that both ends have: the server asks for a proof of it, which is of no use for any other connection.
//!
//! This is ours: a stock iperf3 client takes the question for an unknown state, and gives up. The proof says who begins a test; it does
//! not encrypt or sign what follows.

use crate::iperf3::Cookie;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

/// Bytes of a question and of its answer.
pub const LENGTH: usize = 32;
/// The shortest key, bytes.
pub const KEY_MIN: usize = 16;
/// What the answer is about, so that it is of no use elsewhere.
const PURPOSE: &[u8] = b"pipefill test client, version 1";

/// The key.
#[derive(Clone)]
pub struct Key(Vec<u8>);

impl fmt::Debug for Key {
    /// Without what it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// From what a file holds, without white space at its ends; `None` where that is shorter than [`KEY_MIN`].
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let key = bytes.trim_ascii();
        (key.len() >= KEY_MIN).then(|| Self(key.to_vec()))
    }

    /// The answer to `question` for the test `cookie`: HMAC-SHA-256 (RFC 2104).
    pub fn answer(&self, question: &[u8; LENGTH], cookie: &Cookie) -> [u8; LENGTH] {
        self.mac(question, cookie).finalize().into_bytes().into()
    }

    /// Whether `answer` is right. How long it takes does not tell where it is wrong.
    pub fn is_answer(&self, answer: &[u8; LENGTH], question: &[u8; LENGTH], cookie: &Cookie) -> bool {
        self.mac(question, cookie).verify_slice(answer).is_ok()
    }

    fn mac(&self, question: &[u8; LENGTH], cookie: &Cookie) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.0);
        let mut mac = mac.unwrap_or_else(|_| unreachable!("HMAC takes a key of any length"));
        mac.update(PURPOSE);
        mac.update(question);
        mac.update(cookie.bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_for_one_key_one_question_and_one_test() {
        let key = |text: &str| Key::read(text.as_bytes()).unwrap();
        let cookie = |byte| Cookie::from_random([byte; 36]);
        let ours = key("a key of 22 characters\n");
        let answer = ours.answer(&[1; LENGTH], &cookie(1));
        assert!(ours.is_answer(&answer, &[1; LENGTH], &cookie(1)));
        assert!(key("  a key of 22 characters").is_answer(&answer, &[1; LENGTH], &cookie(1)));
        assert!(!ours.is_answer(&answer, &[2; LENGTH], &cookie(1)), "another question");
        assert!(!ours.is_answer(&answer, &[1; LENGTH], &cookie(2)), "another test");
        assert!(!key("another 22-letter key!").is_answer(&answer, &[1; LENGTH], &cookie(1)));
        assert!(Key::read(b"0123456789abcde \n").is_none());
        assert_eq!(format!("{ours:?}"), "Key");
    }
}
