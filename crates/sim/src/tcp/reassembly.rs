//! Out-of-order data and the SACK blocks that tell of it (`out_of_order_queue`, `tcp_sack_new_ofo_skb()`; RFC 2018, section 4).
//!
//! Never: data dropped that was once reported (no reneging).

use crate::segment::{Range, Sacks};
use std::collections::VecDeque;

/// `TCP_NUM_SACKS`.
const REMEMBERED: usize = 4;

/// `TCP_SACK_BLOCKS_EXPECTED`: blocks that an ACK is sure to carry.
const EXPECTED: usize = 2;

/// A run of bytes beyond a hole, and the memory of its packets.
#[derive(Debug, Clone, Copy)]
struct Island {
    range: Range,
    memory: u64,
}

/// What arrived beyond the next byte expected.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    /// In order of sequence, neither touching nor overlapping.
    islands: VecDeque<Island>,
    /// `selective_acks`, the most recently changed first.
    recent: Vec<Range>,
    /// `duplicate_sack`: to be reported once.
    duplicate: Option<Range>,
}

impl Reassembly {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.islands.is_empty()
    }

    /// True where the news of `range` would push a block that an ACK may not have told yet out of the option: a compressed ACK has
    /// to go first (`tcp_sack_new_ofo_skb()`).
    pub(crate) fn crowds_out(&self, range: Range) -> bool {
        let touches = |block: &Range| range.start <= block.end && block.start <= range.end;
        self.recent.iter().position(touches).unwrap_or(self.recent.len()) >= EXPECTED
    }

    /// Adds a packet; false where all of it is there already: its block is told again then, behind the duplicate, so that the
    /// sender sees one inside the other (RFC 2883, 4.1; `tcp_data_queue_ofo()`).
    pub(crate) fn insert(&mut self, range: Range, memory: u64) -> bool {
        let at = self.islands.partition_point(|island| island.range.end < range.start);
        let is_known = |island: &&Island| island.range.start <= range.start && range.end <= island.range.end;
        if self.islands.get(at).filter(is_known).is_some() {
            self.duplicate = Some(range);
            self.remember(range);
            return false;
        }
        let mut merged = Island { range, memory };
        let mut until = at;
        while let Some(island) = self.islands.get(until).filter(|island| island.range.start <= range.end) {
            merged.range.start = merged.range.start.min(island.range.start);
            merged.range.end = merged.range.end.max(island.range.end);
            merged.memory += island.memory;
            until += 1;
        }
        if until == at {
            self.islands.insert(at, merged);
        } else {
            self.islands[at] = merged;
            self.islands.drain(at + 1..until);
        }
        self.remember(range);
        true
    }

    /// Takes the island that the next byte expected has reached: its end and its memory.
    pub(crate) fn take_reached(&mut self, rcv_nxt: u64) -> Option<(u64, u64)> {
        let first = self.islands.pop_front_if(|island| island.range.start <= rcv_nxt)?;
        let reached = rcv_nxt.max(first.range.end);
        self.recent.retain(|block| block.end > reached);
        Some((first.range.end, first.memory))
    }

    /// What lies beyond a hole, in order of sequence.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range> {
        self.islands.iter().map(|island| island.range)
    }

    /// The memory of what lies beyond a hole.
    pub(crate) fn memory(&self) -> u64 {
        self.islands.iter().map(|island| island.memory).sum()
    }

    /// `tcp_dsack_set()`.
    pub(crate) fn report_duplicate(&mut self, range: Range) {
        self.duplicate = Some(range);
    }

    /// Whether the option would be empty.
    #[inline]
    pub(crate) fn has_no_sacks(&self) -> bool {
        self.duplicate.is_none() && self.recent.is_empty()
    }

    /// What the option of the next segment takes.
    pub(crate) fn option_bytes(&self) -> u32 {
        self.sacks().option_bytes()
    }

    /// The option of the next ACK; a duplicate is reported once, and first (RFC 2883, section 4).
    pub(crate) fn take_sacks(&mut self) -> Sacks {
        let sacks = self.sacks();
        self.duplicate = None;
        sacks
    }

    fn sacks(&self) -> Sacks {
        let mut sacks = Sacks::default();
        let blocks = self.duplicate.into_iter().chain(self.recent.iter().copied());
        for block in blocks {
            if !sacks.push(block) {
                break;
            }
        }
        sacks
    }

    /// The block that grew goes to the front; touching blocks become one (`tcp_sack_extend()`, `tcp_sack_maybe_coalesce()`).
    fn remember(&mut self, range: Range) {
        let mut block = range;
        self.recent.retain(|known| {
            let touches = known.start <= block.end && block.start <= known.end;
            if touches {
                block.start = block.start.min(known.start);
                block.end = block.end.max(known.end);
            }
            !touches
        });
        self.recent.insert(0, block);
        self.recent.truncate(REMEMBERED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> Range {
        Range { start, end }
    }

    fn blocks(queue: &mut Reassembly) -> Vec<Range> {
        queue.take_sacks().blocks(0).collect()
    }

    #[test]
    fn islands_grow_together_and_the_latest_is_told_first() {
        let mut queue = Reassembly::default();
        assert!(queue.insert(range(20, 30), 1));
        assert!(queue.insert(range(40, 50), 2));
        assert_eq!(blocks(&mut queue), [range(40, 50), range(20, 30)]);
        assert!(queue.insert(range(30, 40), 4));
        assert_eq!(blocks(&mut queue), [range(20, 50)]);
        assert!(!queue.insert(range(25, 35), 8));
        assert_eq!(blocks(&mut queue), [range(25, 35), range(20, 50)]);
        assert_eq!(queue.take_reached(10), None);
        assert_eq!(queue.take_reached(20), Some((50, 7)));
        assert!(queue.is_empty());
        assert!(queue.take_sacks().is_empty());
    }

    #[test]
    fn a_duplicate_brings_its_block_to_the_front() {
        let mut queue = Reassembly::default();
        queue.insert(range(20, 30), 1);
        queue.insert(range(40, 50), 2);
        assert!(!queue.insert(range(25, 30), 1));
        assert_eq!(blocks(&mut queue), [range(25, 30), range(20, 30), range(40, 50)]);
    }

    #[test]
    fn a_third_block_crowds_out_what_an_ack_is_sure_to_carry() {
        let mut queue = Reassembly::default();
        for start in [20, 40] {
            assert!(!queue.crowds_out(range(start, start + 10)), "{start}");
            queue.insert(range(start, start + 10), 1);
        }
        assert!(queue.crowds_out(range(60, 70)));
        assert!(!queue.crowds_out(range(30, 35)), "it grows one of the two");
        queue.insert(range(60, 70), 1);
        assert!(queue.crowds_out(range(30, 35)), "that block is the third by now");
    }
}
