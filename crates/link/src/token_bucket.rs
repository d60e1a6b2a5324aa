//! Tokens as exact integers: when may a packet of this size go?
//!
//! The oracle is `tbf_dequeue()` in `net/sched/sch_tbf.c` with an ideal timer and without a peak rate. One token is
//! 10⁻⁹ bit, so that a rate of n bit/s brings exactly n tokens a nanosecond and nothing is ever rounded but an instant, up.
//! Never: a float.

use pipefill_core::units::{Bytes, NANOS_PER_SEC, Rate, Time};

const TOKENS_PER_BYTE: u128 = 8 * NANOS_PER_SEC as u128;

/// A bucket that starts full.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    /// What each packet costs beside its own bytes (`overhead` of `psched_l2t_ns()` in `include/net/sch_generic.h`).
    overhead: u64,
    /// Tokens per nanosecond.
    rate: u64,
    depth: u128,
    /// Tokens at the instant `at`, after the packet that left then.
    level: u128,
    at: Time,
}

impl TokenBucket {
    pub(crate) fn new(rate: Rate, burst: Bytes, overhead: Bytes) -> Self {
        let depth = u128::from(burst.get()) * TOKENS_PER_BYTE;
        Self { overhead: overhead.get(), rate: rate.bps(), depth, level: depth, at: Time::ZERO }
    }

    /// Whether a packet of `bytes` bytes can ever pass.
    pub(crate) fn can_pass(&self, bytes: u32) -> bool {
        self.cost(bytes) <= self.depth
    }

    /// When a packet of `bytes` bytes that is ready at `ready` leaves, behind all that left before: as soon as there are
    /// tokens for it, rounded up to the nanosecond. `Time::MAX` = never.
    pub(crate) fn departure(&self, ready: Time, bytes: u32) -> Time {
        let start = ready.max(self.at);
        let missing = self.cost(bytes).saturating_sub(self.level_at(start));
        let wait = match (u64::try_from(missing), self.rate) {
            (Ok(0), _) => 0,
            (_, 0) => u64::MAX,
            (Ok(missing), rate) => missing.div_ceil(rate),
            (Err(_), rate) => u64::try_from(missing.div_ceil(u128::from(rate))).unwrap_or(u64::MAX),
        };
        Time::from_nanos(start.nanos().saturating_add(wait))
    }

    /// Takes the tokens of a packet that leaves at `departure`, as computed by [`Self::departure`].
    pub(crate) fn spend(&mut self, departure: Time, bytes: u32) {
        self.level = self.level_at(departure).saturating_sub(self.cost(bytes));
        self.at = departure;
    }

    fn level_at(&self, instant: Time) -> u128 {
        let elapsed = instant.nanos().saturating_sub(self.at.nanos());
        let earned = u128::from(elapsed) * u128::from(self.rate);
        self.level.saturating_add(earned).min(self.depth)
    }

    fn cost(&self, bytes: u32) -> u128 {
        (u128::from(bytes) + u128::from(self.overhead)) * TOKENS_PER_BYTE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depart(bucket: &mut TokenBucket, ready: u64, bytes: u32) -> u64 {
        let due = bucket.departure(Time::from_nanos(ready), bytes);
        bucket.spend(due, bytes);
        due.nanos()
    }

    #[test]
    fn a_full_bucket_passes_its_burst_at_once_and_then_the_rate() {
        // 8 bit/ns = one byte a nanosecond.
        let mut bucket = TokenBucket::new(Rate::from_bps(8_000_000_000), Bytes::new(3000), Bytes::new(0));
        let dues: Vec<u64> = (0..5).map(|_| depart(&mut bucket, 100, 1500)).collect();
        assert_eq!(dues, [100, 100, 1600, 3100, 4600]);
    }

    #[test]
    fn tokens_above_the_depth_are_lost() {
        let mut bucket = TokenBucket::new(Rate::from_bps(8_000_000_000), Bytes::new(1500), Bytes::new(0));
        let dues: Vec<u64> = (0..3).map(|_| depart(&mut bucket, 1_000_000, 1500)).collect();
        assert_eq!(dues, [1_000_000, 1_001_500, 1_003_000]);
    }

    #[test]
    fn rounding_up_an_instant_does_not_lose_the_fraction() {
        // 3 bit/ns: a byte takes 2 2/3 ns; three bytes take 8 ns exactly.
        let mut bucket = TokenBucket::new(Rate::from_bps(3_000_000_000), Bytes::new(2), Bytes::new(0));
        let dues: Vec<u64> = (0..8).map(|_| depart(&mut bucket, 0, 1)).collect();
        assert_eq!(dues, [0, 0, 3, 6, 8, 11, 14, 16]);
    }

    #[test]
    fn a_bucket_of_one_packet_has_no_room_for_the_fraction() {
        let mut bucket = TokenBucket::new(Rate::from_bps(3_000_000_000), Bytes::new(1), Bytes::new(0));
        let dues: Vec<u64> = (0..4).map(|_| depart(&mut bucket, 0, 1)).collect();
        assert_eq!(dues, [0, 3, 6, 9]);
    }

    #[test]
    fn a_rate_of_zero_passes_the_burst_and_then_nothing() {
        let mut bucket = TokenBucket::new(Rate::from_bps(0), Bytes::new(1500), Bytes::new(0));
        assert_eq!(depart(&mut bucket, 5, 1500), 5);
        assert_eq!(depart(&mut bucket, 6, 1), u64::MAX);
        assert_eq!(depart(&mut bucket, 7, 1), u64::MAX);
    }

    #[test]
    fn overhead_is_paid_for_every_packet() {
        // A byte a nanosecond: a frame of 1514 bytes takes 1538 ns with what a wire adds, one of 60 bytes 84 ns.
        let mut bucket = TokenBucket::new(Rate::from_bps(8_000_000_000), Bytes::new(1538), Bytes::new(24));
        let dues = [1514, 1514, 60, 1514].map(|bytes| depart(&mut bucket, 0, bytes));
        assert_eq!(dues, [0, 1538, 1622, 3160]);
        assert!(bucket.can_pass(1514) && !bucket.can_pass(1515));
    }

    #[test]
    fn extreme_rates_and_bursts_do_not_overflow() {
        let mut bucket = TokenBucket::new(Rate::from_bps(u64::MAX), Bytes::new(u64::MAX), Bytes::new(0));
        assert_eq!(depart(&mut bucket, u64::MAX - 1, u32::MAX), u64::MAX - 1);
        let mut slow = TokenBucket::new(Rate::from_bps(1), Bytes::new(u64::MAX), Bytes::new(0));
        slow.level = 0;
        assert_eq!(slow.departure(Time::ZERO, u32::MAX).nanos(), u64::MAX);
    }
}
