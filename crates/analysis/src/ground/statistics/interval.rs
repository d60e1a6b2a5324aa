//! Where a median lies: the interval between two order statistics, whose coverage is exact whatever the distribution.

use super::Interval;

/// What an interval is to cover where there are enough values.
pub const LEVEL: f64 = 0.95;

/// An interval, and the share of such intervals that hold what they estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoveredInterval {
    /// Its ends.
    pub interval: Interval,
    /// Above 0, at most 1.
    pub coverage: f64,
}

/// The interval of the median of what `values` were drawn from: from the k-th smallest to the k-th largest, with the largest
/// k that covers [`LEVEL`] at least, else the smallest and the largest value. `None` with fewer than two values.
///
/// The coverage is `1 − 2 P(B < k)` with B binomial, n draws of one half (Thompson, 1936; David and Nagaraja, Order Statistics,
/// section 7.1): 50 % for n = 2, 75 % for 3, 87.5 % for 4, 93.75 % for 5, 96.9 % for 6. Ties make it more, never less.
pub fn median_interval(values: &[f64]) -> Option<CoveredInterval> {
    if values.len() < 2 {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (rank, coverage) = rank_and_coverage(sorted.len());
    let interval = Interval { low: sorted[rank - 1], high: sorted[sorted.len() - rank] };
    Some(CoveredInterval { interval, coverage })
}

/// k, counted from 1, and the coverage for `n` values.
fn rank_and_coverage(n: usize) -> (usize, f64) {
    let count = n as f64;
    // ln of C(n, i) / 2^n, since 2^-n is 0 for a large n.
    let mut log_share = -count * std::f64::consts::LN_2;
    let mut below = log_share.exp();
    let mut rank = 1;
    let mut coverage = 1.0 - 2.0 * below;
    while rank < n / 2 {
        let drawn = rank as f64;
        log_share += ((count - drawn + 1.0) / drawn).ln();
        below += log_share.exp();
        if 1.0 - 2.0 * below < LEVEL {
            break;
        }
        rank += 1;
        coverage = 1.0 - 2.0 * below;
    }
    (rank, coverage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::statistics::median;
    use pipefill_core::prng::Prng;
    use pipefill_core::units::Seed;
    use proptest::prelude::*;

    /// The table of David and Nagaraja, section 7.1, and of every textbook on the sign test.
    #[test]
    fn ranks_and_coverages_are_those_of_the_table() {
        let got = |n| rank_and_coverage(n);
        let near = |(rank, coverage): (usize, f64), want_rank, want: f64| {
            assert_eq!(rank, want_rank);
            assert!((coverage - want).abs() < 5e-5, "{coverage} {want}");
        };
        near(got(2), 1, 0.5);
        near(got(3), 1, 0.75);
        near(got(4), 1, 0.875);
        near(got(5), 1, 0.9375);
        near(got(6), 1, 0.968_75);
        near(got(8), 1, 0.992_19);
        near(got(9), 2, 0.960_94);
        near(got(20), 6, 0.958_61);
        near(got(100), 40, 0.964_80);
        let (rank, coverage) = got(5_000);
        assert!((2_400..2_440).contains(&rank) && (0.95..0.952).contains(&coverage), "{rank} {coverage}");
    }

    #[test]
    fn one_value_has_no_interval_and_equal_values_have_none_of_width() {
        assert_eq!(median_interval(&[5.0]), None);
        let got = median_interval(&[5.0, 5.0, 5.0]).unwrap();
        assert_eq!((got.interval, got.coverage), (Interval { low: 5.0, high: 5.0 }, 0.75));
    }

    /// 4000 samples of a skewed distribution with the median ln 2: as many hold it as the interval says.
    #[test]
    fn it_covers_what_it_says() {
        let mut prng = Prng::stream(Seed::new(3), "interval/coverage");
        let mut uniform = || (prng.below(1 << 40) as f64 + 0.5) / (1_u64 << 40) as f64;
        for n in [3, 4, 5, 9] {
            let mut said = 0.0;
            let holds = (0..4_000).filter(|_| {
                let values: Vec<f64> = (0..n).map(|_| -uniform().ln()).collect();
                let got = median_interval(&values).unwrap();
                said = got.coverage;
                got.interval.low <= std::f64::consts::LN_2 && std::f64::consts::LN_2 <= got.interval.high
            });
            let share = holds.count() as f64 / 4_000.0;
            assert!((share - said).abs() < 0.025, "{n}: {share} {said}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn it_holds_the_median_and_covers_more_with_more_values(values in prop::collection::vec(1.0_f64..1e10, 2..60)) {
            let got = median_interval(&values).unwrap();
            let middle = median(&values).unwrap();
            prop_assert!(got.interval.low <= middle && middle <= got.interval.high);
            let least = if values.len() < 6 { 0.5 } else { LEVEL };
            prop_assert!(got.coverage >= least);
        }
    }
}
