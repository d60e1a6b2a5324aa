//! What a table of repeated runs needs: the median, where it lies, and by how much two differ.
//!
//! The centre is the median everywhere: of three runs one may be far off. Never: an interval from a single value.

mod difference;
mod interval;

pub use difference::{Difference, VALUES_MIN, paired, unpaired};
pub use interval::{CoveredInterval, LEVEL, median_interval};

/// Two-sided 99 % point of the standard normal distribution.
const Z_99: f64 = 2.575_829_303_548_900_4;

/// A closed interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The quantile at `fraction` (0 to 1) of `values`, in their unit: Hyndman and Fan (1996) type 7, the default of R and
/// NumPy (linear between the order statistics at `fraction × (n − 1)`). `None` without values.
pub fn percentile(values: &[f64], fraction: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, fraction)
}

/// The median: [`percentile`] at one half. `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    percentile(values, 0.5)
}

/// How far values lie apart: from the first to the third quartile, over the median. `None` without values, or where the median is 0.
pub fn relative_spread(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|fraction| quantile_of_sorted(&sorted, fraction));
    Some((high? - low?) / middle.filter(|&middle| middle != 0.0)?)
}

/// Standard deviation over mean. `None` without values, or where the mean is 0.
pub fn variation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean > 0.0).then(|| variance.sqrt() / mean)
}

/// By how many standard errors the mean rank of `values` among `all`, of which they are a few, differs from that of values drawn by chance
/// (Mann and Whitney 1947); equal values share their ranks. `None` where either is empty.
pub fn mean_rank_score(values: &[f64], mut all: Vec<f64>) -> Option<f64> {
    if values.is_empty() || all.is_empty() {
        return None;
    }
    all.sort_by(f64::total_cmp);
    let rank = |value: &f64| {
        let below = all.partition_point(|other| other < value);
        let not_above = all.partition_point(|other| other <= value);
        (below + not_above) as f64 / 2.0 / all.len() as f64
    };
    rank_score(&values.iter().map(rank).collect::<Vec<f64>>())
}

/// The same of ranks, from 0 to 1. `None` without any.
pub fn rank_score(ranks: &[f64]) -> Option<f64> {
    let count = ranks.len() as f64;
    let mean = ranks.iter().sum::<f64>() / count;
    // A rank by chance is as likely anywhere from 0 to 1: its mean is 1/2, its variance 1/12.
    (count > 0.0).then(|| (mean - 0.5) * (12.0 * count).sqrt())
}

/// The 99 % Wilson (1927) score interval of a probability, from `hits` in `trials`: what a configured loss has to lie in
/// if the counted loss is honest. `None` without trials or with more hits than trials.
pub fn binomial_99(hits: u64, trials: u64) -> Option<Interval> {
    if trials == 0 || hits > trials {
        return None;
    }
    let (n, k) = (trials as f64, hits as f64);
    let share = k / n;
    let z2 = Z_99 * Z_99;
    let centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z_99 / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    Some(Interval { low: (centre - half).clamp(0.0, share), high: (centre + half).clamp(share, 1.0) })
}

/// Jain's fairness index `(Σx)² / (n Σx²)` (Jain, Chiu, Hawe, 1984): 1 = all equal, 1/n = one has everything. `None` with
/// fewer than two values or where all are zero.
pub fn jain_fairness(values: &[f64]) -> Option<f64> {
    let squares: f64 = values.iter().map(|x| x * x).sum();
    if values.len() < 2 || squares == 0.0 {
        return None;
    }
    let sum: f64 = values.iter().sum();
    Some(sum * sum / (values.len() as f64 * squares))
}

/// `value` as the integer that a result holds: rounded half away from zero; negative and `NaN` become 0, too large saturates.
pub fn rounded(value: f64) -> u64 {
    value.round() as u64
}

fn quantile_of_sorted(sorted: &[f64], fraction: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = fraction.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    Some(low + (high - low) * (position - below as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `numpy.percentile([15, 20, 35, 40, 50], 40)` and R's `quantile(type = 7)` give 29.
    #[test]
    fn the_mean_rank_of_values_drawn_evenly_is_one_half_and_that_of_the_largest_is_far_above() {
        let all: Vec<f64> = (0..1_000).map(f64::from).collect();
        let even: Vec<f64> = (0..10).map(|at| f64::from(at * 100 + 50)).collect();
        let largest: Vec<f64> = (990..1_000).map(f64::from).collect();
        let score = |values: &[f64]| mean_rank_score(values, all.clone()).unwrap();
        assert!(score(&even).abs() < 0.1, "{}", score(&even));
        // Half of the range, of which one standard error is 1 / sqrt(12 × 10).
        assert!((score(&largest) - 5.42).abs() < 0.02, "{}", score(&largest));
        assert_eq!(mean_rank_score(&[1.0, 1.0], vec![1.0; 9]), Some(0.0), "ties share their rank");
        assert_eq!(mean_rank_score(&[], all), None);
        assert_eq!((rank_score(&[0.5]), rank_score(&[])), (Some(0.0), None));
    }

    #[test]
    fn percentile_is_hyndman_fan_type_7() {
        let values = [35.0, 15.0, 50.0, 20.0, 40.0];
        assert!((percentile(&values, 0.40).unwrap() - 29.0).abs() < 1e-9);
        assert_eq!(median(&values), Some(35.0));
        assert_eq!(median(&[1.0, 2.0]), Some(1.5));
        assert_eq!(median(&[]), None);
    }

    /// Worked by hand from Wilson's formula: 1 of 100 gives 0.040488 ± 0.039313.
    #[test]
    fn wilson_matches_the_worked_case() {
        let got = binomial_99(1, 100).unwrap();
        assert!((got.low - 0.001_175).abs() < 5e-6, "{got:?}");
        assert!((got.high - 0.079_80).abs() < 5e-5, "{got:?}");
        assert_eq!(binomial_99(0, 0), None);
        assert_eq!(binomial_99(2, 1), None);
    }

    #[test]
    fn fairness_runs_from_one_over_n_to_one() {
        assert_eq!(jain_fairness(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_fairness(&[4.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_fairness(&[1.0]), None);
        assert_eq!(jain_fairness(&[0.0, 0.0]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn percentiles_are_ordered_and_inside(values in prop::collection::vec(-1e12_f64..1e12, 1..40), a in 0.0_f64..=1.0, b in 0.0_f64..=1.0) {
            let (low, high) = (a.min(b), a.max(b));
            let (p, q) = (percentile(&values, low).unwrap(), percentile(&values, high).unwrap());
            prop_assert!(p <= q + 1e-3);
            let min = values.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert_eq!(percentile(&values, 0.0), Some(min));
            prop_assert!(p >= min);
        }

        #[test]
        fn wilson_holds_the_share_and_narrows(hits in 0_u64..1000, more in 0_u64..1000) {
            let trials = hits + more + 1;
            let (once, tenfold) = (binomial_99(hits, trials).unwrap(), binomial_99(hits * 10, trials * 10).unwrap());
            let share = hits as f64 / trials as f64;
            prop_assert!(once.low <= share && share <= once.high);
            prop_assert!(tenfold.high - tenfold.low < once.high - once.low);
        }

        #[test]
        fn fairness_is_bounded(values in prop::collection::vec(0.001_f64..1e9, 2..20)) {
            let index = jain_fairness(&values).unwrap();
            prop_assert!(index <= 1.0 + 1e-9 && index >= 1.0 / values.len() as f64 - 1e-9);
        }
    }
}
