//! What is out: every segment sent and not yet acknowledged, with its marks (`TCPCB_*`), and the counts over them.
//!
//! Segments lie in order of sequence; a second list keeps them in order of transmission (`tsorted_sent_queue`), for RACK.

mod cut;
mod recount;

use std::collections::VecDeque;

/// Marks of a segment.
pub(crate) mod mark {
    /// `TCPCB_SACKED_ACKED`.
    pub(crate) const SACKED: u16 = 1;
    /// `TCPCB_LOST`.
    pub(crate) const LOST: u16 = 2;
    /// `TCPCB_SACKED_RETRANS`: its retransmission is out.
    pub(crate) const RETRANS: u16 = 4;
    /// `TCPCB_EVER_RETRANS`.
    pub(crate) const EVER_RETRANS: u16 = 8;
    /// PSH.
    pub(crate) const PUSH: u16 = 16;
    /// First of its super-packet: its packet memory goes with it.
    pub(crate) const HEAD: u16 = 32;
    /// Its delivery has served for a rate sample (`tx.delivered_mstamp = 0`).
    pub(crate) const SPENT: u16 = 64;
    /// Sent while the application offered too little (`tx.is_app_limited`).
    pub(crate) const APP_LIMITED: u16 = 128;
    /// RACK gave it up and took it off the list by time (`list_del_init()`); it is back once it is sent again.
    pub(crate) const UNLISTED: u16 = 256;
}

/// A segment that is out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) seq: u64,
    pub(crate) len: u32,
    pub(crate) marks: u16,
    /// When it was last sent, microseconds.
    pub(crate) xmit_us: u64,
    /// `tx.delivered`.
    pub(crate) delivered: u64,
    /// `tx.delivered_mstamp`.
    pub(crate) delivered_us: u64,
    /// `tx.first_tx_mstamp`.
    pub(crate) first_tx_us: u64,
}

impl Sent {
    pub(crate) fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }

    pub(crate) fn has(&self, marks: u16) -> bool {
        self.marks & marks != 0
    }
}

/// The list and its counts. A segment's index counts from the connection's start, so that it stays valid.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Sent>,
    first: u64,
    by_time: VecDeque<(u64, u64)>,
    waiting: Vec<(u64, u64)>,
    /// `sacked_out`.
    pub(crate) sacked_out: u32,
    /// `lost_out`.
    pub(crate) lost_out: u32,
    /// `retrans_out`.
    pub(crate) retrans_out: u32,
    /// `lost`, cumulative.
    pub(crate) lost: u64,
    /// `highest_sack`: the end of the highest segment SACKed.
    highest_sacked: u64,
    /// `retransmit_skb_hint`: no segment below it waits for retransmission.
    hint: u64,
    /// Super-packets that are out.
    pub(crate) packets: u32,
}

impl Scoreboard {
    /// `packets_out`.
    pub(crate) fn packets_out(&self) -> u32 {
        u32::try_from(self.segments.len()).unwrap_or(u32::MAX)
    }

    /// `tcp_packets_in_flight()`.
    pub(crate) fn in_flight(&self) -> u32 {
        (self.packets_out() + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(crate) fn head(&self) -> Option<&Sent> {
        self.segments.front()
    }

    pub(crate) fn first_index(&self) -> u64 {
        self.first
    }

    pub(crate) fn end_index(&self) -> u64 {
        self.first + self.segments.len() as u64
    }

    pub(crate) fn get(&self, index: u64) -> Option<&Sent> {
        self.segments.get(usize::try_from(index.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, index: u64) -> Option<&mut Sent> {
        self.segments.get_mut(usize::try_from(index.checked_sub(self.first)?).ok()?)
    }

    /// The index of the first segment that ends after `seq`.
    pub(crate) fn find(&self, seq: u64) -> u64 {
        self.first + self.segments.partition_point(|segment| segment.end() <= seq) as u64
    }

    /// `tcp_highest_sack_seq()`; `snd_una` where nothing is SACKed.
    pub(crate) fn highest_sack(&self, snd_una: u64) -> u64 {
        if self.sacked_out == 0 { snd_una } else { self.highest_sacked.max(snd_una) }
    }

    /// `tcp_any_retrans_done()`: something retransmitted is still out.
    pub(crate) fn any_retransmitted(&self) -> bool {
        self.retrans_out > 0 || self.head().is_some_and(|head| head.has(mark::EVER_RETRANS))
    }

    pub(crate) fn push(&mut self, segment: Sent) {
        self.by_time.push_back((self.end_index(), segment.xmit_us));
        self.packets += u32::from(segment.has(mark::HEAD));
        self.segments.push_back(segment);
    }

    /// Takes the head off if it ends at `ack` or before, and its counts with it.
    pub(crate) fn pop_acked(&mut self, ack: u64) -> Option<Sent> {
        let head = self.segments.pop_front_if(|head| head.end() <= ack)?;
        self.first += 1;
        self.packets -= u32::from(head.has(mark::HEAD));
        self.sacked_out -= u32::from(head.has(mark::SACKED));
        self.lost_out -= u32::from(head.has(mark::LOST));
        self.retrans_out -= u32::from(head.has(mark::RETRANS));
        Some(head)
    }

    /// Forgets the transmissions of segments that are gone.
    pub(crate) fn trim(&mut self) {
        while self.by_time.front().is_some_and(|&(index, _)| index < self.first) {
            self.by_time.pop_front();
        }
        if self.segments.is_empty() {
            self.by_time.clear();
        }
    }

    /// Cuts the acknowledged part off a head that is only partly acknowledged (`tcp_trim_head()`).
    pub(crate) fn trim_head(&mut self, ack: u64) {
        if let Some(head) = self.segments.front_mut()
            && head.seq < ack
        {
            head.len = u32::try_from(head.end() - ack).unwrap_or(head.len);
            head.seq = ack;
        }
    }

    /// Marks a segment SACKed; its loss and retransmission no longer count (`tcp_sacktag_one()`).
    pub(crate) fn mark_sacked(&mut self, index: u64) {
        let Some(segment) = self.get_mut(index) else { return };
        let (was_lost, was_out) = (segment.has(mark::LOST), segment.has(mark::RETRANS));
        segment.marks |= mark::SACKED;
        segment.marks &= !mark::LOST;
        if was_lost {
            segment.marks &= !mark::RETRANS;
        }
        let end = segment.end();
        self.sacked_out += 1;
        self.lost_out -= u32::from(was_lost);
        self.retrans_out -= u32::from(was_lost && was_out);
        self.highest_sacked = self.highest_sacked.max(end);
        self.gather(index);
    }

    /// A D-SACK says that the retransmission was not needed and has arrived.
    pub(crate) fn clear_retransmission(&mut self, index: u64) {
        if let Some(segment) = self.get_mut(index)
            && segment.has(mark::RETRANS)
        {
            segment.marks &= !mark::RETRANS;
            self.retrans_out -= 1;
        }
    }

    /// Its delivery has served for a rate sample.
    pub(crate) fn spend(&mut self, index: u64) {
        if let Some(segment) = self.get_mut(index) {
            segment.marks |= mark::SPENT;
        }
    }

    /// `tcp_mark_skb_lost()`.
    pub(crate) fn mark_lost(&mut self, index: u64) {
        let Some(segment) = self.get_mut(index) else { return };
        if segment.has(mark::SACKED) {
            return;
        }
        if segment.has(mark::LOST) {
            if segment.has(mark::RETRANS) {
                segment.marks &= !mark::RETRANS;
                self.retrans_out -= 1;
                self.lost += 1;
            }
        } else {
            segment.marks |= mark::LOST;
            self.lost_out += 1;
            self.lost += 1;
        }
        self.hint = self.hint.min(index);
    }

    /// Takes back every mark of loss (`tcp_undo_cwnd_reduction()` with `unmark_loss`).
    pub(crate) fn unmark_losses(&mut self) {
        for segment in &mut self.segments {
            segment.marks &= !mark::LOST;
        }
        self.lost_out = 0;
        self.rebuild_by_time();
    }

    /// Joins a segment just SACKed with the SACKed run before it and, if that closes a gap, with the run after it: their
    /// packets become one (`tcp_shift_skb_data()`). A packet that is SACKed in part is cut (`tcp_match_skb_to_sack()`).
    fn gather(&mut self, index: u64) {
        let is_joined = index.checked_sub(1).is_some_and(|before| self.may_join(before, index));
        let is_gap_closed = is_joined && self.may_join(index, index + 1);
        self.set_head(index, !is_joined);
        self.set_head(index + 1, !is_gap_closed);
    }

    /// Whether two neighbours are SACKed, nothing else, and of one length.
    fn may_join(&self, before: u64, after: u64) -> bool {
        let is_plain = |sent: &Sent| sent.has(mark::SACKED) && !sent.has(mark::LOST | mark::RETRANS);
        let both = self.get(before).zip(self.get(after));
        both.is_some_and(|(before, after)| is_plain(before) && is_plain(after) && before.len == after.len)
    }

    fn set_head(&mut self, index: u64, is_head: bool) {
        let Some(segment) = self.get_mut(index) else { return };
        let was_head = segment.has(mark::HEAD);
        segment.marks = if is_head { segment.marks | mark::HEAD } else { segment.marks & !mark::HEAD };
        self.packets = self.packets + u32::from(is_head) - u32::from(was_head);
    }

    /// What a timeout took for lost never left the kernel's list, and counts again; what RACK gave up does not.
    fn rebuild_by_time(&mut self) {
        let first = self.first;
        self.by_time.clear();
        let entries =
            (first..).zip(&self.segments).filter(|(_, segment)| !segment.has(mark::SACKED | mark::UNLISTED));
        self.by_time.extend(entries.map(|(index, segment)| (index, segment.xmit_us)));
        self.by_time.make_contiguous().sort_by_key(|&(index, at)| (at, index));
    }

    /// The next segment that is lost and not out again, from the hint on.
    pub(crate) fn next_to_retransmit(&mut self) -> Option<u64> {
        if self.lost_out == 0 {
            return None;
        }
        self.hint = self.hint.max(self.first);
        while let Some(segment) = self.get(self.hint) {
            if waits(segment) {
                return Some(self.hint);
            }
            self.hint += 1;
        }
        None
    }

    /// How many segments from `index` on, at most `most`, are of one packet and share their fate: what is retransmitted
    /// together. One at least.
    pub(crate) fn packet_segments(&self, index: u64, most: u32) -> u32 {
        let rest = (index + 1..).take(most.max(1) as usize - 1);
        let is_same = |at: &u64| self.get(*at).is_some_and(|sent| waits(sent) && !sent.has(mark::HEAD));
        1 + rest.take_while(is_same).count() as u32
    }

    /// Notes that the segment was sent again, with its new stamps.
    pub(crate) fn renew(&mut self, index: u64, stamped: Sent) {
        let Some(segment) = self.get_mut(index) else { return };
        *segment = stamped;
        segment.marks = segment.marks & !mark::UNLISTED | mark::EVER_RETRANS;
        self.by_time.push_back((index, stamped.xmit_us));
    }

    /// What was sent again counts as a retransmission that is out (`retrans_out`).
    pub(crate) fn mark_retransmission(&mut self, index: u64) {
        let Some(segment) = self.get_mut(index) else { return };
        let was_out = segment.has(mark::RETRANS);
        segment.marks |= mark::RETRANS;
        self.retrans_out += u32::from(!was_out);
    }

    /// Walks the transmissions in order of time. `judge` says of each that counts whether it is lost (`Some(true)`), has
    /// to wait (`Some(false)`), or ends the walk (`None`).
    pub(crate) fn walk_by_time(&mut self, mut judge: impl FnMut(&Sent) -> Option<bool>) {
        let mut waiting = std::mem::take(&mut self.waiting);
        while let Some(&(index, at)) = self.by_time.front() {
            let Some(segment) = self.get(index).filter(|segment| counts(segment, at)) else {
                self.by_time.pop_front();
                continue;
            };
            let Some(is_lost) = judge(segment) else { break };
            self.by_time.pop_front();
            if is_lost {
                self.mark_lost(index);
                self.unlist(index);
            } else {
                waiting.push((index, at));
            }
        }
        for entry in waiting.drain(..).rev() {
            self.by_time.push_front(entry);
        }
        self.waiting = waiting;
    }

    fn unlist(&mut self, index: u64) {
        if let Some(segment) = self.get_mut(index) {
            segment.marks |= mark::UNLISTED;
        }
    }
}

/// Whether the segment is lost and not out again.
fn waits(segment: &Sent) -> bool {
    segment.has(mark::LOST) && !segment.has(mark::RETRANS | mark::SACKED)
}

/// Whether this transmission is the segment's latest and its fate open.
fn counts(segment: &Sent, at: u64) -> bool {
    segment.xmit_us == at
        && !segment.has(mark::SACKED)
        && (!segment.has(mark::LOST) || segment.has(mark::RETRANS))
}

#[cfg(test)]
mod tests;
