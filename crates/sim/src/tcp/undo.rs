//! Taking a reduction back where it turns out that nothing was lost: by D-SACK or by timestamp (Eifel, RFC 3522, RFC 4015;
//! `tcp_undo_cwnd_reduction()`).
//!
//! Never: an undo on suspicion; either every retransmission is reported as a duplicate, or an original answered.

use super::rack::PERSIST;
use super::sender::Sender;
use pipefill_core::tcp_info::CaState;

impl Sender {
    /// `tcp_init_undo()`.
    pub(crate) fn init_undo(&mut self) {
        self.undo.marker = Some(self.snd_una);
        let probe = i64::from(self.tlp_high_seq.is_some() && self.tlp_retrans);
        let out = i64::from(self.board.retrans_out) + probe;
        // 0 would mean "all of them were duplicates".
        self.undo.retrans = if out == 0 { -1 } else { out };
    }

    /// `tcp_try_undo_recovery()`.
    pub(crate) fn try_undo_recovery(&mut self) {
        if self.may_undo() {
            self.undo_reduction(false);
        } else {
            self.rack.persist = self.rack.persist.saturating_sub(1);
        }
        self.set_ca_state(CaState::Open);
    }

    /// `tcp_try_undo_dsack()`.
    pub(crate) fn try_undo_dsack(&mut self) -> bool {
        let is_undone = self.undo.marker.is_some() && self.undo.retrans == 0;
        if is_undone {
            self.rack.persist = (self.rack.persist + 1).min(PERSIST);
            self.undo_reduction(false);
        }
        is_undone
    }

    /// `tcp_try_undo_partial()`: true where nothing more shall be marked lost for now.
    pub(crate) fn try_undo_partial(&mut self, prior_una: u64) -> bool {
        if self.undo.marker.is_none() || !self.is_echo_of_original() {
            return false;
        }
        self.note_reordering(prior_una);
        if self.board.retrans_out > 0 {
            return true;
        }
        if !self.board.any_retransmitted() {
            self.undo.retrans_stamp = None;
        }
        self.undo_reduction(true);
        self.try_keep_open();
        false
    }

    /// `tcp_try_undo_loss()`.
    pub(crate) fn try_undo_loss(&mut self, is_frto: bool) -> bool {
        let is_undone = is_frto || self.may_undo();
        if is_undone {
            self.undo_reduction(true);
            self.timeouts = 0;
            self.set_ca_state(CaState::Open);
        }
        is_undone
    }

    /// `tcp_may_undo()`.
    fn may_undo(&self) -> bool {
        self.undo.marker.is_some() && (self.undo.retrans == 0 || self.is_echo_of_original())
    }

    /// `tcp_packet_delayed()`: the timestamp echoed is older than the first retransmission.
    fn is_echo_of_original(&self) -> bool {
        self.host.timestamps && self.undo.retrans_stamp.is_some_and(|stamp| self.ts_echo < stamp)
    }

    /// `tcp_tsopt_ecr_before()`: the timestamp echoed is older than a transmission, so that it answers an earlier one.
    pub(crate) fn is_echo_before(&self, xmit_us: u64) -> bool {
        self.host.timestamps && u64::from(self.ts_echo) < xmit_us / 1000
    }

    /// `tcp_undo_cwnd_reduction()`.
    fn undo_reduction(&mut self, unmark: bool) {
        if unmark {
            self.board.unmark_losses();
        }
        if self.undo.prior_ssthresh > 0 {
            self.sync();
            self.conn.cwnd = self.cc.undo_cwnd(&self.conn);
            if self.undo.prior_ssthresh > self.conn.ssthresh {
                self.conn.ssthresh = self.undo.prior_ssthresh;
                self.withdraw_cwr();
            }
        }
        self.usage.cwnd_stamp = self.now;
        self.undo.marker = None;
        self.rack.advanced = true;
    }
}
