//! A rate that follows a list of steps, and begins again or stays at its last one.

use super::trace_times::{BadTrace, TraceTimes};
use crate::units::Rate;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// A rate over time. It has at least one step, and some rate is above zero. Copies share the steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TraceSteps", into = "TraceSteps")]
pub struct RateTrace(Arc<Inner>);

#[derive(Debug, PartialEq, Eq)]
struct Inner {
    steps: TraceSteps,
    /// Nanobits that came before each step: bits per second times nanoseconds.
    earned: Vec<u128>,
}

/// A trace as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TraceSteps {
    /// When each step begins, microseconds after the traffic's start: ascending, the first at 0.
    #[serde(rename = "at_us")]
    pub at: Vec<u64>,
    /// The rate of each.
    #[serde(rename = "rates_bps")]
    pub rates: Vec<Rate>,
    /// When the trace begins again, after the last step's beginning; `None` = the last rate stays.
    #[serde(rename = "period_us")]
    pub period: Option<u64>,
}

impl RateTrace {
    /// The trace of these steps.
    ///
    /// # Errors
    /// [`BadTrace`].
    pub fn new(steps: TraceSteps) -> Result<Self, BadTrace> {
        let times = TraceTimes::checked(&steps.at, steps.period, steps.rates.len())?;
        let has_rate = match steps.period {
            Some(_) => steps.rates.iter().any(|rate| rate.bps() > 0),
            None => steps.rates.last().is_some_and(|rate| rate.bps() > 0),
        };
        if !has_rate {
            return Err(BadTrace::Zero);
        }
        let mut sum = 0;
        let mut earned = vec![0];
        for (step, rate) in (1..steps.at.len()).zip(&steps.rates) {
            sum += u128::from(times.begin(step) - times.begin(step - 1)) * u128::from(rate.bps());
            earned.push(sum);
        }
        Ok(Self(Arc::new(Inner { steps, earned })))
    }

    /// As it is recorded.
    pub fn steps(&self) -> &TraceSteps {
        &self.0.steps
    }

    /// How long it takes until it begins again, or until its last step begins.
    pub fn length(&self) -> Duration {
        Duration::from_nanos(self.times().until())
    }

    /// The mean rate in this time; at least 1 bit/s.
    pub fn mean(&self) -> Rate {
        let until = self.times().until();
        if until == 0 {
            return self.0.steps.rates[0];
        }
        let mean = self.earned_until(until) / u128::from(until);
        Rate::from_bps(u64::try_from(mean).unwrap_or(u64::MAX).max(1))
    }

    /// The highest rate.
    pub fn highest(&self) -> Rate {
        self.0.steps.rates.iter().copied().max().unwrap_or(Rate::from_bps(0))
    }

    /// This trace with no rate above `most`.
    #[must_use]
    pub(super) fn capped(&self, most: Rate) -> Self {
        let TraceSteps { at, rates, period } = self.0.steps.clone();
        let rates = rates.into_iter().map(|rate| rate.min(most)).collect();
        // A rate above zero stays above zero, unless `most` is zero.
        Self::new(TraceSteps { at, rates, period }).unwrap_or_else(|_| self.clone())
    }

    /// The rate at `nanos` after the traffic's start, and when the next step begins; `None` = never.
    #[inline]
    pub(super) fn at(&self, nanos: u64) -> (Rate, Option<u64>) {
        let (rounds, within) = self.times().within(nanos);
        let step = self.times().step_at(within);
        let next = if step + 1 < self.0.earned.len() {
            Some(self.times().begin(step + 1))
        } else {
            self.times().period()
        };
        let base = self.times().period().unwrap_or(0).saturating_mul(rounds);
        (self.0.steps.rates[step], next.map(|next| base.saturating_add(next)))
    }

    /// Nanobits that come in the first `nanos`.
    #[inline]
    pub(super) fn earned_until(&self, nanos: u64) -> u128 {
        let (rounds, within) = self.times().within(nanos);
        u128::from(rounds) * self.per_round() + self.of_round(within)
    }

    /// The first instant by which `wanted` nanobits have come; `None` = never.
    #[inline]
    pub(super) fn instant_of(&self, wanted: u128) -> Option<u64> {
        let Some(before) = wanted.checked_sub(1) else { return Some(0) };
        let (rounds, rest) = match (self.times().period(), self.per_round()) {
            (None, _) => (0, wanted),
            (Some(_), sum) => (before / sum, before % sum + 1),
        };
        let step = self.0.earned.partition_point(|earned| *earned < rest) - 1;
        let rate = u128::from(self.0.steps.rates[step].bps());
        let wait = (rest - self.0.earned[step]).div_ceil(rate);
        let rounds = rounds.checked_mul(u128::from(self.times().period().unwrap_or(0)))?;
        u64::try_from(rounds.checked_add(u128::from(self.times().begin(step)))?.checked_add(wait)?).ok()
    }

    #[inline]
    fn times(&self) -> TraceTimes<'_> {
        TraceTimes::new(&self.0.steps.at, self.0.steps.period)
    }

    #[inline]
    fn of_round(&self, within: u64) -> u128 {
        let step = self.times().step_at(within);
        let since = u128::from(within - self.times().begin(step));
        self.0.earned[step] + since * u128::from(self.0.steps.rates[step].bps())
    }

    #[inline]
    fn per_round(&self) -> u128 {
        self.times().period().map_or(0, |period| self.of_round(period))
    }
}

impl TryFrom<TraceSteps> for RateTrace {
    type Error = BadTrace;

    fn try_from(steps: TraceSteps) -> Result<Self, BadTrace> {
        Self::new(steps)
    }
}

impl From<RateTrace> for TraceSteps {
    fn from(trace: RateTrace) -> Self {
        trace.steps().clone()
    }
}

impl JsonSchema for RateTrace {
    fn schema_name() -> Cow<'static, str> {
        TraceSteps::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        TraceSteps::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::NANOS_PER_SEC;

    fn trace(steps: &[(u64, u64)], period: Option<u64>) -> Result<RateTrace, BadTrace> {
        let (at, rates) = steps.iter().map(|(at, bps)| (*at, Rate::from_bps(*bps))).unzip();
        RateTrace::new(TraceSteps { at, rates, period })
    }

    #[test]
    fn what_comes_is_the_area_below_the_steps_in_each_round() {
        // 8 bit/ns for 1 µs, nothing for 2 µs, 16 bit/ns for 1 µs.
        let trace = trace(&[(0, 8_000_000_000), (1, 0), (3, 16_000_000_000)], Some(4)).unwrap();
        let bits = |nanos| trace.earned_until(nanos) / u128::from(NANOS_PER_SEC);
        assert_eq!([0, 500, 1_000, 3_000, 3_500, 4_000].map(bits), [0, 4_000, 8_000, 8_000, 16_000, 24_000]);
        assert_eq!(bits(10 * 4_000 + 500), 244_000);
        assert_eq!(trace.at(3_999), (Rate::from_bps(16_000_000_000), Some(4_000)));
        assert_eq!(trace.at(5_500), (Rate::from_bps(0), Some(7_000)));
        assert_eq!((trace.mean().bps(), trace.length()), (6_000_000_000, Duration::from_micros(4)));
    }

    #[test]
    fn an_instant_is_the_first_by_which_so_much_has_come() {
        let trace = trace(&[(0, 8_000_000_000), (1, 0), (3, 16_000_000_000)], Some(4)).unwrap();
        for nanos in [1_u64, 7, 999, 1_000, 3_001, 3_999, 4_000, 4_001, 47_123] {
            let wanted = trace.earned_until(nanos);
            let found = trace.instant_of(wanted).unwrap();
            assert!(found <= nanos && trace.earned_until(found) >= wanted, "{nanos}: {found}");
            assert!(trace.earned_until(found - 1) < wanted, "{nanos}: {found}");
        }
    }

    #[test]
    fn the_last_rate_stays_where_nothing_repeats() {
        let trace = trace(&[(0, 0), (2, 1_000_000_000)], None).unwrap();
        assert_eq!(trace.at(u64::MAX), (Rate::from_bps(1_000_000_000), None));
        assert_eq!(trace.instant_of(u128::from(NANOS_PER_SEC)), Some(2_001));
    }

    #[test]
    fn what_is_no_trace_is_refused_in_records_too() {
        assert_eq!(trace(&[], None), Err(BadTrace::Steps));
        assert_eq!(trace(&[(1, 1)], None), Err(BadTrace::Order));
        assert_eq!(trace(&[(0, 1), (0, 2)], None), Err(BadTrace::Order));
        assert_eq!(trace(&[(0, 1), (5, 2)], Some(5)), Err(BadTrace::Order));
        assert_eq!(trace(&[(0, 1), (5, 0)], None), Err(BadTrace::Zero));
        assert_eq!(trace(&[(0, 0), (5, 0)], Some(9)), Err(BadTrace::Zero));
        let text = "{\"at_us\":[0,7],\"rates_bps\":[1],\"period_us\":null}";
        assert!(serde_json::from_str::<RateTrace>(text).is_err());
        let good = trace(&[(0, 1), (7, 2)], Some(9)).unwrap();
        let written = serde_json::to_string(&good).unwrap();
        assert_eq!(written, "{\"at_us\":[0,7],\"rates_bps\":[1,2],\"period_us\":9}");
        assert_eq!(serde_json::from_str::<RateTrace>(&written).unwrap(), good);
    }

    #[test]
    fn extreme_rates_and_times_do_not_overflow() {
        let most = u64::MAX / 1_000;
        let trace = trace(&[(0, u64::MAX), (most - 1, u64::MAX)], Some(most)).unwrap();
        assert!(trace.earned_until(u64::MAX) > 0);
        assert_eq!(trace.instant_of(u128::MAX), None);
    }
}
