//! What comes back to a sender: cumulative ACKs, SACK blocks, D-SACKs, timestamps.

use super::super::resent::KnownBy;
use super::super::scoreboard::Delivered;
use super::{Congestion, Sender};
use crate::headers::Segment;

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
}

impl Ack<'_> {
    #[inline]
    pub(in crate::tcp) const fn now(&self) -> u64 {
        self.segment.time_ns
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
}

impl Sender {
    /// `una` is `snd_una`, moved on. `next` is not below `ack.to`.
    #[inline]
    pub(in crate::tcp) fn take_ack(&mut self, ack: &Ack<'_>, una: &mut u64, next: u64) -> AckOutcome {
        let mut outcome = AckOutcome::default();
        let before = *una;
        let mut delivered = Delivered::default();
        if ack.to > before {
            delivered = self.advance(ack, next);
            *una = ack.to;
        }
        if !ack.blocks.is_empty() {
            (outcome.is_dsack, delivered) = self.take_blocks(ack, *una, next, delivered);
        }
        if ack.to == before && ack.is_bare && next > before {
            self.duplicate_acks_in_row += 1;
            self.counts.duplicate_acks += 1;
            outcome.is_duplicate = true;
        }
        if delivered.bytes > 0 || ack.to > before {
            outcome.rtt_us = self.measure(ack, &delivered, *una, next);
            self.rounds.acked(ack.now(), *una, next, delivered.bytes, ack.mss, ack.full_rtt_us);
        }
        if self.board.sacked() > 0 || self.state != Congestion::Open {
            self.board.detect_losses(ack.now(), self.reordering_window_ns());
        }
        outcome.has_found = !self.found.is_empty();
        outcome
    }

    #[inline]
    fn advance(&mut self, ack: &Ack<'_>, next: u64) -> Delivered {
        let (found, counts, resent) = (&mut self.found, &mut self.counts, &mut self.resent);
        let delivered = self.board.acknowledge(ack.to, ack.now(), ack.mss, |sent| {
            // RFC 3522: the ACK echoes what was sent before the first retransmission.
            let is_older = |echo: u32| echo.wrapping_sub(sent.first_resent_tsval).cast_signed() < 0;
            if sent.has_own_stamps() && ack.echo().is_some_and(is_older) {
                let to = sent.from + 1;
                if let Some(spurious) = resent.find(sent.from, to, ack.now(), KnownBy::Timestamps) {
                    counts.spurious += spurious.segments;
                    found.push(spurious);
                }
            }
        });
        self.counts.not_captured_bytes += delivered.unseen;
        self.progress_ns = ack.now();
        self.duplicate_acks_in_row = 0;
        if ack.to >= next {
            self.empty_since_ns = ack.now();
        }
        if self.state != Congestion::Open && ack.to >= self.high_seq {
            self.state = Congestion::Open;
        }
        if self.tlp_high_seq != 0 && ack.to >= self.tlp_high_seq {
            self.tlp_high_seq = 0;
        }
        if !self.gaps.is_empty() {
            self.gaps.forget_below(ack.to, ack.now().saturating_sub(1_000_000_000));
        }
        delivered
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
            self.counts.dsacks += 1;
            self.report(first.0, first.1, ack.now(), KnownBy::Dsack);
        }
        for &(left, right) in if is_dsack { rest } else { ack.blocks } {
            let (left, right) = (left.max(una), right.min(next));
            if left < right {
                self.board.sack(left, right, ack.now(), ack.mss, &mut delivered);
            }
        }
        (is_dsack, delivered)
    }

    /// `tcp_ack_update_rtt()`: no sample of what was sent twice (Karn), but where the echoed timestamp tells which transmission it was.
    #[inline]
    fn measure(&mut self, ack: &Ack<'_>, delivered: &Delivered, una: u64, next: u64) -> Option<u32> {
        let us = |sent: u64| u32::try_from(ack.now().saturating_sub(sent) / 1000).unwrap_or(u32::MAX);
        let (longest, shortest) = if let Some(resent) = delivered.resent {
            if !resent.has_own_stamps || ack.echo() != Some(resent.tsval) {
                return None;
            }
            (us(resent.sent_ns), us(resent.sent_ns))
        } else {
            (us(delivered.first_sent?), us(delivered.last_sent?))
        };
        self.rtt.take(longest, shortest, una, next);
        Some(shortest)
    }
}
