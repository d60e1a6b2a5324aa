//! HyStart: leaves slow start before the queue overflows (Ha and Rhee, 2008; `net/ipv4/tcp_cubic.c`, `hystart_update`).
//!
//! Two signs, whichever comes first: a train of closely spaced ACKs as long as the path's delay, and a round trip that has grown over
//! eight ACKs of a round.

use super::Connection;

/// `hystart_low_window`, segments: below it the signs are not looked at.
const LOW_WINDOW: u32 = 16;
/// `hystart_ack_delta_us`: ACKs not further apart belong to one train.
const ACK_SPACING_US: u64 = 2_000;
/// `HYSTART_MIN_SAMPLES`.
const MIN_SAMPLES: u8 = 8;
/// `HYSTART_DELAY_MIN`.
const DELAY_MIN_US: u32 = 4_000;
/// `HYSTART_DELAY_MAX`.
const DELAY_MAX_US: u32 = 16_000;
/// `USEC_PER_MSEC`: cap of [`burst_us`].
const BURST_MAX_US: u64 = 1_000;

/// The signs of one round (the fields of `struct bictcp` from `sample_cnt` on).
#[derive(Debug, Default)]
pub(super) struct Hystart {
    found: bool,
    sample_count: u8,
    round_start_us: u64,
    /// Last time at which ACKs were closely spaced.
    last_ack_us: u64,
    end_seq: u64,
    round_min_rtt_us: u32,
}

impl Hystart {
    /// `bictcp_hystart_reset`: a new round begins.
    pub(super) fn start_round(&mut self, connection: &Connection) {
        self.round_start_us = connection.now.micros();
        self.last_ack_us = self.round_start_us;
        self.end_seq = connection.snd_nxt;
        self.round_min_rtt_us = u32::MAX;
        self.sample_count = 0;
    }

    /// After a timeout the search begins again (`bictcp_reset`).
    pub(super) fn forget(&mut self, connection: &Connection) {
        self.found = false;
        self.start_round(connection);
    }

    /// `hystart_update`: an ACK in slow start with the round trip `rtt_us`; `delay_min_us` is the path's own. Sets ssthresh to cwnd
    /// where slow start should end.
    pub(super) fn update(&mut self, connection: &mut Connection, rtt_us: u32, delay_min_us: u32) {
        if self.found {
            return;
        }
        if connection.snd_una > self.end_seq {
            self.start_round(connection);
        }
        if connection.cwnd < LOW_WINDOW {
            return;
        }
        // Both signs are looked at: the second keeps its own samples.
        let is_train = self.is_train_as_long_as_the_path(connection, delay_min_us);
        let has_grown = self.has_delay_grown(rtt_us, delay_min_us);
        if is_train || has_grown {
            self.found = true;
            connection.ssthresh = connection.cwnd;
        }
    }

    fn is_train_as_long_as_the_path(&mut self, connection: &Connection, delay_min_us: u32) -> bool {
        let now_us = connection.now.micros();
        if now_us - self.last_ack_us > ACK_SPACING_US {
            return false;
        }
        self.last_ack_us = now_us;
        let path_us = u64::from(delay_min_us) + burst_us(connection);
        // Pacing may have spread the packets over half of the round trip already.
        let threshold_us = if connection.needs_pacing { path_us } else { path_us / 2 };
        now_us - self.round_start_us > threshold_us
    }

    fn has_delay_grown(&mut self, rtt_us: u32, delay_min_us: u32) -> bool {
        self.round_min_rtt_us = self.round_min_rtt_us.min(rtt_us);
        if self.sample_count < MIN_SAMPLES {
            self.sample_count += 1;
            return false;
        }
        self.round_min_rtt_us > delay_min_us + (delay_min_us / 8).clamp(DELAY_MIN_US, DELAY_MAX_US)
    }
}

/// `hystart_ack_delay`: the time that four super-packets take at the pacing rate, at most a millisecond, because ACKs come in
/// such bursts.
fn burst_us(connection: &Connection) -> u64 {
    let bytes_us = u64::from(connection.gso_max_bytes) * 4 * 1_000_000;
    bytes_us.checked_div(connection.pacing_rate).map_or(0, |us| us.min(BURST_MAX_US))
}
