//! How BBR acts on what it knows: the pacing rate, and cwnd as a second bound (`bbr_set_pacing_rate`, `bbr_set_cwnd`).

use super::super::{Connection, RateSample};
use super::{BW_SCALE, BW_UNIT, Bbr, CWND_MIN, GAIN_SCALE, HIGH_GAIN, INITIAL_CWND, Mode};
use pipefill_core::tcp_info::CaState;

/// `bbr_pacing_margin_percent`: pace below the estimate by this, so that queues drain.
const PACING_MARGIN_PERCENT: u64 = 1;
/// `bbr_min_tso_rate`, as bytes/s: below it segments leave one by one.
const MIN_TSO_RATE: u64 = 1_200_000 / 8;
/// `sk_pacing_shift`: a super-packet holds about a millisecond (1/1024 s).
const PACING_SHIFT: u32 = 10;
/// `GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER` of a usual x86-64 kernel.
const SUPER_PACKET_MAX: u64 = 65_536 - 1 - 320;
/// Cap of `bbr_tso_segs_goal`, segments.
const SUPER_PACKET_SEGMENTS_MAX: u64 = 0x7f;
/// `bbr_extra_acked_max_us`.
const AGGREGATION_MAX_US: u64 = 100_000;
/// The round trip that is assumed before the first sample.
const NOMINAL_RTT_US: u64 = 1_000;

/// `bbr_rate_bytes_per_sec`: a bandwidth with a gain, less the margin, in bytes/s.
pub(super) fn bytes_per_second(connection: &Connection, bw: u64, gain: u64) -> u64 {
    let rate = bw.saturating_mul(u64::from(connection.mss)).saturating_mul(gain) >> GAIN_SCALE;
    rate.saturating_mul(1_000_000 / 100 * (100 - PACING_MARGIN_PERCENT)) >> BW_SCALE
}

/// `bbr_min_tso_segs`.
pub(super) fn min_tso_segs(connection: &Connection) -> u32 {
    if connection.pacing_rate < MIN_TSO_RATE { 1 } else { 2 }
}

/// `bbr_tso_segs_goal`: segments of a super-packet at the pacing rate.
fn super_packet_segments(connection: &Connection) -> u32 {
    let bytes = (connection.pacing_rate >> PACING_SHIFT).min(SUPER_PACKET_MAX);
    let segments = (bytes / u64::from(connection.mss)).min(SUPER_PACKET_SEGMENTS_MAX);
    u32::try_from(segments).unwrap_or(u32::MAX).max(min_tso_segs(connection))
}

impl Bbr {
    /// `bbr_init_pacing_rate_from_rtt`: the initial window over the round trip, with the high gain.
    pub(super) fn init_pacing_rate(&mut self, connection: &mut Connection) {
        self.has_seen_rtt |= connection.srtt_us > 0;
        let rtt_us = if connection.srtt_us > 0 { u64::from(connection.srtt_us) } else { NOMINAL_RTT_US };
        let bw = u64::from(connection.cwnd) * BW_UNIT / rtt_us;
        connection.pacing_rate = bytes_per_second(connection, bw, HIGH_GAIN).min(connection.max_pacing_rate);
    }

    /// `bbr_set_pacing_rate`: before the pipe is full the rate only grows.
    pub(super) fn set_pacing_rate(&mut self, connection: &mut Connection, bw: u64, gain: u64) {
        let rate = bytes_per_second(connection, bw, gain).min(connection.max_pacing_rate);
        if !self.has_seen_rtt && connection.srtt_us > 0 {
            self.init_pacing_rate(connection);
        }
        if self.full_bw_reached || rate > connection.pacing_rate {
            connection.pacing_rate = rate;
        }
    }

    /// `bbr_inflight`: what should be in flight at `bw` with `gain`, segments.
    pub(super) fn target_in_flight(&self, connection: &Connection, bw: u64, gain: u64) -> u32 {
        self.with_budget(connection, self.bdp(bw, gain))
    }

    /// `bbr_packets_in_net_at_edt`: how much of `in_flight` will be in the network when the next paced packet leaves.
    pub(super) fn in_network_at_departure(&self, connection: &Connection, in_flight: u32) -> u32 {
        let wait = connection.pacing_time.since(connection.now);
        let wait_us = u64::try_from(wait.as_micros()).unwrap_or(u64::MAX);
        let delivered = self.bw().saturating_mul(wait_us) >> BW_SCALE;
        let is_raising = self.pacing_gain > super::GAIN_UNIT;
        let leaving = if is_raising { super_packet_segments(connection) } else { 0 };
        (in_flight + leaving).saturating_sub(u32::try_from(delivered).unwrap_or(u32::MAX))
    }

    /// `bbr_set_cwnd`: grows towards the target as slow start does.
    pub(super) fn set_cwnd(&mut self, connection: &mut Connection, sample: &RateSample, bw: u64) {
        let acked = sample.acked_sacked;
        let mut cwnd = connection.cwnd;
        if acked > 0 {
            cwnd = self.recover_or_restore(connection, sample);
            if !self.packet_conservation {
                cwnd = self.towards_target(connection, cwnd, acked, bw);
            }
        }
        connection.cwnd = cwnd.min(connection.cwnd_clamp);
        if self.mode == Mode::ProbeRtt {
            connection.cwnd = connection.cwnd.min(CWND_MIN);
        }
    }

    fn towards_target(&self, connection: &Connection, cwnd: u32, acked: u32, bw: u64) -> u32 {
        let target = self.bdp(bw, self.cwnd_gain).saturating_add(self.aggregation_cwnd(bw));
        let target = self.with_budget(connection, target);
        let grown = cwnd.saturating_add(acked);
        let cwnd = if self.full_bw_reached {
            grown.min(target)
        } else if cwnd < target || connection.delivered < u64::from(INITIAL_CWND) {
            grown
        } else {
            cwnd
        };
        cwnd.max(CWND_MIN)
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: in the first round of a recovery as many packets leave as arrive; after it the old
    /// cwnd returns.
    fn recover_or_restore(&mut self, connection: &Connection, sample: &RateSample) -> u32 {
        let conserved = connection.in_flight + sample.acked_sacked;
        let mut cwnd = connection.cwnd;
        if sample.losses > 0 {
            cwnd = cwnd.saturating_sub(sample.losses).max(1);
        }
        let (before, state) = (self.prev_ca_state, connection.ca_state);
        if state == CaState::Recovery && before != CaState::Recovery {
            self.packet_conservation = true;
            self.next_round_delivered = connection.delivered;
            cwnd = conserved;
        } else if before >= CaState::Recovery && state < CaState::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.prev_ca_state = state;
        if self.packet_conservation { cwnd.max(conserved) } else { cwnd }
    }

    /// `bbr_bdp`, segments, rounded up.
    fn bdp(&self, bw: u64, gain: u64) -> u32 {
        if self.min_rtt_us == u32::MAX {
            return INITIAL_CWND;
        }
        let product = u128::from(bw) * u128::from(self.min_rtt_us) * u128::from(gain);
        let segments = (product >> GAIN_SCALE).div_ceil(u128::from(BW_UNIT));
        u32::try_from(segments).unwrap_or(u32::MAX)
    }

    /// `bbr_quantization_budget`: room for super-packets at both ends, for ACKs of every other segment, and for the probe.
    fn with_budget(&self, connection: &Connection, cwnd: u32) -> u32 {
        let cwnd = cwnd.saturating_add(3 * super_packet_segments(connection));
        let even = cwnd.saturating_add(1) & !1;
        let is_probing = self.mode == Mode::ProbeBw && self.cycle_index == 0;
        even.saturating_add(if is_probing { 2 } else { 0 })
    }

    /// `bbr_ack_aggregation_cwnd`, segments; at most what the path carries in 100 ms.
    fn aggregation_cwnd(&self, bw: u64) -> u32 {
        if !self.full_bw_reached {
            return 0;
        }
        let most = bw.saturating_mul(AGGREGATION_MAX_US) / BW_UNIT;
        self.aggregation.excess().min(u32::try_from(most).unwrap_or(u32::MAX))
    }
}
