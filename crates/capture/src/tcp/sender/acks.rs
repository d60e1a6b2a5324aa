//! What comes back to a sender: cumulative ACKs, SACK blocks, D-SACKs, timestamps.

use super::super::scoreboard::{Delivered, Resent, Times};
use super::{Congestion, Sender};
use crate::headers::{SACKS_MAX, Segment};

/// An ACK, in the numbers of the sender that it goes to.
#[derive(Debug, Clone, Copy)]
pub(in crate::tcp) struct Ack<'a> {
    pub(in crate::tcp) segment: &'a Segment,
    pub(in crate::tcp) to: u64,
    pub(in crate::tcp) blocks: &'a [(u64, u64)],
    /// No data, no SYN, no FIN, no other window than before.
    pub(in crate::tcp) is_bare: bool,
    pub(in crate::tcp) mss: u32,
    pub(in crate::tcp) full_rtt_us: Option<u32>,
    /// When the last data of the end that sent it had passed; absent before the first.
    pub(in crate::tcp) spoke_ns: Option<u64>,
}

/// A least round trip below it may be none: a capture at the receiver sees the answer to a segment within some microseconds.
const TELLING_NS: u64 = 1_000_000;

impl Ack<'_> {
    #[inline]
    pub(in crate::tcp) const fn now(&self) -> u64 {
        self.segment.time_ns
    }

    /// Whether data came from its sender in the `rtt_us` since what it acknowledges: that is acknowledged at once then. Else its sender may have waited
    /// for an answer to a request, or for more data.
    #[inline]
    pub(in crate::tcp) fn comes_between_data(&self, rtt_us: u32) -> bool {
        let sent_ns = self.now().saturating_sub(u64::from(rtt_us) * 1_000);
        self.spoke_ns.is_some_and(|spoke_ns| spoke_ns > sent_ns)
    }

    /// TSecr.
    #[inline]
    fn echo(&self) -> Option<u32> {
        self.segment.options.timestamps.map(|(_, echo)| echo)
    }
}

/// What an ACK was.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::tcp) struct AckOutcome {
    pub(in crate::tcp) rtt_us: Option<u32>,
    pub(in crate::tcp) is_duplicate: bool,
    pub(in crate::tcp) is_dsack: bool,
    /// It showed that something was sent for nothing.
    pub(in crate::tcp) has_found: bool,
    /// It acknowledged data that never passed the capture point.
    pub(in crate::tcp) shows_unseen: bool,
}

impl Sender {
    /// `una` is `snd_una`, moved on. `next` is not below `ack.to`.
    #[inline]
    pub(in crate::tcp) fn take_ack(&mut self, ack: &Ack<'_>, una: &mut u64, next: u64) -> AckOutcome {
        let mut outcome = AckOutcome::default();
        let before = *una;
        self.heard_ns = ack.now();
        let mut delivered = Delivered::default();
        if ack.to > before {
            delivered = self.advance(ack, next);
            *una = ack.to;
        }
        let acknowledged = delivered.take_times();
        if !ack.blocks.is_empty() {
            let acknowledged_rtt_ns = delivered.rtt_ns;
            (outcome.is_dsack, delivered) = self.take_blocks(ack, *una, next, delivered);
            if let Some(rtt_ns) = acknowledged_rtt_ns {
                self.board.acknowledged_last(rtt_ns);
            }
        }
        if ack.to == before && ack.is_bare && next > before {
            self.duplicate_acks_in_row = self.duplicate_acks_in_row.saturating_add(1);
            self.counts.duplicate_acks += 1;
            outcome.is_duplicate = true;
        }
        if delivered.has_resent {
            self.find_spurious(ack, before);
        }
        if delivered.bytes > 0 || ack.to > before {
            outcome.rtt_us = self.measure(ack, acknowledged, &delivered, *una, next);
            self.rounds.acked(ack.now(), *una, next, delivered.bytes, ack.mss, ack.full_rtt_us);
        }
        if self.state == Congestion::Loss
            && acknowledged.or(delivered.times).is_some_and(|(sent, _)| sent < self.may_be_early_ns)
        {
            self.undo();
        }
        if self.board.sacked() > 0 || self.state != Congestion::Open {
            self.patience.update(ack.now(), self.board.latest_arrived_ns());
            let has_lost_again = self.board.detect_losses(ack.now(), self.reordering_window_ns());
            // tcp_fastretrans_alert(): FLAG_LOST_RETRANS ends Loss.
            if has_lost_again && self.state == Congestion::Loss {
                self.recover(next);
            }
        }
        outcome.has_found = !self.found.is_empty();
        outcome.shows_unseen = delivered.unseen > 0;
        outcome
    }

    #[inline]
    fn advance(&mut self, ack: &Ack<'_>, next: u64) -> Delivered {
        let delivered = self.board.acknowledge(ack.to, ack.now(), ack.mss);
        self.counts.not_captured_bytes += delivered.unseen;
        self.progress_ns = ack.now();
        self.duplicate_acks_in_row = 0;
        if ack.to >= next {
            self.empty_since_ns = ack.now();
        }
        if self.state != Congestion::Open || self.board.lost() > 0 {
            self.end_or_undo(ack);
        }
        if self.tlp_high_seq != 0 && ack.to >= self.tlp_high_seq {
            self.tlp_high_seq = 0;
        }
        delivered
    }

    /// Something arrived that was sent more than once. What the receiver echoes is the timestamp of what came at the edge of its window
    /// (RFC 7323 4.3): which transmission that was is known (RFC 3522). Of the rest only time can tell.
    #[cold]
    #[inline(never)]
    fn find_spurious(&mut self, ack: &Ack<'_>, before: u64) {
        let known = self.found.len();
        if ack.to > before
            && let Some(echo) = ack.echo()
            && let Some(resent) = &mut self.resent
        {
            resent.find_later(before, echo, ack.now(), &mut self.found);
        }
        let least_ns = self.board.least_rtt_ns();
        // Near the receiver what fills a hole is answered at once, sooner than what waits for a second segment.
        if least_ns < TELLING_NS {
            self.count_found(known);
            return;
        }
        let since_ns = ack.now().saturating_sub(least_ns);
        for at in self.board.came_early() {
            if let Some(resent) = &mut self.resent {
                resent.find_since(at, since_ns, ack.now(), &mut self.found);
            }
        }
        self.count_found(known);
    }

    /// The cumulative ACK went on in Recovery or Loss: that is over by now, or was for nothing, since what is echoed was sent before the
    /// first retransmission, or nothing was sent again yet (`tcp_try_undo_partial()`, `tcp_try_undo_loss()`, `tcp_packet_delayed()`).
    #[cold]
    #[inline(never)]
    fn end_or_undo(&mut self, ack: &Ack<'_>) {
        let is_open = self.state == Congestion::Open;
        if !is_open && ack.to >= self.high_seq {
            self.state = Congestion::Open;
            self.first_resent_tsval = None;
            self.patience.end_recovery();
            return;
        }
        let is_older = |(echo, first): (u32, u32)| echo.wrapping_sub(first).cast_signed() < 0;
        let is_for_nothing = is_open || ack.echo().zip(self.first_resent_tsval).is_some_and(is_older);
        // In Recovery the kernel waits until no retransmission is in flight.
        if is_for_nothing && (self.state == Congestion::Loss || self.board.resent() == 0) {
            self.undo();
        }
    }

    /// Nothing was lost (`tcp_undo_cwnd_reduction()`).
    fn undo(&mut self) {
        self.state = Congestion::Open;
        self.first_resent_tsval = None;
        self.board.unmark_losses();
    }

    /// Returns whether the first block is a D-SACK (RFC 2883 4), and what arrived with what the blocks say. Takes and returns that by value, so
    /// that it stays in registers where there are no blocks.
    #[cold]
    #[inline(never)]
    fn take_blocks(
        &mut self,
        ack: &Ack<'_>,
        una: u64,
        next: u64,
        mut delivered: Delivered,
    ) -> (bool, Delivered) {
        self.counts.sack_acks += 1;
        let (first, rest) = (ack.blocks[0], &ack.blocks[1..]);
        let is_within = |outer: &(u64, u64)| outer.0 <= first.0 && first.1 <= outer.1;
        let is_dsack = first.0 < first.1 && (first.1 <= ack.to || rest.first().is_some_and(is_within));
        if is_dsack {
            let known = self.found.len();
            let is_of_resent = self
                .resent
                .as_mut()
                .is_some_and(|resent| resent.reported(first.0, first.1, ack.now(), &mut self.found));
            self.counts.dsacks += u32::from(is_of_resent);
            self.counts.network_duplicates += u32::from(!is_of_resent);
            self.count_found(known);
            // tcp_dsack_seen(): more of them than retransmissions are the path's duplicates.
            let is_own = self.counts.dsacks + self.counts.network_duplicates <= self.counts.retransmits();
            if is_own && first.1 != self.tlp_high_seq {
                self.patience.see_dsack();
            }
        }
        // As tcp_sacktag_write_queue() takes them: what lies below an earlier block is reordering, and what lies below another one of the
        // same ACK is not.
        let (mut sorted, news) = ([(0, 0); SACKS_MAX], if is_dsack { rest } else { ack.blocks });
        let sorted = &mut sorted[..news.len()];
        sorted.copy_from_slice(news);
        sorted.sort_unstable();
        for &(left, right) in &*sorted {
            let (left, right) = (left.max(una), right.min(next));
            if left < right {
                self.board.sack(left, right, ack.now(), ack.mss, &mut delivered);
            }
        }
        (is_dsack, delivered)
    }

    /// `tcp_ack_update_rtt()`: by what was acknowledged, unless some of it was sent twice (Karn), else by what was SACKed, else by the echoed
    /// timestamp.
    #[inline]
    fn measure(
        &mut self,
        ack: &Ack<'_>,
        acknowledged: Times,
        delivered: &Delivered,
        una: u64,
        next: u64,
    ) -> Option<u32> {
        let us = |sent: u64| u32::try_from(ack.now().saturating_sub(sent) / 1000).unwrap_or(u32::MAX);
        // Packets that were written out of order tell no time.
        let is_before = |times: Times| times.is_some_and(|(first, last)| ack.now() < first.max(last));
        if is_before(acknowledged) || is_before(delivered.times) {
            return None;
        }
        let acknowledged = acknowledged.filter(|_| delivered.resent.is_none());
        let (longest, shortest) = match acknowledged.or(delivered.times) {
            Some((first, last)) => (us(first), us(delivered.times.map_or(last, |(_, last)| last))),
            None => {
                let sent = us(self.time_of(ack.echo()?, delivered.resent.as_ref()?)?);
                (sent, sent)
            }
        };
        self.rtt.take(longest, shortest, una, next);
        self.board.note_least_rtt(self.rtt.min_us().map_or(0, u64::from) * 1000);
        Some(shortest)
    }

    /// When something with the timestamp `echo` was sent: by the sender's clock of timestamps, whose ticks the packets tell.
    #[cold]
    fn time_of(&self, echo: u32, resent: &Resent) -> Option<u64> {
        let (first_tsval, first_ns) = self.first_stamp()?;
        let later = i64::from(echo.wrapping_sub(resent.tsval).cast_signed());
        let ticks = u64::from(resent.tsval.wrapping_sub(first_tsval));
        if later == 0 {
            return Some(resent.sent_ns);
        }
        if echo.wrapping_sub(first_tsval).cast_signed() < 0 {
            return None;
        }
        let span_ns = resent.sent_ns.saturating_sub(first_ns);
        let tick_ns = i64::try_from(span_ns.checked_div(ticks)?).ok()?;
        Some(resent.sent_ns.saturating_add_signed(later.saturating_mul(tick_ns)))
    }
}
