//! RACK: a segment is lost when one sent sufficiently later was delivered (RFC 8985, section 6; `tcp_recovery.c`).

use super::sender::Sender;
use pipefill_core::tcp_info::CaState;
use pipefill_link::jiffies;

/// `TCP_RACK_RECOVERY_THRESH`: recoveries for which a widened window is kept.
pub(crate) const PERSIST: u8 = 16;
/// `TCP_TIMEOUT_MIN`, ticks.
pub(crate) const TIMEOUT_MIN: u64 = 2;

/// `struct tcp_rack`.
#[derive(Debug)]
pub(crate) struct Rack {
    /// When the newest delivered segment was sent.
    xmit_us: u64,
    rtt_us: u64,
    end_seq: u64,
    pub(crate) advanced: bool,
    pub(crate) dsack_seen: bool,
    /// `reo_wnd_steps`: multiples of min_rtt / 4.
    steps: u8,
    pub(crate) persist: u8,
    last_delivered: u64,
}

impl Rack {
    pub(crate) const fn new() -> Self {
        Self {
            xmit_us: 0,
            rtt_us: 0,
            end_seq: 0,
            advanced: false,
            dsack_seen: false,
            steps: 1,
            persist: 0,
            last_delivered: 0,
        }
    }

    /// `tcp_rack_advance()`: a segment sent at `xmit_us` was delivered. One that was retransmitted and comes back sooner
    /// than any round trip is the original's echo, and tells nothing.
    pub(crate) fn advance(
        &mut self,
        now_us: u64,
        min_rtt_us: u32,
        was_retransmitted: bool,
        end: u64,
        xmit_us: u64,
    ) {
        let rtt_us = now_us.saturating_sub(xmit_us);
        if rtt_us < u64::from(min_rtt_us) && was_retransmitted {
            return;
        }
        self.advanced = true;
        self.rtt_us = rtt_us;
        if sent_after(xmit_us, self.xmit_us, end, self.end_seq) {
            self.xmit_us = xmit_us;
            self.end_seq = end;
        }
    }

    /// `tcp_rack_update_reo_wnd()`: D-SACKs widen the window, at most once a round trip.
    pub(crate) fn update_window(&mut self, prior_delivered: u64, delivered: u64) {
        if prior_delivered == 0 {
            return;
        }
        if prior_delivered < self.last_delivered {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.steps = self.steps.saturating_add(1);
            self.dsack_seen = false;
            self.last_delivered = delivered;
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// `tcp_rack_skb_timeout()`: microseconds until a segment sent at `xmit_us` counts as lost.
    pub(crate) fn remaining_us(&self, now_us: u64, xmit_us: u64, window_us: u64) -> i64 {
        (self.rtt_us + window_us) as i64 - now_us.saturating_sub(xmit_us) as i64
    }
}

/// `tcp_skb_sent_after()`.
fn sent_after(a_us: u64, b_us: u64, a_end: u64, b_end: u64) -> bool {
    a_us > b_us || (a_us == b_us && a_end > b_end)
}

impl Sender {
    /// `tcp_rack_mark_lost()`: true if the reordering timer was armed.
    pub(crate) fn rack_mark_lost(&mut self) -> bool {
        if !self.rack.advanced {
            return false;
        }
        self.rack.advanced = false;
        let wait_us = self.rack_detect_loss();
        if wait_us > 0 {
            self.timers.arm_reordering(self.now, jiffies::from_micros(wait_us) + TIMEOUT_MIN);
        }
        wait_us > 0
    }

    /// `tcp_rack_detect_loss()`: marks what is lost; returns how long the rest has to wait, microseconds.
    pub(crate) fn rack_detect_loss(&mut self) -> u64 {
        let (now_us, window_us) = (self.now_us(), self.reordering_window_us());
        let rack = &self.rack;
        let mut wait_us = 0;
        self.board.walk_by_time(|segment| {
            if !sent_after(rack.xmit_us, segment.xmit_us, rack.end_seq, segment.end()) {
                return None;
            }
            let remaining = rack.remaining_us(now_us, segment.xmit_us, window_us);
            wait_us = wait_us.max(u64::try_from(remaining).unwrap_or(0));
            Some(remaining <= 0)
        });
        wait_us
    }

    /// `tcp_rack_reo_timeout()`.
    pub(crate) fn on_reordering_timer(&mut self) {
        let (prior_in_flight, prior_lost) = (self.in_flight(), self.board.lost);
        self.rack_detect_loss();
        if prior_in_flight != self.in_flight() {
            if self.conn.ca_state != CaState::Recovery {
                self.enter_recovery(false);
                if !self.cc.owns_cwnd() {
                    self.reduce_cwnd(1, self.board.lost - prior_lost, false);
                }
            }
            self.retransmit_queue();
        }
        if !self.timers.is_retransmission() {
            self.rearm_rto();
        }
    }

    /// `tcp_rack_reo_wnd()`.
    fn reordering_window_us(&self) -> u64 {
        if self.totals.reord_seen == 0
            && (self.conn.ca_state >= CaState::Recovery || self.board.sacked_out >= self.reordering)
        {
            return 0;
        }
        let quarter = u64::from(self.rtt.min_us() >> 2) * u64::from(self.rack.steps);
        quarter.min(u64::from(self.rtt.srtt_us()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_delivery_counts_and_an_early_echo_does_not() {
        let mut rack = Rack::new();
        rack.advance(100_000, u32::MAX, false, 1448, 50_000);
        assert_eq!((rack.xmit_us, rack.end_seq, rack.rtt_us), (50_000, 1448, 50_000));
        rack.advance(110_000, 50_000, true, 2896, 100_000);
        assert_eq!(rack.xmit_us, 50_000);
        rack.advance(150_000, 50_000, true, 2896, 100_000);
        assert_eq!((rack.xmit_us, rack.remaining_us(150_000, 99_000, 0)), (100_000, -1000));
        assert_eq!(rack.remaining_us(150_000, 99_000, 12_500), 11_500);
    }

    /// RFC 8985, 6.2, step 4: a D-SACK widens the window by min_rtt / 4, once a round; 16 recoveries keep it.
    #[test]
    fn dsacks_widen_the_window() {
        let mut rack = Rack::new();
        rack.dsack_seen = true;
        rack.update_window(10, 20);
        assert_eq!((rack.steps, rack.persist), (2, 16));
        rack.dsack_seen = true;
        rack.update_window(15, 30);
        assert_eq!(rack.steps, 2);
        rack.persist = 0;
        rack.update_window(25, 40);
        assert_eq!(rack.steps, 1);
    }
}
