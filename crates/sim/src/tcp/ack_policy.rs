//! When an end sends an ACK: at once, every second segment, delayed, compressed, or with its data (RFC 5681, 4.2; RFC 9293, 3.8.6.3;
//! `__tcp_ack_snd_check()`).

use super::receiver::Receiver;
use super::rtt::Rtt;
use crate::segment::Header;
use pipefill_core::units::Time;
use pipefill_link::jiffies;
use std::time::Duration;

/// `TCP_ATO_MIN` and `TCP_DELACK_MIN`, ticks.
const ATO_MIN: u64 = 40;
/// `TCP_DELACK_MAX`, ticks.
const DELACK_MAX: u64 = 200;
/// `HZ / 2`: the longest delay of an end that only receives, ticks.
const DELAY_MAX: u64 = 500;
/// `TCP_MAX_QUICKACKS`.
pub(super) const MAX_QUICK: u32 = 16;
/// `tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns`.
const COMPRESSED_MAX: u32 = 44;
const COMPRESSED_DELAY_NS: u64 = 1_000_000;
/// `TCP_FASTRETRANS_THRESH`: duplicates that are never compressed.
const DUPLICATES: u32 = 3;

/// `icsk_ack` and what belongs to ACK compression.
#[derive(Debug, Default)]
pub(crate) struct AckPolicy {
    is_scheduled: bool,
    /// `icsk_ack.quick`: ACKs still to be sent at once.
    pub(crate) quick: u32,
    /// `icsk_ack.pingpong`: the application answers what comes, so that an ACK may wait for its data. Linux counts answers, and one is
    /// enough (`tcp_pingpong_thresh`).
    pub(crate) is_pingpong: bool,
    /// `ICSK_ACK_NOW`.
    pub(crate) is_urgent: bool,
    is_pushed: bool,
    is_pushed_again: bool,
    /// `icsk_ack.ato`, ticks; 0 = no data yet.
    ato: u64,
    /// `icsk_ack.lrcvtime`: when payload came last; the connection's beginning where none has.
    pub(crate) last_data: Time,
    pub(super) delayed: Option<Time>,
    compressed: u32,
    compressed_at: Option<Time>,
    compressed_nxt: u64,
    duplicates: u32,
}

impl AckPolicy {
    /// The earliest deadline.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        if self.is_scheduled { Time::earliest(self.delayed, self.compressed_at) } else { None }
    }

    /// A small segment came (`ICSK_ACK_PUSHED`, twice `ICSK_ACK_PUSHED2`).
    pub(crate) fn note_small(&mut self) {
        self.is_pushed_again |= self.is_pushed;
        self.is_pushed = true;
    }

    pub(crate) fn note_push(&mut self) {
        self.is_pushed = true;
    }

    /// An ACK that is owed has a timer that will send it.
    pub(crate) fn is_kept(&self) -> bool {
        !self.is_scheduled || self.next().is_some()
    }

    pub(crate) fn schedule(&mut self) {
        self.is_scheduled = true;
    }

    /// `tcp_event_data_sent()`: data that leaves within an `ato` of what came last is an answer to it.
    #[inline]
    pub(crate) fn note_data_sent(&mut self, now: Time) {
        let since = u64::from(jiffies::stamp(now) - jiffies::stamp(self.last_data));
        self.is_pingpong |= since < self.ato;
    }

    /// `tcp_in_quickack_mode()`.
    #[inline]
    fn is_quick(&self) -> bool {
        self.quick > 0 && !self.is_pingpong
    }
}

impl Receiver {
    /// `tcp_event_data_recv()`: data came in order or not.
    pub(crate) fn on_data_event(&mut self, now: Time, rtt: &Rtt) {
        self.ack_policy.schedule();
        let gap = u64::from(jiffies::stamp(now) - jiffies::stamp(self.ack_policy.last_data));
        if self.ack_policy.ato == 0 {
            self.increase_quick(MAX_QUICK);
            self.ack_policy.ato = ATO_MIN;
        } else if gap <= ATO_MIN / 2 {
            self.ack_policy.ato = (self.ack_policy.ato >> 1) + ATO_MIN / 2;
        } else if gap < self.ack_policy.ato {
            self.ack_policy.ato = ((self.ack_policy.ato >> 1) + gap).min(rtt.rto_ms);
        } else if gap > rtt.rto_ms {
            self.increase_quick(MAX_QUICK);
        }
        self.ack_policy.last_data = now;
    }

    /// `tcp_enter_quickack_mode()`: at most so many of the next ACKs are sent at once.
    pub(crate) fn enter_quick_mode(&mut self, most: u32) {
        self.increase_quick(most);
        self.ack_policy.is_pingpong = false;
        self.ack_policy.ato = ATO_MIN;
    }

    /// `tcp_incr_quickack()`.
    fn increase_quick(&mut self, most: u32) {
        let half_windows = self.rcv_wnd / (2 * u64::from(self.rcv_mss.max(1)));
        let quick = if half_windows == 0 { 2 } else { u32::try_from(half_windows).unwrap_or(most) };
        self.ack_policy.quick = self.ack_policy.quick.max(quick.min(most));
    }

    /// `__tcp_ack_snd_check()`.
    #[inline]
    pub(crate) fn check_ack(&mut self, now: Time, rtt: &Rtt) {
        if !self.ack_policy.is_scheduled {
            return;
        }
        let is_second = self.rcv_nxt - self.rcv_wup > u64::from(self.rcv_mss)
            && (self.rcv_nxt == self.copied_seq || self.possible_window() >= self.rcv_wnd);
        if is_second || self.ack_policy.is_quick() || self.ack_policy.is_urgent {
            self.send_ack(now);
        } else if self.reassembly.is_empty() {
            self.delay_ack(now, rtt);
        } else {
            self.compress_ack(now, rtt);
        }
    }

    /// `tcp_cleanup_rbuf()`: the application has read `copied` bytes.
    pub(crate) fn after_read(&mut self, now: Time, copied: u64) {
        let policy = &self.ack_policy;
        let is_last_small = policy.is_pushed_again || (policy.is_pushed && !policy.is_pingpong);
        let is_drained = copied > 0 && is_last_small && self.rmem_alloc == 0;
        let is_owed =
            policy.is_scheduled && (self.rcv_nxt - self.rcv_wup > u64::from(self.rcv_mss) || is_drained);
        if is_owed || (copied > 0 && self.is_window_worth_telling()) {
            self.send_ack(now);
        }
    }

    /// At least twice the window that the sender knows.
    fn is_window_worth_telling(&mut self) -> bool {
        let left = self.window_left();
        if 2 * left > self.window_clamp {
            return false;
        }
        let possible = self.possible_window();
        possible > 0 && possible >= 2 * left
    }

    /// `tcp_send_ack()`.
    pub(crate) fn send_ack(&mut self, now: Time) {
        self.acknowledge();
        self.segs_out = self.segs_out.wrapping_add(1);
        let header = Header {
            seq: self.snd_nxt,
            ack: self.rcv_wup,
            window: self.rcv_wnd,
            ts: jiffies::stamp(now),
            ts_echo: self.ts_recent,
            sacks: self.reassembly.take_sacks(),
            ecn: self.ecn.echo | self.ecn.of_acks,
        };
        self.outbox.push((self.sent_before, header));
    }

    /// Fills in the half of a header that this half of the socket knows, SACK blocks aside: what was acknowledged last.
    #[inline]
    pub(crate) fn complete(&self, header: &mut Header) {
        (header.ack, header.window, header.ts_echo) = (self.rcv_wup, self.rcv_wnd, self.ts_recent);
        header.ecn |= self.ecn.echo;
    }

    /// A segment leaves that acknowledges all that came, so that no other has to (`tcp_event_ack_sent()`).
    pub(crate) fn acknowledge(&mut self) {
        self.select_window();
        self.has_news = false;
        let policy = &mut self.ack_policy;
        if policy.is_scheduled && policy.quick > 0 {
            policy.quick -= 1;
            if policy.quick == 0 {
                policy.ato = ATO_MIN;
            }
        }
        policy.is_scheduled = false;
        policy.is_urgent = false;
        (policy.is_pushed, policy.is_pushed_again) = (false, false);
        (policy.delayed, policy.compressed, policy.compressed_at) = (None, 0, None);
    }

    /// `tcp_sack_compress_send_ack()`.
    pub(crate) fn send_compressed(&mut self, now: Time) {
        if self.ack_policy.compressed > 0 {
            self.send_ack(now);
        }
    }

    /// The delayed or the compressed ACK is due (`tcp_delack_timer_handler()`).
    pub(crate) fn on_timer(&mut self, now: Time, rtt: &Rtt) {
        if self.ack_policy.compressed_at.is_some_and(|at| at <= now) {
            self.ack_policy.compressed_at = None;
            self.send_compressed(now);
        }
        if self.ack_policy.delayed.is_some_and(|at| at <= now) {
            self.ack_policy.delayed = None;
            if self.ack_policy.is_scheduled {
                let policy = &mut self.ack_policy;
                let was_pingpong = std::mem::replace(&mut policy.is_pingpong, false);
                policy.ato = if was_pingpong { ATO_MIN } else { (policy.ato << 1).min(rtt.rto_ms) };
                self.send_ack(now);
            }
        }
    }

    /// `tcp_send_delayed_ack()`.
    fn delay_ack(&mut self, now: Time, rtt: &Rtt) {
        let mut ticks = self.ack_policy.ato;
        if ticks > ATO_MIN {
            let is_short = self.ack_policy.is_pingpong || self.ack_policy.is_pushed;
            let most = if is_short { DELACK_MAX } else { DELAY_MAX };
            let srtt_us = u64::from(rtt.srtt_us());
            let srtt = jiffies::from_micros(srtt_us).max(ATO_MIN);
            ticks = ticks.min(most).min(if srtt_us > 0 { srtt } else { most });
        }
        let deadline = jiffies::deadline(now, ticks.min(DELACK_MAX));
        let soon = now.after(Duration::from_millis(ticks / 4));
        match self.ack_policy.delayed {
            Some(at) if at <= soon => self.send_ack(now),
            Some(at) => self.ack_policy.delayed = Some(at.min(deadline)),
            None => self.ack_policy.delayed = Some(deadline),
        }
    }

    /// Out of order: three duplicates at once, then at most one in a twentieth of the round trip.
    fn compress_ack(&mut self, now: Time, rtt: &Rtt) {
        let rcv_nxt = self.rcv_nxt;
        let policy = &mut self.ack_policy;
        if policy.compressed_nxt != rcv_nxt {
            (policy.compressed_nxt, policy.duplicates) = (rcv_nxt, 0);
        }
        if policy.compressed >= COMPRESSED_MAX || policy.duplicates < DUPLICATES {
            if policy.compressed < COMPRESSED_MAX {
                policy.duplicates += 1;
            }
            self.send_ack(now);
            return;
        }
        policy.compressed += 1;
        if policy.compressed_at.is_none() {
            let (srtt_us, own_us) = (u64::from(rtt.srtt_us()), self.tuning.rtt_us());
            let rtt_us = if srtt_us > 0 && srtt_us < own_us { srtt_us } else { own_us };
            let delay = COMPRESSED_DELAY_NS.min(rtt_us * 1000 / 20);
            policy.compressed_at = Some(now.after(Duration::from_nanos(delay)));
        }
    }
}
