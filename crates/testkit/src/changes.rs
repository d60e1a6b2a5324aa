//! Valid input with a few places changed: bytes at random find little. Shared by the hostile tests of `core`, `store` and `cli`.

use proptest::prelude::*;
use proptest::sample::Index;

/// `whole` with pieces cut out, doubled or overwritten, or digits put in.
pub fn changed(whole: &[u8], changes: &[(Index, Index, u8)]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for (at, until, kind) in changes {
        if bytes.is_empty() {
            break;
        }
        let (a, b) = (at.index(bytes.len()), until.index(bytes.len()));
        let (start, end) = (a.min(b), a.max(b));
        match kind % 5 {
            0 => bytes.truncate(end),
            1 => drop(bytes.drain(start..end)),
            2 => bytes.splice(start..start, bytes[start..end].to_vec()).for_each(drop),
            3 => bytes.splice(start..start, b"99999999999".iter().copied()).for_each(drop),
            _ => bytes[start] = *kind,
        }
    }
    bytes
}

/// A few of them.
pub fn changes() -> impl Strategy<Value = Vec<(Index, Index, u8)>> {
    prop::collection::vec((any::<Index>(), any::<Index>(), any::<u8>()), 0..4)
}
