//! Tokens as exact integers: when may a packet of this size go?
//!
//! The oracle is `tbf_dequeue()` in `net/sched/sch_tbf.c` with an ideal timer and without a peak rate. One token is
//! 10⁻⁹ bit, so that a rate of n bit/s brings exactly n tokens a nanosecond and nothing is ever rounded but an instant, up.
//! Never: a float.

use pipefill_core::cell::DirectionSpec;
use pipefill_core::units::{Bytes, NANOS_PER_SEC, Rate, Time};
use std::time::Duration;

const TOKENS_PER_BYTE: u128 = 8 * NANOS_PER_SEC as u128;

/// A bucket that starts full.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    /// What each packet costs beside its own bytes (`overhead` of `psched_l2t_ns()` in `include/net/sch_generic.h`).
    overhead: u64,
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
    pub(crate) fn new(rate: Rate, burst: Bytes, overhead: Bytes) -> Self {
        let depth = u128::from(burst.get()) * TOKENS_PER_BYTE;
        Self { overhead: overhead.get(), rate: rate.bps(), rates: None, depth, level: depth, at: Time::ZERO }
    }

    /// Makes the rate that of each span from its beginning on, from [`Self::begin`] on.
    pub(crate) fn change_rates(&mut self, spans: impl Iterator<Item = (Duration, Rate)>) {
        let spans = spans.map(|(from, rate)| (from, rate.bps())).collect();
        self.rates = Some(Box::new(ChangingRate { first: self.rate, spans, begin: None }));
        self.rate = 0;
    }

    /// With the rates of the changes of `spec`, where it has any.
    pub(crate) fn follow(&mut self, spec: &DirectionSpec) {
        if spec.changes.iter().any(|change| change.rate.is_some()) {
            let rates = spec.phases().into_iter().filter_map(|phase| Some((phase.from, phase.rate?)));
            self.change_rates(rates);
        }
    }

    /// Spans of [`Self::change_rates`] count from `now`.
    pub(crate) fn begin(&mut self, now: Time) {
        if let Some(rates) = &mut self.rates {
            rates.begin = Some(now);
        }
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
        (u128::from(bytes) + u128::from(self.overhead)) * TOKENS_PER_BYTE
    }
}

/// A rate that is another from known instants on; tokens per nanosecond.
#[derive(Debug)]
struct ChangingRate {
    /// Before the traffic begins.
    first: u64,
    /// From when on, after the traffic's beginning, and how many.
    spans: Vec<(Duration, u64)>,
    begin: Option<Time>,
}

impl ChangingRate {
    /// The rate at `instant`, and when it changes next.
    fn at(&self, instant: Time) -> (u64, Time) {
        let Some(begin) = self.begin else { return (self.first, Time::MAX) };
        let next = self.spans.partition_point(|(from, _)| begin.after(*from) <= instant);
        let until = self.spans.get(next).map_or(Time::MAX, |(from, _)| begin.after(*from));
        (next.checked_sub(1).map_or(self.first, |span| self.spans[span].1), until)
    }

    /// Tokens earned in `from..to`.
    fn earned(&self, mut from: Time, to: Time) -> u128 {
        let mut earned = 0;
        while from < to {
            let (rate, until) = self.at(from);
            let end = until.min(to);
            earned += u128::from(rate) * u128::from(end.nanos() - from.nanos());
            from = end;
        }
        earned
    }

    /// When `missing` tokens are earned from `from` on; [`Time::MAX`] = never.
    fn earned_by(&self, mut from: Time, mut missing: u128) -> Time {
        loop {
            let (rate, until) = self.at(from);
            let span = u128::from(until.nanos() - from.nanos());
            if u128::from(rate) * span >= missing || until == Time::MAX {
                let wait = (rate > 0).then(|| missing.div_ceil(u128::from(rate)));
                let wait = wait.and_then(|wait| u64::try_from(wait).ok()).unwrap_or(u64::MAX);
                return Time::from_nanos(from.nanos().saturating_add(wait));
            }
            missing -= u128::from(rate) * span;
            from = until;
        }
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
    fn what_waits_leaves_at_the_rate_of_each_span() {
        // A byte a nanosecond, a tenth of it for 5 µs, nothing for 1 µs, then a byte a nanosecond again; one packet of depth.
        let mut bucket = TokenBucket::new(Rate::from_bps(8_000_000_000), Bytes::new(1000), Bytes::new(0));
        let spans = [(0, 8_000_000_000), (1500, 800_000_000), (6500, 0), (7500, 8_000_000_000)];
        bucket
            .change_rates(spans.map(|(at, bps)| (Duration::from_nanos(at), Rate::from_bps(bps))).into_iter());
        assert_eq!([depart(&mut bucket, 0, 1000), depart(&mut bucket, 0, 1000)], [0, 1000], "not begun");
        bucket.begin(Time::from_nanos(2000));
        let dues: Vec<u64> = (0..4).map(|_| depart(&mut bucket, 2000, 1000)).collect();
        // Full at 2000; the second takes its 1000 ns; the third has 500 bytes by 3500, and needs 5 µs for the rest; then an outage.
        assert_eq!(dues, [2000, 3000, 8500, 10_500]);
        bucket.change_rates([(Duration::ZERO, Rate::from_bps(0))].into_iter());
        bucket.begin(Time::from_nanos(11_000));
        assert_eq!(depart(&mut bucket, 11_500, 1000), u64::MAX, "never again");
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
