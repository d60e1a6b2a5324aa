//! Two ways to run the same cell, in pairs: by how much they differ, and whether that is more than chance.
//!
//! The runs of a pair follow each other and share a seed, so that what both have in common cancels out: of the differences the
//! median (see [`crate::ground::statistics::paired`]). Never: a verdict where the interval holds zero, or one from fewer than three
//! pairs.

use crate::ground::statistics::{self, CoveredInterval, LEVEL, median, median_interval};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

/// A median, and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Median {
    /// Bits per second.
    pub bps: f64,
    /// Lower end of its interval; null where there are too few values for one.
    pub low_bps: Option<f64>,
    /// Upper end.
    pub high_bps: Option<f64>,
    /// The share of such intervals that hold the true median, e.g. 0.75 for that of three runs; 0.95 for a difference.
    pub coverage: Option<f64>,
}

/// What the pairs say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// The whole interval of after − before is above zero.
    More,
    /// It is below.
    Less,
    /// It holds zero.
    NotShown,
    /// Fewer than three pairs are valid.
    TooFewPairs,
}

/// Runs before and after a change, pair by pair. Read back, all figures are made again from the pairs.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Comparison {
    /// Goodput of each pair, before and after; pairs of which a run is invalid are not here.
    pub pairs: Vec<(u64, u64)>,
    /// Pairs that were run.
    pub pairs_run: usize,
    /// Before: the median of the runs, as a report has it.
    pub before: Median,
    /// After.
    pub after: Median,
    /// After − before: the median of the pairs' differences, which need not be the difference of the medians.
    pub difference: Median,
    /// The smallest true difference that these pairs would show four times in five; null where there is no interval.
    pub detectable_bps: Option<f64>,
    /// What that says.
    pub verdict: Difference,
}

/// Median round trips under load before and after a change, pair by pair.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RttComparison {
    /// Each pair, before and after; pairs of which a run is invalid, or has no round trip, are not here.
    pub pairs: Vec<(u64, u64)>,
    /// Before: the median of the runs.
    pub before_us: f64,
    /// After.
    pub after_us: f64,
    /// After − before: the median of the pairs' differences.
    pub difference_us: f64,
    /// Lower end of its interval; null with too few pairs.
    pub low_us: Option<f64>,
    /// Upper end.
    pub high_us: Option<f64>,
    /// Whether the round trip became longer or shorter, by the interval.
    pub verdict: Difference,
}

/// Numbers of events before and after a change, pair by pair.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CountComparison {
    /// Each pair, before and after; pairs of which a run is invalid, or has no number, are not here.
    pub pairs: Vec<(u64, u64)>,
    /// Before: the median of the runs.
    pub before: f64,
    /// After.
    pub after: f64,
    /// After − before: the median of the pairs' differences.
    pub difference: f64,
    /// Lower end of its interval; null with too few pairs.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Whether there are more or fewer, by the interval.
    pub verdict: Difference,
}

impl RttComparison {
    /// Of the valid `pairs` (before, after), microseconds; `None` where there is none.
    pub fn of(pairs: Vec<(u64, u64)>) -> Option<Self> {
        let CountComparison { pairs, before, after, difference, low, high, verdict } =
            CountComparison::of(pairs)?;
        Some(Self {
            pairs,
            before_us: before,
            after_us: after,
            difference_us: difference,
            low_us: low,
            high_us: high,
            verdict,
        })
    }
}

impl CountComparison {
    /// Of the valid `pairs` (before, after); `None` where there is none.
    pub fn of(pairs: Vec<(u64, u64)>) -> Option<Self> {
        let values = |value: fn(&(u64, u64)) -> f64| pairs.iter().map(value).collect::<Vec<f64>>();
        let found = statistics::paired(&values(|&(before, after)| after as f64 - before as f64))?;
        let (low, high) =
            (found.interval.map(|interval| interval.low), found.interval.map(|interval| interval.high));
        Some(Self {
            before: median(&values(|pair| pair.0 as f64))?,
            after: median(&values(|pair| pair.1 as f64))?,
            difference: found.value,
            low,
            high,
            verdict: verdict(low, high),
            pairs,
        })
    }
}

impl Comparison {
    /// Of the valid `pairs` (before, after) out of `pairs_run`; `None` where there is none.
    pub fn of(pairs: &[(u64, u64)], pairs_run: usize) -> Option<Self> {
        let values = |value: fn(&(u64, u64)) -> f64| pairs.iter().map(value).collect::<Vec<f64>>();
        let found = statistics::paired(&values(|&(before, after)| after as f64 - before as f64))?;
        let interval = found.interval.map(|interval| CoveredInterval { interval, coverage: LEVEL });
        let difference = Median::with(found.value, interval);
        Some(Self {
            pairs: pairs.to_vec(),
            pairs_run,
            before: Median::of(&values(|pair| pair.0 as f64))?,
            after: Median::of(&values(|pair| pair.1 as f64))?,
            verdict: verdict(difference.low_bps, difference.high_bps),
            difference,
            detectable_bps: found.detectable,
        })
    }

    /// Difference over before; `None` where nothing arrived before.
    pub fn gain(&self) -> Option<f64> {
        (self.before.bps > 0.0).then(|| self.difference.bps / self.before.bps)
    }
}

impl<'de> Deserialize<'de> for Comparison {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Recorded {
            pairs: Vec<(u64, u64)>,
            pairs_run: usize,
        }
        let Recorded { pairs, pairs_run } = Recorded::deserialize(deserializer)?;
        Self::of(&pairs, pairs_run).ok_or_else(|| de::Error::custom("a comparison without a pair of runs"))
    }
}

impl Median {
    fn of(values: &[f64]) -> Option<Self> {
        Some(Self::with(median(values)?, median_interval(values)))
    }

    fn with(bps: f64, covered: Option<CoveredInterval>) -> Self {
        Self {
            bps,
            low_bps: covered.map(|covered| covered.interval.low),
            high_bps: covered.map(|covered| covered.interval.high),
            coverage: covered.map(|covered| covered.coverage),
        }
    }
}

fn verdict(low: Option<f64>, high: Option<f64>) -> Difference {
    match (low, high) {
        (Some(low), _) if low > 0.0 => Difference::More,
        (_, Some(high)) if high < 0.0 => Difference::Less,
        (Some(_), Some(_)) => Difference::NotShown,
        _ => Difference::TooFewPairs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_needs_an_interval_without_zero() {
        let of =
            |pairs: &[(u64, u64)]| Comparison::of(pairs, pairs.len()).map(|comparison| comparison.verdict);
        assert_eq!(of(&[(100, 200), (110, 190), (90, 205)]), Some(Difference::More));
        assert_eq!(of(&[(200, 100), (190, 110), (205, 90)]), Some(Difference::Less));
        assert_eq!(of(&[(100, 200), (100, 90), (100, 110)]), Some(Difference::NotShown));
        assert_eq!(of(&[(100, 100), (100, 100), (90, 90)]), Some(Difference::NotShown));
        assert_eq!(of(&[(100, 200), (100, 200)]), Some(Difference::TooFewPairs));
        assert_eq!(of(&[]), None);
    }

    /// What both runs of a pair share cancels out, however large it is.
    #[test]
    fn pairing_takes_out_what_both_share() {
        let pairs = [(100, 110), (500, 511), (900, 909)];
        let got = Comparison::of(&pairs, 3).unwrap();
        assert_eq!(got.verdict, Difference::More);
        assert_eq!(
            (got.before.bps, got.before.low_bps, got.before.coverage),
            (500.0, Some(100.0), Some(0.75))
        );
        assert!(got.difference.low_bps.unwrap() > 7.0 && got.difference.coverage == Some(0.95), "{got:?}");
        assert_eq!(got.gain(), Some(10.0 / 500.0));
    }

    /// A record of 0.1.0 has means and Student's intervals.
    #[test]
    fn figures_are_made_again_from_recorded_pairs() {
        let recorded = r#"{"pairs": [[100, 110], [100, 120], [130, 190]], "pairs_run": 4, "verdict": "not_shown",
            "before": {"bps": 110, "low_bps": 67, "high_bps": 153}, "after": {"bps": 140, "low_bps": null, "high_bps": null},
            "difference": {"bps": 30, "low_bps": -36, "high_bps": 96}}"#;
        let read: Comparison = serde_json::from_str(recorded).unwrap();
        assert_eq!(Some(&read), Comparison::of(&[(100, 110), (100, 120), (130, 190)], 4).as_ref());
        assert_eq!((read.before.bps, read.after.bps, read.difference.bps), (100.0, 120.0, 20.0));
        let again: Comparison = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
        assert_eq!(again, read);
        assert!(serde_json::from_str::<Comparison>(r#"{"pairs": [], "pairs_run": 2}"#).is_err());
    }
}
