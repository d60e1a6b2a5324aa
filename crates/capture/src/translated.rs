//! Connections that a capture has twice, on both sides of a NAT: with other addresses or ports, and the same numbers.

use crate::tcp::{Connection, Half, Side};
use std::collections::BTreeMap;

/// A packet is on the other side of a NAT within this time: the router's own.
const PASSED_NS: u64 = 20_000_000;

/// Of the payload of one side no more than this part is missing on the other.
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

/// Whether two connections with the same numbers are one. The SYN's packet is proof, also where the capture ends between the sides; else it began
/// and ended at the same time, and its packets are the same.
fn is_same(one: &Connection, other: &Connection) -> bool {
    let [begun, ended] = [one.first_ns().abs_diff(other.first_ns()), one.last_ns().abs_diff(other.last_ns())];
    let syn_ids = [one, other].map(|of| of.half(Side::A).syn_id());
    if begun < PASSED_NS && syn_ids[0] != 0 && syn_ids[0] == syn_ids[1] {
        return true;
    }
    let is_swapped = one.half(Side::A).last_seq() != other.half(Side::A).last_seq();
    let has_same = |side: Side| {
        let its = if is_swapped { side.other() } else { side };
        has_same_packets(one.half(side), other.half(its))
    };
    begun < PASSED_NS && ended < PASSED_NS && Side::BOTH.into_iter().all(has_same)
}

/// IPv6 has no identification, and some packets of IPv4 have 0. Where the capture begins between the sides, one has some packets more.
fn has_same_packets(one: &Half, other: &Half) -> bool {
    let (own, its) = (one.last_ip_id(), other.last_ip_id());
    let has_same_id = own == its || own == 0 || its == 0;
    let (more, less) = (one.counts().new_bytes, other.counts().new_bytes);
    has_same_id && more.abs_diff(less) <= more.max(less) / DIFFERENT_PART
}
