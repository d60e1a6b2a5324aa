//! The round trip: smoothed, its variation, its minimum, and the retransmission timeout (RFC 6298 as Linux does it).

/// `TCP_RTO_MIN`.
pub(crate) const RTO_MIN_US: u64 = 200_000;
/// `TCP_RTO_MAX`.
pub(crate) const RTO_MAX_MS: u64 = 120_000;
/// `TCP_TIMEOUT_INIT`.
pub(crate) const RTO_INIT_MS: u64 = 1000;

/// The estimator of `tcp_rtt_estimator()`.
#[derive(Debug, Clone)]
pub(crate) struct Rtt {
    /// `srtt_us`, eight times the smoothed round trip; 0 before the first sample.
    srtt_8: i64,
    /// `mdev_us`, four times the mean deviation.
    mdev: i64,
    mdev_max: i64,
    rttvar: i64,
    rtt_seq: u64,
    /// `tcp_min_rtt()`; `None` before the first sample.
    min_us: Option<u32>,
    /// `icsk_rto`, ticks of a millisecond, back-off included.
    pub(crate) rto_ms: u64,
}

impl Rtt {
    pub(crate) const fn new() -> Self {
        let (srtt_8, mdev, mdev_max, rttvar) = (0, 0, 0, 0);
        Self { srtt_8, mdev, mdev_max, rttvar, rtt_seq: 0, min_us: None, rto_ms: RTO_INIT_MS }
    }

    /// The smoothed round trip; 0 before the first sample.
    pub(crate) fn srtt_us(&self) -> u32 {
        u32::try_from(self.srtt_8 >> 3).unwrap_or(0)
    }

    /// Eight times the smoothed round trip.
    pub(crate) fn srtt_us_8(&self) -> u64 {
        u64::try_from(self.srtt_8).unwrap_or(0)
    }

    /// `tcpi_rttvar`.
    pub(crate) fn rttvar_us(&self) -> u32 {
        u32::try_from(self.mdev >> 2).unwrap_or(0)
    }

    /// The minimum; `u32::MAX` before the first sample.
    pub(crate) fn min_us(&self) -> u32 {
        self.min_us.unwrap_or(u32::MAX)
    }

    /// `tcp_update_rtt_min()`; a run is shorter than the kernel's window of 300 s.
    pub(crate) fn note_min(&mut self, sample_us: u64) {
        let sample = u32::try_from(sample_us).unwrap_or(u32::MAX).max(1);
        self.min_us = Some(self.min_us().min(sample));
    }

    /// Takes a sample; a variation is let go once a window, hence the sequence numbers.
    pub(crate) fn sample(&mut self, sample_us: u64, snd_una: u64, snd_nxt: u64) {
        let sample = i64::try_from(sample_us).unwrap_or(i64::MAX >> 4);
        let floor = RTO_MIN_US as i64;
        if self.srtt_8 == 0 {
            self.srtt_8 = sample << 3;
            self.mdev = sample << 1;
            self.rttvar = self.mdev.max(floor);
            self.mdev_max = self.rttvar;
            self.rtt_seq = snd_nxt;
        } else {
            self.smooth(sample);
            if snd_una > self.rtt_seq {
                if self.mdev_max < self.rttvar {
                    self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
                }
                self.rtt_seq = snd_nxt;
                self.mdev_max = floor;
            }
        }
        self.srtt_8 = self.srtt_8.max(1);
        self.reset_rto();
    }

    /// `tcp_set_rto()`: without back-off.
    pub(crate) fn reset_rto(&mut self) {
        let rto_us = u64::try_from((self.srtt_8 >> 3) + self.rttvar).unwrap_or(0);
        self.rto_ms = pipefill_link::jiffies::from_micros(rto_us).min(RTO_MAX_MS);
    }

    /// RFC 6298, 5.5.
    pub(crate) fn back_off(&mut self) {
        self.rto_ms = (self.rto_ms << 1).min(RTO_MAX_MS);
    }

    fn smooth(&mut self, sample: i64) {
        let mut error = sample - (self.srtt_8 >> 3);
        self.srtt_8 += error;
        if error < 0 {
            error = -error - (self.mdev >> 2);
            // A falling round trip shall not blow up the variation.
            if error > 0 {
                error >>= 3;
            }
        } else {
            error -= self.mdev >> 2;
        }
        self.mdev += error;
        if self.mdev > self.mdev_max {
            self.mdev_max = self.mdev;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6298, 2.2: SRTT = R, RTTVAR = R/2, RTO = SRTT + max(G, 4 × RTTVAR); Linux keeps 4 × RTTVAR at 200 ms or more.
    #[test]
    fn the_first_sample_sets_everything() {
        let mut rtt = Rtt::new();
        assert_eq!((rtt.srtt_us(), rtt.rto_ms, rtt.min_us()), (0, 1000, u32::MAX));
        rtt.sample(300_000, 1, 1);
        assert_eq!((rtt.srtt_us(), rtt.rttvar_us(), rtt.rto_ms), (300_000, 150_000, 900));
        let mut short = Rtt::new();
        short.sample(1000, 1, 1);
        assert_eq!(short.rto_ms, 201);
    }

    /// RFC 6298, 2.3: alpha = 1/8; and 5.5: doubling.
    #[test]
    fn samples_are_smoothed_and_timeouts_double() {
        let mut rtt = Rtt::new();
        rtt.sample(80_000, 1, 1);
        rtt.sample(160_000, 2, 100);
        assert_eq!(rtt.srtt_us(), 90_000);
        let rto = rtt.rto_ms;
        rtt.back_off();
        assert_eq!(rtt.rto_ms, 2 * rto);
        rtt.sample(90_000, 3, 100);
        assert!(rtt.rto_ms <= rto);
        (0..20).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto_ms, RTO_MAX_MS);
    }

    #[test]
    fn a_steady_round_trip_settles_at_the_floor() {
        let mut rtt = Rtt::new();
        (0..400).for_each(|i| rtt.sample(50_000, i * 10, i * 10 + 5));
        assert_eq!((rtt.srtt_us(), rtt.rto_ms), (50_000, 250));
    }
}
