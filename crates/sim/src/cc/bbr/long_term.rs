//! The long-term rate, to find token-bucket policers (`bbr_lt_bw_sampling`; Flach et al., SIGCOMM 2016).
//!
//! Two consecutive intervals that lose a fifth and deliver at the same rate are taken for a policer; its rate is used for 48 round
//! trips. Never: a rate from an interval in which the application had nothing to send.

use super::super::{Connection, RateSample};
use super::{BW_UNIT, GAIN_SCALE, GAIN_UNIT, control};

/// `bbr_lt_intvl_min_rtts`.
const INTERVAL_MIN_ROUNDS: u32 = 4;
/// `bbr_lt_loss_thresh`: 50/256 of the delivered.
const LOSS_THRESHOLD: u64 = 50;
/// `bbr_lt_bw_ratio`: two rates within an eighth are the same.
const SAME_RATIO: u64 = GAIN_UNIT / 8;
/// `bbr_lt_bw_diff`: and so are two within 4 kbit/s; bytes/s.
const SAME_DIFFERENCE: u64 = 4000 / 8;
/// `bbr_lt_bw_max_rtts`.
const USE_ROUNDS: u32 = 48;

/// What an ACK told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nothing new.
    Nothing,
    /// A policer: its rate is in use from now on.
    Policed,
    /// The rate was in use for long enough: probe again.
    Expired,
}

/// The `lt_` fields of `struct bbr`.
#[derive(Debug, Default)]
pub(super) struct LongTerm {
    is_sampling: bool,
    is_in_use: bool,
    /// `lt_rtt_cnt`.
    rounds: u32,
    /// `lt_bw`; 0 = none.
    bw: u64,
    last_delivered: u64,
    last_lost: u64,
    last_ms: u64,
}

impl LongTerm {
    /// The policer's rate while it is in use (`lt_use_bw`).
    pub(super) fn bw_in_use(&self) -> Option<u64> {
        self.is_in_use.then_some(self.bw)
    }

    /// `bbr_reset_lt_bw_sampling`.
    pub(super) fn reset(&mut self, connection: &Connection) {
        self.bw = 0;
        self.is_in_use = false;
        self.is_sampling = false;
        self.start_interval(connection);
    }

    /// `bbr_lt_bw_sampling`.
    pub(super) fn sample(
        &mut self,
        connection: &Connection,
        sample: &RateSample,
        is_round_start: bool,
        is_probing_bw: bool,
    ) -> Finding {
        if self.is_in_use {
            return self.age(connection, is_round_start && is_probing_bw);
        }
        if !self.is_sampling {
            // The first loss tells that the policer's tokens are spent.
            if sample.losses == 0 {
                return Finding::Nothing;
            }
            self.start_interval(connection);
            self.is_sampling = true;
        }
        if sample.is_app_limited {
            self.reset(connection);
            return Finding::Nothing;
        }
        self.rounds += u32::from(is_round_start);
        if self.rounds > 4 * INTERVAL_MIN_ROUNDS {
            self.reset(connection);
        } else if self.rounds >= INTERVAL_MIN_ROUNDS && sample.losses > 0 {
            return self.end_interval(connection);
        }
        Finding::Nothing
    }

    fn age(&mut self, connection: &Connection, is_round_start: bool) -> Finding {
        self.rounds += u32::from(is_round_start);
        if !is_round_start || self.rounds < USE_ROUNDS {
            return Finding::Nothing;
        }
        self.reset(connection);
        Finding::Expired
    }

    /// `bbr_reset_lt_bw_sampling_interval`.
    fn start_interval(&mut self, connection: &Connection) {
        self.last_ms = connection.delivered_time.micros() / 1_000;
        self.last_delivered = connection.delivered;
        self.last_lost = connection.lost;
        self.rounds = 0;
    }

    fn end_interval(&mut self, connection: &Connection) -> Finding {
        let lost = connection.lost - self.last_lost;
        let delivered = connection.delivered - self.last_delivered;
        if delivered == 0 || (lost << GAIN_SCALE) < LOSS_THRESHOLD * delivered {
            return Finding::Nothing;
        }
        let ms = (connection.delivered_time.micros() / 1_000).saturating_sub(self.last_ms);
        if ms == 0 {
            return Finding::Nothing;
        }
        if ms >= u64::from(u32::MAX) / 1_000 {
            self.reset(connection);
            return Finding::Nothing;
        }
        self.judge(connection, delivered * BW_UNIT / (ms * 1_000))
    }

    /// `bbr_lt_bw_interval_done`.
    fn judge(&mut self, connection: &Connection, bw: u64) -> Finding {
        let difference = bw.abs_diff(self.bw);
        let is_same = difference * GAIN_UNIT <= SAME_RATIO * self.bw
            || control::bytes_per_second(connection, difference, GAIN_UNIT) <= SAME_DIFFERENCE;
        if self.bw > 0 && is_same {
            self.bw = u64::midpoint(bw, self.bw);
            self.is_in_use = true;
            self.rounds = 0;
            return Finding::Policed;
        }
        self.bw = bw;
        self.start_interval(connection);
        Finding::Nothing
    }
}
