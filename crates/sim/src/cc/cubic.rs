//! CUBIC in the kernel's integer arithmetic (RFC 9438; `net/ipv4/tcp_cubic.c`).
//!
//! Times are jiffies of a kernel with HZ = 1000, cwnd is in segments, beta is 717/1024, C is 410/1024. Never: a float.

use super::hystart::Hystart;
use super::reno::{additive_increase, slow_start, undo_cwnd};
use super::{AckSample, CongestionControl, Connection, Event, RateSample, jiffies};
use pipefill_core::tcp_info::CaState;

/// `BICTCP_BETA_SCALE`.
const BETA_SCALE: u32 = 1024;
/// `beta`: 0.7 of the window stays after a loss (RFC 9438, section 4.6).
const BETA: u32 = 717;
/// `BICTCP_HZ`: the cubic function counts time in 2^-10 seconds.
const TIME_SHIFT: u32 = 10;
/// `HZ`.
const HZ: u64 = 1000;
/// `bic_scale × 10`: C = 0.4 in units of 1/1024 (RFC 9438, section 5.1).
const CUBE_RTT_SCALE: u64 = 410;
/// `cube_factor`: 2^40 / C.
const CUBE_FACTOR: u64 = (1 << (10 + 3 * TIME_SHIFT)) / CUBE_RTT_SCALE;
/// `beta_scale`: 8 × 3 × (1 + beta) / (3 × (1 − beta)), for the Reno-friendly region.
const FRIENDLY_SCALE: u32 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// While no loss has been seen, cwnd grows by 5 % a round trip at least.
const FIRST_EPOCH_COUNT: u32 = 20;
/// cwnd grows by a half a round trip at most.
const LEAST_COUNT: u32 = 2;

/// `struct bictcp`.
#[derive(Debug, Default)]
pub(super) struct Cubic {
    curve: Curve,
    hystart: Hystart,
}

/// The part that a timeout forgets (`bictcp_reset`).
#[derive(Debug, Default)]
struct Curve {
    /// `cnt`: acknowledged segments per segment of growth.
    count: u32,
    /// `last_max_cwnd`: W_max.
    last_max_cwnd: u32,
    last_cwnd: u32,
    last_jiffies: u64,
    /// `bic_origin_point`.
    origin: u32,
    /// `bic_K`, in 2^-10 s.
    k: u64,
    /// `delay_min`; 0 = none yet.
    delay_min_us: u32,
    /// `epoch_start`, jiffies.
    epoch_start: Option<u64>,
    /// `ack_cnt`.
    ack_count: u32,
    /// `tcp_cwnd`: what Reno would have (RFC 9438, section 4.3).
    friendly_cwnd: u32,
}

impl CongestionControl for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }

    /// `cubictcp_init`.
    fn init(&mut self, connection: &mut Connection) {
        *self = Self::default();
        self.hystart.start_round(connection);
    }

    /// `cubictcp_recalc_ssthresh`, with fast convergence (RFC 9438, section 4.7).
    fn ssthresh(&mut self, connection: &Connection) -> u32 {
        let cwnd = connection.cwnd;
        self.curve.epoch_start = None;
        self.curve.last_max_cwnd = if cwnd < self.curve.last_max_cwnd {
            cwnd.saturating_mul(BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        (cwnd.saturating_mul(BETA) / BETA_SCALE).max(2)
    }

    /// `cubictcp_cong_avoid`.
    fn cong_avoid(&mut self, connection: &mut Connection, acked: u32) {
        if !connection.is_cwnd_limited {
            return;
        }
        let rest = slow_start(connection, acked);
        if rest > 0 {
            self.curve.update(connection.cwnd, rest, jiffies(connection.now));
            additive_increase(connection, self.curve.count, rest);
        }
    }

    fn owns_cwnd(&self) -> bool {
        false
    }

    fn cong_control(&mut self, _connection: &mut Connection, _sample: &RateSample) {}

    /// `cubictcp_state`.
    fn set_state(&mut self, connection: &mut Connection, state: CaState) {
        if state == CaState::Loss {
            self.curve = Curve::default();
            self.hystart.forget(connection);
        }
    }

    /// `cubictcp_cwnd_event`: idle time does not count on the curve.
    fn cwnd_event(&mut self, connection: &mut Connection, event: Event) {
        if event == Event::TxStart {
            let now = jiffies(connection.now);
            let idle = now.saturating_sub(jiffies(connection.last_send));
            self.curve.epoch_start = self.curve.epoch_start.map(|start| (start + idle).min(now));
        }
    }

    /// `cubictcp_acked`.
    fn pkts_acked(&mut self, connection: &mut Connection, sample: &AckSample) {
        let Some(rtt_us) = sample.rtt_us else { return };
        let now = jiffies(connection.now);
        // Right after a recovery the round trip is not the path's.
        if self.curve.epoch_start.is_some_and(|start| now.saturating_sub(start) < HZ) {
            return;
        }
        let rtt_us = rtt_us.max(1);
        if self.curve.delay_min_us == 0 || self.curve.delay_min_us > rtt_us {
            self.curve.delay_min_us = rtt_us;
        }
        if connection.cwnd < connection.ssthresh {
            self.hystart.update(connection, rtt_us, self.curve.delay_min_us);
        }
    }

    fn undo_cwnd(&mut self, connection: &Connection) -> u32 {
        undo_cwnd(connection)
    }

    fn min_tso_segs(&self, _connection: &Connection) -> u32 {
        2
    }

    fn sndbuf_expand(&self) -> u32 {
        2
    }
}

impl Curve {
    /// `bictcp_update`: how many acknowledged segments make cwnd one larger.
    fn update(&mut self, cwnd: u32, acked: u32, now: u64) {
        self.ack_count += acked;
        if self.last_cwnd == cwnd && now - self.last_jiffies <= HZ / 32 {
            return;
        }
        // At most one look at the curve per jiffy, but for a new epoch.
        if self.epoch_start.is_none() || now != self.last_jiffies {
            self.last_cwnd = cwnd;
            self.last_jiffies = now;
            self.follow_the_curve(cwnd, acked, now);
        }
        self.be_friendly(cwnd);
        self.count = self.count.max(LEAST_COUNT);
    }

    /// W_cubic(t + RTT) = C (t − K)^3 + W_max (RFC 9438, section 4.2).
    fn follow_the_curve(&mut self, cwnd: u32, acked: u32, now: u64) {
        let start = match self.epoch_start {
            Some(start) => start,
            None => self.begin_epoch(cwnd, acked, now),
        };
        // usecs_to_jiffies() rounds up.
        let elapsed = (now - start + u64::from(self.delay_min_us).div_ceil(1000)) << TIME_SHIFT;
        let t = elapsed / HZ;
        let offset = t.abs_diff(self.k);
        let cube = CUBE_RTT_SCALE.wrapping_mul(offset).wrapping_mul(offset).wrapping_mul(offset);
        let delta = u32::try_from(cube >> (10 + 3 * TIME_SHIFT)).unwrap_or(u32::MAX);
        let target =
            if t < self.k { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) };
        self.count = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        if self.last_max_cwnd == 0 {
            self.count = self.count.min(FIRST_EPOCH_COUNT);
        }
    }

    fn begin_epoch(&mut self, cwnd: u32, acked: u32, now: u64) -> u64 {
        self.epoch_start = Some(now);
        self.ack_count = acked;
        self.friendly_cwnd = cwnd;
        self.origin = self.last_max_cwnd.max(cwnd);
        self.k = u64::from(cubic_root(CUBE_FACTOR * u64::from(self.origin - cwnd)));
        now
    }

    /// The Reno-friendly region (RFC 9438, section 4.3).
    fn be_friendly(&mut self, cwnd: u32) {
        let per_segment = (cwnd.saturating_mul(FRIENDLY_SCALE) >> 3).max(1);
        while self.ack_count > per_segment {
            self.ack_count -= per_segment;
            self.friendly_cwnd += 1;
        }
        if self.friendly_cwnd > cwnd {
            self.count = self.count.min(cwnd / (self.friendly_cwnd - cwnd));
        }
    }
}

/// About 64 × the cube roots of 0..=63, refined by the kernel's authors for the one iteration that follows (`v[]` in `cubic_root`).
const ROOTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173,
    176, 179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221,
    222, 224, 225, 227, 229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// `cubic_root`: one Newton–Raphson step from a table of six bits; off by 0.2 % on average.
fn cubic_root(a: u64) -> u32 {
    let bits = u64::BITS - a.leading_zeros();
    if bits < 7 {
        return (root(a) + 35) >> 6;
    }
    let thirds = ((bits * 84) >> 8) - 1;
    let estimate = ((root(a >> (thirds * 3)) + 10) << thirds) >> 6;
    let x = u64::from(estimate);
    let step = 2 * estimate + u32::try_from(a / (x * (x - 1))).unwrap_or(u32::MAX);
    u32::try_from((u64::from(step) * 341) >> 10).unwrap_or(u32::MAX)
}

fn root(six_bits: u64) -> u32 {
    usize::try_from(six_bits).ok().and_then(|i| ROOTS.get(i)).map_or(0, |&root| u32::from(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cube_roots_are_the_tables() {
        let roots: Vec<u32> = [0, 1, 7, 8, 27, 28, 63].map(cubic_root).to_vec();
        assert_eq!(roots, [0, 1, 2, 2, 3, 3, 4]);
    }

    #[test]
    fn cube_roots_are_off_by_a_percent_at_most() {
        for root in [5_u64, 10, 100, 1_000, 12_345, 100_000, 1_000_000] {
            let got = u64::from(cubic_root(root * root * root));
            assert!(got.abs_diff(root) * 100 <= root + 99, "{root}: {got}");
        }
    }

    #[test]
    fn the_kernel_s_derived_constants() {
        assert_eq!((CUBE_FACTOR, FRIENDLY_SCALE), (2_681_735_677, 15));
    }

    /// RFC 9438, figure 2: K = cbrt((W_max − cwnd) / C); 0.3 × 1000 segments give 9.09 s.
    #[test]
    fn k_is_the_time_back_to_the_last_maximum() {
        let mut curve = Curve { last_max_cwnd: 1000, ..Curve::default() };
        curve.update(700, 1, 5_000);
        let k_ms = curve.k * 1000 / 1024;
        assert!((9_050..=9_130).contains(&k_ms), "{k_ms}");
        assert_eq!(curve.origin, 1000);
    }

    /// At t = K the target is W_max: a window that is there already stands still, by CUBIC's own law.
    #[test]
    fn at_k_the_window_stands_still() {
        let mut curve = Curve { last_max_cwnd: 1000, ..Curve::default() };
        curve.update(700, 1, 5_000);
        let at_k = 5_000 + curve.k * 1000 / 1024;
        curve.follow_the_curve(1000, 1, at_k);
        assert_eq!(curve.count, 100_000);
        curve.follow_the_curve(990, 1, at_k);
        assert_eq!(curve.count, 990 / 10, "one segment per 99 ACKs reaches it in a round trip");
    }

    #[test]
    fn small_windows_grow_as_reno_does() {
        let mut curve = Curve { last_max_cwnd: 10, delay_min_us: 1_000, ..Curve::default() };
        let (mut cwnd, mut count) = (7_u32, 0_u32);
        for round in 0..30_u64 {
            for ack in 0..u64::from(cwnd) {
                curve.update(cwnd, 1, 1_000 + round * 33 + ack);
                count += 1;
                if count >= curve.count {
                    (cwnd, count) = (cwnd + 1, 0);
                }
            }
        }
        // 3 (1 − beta) / (1 + beta) = 0.53 segments a round trip.
        assert!((20..=27).contains(&cwnd), "{cwnd}");
    }
}
