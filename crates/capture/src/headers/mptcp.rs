//! The option of Multipath TCP (RFC 8684 3.1 and 3.2; version 0: RFC 6824): what begins a connection, and what joins a subflow to one.

const CAPABLE: u8 = 0;
const JOIN: u8 = 1;

/// What begins a connection of several subflows, or one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mptcp {
    /// MP_CAPABLE: the first subflow.
    Capable {
        /// 0 (RFC 6824) or 1 (RFC 8684).
        version: u8,
        /// The key of who sent this; a SYN of version 1 has none.
        key: Option<u64>,
        /// The key of the other end, in the third segment.
        peer_key: Option<u64>,
    },
    /// MP_JOIN in a SYN, the only one with a token: one more subflow of the connection whose other end has this token.
    Join {
        /// The first 32 bits of the hash of the receiver's key.
        token: u32,
    },
}

/// The option behind its kind and length; `None` for its other subtypes.
pub(super) fn read(value: &[u8]) -> Option<Mptcp> {
    let &[first, _, ref rest @ ..] = value else { return None };
    let key = |at: usize| rest.get(at..at + 8)?.first_chunk().copied().map(u64::from_be_bytes);
    match (first >> 4, value.len()) {
        // RFC 8684 3.1: 4 bytes, 12 with one key, 20 with both; 22 and 24 with data.
        (CAPABLE, _) => Some(Mptcp::Capable { version: first & 0xf, key: key(0), peer_key: key(8) }),
        (JOIN, 10) => Some(Mptcp::Join { token: u32::from_be_bytes(*rest.first_chunk()?) }),
        _ => None,
    }
}
