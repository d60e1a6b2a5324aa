//! Connections that a capture has twice, on both sides of a NAT: with other addresses or ports, and the same numbers.

use crate::tcp::{Connection, Half, Side};
use std::collections::BTreeMap;

/// A packet is on the other side of a NAT within this time: the router's own.
const PASSED_NS: u64 = 20_000_000;

/// Of the payload of one side no more than this part is missing on the other: the capture may begin between them.
const DIFFERENT_PART: u64 = 8;

/// What a NAT leaves as it is: the sequence numbers of both directions, of the handshake where it was seen, else the last ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Numbers {
    of_handshake: bool,
    /// The end that comes first is A in a handshake; without one the end with the smaller number.
    both: [u32; 2],
}

/// Which of `connections`, in the order of their first packets, are the same one: the first side that was seen comes first.
pub fn translated_connections(connections: &[&Connection]) -> Vec<Vec<usize>> {
    let mut of_numbers: BTreeMap<Numbers, Vec<usize>> = BTreeMap::new();
    for (at, connection) in connections.iter().enumerate() {
        if let Some(numbers) = Numbers::of(connection) {
            of_numbers.entry(numbers).or_default().push(at);
        }
    }
    let mut found: Vec<Vec<usize>> = Vec::new();
    for same in of_numbers.into_values() {
        let mut left = same;
        while let Some((&first, others)) = left.split_first() {
            let is_same = |at: &usize| is_same(connections[first], connections[*at]);
            let (copies, rest): (Vec<usize>, Vec<usize>) = others.iter().partition(|at| is_same(at));
            if !copies.is_empty() {
                found.push([first].into_iter().chain(copies).collect());
            }
            left = rest;
        }
    }
    found.sort_unstable();
    found
}

impl Numbers {
    fn of(connection: &Connection) -> Option<Self> {
        let [a, b] = Side::BOTH.map(|side| connection.half(side));
        if a.has_syn() && b.has_syn() {
            return Some(Self { of_handshake: true, both: [a.first_seq(), b.first_seq()] });
        }
        // One direction alone has too few numbers to tell.
        let is_seen = a.packets() > 0 && b.packets() > 0;
        let mut both = [a.last_seq(), b.last_seq()];
        both.sort_unstable();
        is_seen.then_some(Self { of_handshake: false, both })
    }
}

/// Whether two connections with the same numbers are one: a router is between, which takes one from the TTL of both SYNs, each on its own way. Without
/// the handshake they began and ended at the same time, and their packets are the same.
fn is_same(first: &Connection, second: &Connection) -> bool {
    let [begun, ended] =
        [first.first_ns().abs_diff(second.first_ns()), first.last_ns().abs_diff(second.last_ns())];
    let ttls = |of: &Connection| Side::BOTH.map(|side| of.opening(side).map(|syn| i32::from(syn.hops)));
    if let ([Some(a), Some(b)], [Some(its_a), Some(its_b)]) = (ttls(first), ttls(second)) {
        return begun < PASSED_NS && (a - its_a) * (b - its_b) < 0;
    }
    let is_swapped = first.half(Side::A).last_seq() != second.half(Side::A).last_seq();
    let halves =
        Side::BOTH.map(|side| (first.half(side), second.half(if is_swapped { side.other() } else { side })));
    let is_proof =
        |(own, its): &(&Half, &Half)| own.last_ip_id().is_some_and(|id| its.last_ip_id() == Some(id));
    let has_same = |(own, its): &(&Half, &Half)| {
        let [more, less] = [own.counts().new_bytes, its.counts().new_bytes];
        more.abs_diff(less) <= more.max(less) / DIFFERENT_PART
    };
    begun < PASSED_NS && ended < PASSED_NS && halves.iter().all(has_same) && halves.iter().any(is_proof)
}
