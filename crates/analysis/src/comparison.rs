//! Two ways to run the same cell, in pairs: by how much they differ, and whether that is more than chance.
//!
//! The runs of a pair follow each other and share a seed, so that what both have in common cancels out. Of the differences
//! the mean, with Student's 95 % interval (see [`crate::means`]). Never: a verdict where the interval holds zero, or one from a
//! single pair.

use crate::means::student_95;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A mean, and where it lies with 95 %.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Mean {
    /// Bits per second.
    pub bps: f64,
    /// Lower end of Student's 95 % interval; null with a single value.
    pub low_bps: Option<f64>,
    /// Upper end.
    pub high_bps: Option<f64>,
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
    /// Fewer than two pairs are valid.
    TooFewPairs,
}

/// Runs before and after a change, pair by pair.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Comparison {
    /// Goodput of each pair, before and after; pairs of which a run is invalid are not here.
    pub pairs: Vec<(u64, u64)>,
    /// Pairs that were run.
    pub pairs_run: usize,
    /// Before.
    pub before: Mean,
    /// After.
    pub after: Mean,
    /// After − before.
    pub difference: Mean,
    /// What that says.
    pub verdict: Difference,
}

impl Comparison {
    /// Of the valid `pairs` (before, after) out of `pairs_run`; `None` where there is none.
    pub fn of(pairs: &[(u64, u64)], pairs_run: usize) -> Option<Self> {
        let side = |value: fn(&(u64, u64)) -> f64| mean(&pairs.iter().map(value).collect::<Vec<_>>());
        let difference = side(|&(before, after)| after as f64 - before as f64)?;
        Some(Self {
            pairs: pairs.to_vec(),
            pairs_run,
            before: side(|pair| pair.0 as f64)?,
            after: side(|pair| pair.1 as f64)?,
            verdict: verdict(&difference),
            difference,
        })
    }

    /// Difference over before; `None` where nothing arrived before.
    pub fn gain(&self) -> Option<f64> {
        (self.before.bps > 0.0).then(|| self.difference.bps / self.before.bps)
    }
}

fn mean(values: &[f64]) -> Option<Mean> {
    let interval = student_95(values);
    let bps = values.iter().sum::<f64>() / values.len() as f64;
    let (low_bps, high_bps) = (interval.map(|one| one.low), interval.map(|one| one.high));
    (!values.is_empty()).then_some(Mean { bps, low_bps, high_bps })
}

fn verdict(difference: &Mean) -> Difference {
    match (difference.low_bps, difference.high_bps) {
        (Some(low), _) if low > 0.0 => Difference::More,
        (_, Some(high)) if high < 0.0 => Difference::Less,
        (Some(_), Some(_)) => Difference::NotShown,
        _ => Difference::TooFewPairs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::prng::Prng;
    use pipefill_core::units::Seed;

    #[test]
    fn the_sign_needs_an_interval_without_zero() {
        let of = |pairs: &[(u64, u64)]| Comparison::of(pairs, pairs.len()).map(|one| one.verdict);
        assert_eq!(of(&[(100, 200), (110, 190), (90, 205)]), Some(Difference::More));
        assert_eq!(of(&[(200, 100), (190, 110), (205, 90)]), Some(Difference::Less));
        assert_eq!(of(&[(100, 200), (100, 90), (100, 110)]), Some(Difference::NotShown));
        assert_eq!(of(&[(100, 100), (100, 100)]), Some(Difference::NotShown));
        assert_eq!(of(&[(100, 200)]), Some(Difference::TooFewPairs));
        assert_eq!(of(&[]), None);
    }

    /// What both runs of a pair share cancels out, however large it is.
    #[test]
    fn pairing_takes_out_what_both_share() {
        let pairs = [(100, 110), (500, 511), (900, 909)];
        let got = Comparison::of(&pairs, 3).unwrap();
        assert_eq!(got.verdict, Difference::More);
        assert!(got.before.low_bps.unwrap() < 0.0 && got.difference.low_bps.unwrap() > 7.0, "{got:?}");
        assert_eq!(got.gain(), Some(10.0 / 500.0));
    }

    /// Of 2000 experiments with four pairs without a difference about one in twenty claims one: the level of the test.
    #[test]
    fn where_nothing_differs_it_is_wrong_one_time_in_twenty() {
        let mut prng = Prng::stream(Seed::new(7), "comparison/level");
        let mut noise = || (0..12).map(|_| prng.below(1_000)).sum::<u64>();
        let claims = (0..2_000).filter(|_| {
            let pairs: Vec<(u64, u64)> = (0..4).map(|_| (noise(), noise())).collect();
            matches!(Comparison::of(&pairs, 4).unwrap().verdict, Difference::More | Difference::Less)
        });
        let share = claims.count() as f64 / 2_000.0;
        assert!((0.035..0.065).contains(&share), "{share}");
    }
}
