//! What BBR knows of the path: its rate, its round trip, and in which mode that puts it (`bbr_update_model`).

use super::super::{Connection, RateSample, jiffies};
use super::long_term::Finding;
use super::{
    BW_UNIT, Bbr, CWND_GAIN, CWND_MIN, CYCLE_GAINS, DRAIN_GAIN, GAIN_SCALE, GAIN_UNIT, HIGH_GAIN, Mode,
};

/// `bbr_bw_rtts`: window of the maximum, in round trips.
const BW_WINDOW: u32 = 10;
/// `bbr_min_rtt_win_sec`, in jiffies.
const MIN_RTT_WINDOW: u64 = 10_000;
/// `bbr_probe_rtt_mode_ms`, in jiffies.
const PROBE_RTT_TIME: u64 = 200;
/// `bbr_full_bw_thresh`: a rate that grows less in a round trip has not grown.
const FULL_BW_THRESHOLD: u64 = GAIN_UNIT * 5 / 4;
/// `bbr_full_bw_cnt`.
const FULL_BW_ROUNDS: u32 = 3;

impl Bbr {
    /// `bbr_update_model`.
    pub(super) fn update_model(&mut self, connection: &mut Connection, sample: &RateSample) {
        self.update_bw(connection, sample);
        self.aggregation.update(connection, sample, self.round_start, self.bw());
        if self.mode == Mode::ProbeBw && self.is_phase_over(connection, sample) {
            self.advance_cycle(connection);
        }
        self.check_full_bw(sample);
        self.check_drain(connection);
        self.update_min_rtt(connection, sample);
        self.update_gains();
    }

    /// `bbr_lt_bw_sampling`.
    pub(super) fn sample_long_term(&mut self, connection: &Connection, sample: &RateSample) {
        match self.long_term.sample(connection, sample, self.round_start, self.mode == Mode::ProbeBw) {
            Finding::Nothing => {}
            Finding::Policed => self.pacing_gain = GAIN_UNIT,
            Finding::Expired => self.enter_probe_bw(connection),
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn check_probe_rtt_done(&mut self, connection: &mut Connection) {
        let now = jiffies(connection.now);
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt_stamp = now;
        connection.cwnd = connection.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.enter_probe_bw(connection);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// `bbr_update_bw`.
    fn update_bw(&mut self, connection: &Connection, sample: &RateSample) {
        self.round_start = false;
        let Some(delivered) = sample.delivered else { return };
        if sample.interval_us == 0 {
            return;
        }
        if sample.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = connection.delivered;
            self.round_count += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_long_term(connection, sample);
        let bw = delivered * BW_UNIT / sample.interval_us;
        // A sample of an idle application counts only where it is no lower than what is known.
        if !sample.is_app_limited || bw >= self.max_bw.get() {
            self.max_bw.update(BW_WINDOW, self.round_count, bw);
        }
    }

    /// `bbr_is_next_cycle_phase`.
    fn is_phase_over(&self, connection: &Connection, sample: &RateSample) -> bool {
        let phase_us = connection.delivered_time.micros().saturating_sub(self.cycle_start.micros());
        let is_full_length = phase_us > u64::from(self.min_rtt_us);
        if self.pacing_gain == GAIN_UNIT {
            return is_full_length;
        }
        let in_flight = self.in_network_at_departure(connection, sample.prior_in_flight);
        let bw = self.max_bw.get();
        if self.pacing_gain > GAIN_UNIT {
            // Probe until the flight is as large as was wanted, or until that doesn't fit.
            let is_reached = in_flight >= self.target_in_flight(connection, bw, self.pacing_gain);
            return is_full_length && (sample.losses > 0 || is_reached);
        }
        is_full_length || in_flight <= self.target_in_flight(connection, bw, GAIN_UNIT)
    }

    /// `bbr_check_full_bw_reached`.
    fn check_full_bw(&mut self, sample: &RateSample) {
        if self.full_bw_reached || !self.round_start || sample.is_app_limited {
            return;
        }
        let max_bw = self.max_bw.get();
        if max_bw >= (self.full_bw * FULL_BW_THRESHOLD) >> GAIN_SCALE {
            self.full_bw = max_bw;
            self.full_bw_rounds = 0;
            return;
        }
        self.full_bw_rounds += 1;
        self.full_bw_reached = self.full_bw_rounds >= FULL_BW_ROUNDS;
    }

    /// `bbr_check_drain`.
    fn check_drain(&mut self, connection: &mut Connection) {
        let target = |bbr: &Self, connection: &Connection| {
            bbr.target_in_flight(connection, bbr.max_bw.get(), GAIN_UNIT)
        };
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            connection.ssthresh = target(self, connection);
        }
        if self.mode == Mode::Drain {
            let in_flight = self.in_network_at_departure(connection, connection.in_flight);
            if in_flight <= target(self, connection) {
                self.enter_probe_bw(connection);
            }
        }
    }

    /// `bbr_update_min_rtt`.
    fn update_min_rtt(&mut self, connection: &mut Connection, sample: &RateSample) {
        let now = jiffies(connection.now);
        let is_expired = now > self.min_rtt_stamp + MIN_RTT_WINDOW;
        if let Some(rtt_us) = sample.rtt_us
            && (rtt_us < self.min_rtt_us || (is_expired && !sample.is_ack_delayed))
        {
            self.min_rtt_us = rtt_us;
            self.min_rtt_stamp = now;
        }
        if is_expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(connection);
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(connection, now);
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    /// Stays at the least flight for 200 ms and one round trip; rates seen meanwhile don't count.
    fn probe_rtt(&mut self, connection: &mut Connection, now: u64) {
        connection.mark_app_limited = true;
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(connection);
            }
        } else if connection.in_flight <= CWND_MIN {
            self.probe_rtt_done = Some(now + PROBE_RTT_TIME);
            self.probe_rtt_round_done = false;
            self.next_round_delivered = connection.delivered;
        }
    }

    /// `bbr_update_gains`.
    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.long_term.bw_in_use().is_some() => (GAIN_UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE_GAINS[self.cycle_index], CWND_GAIN),
            Mode::ProbeRtt => (GAIN_UNIT, GAIN_UNIT),
        };
    }
}
