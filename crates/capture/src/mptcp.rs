//! Which TCP connections are subflows of one of Multipath TCP: by the keys of their handshakes, and the tokens that further subflows name.

use crate::headers::Mptcp;
use crate::tcp::{Connection, Side};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A connection of Multipath TCP.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MptcpConnection {
    /// 0 (RFC 6824) or 1 (RFC 8684); `None` where its first subflow is not in the capture.
    pub version: Option<u8>,
    /// The token by which subflows join, of the end that took the first one where that is known.
    pub token: u32,
    /// Which of the connections that were asked about are its subflows, the first one first.
    pub subflows: Vec<usize>,
}

/// The Multipath TCP connections among `connections`, in the order of their first subflows.
pub fn mptcp_connections(connections: &[&Connection]) -> Vec<MptcpConnection> {
    let mut found: Vec<MptcpConnection> = Vec::new();
    let mut of_token: BTreeMap<u32, usize> = BTreeMap::new();
    for (at, connection) in connections.iter().enumerate() {
        let Some((version, tokens)) = first_subflow(connection) else { continue };
        let Some(&token) = tokens.last() else { continue };
        of_token.extend(tokens.iter().map(|&token| (token, found.len())));
        found.push(MptcpConnection { version: Some(version), token, subflows: vec![at] });
    }
    for (at, connection) in connections.iter().enumerate() {
        let Some(token) = joined_token(connection) else { continue };
        let index = *of_token.entry(token).or_insert(found.len());
        if index == found.len() {
            found.push(MptcpConnection { token, ..MptcpConnection::default() });
        }
        found[index].subflows.push(at);
    }
    found.sort_by_key(|connection| connection.subflows.first().copied());
    found
}

/// The version, and the tokens of the ends whose keys were seen; the token of the called end comes last.
fn first_subflow(connection: &Connection) -> Option<(u8, Vec<u32>)> {
    let capable = |side| match connection.mptcp(side)? {
        Mptcp::Capable { version, key, peer_key } => Some((version, key, peer_key)),
        Mptcp::Join { .. } => None,
    };
    // Without an answer the option was refused.
    let (version, answer_key, _) = capable(Side::B)?;
    let (_, own_key, peer_key) = capable(Side::A)?;
    let keys = [own_key, answer_key.or(peer_key)];
    Some((version, keys.into_iter().flatten().map(|key| token(version, key)).collect()))
}

fn joined_token(connection: &Connection) -> Option<u32> {
    [Side::A, Side::B].into_iter().find_map(|side| match connection.mptcp(side) {
        Some(Mptcp::Join { token }) => Some(token),
        _ => None,
    })
}

/// The first 32 bits of the key's hash: SHA-256 (RFC 8684 3.2), in version 0 SHA-1 (RFC 6824 3.2).
fn token(version: u8, key: u64) -> u32 {
    let key = key.to_be_bytes();
    let first = |hash: &[u8]| hash.first_chunk().copied().map_or(0, u32::from_be_bytes);
    if version == 0 { first(&Sha1::digest(key)) } else { first(&Sha256::digest(key)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// printf '\x01\x02\x03\x04\x05\x06\x07\x08' | sha256sum, and sha1sum.
    #[test]
    fn a_token_is_the_begin_of_the_keys_hash() {
        assert_eq!(token(1, 0x0102_0304_0506_0708), 0x6684_0dda);
        assert_eq!(token(0, 0x0102_0304_0506_0708), 0xdd5783bc);
    }
}
