//! The RTT as the sender's kernel estimates it: `tcp_rtt_estimator()`, RFC 6298 with Linux's variance.
//!
//! Only samples that Karn's rule allows come here; who has one decides that.

/// `TCP_RTO_MIN`: the variance counts as at least this.
const RTO_MIN_US: u32 = 200_000;
/// `TCP_RTO_MAX`.
const RTO_MAX_US: u32 = 120_000_000;
/// No sample yet (RFC 6298 2.1).
const RTO_INITIAL_US: u32 = 1_000_000;

#[derive(Debug, Clone, Default)]
pub(super) struct Rtt {
    /// Eight times the smoothed RTT.
    srtt_8: u32,
    mdev_4: u32,
    mdev_max_4: u32,
    rttvar_4: u32,
    /// The end of the round in which the variance is watched.
    round_end: u64,
    min_us: u32,
    samples: u64,
}

impl Rtt {
    /// `sample_us` feeds the estimate, `shortest_us` of the same ACK the minimum.
    #[inline]
    pub(super) fn take(&mut self, sample_us: u32, shortest_us: u32, una: u64, next: u64) {
        let (sample, shortest) = (sample_us.clamp(1, RTO_MAX_US), shortest_us.clamp(1, RTO_MAX_US));
        self.min_us = if self.samples == 0 { shortest } else { self.min_us.min(shortest) };
        self.samples += 1;
        if self.srtt_8 == 0 {
            self.srtt_8 = sample << 3;
            self.mdev_4 = sample << 1;
            self.rttvar_4 = self.mdev_4.max(RTO_MIN_US);
            self.mdev_max_4 = self.rttvar_4;
            self.round_end = next;
            return;
        }
        let error = i64::from(sample) - i64::from(self.srtt_8 >> 3);
        self.srtt_8 = ((i64::from(self.srtt_8) + error) as u32).max(1);
        let mut change = error.abs() - i64::from(self.mdev_4 >> 2);
        if error < 0 && change > 0 {
            change >>= 3;
        }
        self.mdev_4 = (i64::from(self.mdev_4) + change).max(0) as u32;
        if self.mdev_4 > self.mdev_max_4 {
            self.mdev_max_4 = self.mdev_4;
            self.rttvar_4 = self.rttvar_4.max(self.mdev_max_4);
        }
        if una > self.round_end {
            if self.mdev_max_4 < self.rttvar_4 {
                self.rttvar_4 -= (self.rttvar_4 - self.mdev_max_4) >> 2;
            }
            self.round_end = next;
            self.mdev_max_4 = RTO_MIN_US;
        }
    }

    fn known(&self, value: u32) -> Option<u32> {
        (self.samples > 0).then_some(value)
    }

    pub(super) fn srtt_us(&self) -> Option<u32> {
        self.known(self.srtt_8 >> 3)
    }

    pub(super) fn rttvar_us(&self) -> Option<u32> {
        self.known(self.mdev_4 >> 2)
    }

    pub(super) fn min_us(&self) -> Option<u32> {
        self.known(self.min_us)
    }

    /// `__tcp_set_rto()`, without the doublings of a timeout.
    pub(super) fn rto_us(&self) -> u32 {
        let rto = (self.srtt_8 >> 3).saturating_add(self.rttvar_4).min(RTO_MAX_US);
        self.known(rto).unwrap_or(RTO_INITIAL_US)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rtt_is_its_own_average_and_the_rto_is_200_ms_above() {
        let mut rtt = Rtt::default();
        assert_eq!((rtt.srtt_us(), rtt.rto_us()), (None, 1_000_000));
        for round in 0..50 {
            rtt.take(10_000, 10_000, round * 10, round * 10 + 5);
        }
        assert_eq!((rtt.srtt_us(), rtt.min_us(), rtt.rto_us()), (Some(10_000), Some(10_000), 210_000));
    }

    #[test]
    fn one_sample_moves_the_average_by_an_eighth() {
        let mut rtt = Rtt::default();
        rtt.take(8_000, 8_000, 0, 10);
        rtt.take(16_000, 12_000, 5, 10);
        assert_eq!((rtt.srtt_us(), rtt.min_us()), (Some(9_000), Some(8_000)));
    }

    #[test]
    fn the_longest_sample_overflows_nothing() {
        let mut rtt = Rtt::default();
        for round in 0..100 {
            rtt.take(u32::MAX, 0, round, round);
        }
        assert!(rtt.rto_us() <= RTO_MAX_US);
    }
}
