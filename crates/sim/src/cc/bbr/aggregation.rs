//! How much more than expected a burst of ACKs can acknowledge (`bbr_update_ack_aggregation`).
//!
//! BBR adds it to cwnd, so that silences between bursts of ACKs don't stop the sender.

use super::super::{Connection, RateSample};
use super::BW_UNIT;
use pipefill_core::units::Time;

/// `bbr_extra_acked_win_rtts`: half of the window, in round trips.
const HALF_WINDOW: u32 = 5;
/// `bbr_ack_epoch_acked_reset_thresh`, segments.
const EPOCH_MAX: u32 = 1 << 20;

/// The fields of `struct bbr` from `ack_epoch_mstamp` on.
#[derive(Debug, Default)]
pub(super) struct Aggregation {
    /// Largest excess of the current and the last half window.
    excess: [u32; 2],
    current: usize,
    half_window_rounds: u32,
    epoch_start: Time,
    epoch_acked: u32,
}

impl Aggregation {
    /// A new epoch at `now`.
    pub(super) fn restart(&mut self, now: Time) {
        self.epoch_start = now;
        self.epoch_acked = 0;
    }

    /// `bbr_extra_acked`, segments.
    pub(super) fn excess(&self) -> u32 {
        self.excess[0].max(self.excess[1])
    }

    /// `bbr_update_ack_aggregation`.
    pub(super) fn update(
        &mut self,
        connection: &Connection,
        sample: &RateSample,
        is_round_start: bool,
        bw: u64,
    ) {
        if sample.acked_sacked == 0 || sample.delivered.is_none() || sample.interval_us == 0 {
            return;
        }
        if is_round_start {
            self.age();
        }
        let epoch_us = connection.delivered_time.micros().saturating_sub(self.epoch_start.micros());
        let mut expected = bw * epoch_us / BW_UNIT;
        let is_below = u64::from(self.epoch_acked) <= expected;
        if is_below || self.epoch_acked + sample.acked_sacked >= EPOCH_MAX {
            self.restart(connection.delivered_time);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + sample.acked_sacked).min(EPOCH_MAX - 1);
        let excess = u64::from(self.epoch_acked).saturating_sub(expected);
        let excess = u32::try_from(excess).unwrap_or(u32::MAX).min(connection.cwnd);
        self.excess[self.current] = self.excess[self.current].max(excess);
    }

    fn age(&mut self) {
        self.half_window_rounds += 1;
        if self.half_window_rounds >= HALF_WINDOW {
            self.half_window_rounds = 0;
            self.current = 1 - self.current;
            self.excess[self.current] = 0;
        }
    }
}
