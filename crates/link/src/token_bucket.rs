//! Tokens as exact integers: when may a packet of this size go?
//!
//! The oracle is `tbf_dequeue()` in `net/sched/sch_tbf.c` with an ideal timer and without a peak rate. One token is
//! 10⁻⁹ bit, so that a rate of n bit/s brings exactly n tokens a nanosecond and nothing is ever rounded but an instant, up.
//! Never: a float.

use pipefill_core::cell::{DirectionSpec, Framing, RateOverTime};
use pipefill_core::units::{Bytes, NANOS_PER_SEC, Rate, Time};

const TOKENS_PER_BYTE: u128 = 8 * NANOS_PER_SEC as u128;

/// A bucket that starts full.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    /// What a packet costs (`psched_l2t_ns()` in `include/net/sch_generic.h`).
    framing: Framing,
    /// Tokens per nanosecond; 0 where it changes.
    rate: u64,
    /// The rate over time, where it changes.
    rates: Option<Box<ChangingRate>>,
    depth: u128,
    /// Tokens at the instant `at`, after the packet that left then.
    level: u128,
    at: Time,
}

impl TokenBucket {
    pub(crate) fn new(rate: Rate, burst: Bytes, framing: Framing) -> Self {
        let depth = u128::from(burst.get()) * TOKENS_PER_BYTE;
        Self { framing, rate: rate.bps(), rates: None, depth, level: depth, at: Time::ZERO }
    }

    /// Makes the rate that of `rates`, from [`Self::begin`] on.
    pub(crate) fn change_rates(&mut self, rates: RateOverTime) {
        self.rates = Some(Box::new(ChangingRate { first: self.rate, rates, begin: None }));
        self.rate = 0;
    }

    /// With the framing of `spec`, and with its trace and its changes from [`Self::begin`] on.
    pub(crate) fn follow(&mut self, spec: &DirectionSpec) {
        self.set_framing(spec.framing());
        if let Some(rates) = spec.rate_over_time().filter(|_| spec.has_changing_rate()) {
            self.change_rates(rates);
        }
    }

    /// The rates of [`Self::change_rates`] count from `now`.
    pub(crate) fn begin(&mut self, now: Time) {
        if let Some(rates) = &mut self.rates {
            rates.begin = Some(now);
        }
    }

    /// Counts packets by `framing` from now on.
    pub(crate) fn set_framing(&mut self, framing: Framing) {
        self.framing = framing;
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
            (_, 0) => return self.rates.as_ref().map_or(Time::MAX, |rates| rates.earned_by(start, missing)),
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
        let earned = match (&self.rates, self.rate) {
            (Some(rates), 0) => rates.earned(self.at, instant),
            (_, rate) => u128::from(elapsed) * u128::from(rate),
        };
        self.level.saturating_add(earned).min(self.depth)
    }

    fn cost(&self, bytes: u32) -> u128 {
        u128::from(self.framing.cost(bytes.into())) * TOKENS_PER_BYTE
    }
}

/// A rate that is another from known instants on. Its nanobits are tokens.
#[derive(Debug)]
struct ChangingRate {
    /// Tokens per nanosecond before the traffic begins.
    first: u64,
    rates: RateOverTime,
    begin: Option<Time>,
}

impl ChangingRate {
    /// Tokens earned in `from..to`.
    fn earned(&self, from: Time, to: Time) -> u128 {
        let begin = self.begin.unwrap_or(Time::MAX);
        let before = to.min(begin).nanos().saturating_sub(from.nanos());
        let [since, until] = [from, to].map(|instant| instant.nanos().saturating_sub(begin.nanos()));
        u128::from(before) * u128::from(self.first) + self.rates.earned(since, until)
    }

    /// When `missing` tokens are earned from `from` on; [`Time::MAX`] = never.
    fn earned_by(&self, from: Time, missing: u128) -> Time {
        let begin = self.begin.unwrap_or(Time::MAX);
        let before = self.earned(from, begin);
        if from < begin && before >= missing {
            let wait = u64::try_from(missing.div_ceil(u128::from(self.first))).unwrap_or(u64::MAX);
            return Time::from_nanos(from.nanos().saturating_add(wait));
        }
        let since = from.nanos().saturating_sub(begin.nanos());
        let found = self.rates.earned_by(since, missing - before);
        found.map_or(Time::MAX, |nanos| Time::from_nanos(begin.nanos().saturating_add(nanos)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::cell::Cells;
    use std::time::Duration;

    fn depart(bucket: &mut TokenBucket, ready: u64, bytes: u32) -> u64 {
        let due = bucket.departure(Time::from_nanos(ready), bytes);
        bucket.spend(due, bytes);
        due.nanos()
    }

    #[test]
    fn a_full_bucket_passes_its_burst_at_once_and_then_the_rate() {
        // 8 bit/ns = one byte a nanosecond.
        let mut bucket =
            TokenBucket::new(Rate::from_bps(8_000_000_000), Bytes::new(3000), Framing::default());
        let dues: Vec<u64> = (0..5).map(|_| depart(&mut bucket, 100, 1500)).collect();
        assert_eq!(dues, [100, 100, 1600, 3100, 4600]);
    }

    #[test]
    fn what_waits_leaves_at_the_rate_of_each_span() {
        // A byte a nanosecond, a tenth of it for 5 µs, nothing for 1 µs, then a byte a nanosecond again; one packet of depth.
        let mut bucket =
            TokenBucket::new(Rate::from_bps(8_000_000_000), Bytes::new(1000), Framing::default());
        let nanos = Duration::from_nanos;
        let rates = RateOverTime::steady(Rate::from_bps(8_000_000_000))
            .overlaid(nanos(1500), Some(nanos(6500)), Rate::from_bps(800_000_000))
            .overlaid(nanos(6500), Some(nanos(7500)), Rate::from_bps(0));
        bucket.change_rates(rates);
        assert_eq!([depart(&mut bucket, 0, 1000), depart(&mut bucket, 0, 1000)], [0, 1000], "not begun");
        bucket.begin(Time::from_nanos(2000));
        let dues: Vec<u64> = (0..4).map(|_| depart(&mut bucket, 2000, 1000)).collect();
        // Full at 2000; the second takes its 1000 ns; the third has 500 bytes by 3500, and needs 5 µs for the rest; then an outage.
        assert_eq!(dues, [2000, 3000, 8500, 10_500]);
        bucket.change_rates(RateOverTime::steady(Rate::from_bps(0)));
        bucket.begin(Time::from_nanos(11_000));
        assert_eq!(depart(&mut bucket, 11_500, 1000), u64::MAX, "never again");
    }

    #[test]
    fn tokens_above_the_depth_are_lost() {
        let mut bucket =
            TokenBucket::new(Rate::from_bps(8_000_000_000), Bytes::new(1500), Framing::default());
        let dues: Vec<u64> = (0..3).map(|_| depart(&mut bucket, 1_000_000, 1500)).collect();
        assert_eq!(dues, [1_000_000, 1_001_500, 1_003_000]);
    }

    #[test]
    fn rounding_up_an_instant_does_not_lose_the_fraction() {
        // 3 bit/ns: a byte takes 2 2/3 ns; three bytes take 8 ns exactly.
        let mut bucket = TokenBucket::new(Rate::from_bps(3_000_000_000), Bytes::new(2), Framing::default());
        let dues: Vec<u64> = (0..8).map(|_| depart(&mut bucket, 0, 1)).collect();
        assert_eq!(dues, [0, 0, 3, 6, 8, 11, 14, 16]);
    }

    #[test]
    fn a_bucket_of_one_packet_has_no_room_for_the_fraction() {
        let mut bucket = TokenBucket::new(Rate::from_bps(3_000_000_000), Bytes::new(1), Framing::default());
        let dues: Vec<u64> = (0..4).map(|_| depart(&mut bucket, 0, 1)).collect();
        assert_eq!(dues, [0, 3, 6, 9]);
    }

    #[test]
    fn a_rate_of_zero_passes_the_burst_and_then_nothing() {
        let mut bucket = TokenBucket::new(Rate::from_bps(0), Bytes::new(1500), Framing::default());
        assert_eq!(depart(&mut bucket, 5, 1500), 5);
        assert_eq!(depart(&mut bucket, 6, 1), u64::MAX);
        assert_eq!(depart(&mut bucket, 7, 1), u64::MAX);
    }

    #[test]
    fn overhead_is_paid_for_every_packet() {
        // A byte a nanosecond: a frame of 1514 bytes takes 1538 ns with what a wire adds, one of 60 bytes 84 ns.
        let mut bucket = TokenBucket::new(
            Rate::from_bps(8_000_000_000),
            Bytes::new(1538),
            Framing::beside(Bytes::new(24)),
        );
        let dues = [1514, 1514, 60, 1514].map(|bytes| depart(&mut bucket, 0, bytes));
        assert_eq!(dues, [0, 1538, 1622, 3160]);
        assert!(bucket.can_pass(1514) && !bucket.can_pass(1515));
    }

    #[test]
    fn cells_are_paid_for_whole() {
        // A byte a nanosecond: 66 bytes are two cells of 53, 1514 bytes with 26 beside 33 cells.
        let atm = Framing { overhead: 26, mpu: 0, cells: Cells::Atm };
        let mut bucket = TokenBucket::new(Rate::from_bps(8_000_000_000), Bytes::new(1749), atm);
        assert_eq!([1514, 66, 66].map(|bytes| depart(&mut bucket, 0, bytes)), [0, 106, 212]);
        assert!(bucket.can_pass(1514) && !bucket.can_pass(1559));
    }

    #[test]
    fn extreme_rates_and_bursts_do_not_overflow() {
        let mut bucket = TokenBucket::new(Rate::from_bps(u64::MAX), Bytes::new(u64::MAX), Framing::default());
        assert_eq!(depart(&mut bucket, u64::MAX - 1, u32::MAX), u64::MAX - 1);
        let mut slow = TokenBucket::new(Rate::from_bps(1), Bytes::new(u64::MAX), Framing::default());
        slow.level = 0;
        assert_eq!(slow.departure(Time::ZERO, u32::MAX).nanos(), u64::MAX);
    }
}
