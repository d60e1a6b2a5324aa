//! BBR, version 1, as Linux has it (`net/ipv4/tcp_bbr.c`; Cardwell et al., "BBR: Congestion-Based Congestion Control", 2016).
//!
//! [`model`] learns the path's rate and round trip from ACKs, [`control`] sets the pacing rate and cwnd by them.

mod aggregation;
mod control;
mod long_term;
mod model;

use super::win_max::WinMax;
use super::{AckSample, CongestionControl, Connection, Event, INFINITE_SSTHRESH, RateSample, jiffies};
use aggregation::Aggregation;
use long_term::LongTerm;
use pipefill_core::prng::Prng;
use pipefill_core::tcp_info::CaState;
use pipefill_core::units::{Seed, Time};

/// `BW_SCALE`: bandwidths are packets per microsecond, shifted by this.
const BW_SCALE: u32 = 24;
/// `BW_UNIT`.
const BW_UNIT: u64 = 1 << BW_SCALE;
/// `BBR_SCALE`: gains are shifted by this.
const GAIN_SCALE: u32 = 8;
/// `BBR_UNIT`: a gain of one.
const GAIN_UNIT: u64 = 1 << GAIN_SCALE;
/// `bbr_high_gain`: 2 / ln 2, the least that doubles the rate each round trip.
const HIGH_GAIN: u64 = GAIN_UNIT * 2885 / 1000 + 1;
/// `bbr_drain_gain`.
const DRAIN_GAIN: u64 = GAIN_UNIT * 1000 / 2885;
/// `bbr_cwnd_gain`.
const CWND_GAIN: u64 = GAIN_UNIT * 2;
/// `CYCLE_LEN`.
const CYCLE_LEN: usize = 8;
/// `bbr_pacing_gain`: probe for more, drain what the probe queued, cruise.
const CYCLE_GAINS: [u64; CYCLE_LEN] =
    [GAIN_UNIT * 5 / 4, GAIN_UNIT * 3 / 4, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT];
/// `bbr_cycle_rand`: phases among which the first is drawn.
const CYCLE_RANDOM: u64 = 7;
/// `bbr_cwnd_min_target`, segments.
const CWND_MIN: u32 = 4;
/// `TCP_INIT_CWND`, segments.
const INITIAL_CWND: u32 = 10;

/// `enum bbr_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Ramp up until the pipe is full.
    Startup,
    /// Drain the queue that Startup made.
    Drain,
    /// Cycle the pacing gain around one.
    ProbeBw,
    /// Cut the flight to see the path's own delay.
    ProbeRtt,
}

/// `struct bbr`.
#[derive(Debug)]
pub(super) struct Bbr {
    chance: Prng,
    mode: Mode,
    /// `u32::MAX` = none yet.
    min_rtt_us: u32,
    /// `min_rtt_stamp`, jiffies.
    min_rtt_stamp: u64,
    /// `probe_rtt_done_stamp`, jiffies.
    probe_rtt_done: Option<u64>,
    probe_rtt_round_done: bool,
    max_bw: WinMax,
    /// `rtt_cnt`: packet-timed round trips.
    round_count: u32,
    /// `next_rtt_delivered`.
    next_round_delivered: u64,
    round_start: bool,
    cycle_start: Time,
    cycle_index: usize,
    prev_ca_state: CaState,
    packet_conservation: bool,
    idle_restart: bool,
    has_seen_rtt: bool,
    pacing_gain: u64,
    cwnd_gain: u64,
    full_bw: u64,
    full_bw_rounds: u32,
    full_bw_reached: bool,
    prior_cwnd: u32,
    long_term: LongTerm,
    aggregation: Aggregation,
}

impl Bbr {
    /// A flow whose first phase of the gain cycle comes from `seed`.
    pub(super) fn new(seed: Seed) -> Self {
        Self {
            chance: Prng::stream(seed, "bbr"),
            mode: Mode::Startup,
            min_rtt_us: u32::MAX,
            min_rtt_stamp: 0,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            max_bw: WinMax::default(),
            round_count: 0,
            next_round_delivered: 0,
            round_start: false,
            cycle_start: Time::ZERO,
            cycle_index: 0,
            prev_ca_state: CaState::Open,
            packet_conservation: false,
            idle_restart: false,
            has_seen_rtt: false,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            full_bw: 0,
            full_bw_rounds: 0,
            full_bw_reached: false,
            prior_cwnd: 0,
            long_term: LongTerm::default(),
            aggregation: Aggregation::default(),
        }
    }

    /// `bbr_bw`: the estimate in force.
    fn bw(&self) -> u64 {
        self.long_term.bw_in_use().unwrap_or_else(|| self.max_bw.get())
    }

    /// `bbr_save_cwnd`: the last good cwnd, to restore after a recovery or PROBE_RTT.
    fn save_cwnd(&mut self, connection: &Connection) {
        let is_good = self.prev_ca_state < CaState::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if is_good { connection.cwnd } else { self.prior_cwnd.max(connection.cwnd) };
    }

    /// `bbr_reset_probe_bw_mode`.
    fn enter_probe_bw(&mut self, connection: &Connection) {
        self.mode = Mode::ProbeBw;
        let back = usize::try_from(self.chance.below(CYCLE_RANDOM)).unwrap_or(0);
        self.cycle_index = CYCLE_LEN - 1 - back;
        self.advance_cycle(connection);
    }

    /// `bbr_advance_cycle_phase`.
    fn advance_cycle(&mut self, connection: &Connection) {
        self.cycle_index = (self.cycle_index + 1) % CYCLE_LEN;
        self.cycle_start = connection.delivered_time;
    }
}

impl CongestionControl for Bbr {
    fn name(&self) -> &'static str {
        "bbr"
    }

    /// `bbr_init`.
    fn init(&mut self, connection: &mut Connection) {
        connection.ssthresh = INFINITE_SSTHRESH;
        self.min_rtt_us = connection.min_rtt_us;
        self.min_rtt_stamp = jiffies(connection.now);
        self.init_pacing_rate(connection);
        self.long_term.reset(connection);
        self.aggregation.restart(connection.now);
        connection.needs_pacing = true;
    }

    /// `bbr_ssthresh`: a recovery begins.
    fn ssthresh(&mut self, connection: &Connection) -> u32 {
        self.save_cwnd(connection);
        connection.ssthresh
    }

    fn cong_avoid(&mut self, _connection: &mut Connection, _acked: u32) {}

    fn owns_cwnd(&self) -> bool {
        true
    }

    /// `bbr_main`.
    fn cong_control(&mut self, connection: &mut Connection, sample: &RateSample) {
        self.update_model(connection, sample);
        let bw = self.bw();
        self.set_pacing_rate(connection, bw, self.pacing_gain);
        self.set_cwnd(connection, sample, bw);
    }

    /// `bbr_set_state`.
    fn set_state(&mut self, connection: &mut Connection, state: CaState) {
        if state == CaState::Loss {
            self.prev_ca_state = CaState::Loss;
            self.full_bw = 0;
            self.round_start = true;
            self.sample_long_term(connection, &RateSample { losses: 1, ..RateSample::default() });
        }
    }

    /// `bbr_cwnd_event`: after an idle time, start at the estimated rate and not above.
    fn cwnd_event(&mut self, connection: &mut Connection, event: Event) {
        if event != Event::TxStart || !connection.app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(connection.now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(connection, self.bw(), GAIN_UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(connection),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn pkts_acked(&mut self, _connection: &mut Connection, _sample: &AckSample) {}

    /// `bbr_undo_cwnd`: the slow-down was spurious, so is what was learnt of a full pipe.
    fn undo_cwnd(&mut self, connection: &Connection) -> u32 {
        self.full_bw = 0;
        self.full_bw_rounds = 0;
        self.long_term.reset(connection);
        connection.cwnd
    }

    /// `bbr_min_tso_segs`.
    fn min_tso_segs(&self, connection: &Connection) -> u32 {
        control::min_tso_segs(connection)
    }

    /// `bbr_sndbuf_expand`.
    fn sndbuf_expand(&self) -> u32 {
        3
    }
}

#[cfg(test)]
mod tests;
