//! The sender's timers: one for retransmission, reordering, loss probe and persist (as in the kernel only one of them can be
//! armed), and a precise one for pacing.

use super::limits::Push;
use super::rtt::{RTO_INIT_MS, RTO_MAX_MS, RTO_MIN_US};
use super::sender::Sender;
use crate::segment::Body;
use pipefill_core::tcp_info::CaState;
use pipefill_core::units::Time;
use pipefill_link::jiffies;

/// What the retransmission timer stands for (`icsk_pending`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    Retransmission,
    LossProbe,
    Reordering,
    Persist,
}

/// The timers.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    pending: Option<(Pending, Time)>,
    /// When pacing lets the next packet go.
    pub(crate) pacing: Option<Time>,
}

impl Timers {
    /// The earliest deadline.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        Time::earliest(self.pending.map(|(_, at)| at), self.pacing)
    }

    pub(crate) fn arm_reordering(&mut self, now: Time, ticks: u64) {
        self.arm(Pending::Reordering, now, ticks);
    }

    pub(crate) fn is_retransmission(&self) -> bool {
        self.is(Pending::Retransmission)
    }

    pub(crate) fn is_reordering(&self) -> bool {
        self.is(Pending::Reordering)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.pending.is_none()
    }

    pub(crate) fn disarm(&mut self) {
        self.pending = None;
    }

    fn is(&self, kind: Pending) -> bool {
        self.pending.is_some_and(|(pending, _)| pending == kind)
    }

    fn arm(&mut self, kind: Pending, now: Time, ticks: u64) {
        self.pending = Some((kind, jiffies::deadline(now, ticks.min(RTO_MAX_MS))));
    }
}

impl Sender {
    /// Everything that is due at `now`.
    pub(crate) fn on_timer(&mut self, now: Time) {
        self.release(now);
        if self.process.holds_until().is_some() {
            return;
        }
        self.now = now;
        if self.timers.pacing.is_some_and(|at| at <= now) {
            self.timers.pacing = None;
            self.on_pacing_timer();
        }
        if let Some((kind, at)) = self.timers.pending
            && at <= now
        {
            // The other two stay pending until they have armed the timeout, which then counts from the head's transmission.
            if matches!(kind, Pending::Retransmission | Pending::Persist) {
                self.timers.pending = None;
            }
            match kind {
                Pending::Retransmission => self.on_rto(),
                Pending::LossProbe => self.on_loss_probe(),
                Pending::Reordering => self.on_reordering_timer(),
                Pending::Persist => self.on_persist(),
            }
        }
    }

    /// `tcp_set_xmit_timer()`.
    pub(crate) fn set_xmit_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_rto();
        }
    }

    /// `tcp_rearm_rto()` (RFC 6298, 5.2 and 5.3).
    pub(crate) fn rearm_rto(&mut self) {
        if self.board.is_empty() {
            self.timers.pending = None;
            return;
        }
        let ticks = if self.timers.is(Pending::Reordering) || self.timers.is(Pending::LossProbe) {
            jiffies::from_micros(self.rto_remaining_us().max(1) as u64)
        } else {
            self.rtt.rto_ms
        };
        self.timers.arm(Pending::Retransmission, self.now, ticks);
    }

    /// Before the first packet of a burst (`tcp_event_new_data_sent()`).
    pub(crate) fn timer_for_new_data(&mut self, was_empty: bool) {
        if was_empty || self.timers.is(Pending::LossProbe) {
            self.rearm_rto();
        }
    }

    /// `tcp_schedule_loss_probe()` (RFC 8985, 7.2): two round trips after the last transmission.
    pub(crate) fn schedule_loss_probe(&mut self, is_advancing: bool) -> bool {
        if self.board.is_empty() || !matches!(self.conn.ca_state, CaState::Open | CaState::Cwr) {
            return false;
        }
        let mut ticks = match self.rtt.srtt_us_8() {
            0 => RTO_INIT_MS,
            srtt_8 => {
                let margin = if self.board.packets_out() == 1 { RTO_MIN_US } else { 2000 };
                jiffies::from_micros((srtt_8 >> 2) + margin)
            }
        };
        let rto_us = if is_advancing { self.rtt.rto_ms as i64 * 1000 } else { self.rto_remaining_us() };
        if let Ok(rto_us @ 1..) = u64::try_from(rto_us) {
            ticks = ticks.min(jiffies::from_micros(rto_us));
        }
        self.timers.arm(Pending::LossProbe, self.now, ticks);
        true
    }

    /// `tcp_check_probe_timer()`: data waits, nothing is out, and the window is shut.
    pub(crate) fn check_persist_timer(&mut self) {
        if self.board.is_empty() && self.timers.is_idle() && self.queue.write_seq > self.snd_nxt {
            self.arm_persist_timer(0);
        }
    }

    /// `tcp_probe0_when()` (RFC 9293, 3.8.6.1): the interval doubles.
    fn arm_persist_timer(&mut self, backoff: u8) {
        let ticks = (self.rtt.rto_ms.max(RTO_MIN_US / 1000) << backoff.min(15)).min(RTO_MAX_MS);
        self.timers.arm(Pending::Persist, self.now, ticks);
    }

    /// `tcp_ack_probe()`: an ACK while nothing is out.
    pub(crate) fn on_probe_ack(&mut self) {
        if self.queue.write_seq == self.snd_nxt {
            return;
        }
        if self.next_end() <= self.window_end() {
            self.backoff = 0;
            if self.timers.is(Pending::Persist) {
                self.timers.pending = None;
            }
        } else {
            self.arm_persist_timer(self.backoff);
        }
    }

    /// Where the next new segment would end.
    fn next_end(&self) -> u64 {
        self.snd_nxt + u64::from(self.conn.mss).min(self.queue.write_seq - self.snd_nxt)
    }

    /// `tcp_rto_delta_us()`: until the head of the queue times out; may be past.
    fn rto_remaining_us(&self) -> i64 {
        let sent_us = self.board.head().map_or(0, |head| head.xmit_us);
        (sent_us + self.rtt.rto_ms * 1000) as i64 - self.now_us() as i64
    }

    /// `tcp_retransmit_timer()` (RFC 6298, 5.4 to 5.6).
    fn on_rto(&mut self) {
        if self.board.is_empty() {
            return;
        }
        self.enter_loss();
        self.look_for_black_hole();
        self.timeouts += 1;
        self.totals.rto_count = self.totals.rto_count.saturating_add(1);
        self.retransmit(self.board.first_index(), 1);
        self.backoff = self.backoff.saturating_add(1);
        self.rtt.back_off();
        self.timers.arm(Pending::Retransmission, self.now, self.rtt.rto_ms);
    }

    /// `tcp_send_loss_probe()` (RFC 8985, 7.3): new data where there is any, else the last segment again.
    fn on_loss_probe(&mut self) {
        if self.tlp_high_seq.is_none() {
            self.tlp_retrans = false;
            let has_new = self.queue.write_seq > self.snd_nxt && self.next_end() <= self.window_end();
            let before = self.board.packets_out();
            let is_sent = if has_new {
                self.write_xmit(Push::Probe);
                self.board.packets_out() > before
            } else {
                self.tlp_retrans = self.send_again(self.board.end_index() - 1, 1) > 0;
                self.tlp_retrans
            };
            if is_sent {
                self.tlp_high_seq = Some(self.snd_nxt);
                // The timeout starts anew.
                self.timers.pending = None;
            }
        }
        self.rearm_rto();
    }

    /// `tcp_send_probe0()`.
    fn on_persist(&mut self) {
        if !self.board.is_empty() || self.queue.write_seq == self.snd_nxt {
            self.backoff = 0;
            return;
        }
        self.write_xmit(Push::All);
        if self.board.is_empty() {
            self.fill_window();
        }
        if self.board.is_empty() {
            let header = self.header(self.snd_una.saturating_sub(1));
            self.emit(Body::Probe(header));
            self.backoff = self.backoff.saturating_add(1);
            self.arm_persist_timer(self.backoff);
        }
    }
}
