//! What SACK blocks say about the segments that are out (RFC 2018, RFC 2883; `tcp_sacktag_write_queue()`).

use super::ack::{Ack, flag};
use super::scoreboard::mark;
use super::sender::Sender;
use crate::segment::{Header, MAX_SACKS, Range};
use pipefill_core::tcp_info::CaState;

impl Sender {
    /// Takes the SACK option of an ACK.
    pub(crate) fn take_sacks(&mut self, received: &Header, prior_una: u64, ack: &mut Ack) {
        let mut blocks = [Range::default(); MAX_SACKS];
        let told = received.sacks.blocks(received.ack);
        let count = told.len();
        blocks.iter_mut().zip(told).for_each(|(block, told)| *block = told);
        self.tag_sacks(&blocks[..count], prior_una, ack);
    }

    /// Tags what the blocks cover.
    fn tag_sacks(&mut self, blocks: &[Range], prior_una: u64, ack: &mut Ack) {
        if self.board.sacked_out == 0 {
            self.sack_cache = Default::default();
        }
        let is_dsack = self.check_dsack(blocks, prior_una, ack);
        let mut reordered_at = u64::MAX;
        let news = if is_dsack { &blocks[1..] } else { blocks };
        if is_dsack {
            self.tag_duplicate(blocks[0], &mut reordered_at);
        }
        // In order of sequence: a block that an earlier, compressed ACK would have told is no reordering.
        let mut ordered = [Range::default(); MAX_SACKS + 1];
        let ordered = &mut ordered[..news.len()];
        ordered.copy_from_slice(news);
        ordered.sort_unstable_by_key(|block| block.start);
        for &block in ordered.iter() {
            if self.is_valid(block) {
                self.tag_block(block, &mut reordered_at, ack);
            }
        }
        for (cached, &block) in self.sack_cache.iter_mut().zip(blocks) {
            *cached = block;
        }
        self.sack_cache[blocks.len().min(3)..].fill(Range::default());
        if self.conn.ca_state != CaState::Loss || self.undo.marker.is_some() {
            self.note_reordering(reordered_at);
        }
    }

    /// `tcp_check_sack_reordering()` (RFC 8985, 6.2, step 2): something below the highest SACK arrived without having been
    /// sent again.
    pub(crate) fn note_reordering(&mut self, low: u64) {
        const MOST: u32 = 300;
        let highest = self.board.highest_sack(self.snd_una);
        if low >= highest {
            return;
        }
        let metric = highest - low;
        let mss = u64::from(self.conn.mss);
        if metric > u64::from(self.reordering) * mss {
            self.reordering = u32::try_from(metric.div_ceil(mss)).unwrap_or(MOST).min(MOST);
        }
        self.totals.reord_seen += 1;
    }

    /// `tcp_check_dsack()`, `tcp_dsack_seen()`: the first block reports a duplicate.
    fn check_dsack(&mut self, blocks: &[Range], prior_una: u64, ack: &mut Ack) -> bool {
        let Some(&first) = blocks.first() else { return false };
        let is_inside =
            blocks.get(1).is_some_and(|second| first.end <= second.end && first.start >= second.start);
        // Against this ACK's own number: an overtaken ACK reports no duplicates because a later one came first.
        if first.start >= ack.number && !is_inside {
            return false;
        }
        let segments = (first.end.saturating_sub(first.start)).div_ceil(u64::from(self.conn.mss)).max(1);
        let segments = u32::try_from(segments).unwrap_or(u32::MAX);
        self.totals.dsack_dups += segments;
        // More duplicates than retransmissions: the network's doing.
        if self.totals.dsack_dups > self.totals.retransmits {
            return false;
        }
        ack.flags |= flag::DSACKING;
        // A retransmission that was not needed is delivered as well.
        ack.sack_delivered += segments;
        if self.tlp_retrans && self.tlp_high_seq == Some(first.end) {
            ack.flags |= flag::DSACK_TLP;
        } else if self.totals.reord_seen > 0 {
            self.rack.dsack_seen = true;
        }
        if first.end <= prior_una
            && self.undo.retrans > 0
            && self.undo.marker.is_some_and(|marker| first.end > marker)
        {
            self.undo.retrans = (self.undo.retrans - i64::from(segments)).max(0);
        }
        true
    }

    /// A duplicate of something that is still out.
    fn tag_duplicate(&mut self, block: Range, reordered_at: &mut u64) {
        let mut index = self.board.find(block.start);
        while let Some(&segment) = self.board.get(index) {
            if segment.seq >= block.end {
                break;
            }
            if segment.has(mark::EVER_RETRANS) && segment.end() <= block.end {
                if self.undo.retrans > 0 && self.undo.marker.is_some_and(|marker| segment.end() > marker) {
                    self.undo.retrans -= 1;
                }
                if segment.has(mark::SACKED) {
                    *reordered_at = segment.seq.min(*reordered_at);
                }
                self.board.clear_retransmission(index);
            }
            index += 1;
        }
    }

    /// `tcp_is_sackblock_valid()`.
    fn is_valid(&self, block: Range) -> bool {
        block.start < block.end && block.end <= self.snd_nxt && block.start > self.snd_una
    }

    /// Tags the part of a block that earlier ACKs have not told yet.
    fn tag_block(&mut self, block: Range, reordered_at: &mut u64, ack: &mut Ack) {
        let known = self.sack_cache.iter().find(|known| known.start == block.start && known.end <= block.end);
        let from = known.map_or(block.start, |known| known.end.max(block.start));
        let mut index = self.board.find(from);
        while let Some(segment) = self.board.get(index) {
            if segment.end() > block.end {
                break;
            }
            if segment.seq >= block.start && !segment.has(mark::SACKED) {
                self.tag_one(index, reordered_at, ack);
            }
            index += 1;
        }
    }

    /// `tcp_sacktag_one()`.
    fn tag_one(&mut self, index: u64, reordered_at: &mut u64, ack: &mut Ack) {
        let Some(&segment) = self.board.get(index) else { return };
        let was_retransmitted = segment.has(mark::EVER_RETRANS);
        self.rack.advance(
            self.now.micros(),
            self.rtt.min_us(),
            was_retransmitted,
            segment.end(),
            segment.xmit_us,
        );
        if !was_retransmitted {
            if segment.seq < self.board.highest_sack(self.snd_una) {
                *reordered_at = segment.seq.min(*reordered_at);
            }
            if segment.end() <= self.high_seq {
                ack.flags |= flag::ORIGINAL_SACKED;
            }
            ack.first_sacked_us.get_or_insert(segment.xmit_us);
            ack.last_sacked_us = Some(segment.xmit_us);
        }
        self.rate.note_delivered(&segment, &mut ack.gathered);
        self.board.mark_sacked(index);
        self.board.spend(index);
        ack.sack_delivered += 1;
        ack.flags |= flag::DATA_SACKED;
    }
}
