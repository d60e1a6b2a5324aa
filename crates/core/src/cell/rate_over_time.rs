//! The rate of a direction over the traffic's time: its bottleneck's own rate or trace, and what changes lay over it.

use super::DirectionSpec;
use super::rate_trace::RateTrace;
use crate::units::Rate;
use std::time::Duration;

/// A rate for every instant from the traffic's start on. What comes in an interval is counted in *nanobits*, bits per second times
/// nanoseconds, so that nothing is rounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateOverTime {
    /// When each begins, nanoseconds, and what holds from then on. Ascending; the first is at 0.
    parts: Vec<(u64, PartRate)>,
}

/// What holds for a part of the time.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PartRate {
    Steady(Rate),
    /// A trace, which runs on while something else holds.
    Trace(RateTrace),
}

impl DirectionSpec {
    /// The rate of the bottleneck over time, changes included; `None` where there is no bottleneck.
    pub fn rate_over_time(&self) -> Option<RateOverTime> {
        let bottleneck = self.bottleneck.as_ref()?;
        let own = match &self.rate_trace {
            Some(trace) => RateOverTime::traced(trace.clone()),
            None => RateOverTime::steady(bottleneck.rate),
        };
        let changes = self.changes.iter().filter_map(|change| Some((change, change.rate?)));
        Some(changes.fold(own, |rates, (change, rate)| rates.overlaid(change.at, change.end(), rate)))
    }

    /// Whether the rate of its bottleneck changes.
    pub fn has_changing_rate(&self) -> bool {
        self.rate_trace.is_some() || self.changes.iter().any(|change| change.rate.is_some())
    }
}

impl RateOverTime {
    /// The same all the time.
    pub fn steady(rate: Rate) -> Self {
        Self { parts: vec![(0, PartRate::Steady(rate))] }
    }

    /// That of a trace.
    pub fn traced(trace: RateTrace) -> Self {
        Self { parts: vec![(0, PartRate::Trace(trace))] }
    }

    /// This one, with `rate` in its place in `from..to`; `None` = to the end.
    #[must_use]
    pub fn overlaid(mut self, from: Duration, to: Option<Duration>, rate: Rate) -> Self {
        let (from, to) = (nanos(from), to.map(nanos));
        let after = to.map(|to| (to, self.part_at(to).clone()));
        self.parts.retain(|(begin, _)| *begin < from || to.is_some_and(|to| *begin > to));
        self.parts.push((from, PartRate::Steady(rate)));
        self.parts.extend(after);
        self.parts.sort_by_key(|(begin, _)| *begin);
        self
    }

    /// This one, never above `most`.
    #[must_use]
    pub fn capped(mut self, most: Rate) -> Self {
        for (_, part) in &mut self.parts {
            *part = match part {
                PartRate::Steady(rate) => PartRate::Steady((*rate).min(most)),
                PartRate::Trace(trace) => PartRate::Trace(trace.capped(most)),
            };
        }
        self
    }

    /// The highest rate at any time.
    #[inline]
    pub fn highest(&self) -> Rate {
        let rates = self.parts.iter().map(|(_, part)| match part {
            PartRate::Steady(rate) => *rate,
            PartRate::Trace(trace) => trace.highest(),
        });
        rates.max().unwrap_or(Rate::from_bps(0))
    }

    /// The rate at `nanos` after the traffic's start, and when it may be another next; `None` = never.
    #[inline]
    pub fn at(&self, nanos: u64) -> (Rate, Option<u64>) {
        let (part, end) = self.numbered_part_at(nanos);
        match part {
            PartRate::Steady(rate) => (*rate, end),
            PartRate::Trace(trace) => {
                let (rate, next) = trace.at(nanos);
                (rate, next.into_iter().chain(end).min())
            }
        }
    }

    /// Nanobits that come in `from..to`, nanoseconds after the traffic's start.
    #[inline]
    pub fn earned(&self, mut from: u64, to: u64) -> u128 {
        let mut earned = 0_u128;
        while from < to {
            let (part, end) = self.numbered_part_at(from);
            let until = end.map_or(to, |end| end.min(to));
            earned = earned.saturating_add(part.earned(from, until));
            from = until;
        }
        earned
    }

    /// The first instant by which `missing` nanobits have come since `from`; `None` = never.
    #[inline]
    pub fn earned_by(&self, mut from: u64, mut missing: u128) -> Option<u64> {
        loop {
            let (part, end) = self.numbered_part_at(from);
            let Some(end) = end else { return part.earned_by(from, missing) };
            let earned = part.earned(from, end);
            if earned >= missing {
                return part.earned_by(from, missing);
            }
            missing -= earned;
            from = end;
        }
    }

    /// Its mean in `from..to`, rounded down; at `from` where that is empty.
    pub fn mean(&self, from: Duration, to: Duration) -> Rate {
        let (from, to) = (nanos(from), nanos(to));
        if to <= from {
            return self.at(from).0;
        }
        let mean = self.earned(from, to) / u128::from(to - from);
        Rate::from_bps(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    #[inline]
    fn part_at(&self, nanos: u64) -> &PartRate {
        self.numbered_part_at(nanos).0
    }

    /// What holds at `nanos`, and when the next part begins.
    #[inline]
    fn numbered_part_at(&self, nanos: u64) -> (&PartRate, Option<u64>) {
        let next = self.parts.partition_point(|(begin, _)| *begin <= nanos);
        (&self.parts[next.max(1) - 1].1, self.parts.get(next).map(|(begin, _)| *begin))
    }
}

impl PartRate {
    #[inline]
    fn earned(&self, from: u64, to: u64) -> u128 {
        match self {
            Self::Steady(rate) => u128::from(rate.bps()) * u128::from(to - from),
            Self::Trace(trace) => trace.earned_until(to) - trace.earned_until(from),
        }
    }

    #[inline]
    fn earned_by(&self, from: u64, missing: u128) -> Option<u64> {
        match self {
            Self::Steady(rate) if rate.bps() == 0 => None,
            Self::Steady(rate) => {
                let wait = u64::try_from(missing.div_ceil(u128::from(rate.bps()))).ok()?;
                from.checked_add(wait)
            }
            Self::Trace(trace) => trace.instant_of(trace.earned_until(from).checked_add(missing)?),
        }
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::{BottleneckSpec, ChangeSpec, TraceSteps};
    use super::*;
    use crate::units::{Bytes, QueueLimit};

    const MBIT: u64 = 1_000_000;

    fn mbit(rate: u64) -> Rate {
        Rate::from_bps(rate * MBIT)
    }

    fn seconds(from: u64, to: u64) -> [Duration; 2] {
        [from, to].map(Duration::from_secs)
    }

    /// 10 Mbit/s, from the first second on 30 Mbit/s, again after two; in the fourth second 1 Mbit/s.
    fn rates() -> RateOverTime {
        let steps =
            TraceSteps { at: vec![0, 1_000_000], rates: vec![mbit(10), mbit(30)], period: Some(2_000_000) };
        let change = ChangeSpec {
            at: Duration::from_secs(3),
            lasts: Some(Duration::from_secs(1)),
            rate: Some(mbit(1)),
            loss: None,
            delay: None,
        };
        let bottleneck = BottleneckSpec {
            rate: mbit(20),
            overhead: Bytes::new(0),
            queue: QueueLimit::Packets(10),
            burst: Bytes::new(2_000),
        };
        let spec = DirectionSpec {
            bottleneck: Some(bottleneck),
            rate_trace: Some(RateTrace::new(steps).unwrap()),
            changes: vec![change],
            ..DirectionSpec::EMPTY
        };
        spec.rate_over_time().unwrap()
    }

    #[test]
    fn a_change_holds_over_the_trace_which_runs_on() {
        let rates = rates();
        let mean = |[from, to]: [Duration; 2]| rates.mean(from, to).bps() / MBIT;
        let found = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (0, 4)]
            .map(|(from, to)| mean(seconds(from, to)));
        assert_eq!(found, [10, 30, 10, 1, 10, 30, 51 / 4]);
        assert_eq!(rates.at(3_500_000_000), (mbit(1), Some(4_000_000_000)));
        assert_eq!(rates.highest(), mbit(30));
    }

    #[test]
    fn what_is_missing_comes_at_the_rates_of_all_parts() {
        let rates = rates();
        for (from, bits) in [(0, 1), (0, 9_999_999), (500_000_000, 40 * MBIT), (2_900_000_000, 3 * MBIT)] {
            let missing = u128::from(bits) * 1_000_000_000;
            let by = rates.earned_by(from, missing).unwrap();
            assert!(
                rates.earned(from, by) >= missing && rates.earned(from, by - 1) < missing,
                "{from} {bits}"
            );
        }
        let ended = RateOverTime::steady(mbit(1)).overlaid(Duration::from_secs(1), None, Rate::from_bps(0));
        assert_eq!(ended.earned_by(0, u128::from(MBIT) * 1_000_000_000), Some(1_000_000_000));
        assert_eq!(ended.earned_by(1, u128::from(MBIT) * 1_000_000_000), None);
    }

    #[test]
    fn the_later_of_overlapping_changes_holds() {
        let rates = RateOverTime::steady(mbit(8))
            .overlaid(Duration::from_secs(1), Some(Duration::from_secs(5)), mbit(4))
            .overlaid(Duration::from_secs(2), Some(Duration::from_secs(3)), mbit(2))
            .overlaid(Duration::from_secs(4), Some(Duration::from_secs(6)), mbit(6));
        let at = |second: u64| rates.at(second * 1_000_000_000).0.bps() / MBIT;
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(at), [8, 4, 2, 4, 6, 6, 8]);
        assert_eq!(rates.clone().capped(mbit(5)).highest(), mbit(5));
        assert_eq!(rates.mean(Duration::from_secs(2), Duration::from_secs(2)), mbit(2));
    }
}
