//! The congestion states: Open, Disorder, CWR, Recovery, Loss, and what moves between them (`tcp_fastretrans_alert()`).
//!
//! Fast recovery with PRR (RFC 6937), timeouts with F-RTO (RFC 5682), tail loss probes judged (RFC 8985, 7.4).

use super::ack::{Ack, Resend, flag};
use super::scoreboard::mark;
use super::sender::{REORDERING, Sender};
use crate::cc::{Event, INFINITE_SSTHRESH};
use pipefill_core::tcp_info::CaState;

impl Sender {
    /// `tcp_fastretrans_alert()`.
    pub(crate) fn alert(&mut self, prior_una: u64, ack: &mut Ack) {
        if ack.has(flag::ECE) {
            self.undo.prior_ssthresh = 0;
        }
        if self.conn.ca_state == CaState::Open {
            self.undo.retrans_stamp = None;
        } else if self.snd_una >= self.high_seq {
            self.leave_state();
        }
        match self.conn.ca_state {
            CaState::Recovery => {
                if ack.has(flag::UNA_ADVANCED) && self.try_undo_partial(prior_una) {
                    return;
                }
                if self.try_undo_dsack() {
                    self.try_to_open(ack);
                }
                self.identify_loss(ack);
                if self.conn.ca_state != CaState::Recovery {
                    if self.board.lost_out == 0 {
                        return;
                    }
                    self.enter_recovery(ack.has(flag::ECE));
                }
            }
            CaState::Loss => {
                self.process_loss(ack);
                self.identify_loss(ack);
                if self.conn.ca_state != CaState::Open && !ack.has(flag::LOST_RETRANS) {
                    return;
                }
                if !self.open_or_recover(ack) {
                    return;
                }
            }
            CaState::Open | CaState::Disorder | CaState::Cwr => {
                if self.conn.ca_state <= CaState::Disorder {
                    self.try_undo_dsack();
                }
                self.identify_loss(ack);
                if !self.open_or_recover(ack) {
                    return;
                }
            }
        }
        ack.resend = Resend::Lost;
    }

    /// `tcp_enter_recovery()`: after a mark there is nothing to undo.
    pub(crate) fn enter_recovery(&mut self, has_mark: bool) {
        self.undo.prior_ssthresh = 0;
        self.init_undo();
        if !self.is_reducing() {
            if !has_mark {
                self.undo.prior_ssthresh = self.current_ssthresh();
            }
            self.init_reduction();
        }
        self.set_ca_state(CaState::Recovery);
    }

    /// `tcp_enter_loss()`.
    pub(crate) fn enter_loss(&mut self) {
        let state = self.conn.ca_state;
        let is_new = state < CaState::Recovery;
        self.mark_timed_out();
        if state <= CaState::Disorder
            || self.high_seq <= self.snd_una
            || (state == CaState::Loss && self.timeouts == 0)
        {
            self.undo.prior_ssthresh = self.current_ssthresh();
            self.conn.prior_cwnd = self.conn.cwnd;
            self.sync();
            self.conn.ssthresh = self.cc.ssthresh(&self.conn);
            self.event(Event::Loss);
            self.init_undo();
        }
        self.conn.cwnd = self.in_flight() + 1;
        self.conn.cwnd_cnt = 0;
        self.usage.cwnd_stamp = self.now;
        if state <= CaState::Disorder && self.board.sacked_out >= REORDERING {
            self.reordering = self.reordering.min(REORDERING);
        }
        self.set_ca_state(CaState::Loss);
        self.high_seq = self.snd_nxt;
        self.tlp_high_seq = None;
        self.queue_cwr();
        self.frto = is_new || self.timeouts > 0;
    }

    /// `tcp_cwnd_reduction()`: PRR with slow start as its reduction bound (RFC 6937, section 3).
    pub(crate) fn reduce_cwnd(&mut self, delivered: u32, newly_lost: u64, is_una_advanced: bool) {
        if delivered == 0 || self.conn.prior_cwnd == 0 {
            return;
        }
        self.prr_delivered += delivered;
        let (ssthresh, in_flight) = (self.conn.ssthresh, self.in_flight());
        let allowed = if ssthresh < in_flight {
            proportional(ssthresh, self.prr_delivered, self.conn.prior_cwnd) - i64::from(self.prr_out)
        } else {
            let catch_up = i64::from(self.prr_delivered) - i64::from(self.prr_out);
            let mut bound = catch_up.max(i64::from(delivered));
            if is_una_advanced && newly_lost == 0 {
                bound += 1;
            }
            bound.min(i64::from(ssthresh - in_flight))
        };
        // The first retransmission of a recovery must go out.
        let allowed = allowed.max(i64::from(self.prr_out == 0));
        self.conn.cwnd = in_flight + u32::try_from(allowed).unwrap_or(0);
    }

    /// `tcp_process_tlp_ack()`.
    pub(crate) fn judge_loss_probe(&mut self, ack: &Ack) {
        let Some(high) = self.tlp_high_seq.filter(|&high| ack.number >= high) else { return };
        let is_repaired = self.tlp_retrans && !ack.has(flag::DSACK_TLP);
        if !is_repaired {
            self.tlp_high_seq = None;
        } else if ack.number > high {
            // The probe repaired a loss: cwnd is reduced once.
            self.init_reduction();
            self.set_ca_state(CaState::Cwr);
            self.end_reduction();
            self.try_keep_open();
        } else if !ack.has(flag::UNA_ADVANCED | flag::NOT_DUP | flag::DATA_SACKED) {
            self.tlp_high_seq = None;
        }
    }

    /// `tcp_try_keep_open()`.
    pub(crate) fn try_keep_open(&mut self) {
        let is_disordered = self.board.sacked_out + self.board.lost_out > 0 || self.board.any_retransmitted();
        let state = if is_disordered { CaState::Disorder } else { CaState::Open };
        if self.conn.ca_state != state {
            self.set_ca_state(state);
            self.high_seq = self.snd_nxt;
        }
    }

    /// The state's end: everything that was out when it began is acknowledged.
    fn leave_state(&mut self) {
        match self.conn.ca_state {
            CaState::Cwr if self.snd_una != self.high_seq => {
                self.end_reduction();
                self.set_ca_state(CaState::Open);
            }
            CaState::Recovery => {
                self.try_undo_recovery();
                self.end_reduction();
            }
            _ => {}
        }
    }

    /// Enters recovery where something is lost; false where nothing is.
    fn open_or_recover(&mut self, ack: &Ack) -> bool {
        if self.board.lost_out == 0 {
            self.try_to_open(ack);
            return false;
        }
        self.enter_recovery(ack.has(flag::ECE));
        true
    }

    /// `tcp_try_to_open()`.
    fn try_to_open(&mut self, ack: &Ack) {
        if !self.board.any_retransmitted() {
            self.undo.retrans_stamp = None;
        }
        if ack.has(flag::ECE) {
            self.enter_cwr();
        }
        if self.conn.ca_state != CaState::Cwr {
            self.try_keep_open();
        }
    }

    /// `tcp_identify_packet_loss()`.
    fn identify_loss(&mut self, ack: &mut Ack) {
        if self.board.is_empty() {
            return;
        }
        let prior = self.board.retrans_out;
        if self.rack_mark_lost() {
            ack.flags &= !flag::SET_TIMER;
        }
        if prior > self.board.retrans_out {
            ack.flags |= flag::LOST_RETRANS;
        }
    }

    /// `tcp_process_loss()`: F-RTO first, then conventional recovery.
    fn process_loss(&mut self, ack: &mut Ack) {
        let is_recovered = self.snd_una >= self.high_seq;
        let is_advanced = ack.has(flag::UNA_ADVANCED);
        if is_advanced && self.try_undo_loss(false) {
            return;
        }
        if self.frto {
            if ack.has(flag::ORIGINAL_SACKED) && self.try_undo_loss(true) {
                return;
            }
            if self.snd_nxt > self.high_seq {
                let is_duplicate = !ack.has(flag::UNA_ADVANCED | flag::NOT_DUP | flag::DSACKING);
                if ack.has(flag::DATA_SACKED) || is_duplicate {
                    self.frto = false;
                }
            } else if is_advanced && !is_recovered {
                self.high_seq = self.snd_nxt;
                if self.queue.write_seq > self.snd_nxt && self.window_end() > self.snd_nxt {
                    ack.resend = Resend::New;
                    return;
                }
                self.frto = false;
            }
        }
        if is_recovered {
            self.try_undo_recovery();
            return;
        }
        ack.resend = Resend::Lost;
    }

    /// `tcp_timeout_mark_lost()`: all but what was sent less than a round trip ago.
    fn mark_timed_out(&mut self) {
        let (first, now_us) = (self.board.first_index(), self.now_us());
        for index in first..self.board.end_index() {
            let Some(segment) = self.board.get(index) else { break };
            let is_recent = index != first && self.rack.remaining_us(now_us, segment.xmit_us, 0) > 0;
            if !is_recent && !segment.has(mark::SACKED) {
                self.board.mark_lost(index);
            }
        }
    }

    /// `tcp_init_cwnd_reduction()`.
    pub(super) fn init_reduction(&mut self) {
        self.high_seq = self.snd_nxt;
        self.tlp_high_seq = None;
        self.conn.cwnd_cnt = 0;
        self.conn.prior_cwnd = self.conn.cwnd;
        (self.prr_delivered, self.prr_out) = (0, 0);
        self.sync();
        self.conn.ssthresh = self.cc.ssthresh(&self.conn);
        self.queue_cwr();
    }

    /// `tcp_end_cwnd_reduction()`.
    fn end_reduction(&mut self) {
        if self.cc.owns_cwnd() {
            return;
        }
        let is_due = self.conn.ca_state == CaState::Cwr || self.undo.marker.is_some();
        if self.conn.ssthresh < INFINITE_SSTHRESH && is_due {
            self.conn.cwnd = self.conn.ssthresh;
            self.usage.cwnd_stamp = self.now;
        }
        self.event(Event::CompleteCwr);
    }
}

/// `ssthresh × delivered / prior_cwnd`, rounded up (RFC 6937, section 3).
fn proportional(ssthresh: u32, delivered: u32, prior_cwnd: u32) -> i64 {
    let share = u64::from(ssthresh) * u64::from(delivered);
    i64::try_from(share.div_ceil(u64::from(prior_cwnd))).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::proportional;

    /// RFC 6937, section 4: a reduction to 70 % lets seven segments out for ten delivered.
    #[test]
    fn prr_sends_in_proportion_to_what_is_delivered() {
        let sent: Vec<i64> = (1..=10).map(|delivered| proportional(14, delivered, 20)).collect();
        assert_eq!(sent, [1, 2, 3, 3, 4, 5, 5, 6, 7, 7]);
    }
}
