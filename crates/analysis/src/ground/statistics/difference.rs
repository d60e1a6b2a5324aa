//! The difference of two medians, how sure it is, and which difference would have been seen.
//!
//! Three to ten runs are what anyone makes. Each interval is the wider of two: Student's or Welch's with the standard
//! error of a median, which holds where values spread about normally, and one between order statistics, which holds where they
//! do not (two modes, a far outlier) but covers less than 95 % with few values. Never: an interval of fewer than three values.

use super::{Interval, median, median_interval};
use std::f64::consts::FRAC_PI_2;

/// Values that a side needs: with two, a distribution of two modes makes them equal too often.
pub const VALUES_MIN: usize = 3;

/// Above this many pairs of values the normal approximation replaces the exact counts of Mann and Whitney.
const EXACT_PAIRS: usize = 1_000;

/// Two-sided 95 % points of Student's t for 1 to 30 degrees of freedom (Fisher and Yates, 1938, table III).
const T_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// One-sided 80 % points of Student's t (the same table, two-sided 40 %).
const T_80: [f64; 30] = [
    1.376, 1.061, 0.978, 0.941, 0.920, 0.906, 0.896, 0.889, 0.883, 0.879, 0.876, 0.873, 0.870, 0.868, 0.866,
    0.865, 0.863, 0.862, 0.861, 0.860, 0.859, 0.858, 0.858, 0.857, 0.856, 0.856, 0.855, 0.855, 0.854, 0.854,
];

/// Variance of the median of n standard normal values, for n from 1 on (Teichroew, 1956, from the moments of order statistics).
const MEDIAN_VARIANCE: [f64; 10] = [1.0, 0.5, 0.4487, 0.2982, 0.2868, 0.2147, 0.2104, 0.1682, 0.1661, 0.1383];

/// A difference of medians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// As it is.
    pub value: f64,
    /// Where the true one lies, 95 %; `None` with fewer than [`VALUES_MIN`] values on a side.
    pub interval: Option<Interval>,
    /// A true difference of this size would be shown about four times in five; `None` where there is no interval.
    pub detectable: Option<f64>,
}

/// Half of an interval by Student's t, and the degrees of freedom.
struct Studentised {
    half: f64,
    freedom: usize,
}

/// The median of `after` less that of `before`, for values that are no pairs and spread differently. `None` without values on a
/// side.
///
/// The interval is the wider of Welch's (1947) `t(ν) × √(e₁ + e₂)` around the difference, with `e = v(n) × s²`, v the variance
/// of the median of n standard normal values and ν by Satterthwaite (1946), rounded down; and of the one that inverts the
/// test of Mann and Whitney (1947), between two ordered differences of one value of each side.
pub fn unpaired(before: &[f64], after: &[f64]) -> Option<Difference> {
    let value = median(after)? - median(before)?;
    let shown = (before.len().min(after.len()) >= VALUES_MIN).then(|| {
        let student = Studentised::of_two(before, after);
        (student.around(value).joined(shift(before, after)), student)
    });
    Some(Difference::of(value, shown))
}

/// The median of `differences`, one for each pair. `None` without any.
///
/// The interval is the wider of Student's (1908) around it, `t(n − 1) × √v(n) × s`, and of [`median_interval`].
pub fn paired(differences: &[f64]) -> Option<Difference> {
    let value = median(differences)?;
    let ordered = median_interval(differences).filter(|_| differences.len() >= VALUES_MIN);
    let shown = ordered.map(|ordered| {
        let student = Studentised::of_one(differences);
        (student.around(value).joined(ordered.interval), student)
    });
    Some(Difference::of(value, shown))
}

impl Difference {
    /// `t₀.₉₇₅ × error` is half of the interval, so that `(t₀.₉₇₅ + t₀.₈) × error` is seen four times in five (Bloom, 1995).
    fn of(value: f64, shown: Option<(Interval, Studentised)>) -> Self {
        let detectable = shown.as_ref().map(|(interval, student)| {
            let half = (interval.high - interval.low) / 2.0;
            half * (1.0 + T_80[student.freedom.clamp(1, T_80.len()) - 1] / t_95(student.freedom))
        });
        Self { value, interval: shown.map(|(interval, _)| interval), detectable }
    }
}

impl Studentised {
    fn of_one(values: &[f64]) -> Self {
        let freedom = values.len() - 1;
        Self { half: t_95(freedom) * error2(values).sqrt(), freedom }
    }

    fn of_two(before: &[f64], after: &[f64]) -> Self {
        let sides = [before, after].map(|values| (error2(values), (values.len() - 1) as f64));
        let sum: f64 = sides.iter().map(|(error2, _)| error2).sum();
        // Without any spread there is nothing to multiply, whatever t is.
        if sum == 0.0 {
            return Self { half: 0.0, freedom: before.len() + after.len() - 2 };
        }
        let shares: f64 = sides.iter().map(|(error2, freedom)| (error2 / sum).powi(2) / freedom).sum();
        let freedom = (1.0 / shares) as usize;
        Self { half: t_95(freedom) * sum.sqrt(), freedom }
    }

    fn around(&self, value: f64) -> Interval {
        Interval { low: value - self.half, high: value + self.half }
    }
}

impl Interval {
    /// From the lower of both lower ends to the higher of both upper ones.
    fn joined(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// The square of the standard error of the median of `values`, two at least: `v(n) × s²`.
fn error2(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // From above towards its limit, as n grows.
    let variance = MEDIAN_VARIANCE.get(values.len() - 1).copied().unwrap_or(FRAC_PI_2 / n);
    variance * squares / (n - 1.0)
}

/// The interval of a shift by Mann and Whitney: from the k-th smallest difference of a value of each side to the k-th
/// largest, with the largest k that covers 95 %, else all of them.
fn shift(before: &[f64], after: &[f64]) -> Interval {
    let mut differences: Vec<f64> =
        after.iter().flat_map(|now| before.iter().map(move |then| now - then)).collect();
    differences.sort_by(f64::total_cmp);
    let rank = shift_rank(before.len(), after.len());
    Interval { low: differences[rank - 1], high: differences[differences.len() - rank] }
}

/// k, counted from 1: as many arrangements as a 40th of all have fewer than k pairs in order.
fn shift_rank(before: usize, after: usize) -> usize {
    let pairs = before * after;
    if pairs > EXACT_PAIRS {
        let deviation = (pairs as f64 * (before + after + 1) as f64 / 12.0).sqrt();
        return ((pairs as f64 / 2.0 - 1.96 * deviation) as usize).max(1);
    }
    let ways = arrangements(before, after);
    let all: f64 = ways.iter().sum();
    let below = ways.iter().scan(0.0, |sum, count| {
        *sum += count;
        Some(*sum)
    });
    below.take_while(|sum| *sum <= all * 0.025).count().max(1)
}

/// How many arrangements of `before` and `after` values have 0, 1, 2, … pairs in order: the coefficients of the Gaussian
/// binomial (Mann and Whitney, 1947), `∏ (1 − q^(after + i)) / (1 − q^i)`.
fn arrangements(before: usize, after: usize) -> Vec<f64> {
    let mut ways = vec![0.0; before * after + 1];
    ways[0] = 1.0;
    for i in 1..=before {
        for at in (after + i..ways.len()).rev() {
            ways[at] -= ways[at - after - i];
        }
        for at in i..ways.len() {
            ways[at] += ways[at - i];
        }
    }
    ways
}

/// Between the rows of the table the next smaller number of degrees decides: a little too wide, never too narrow.
fn t_95(freedom: usize) -> f64 {
    match freedom {
        120.. => 1.980,
        60.. => 2.000,
        40.. => 2.021,
        _ => T_95[freedom.clamp(1, T_95.len()) - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::prng::Prng;
    use pipefill_core::units::Seed;

    /// Chance of several shapes, by name.
    struct Chance(Prng);

    const SHAPES: [&str; 5] = ["normal", "uniform", "skewed", "far outliers", "two modes"];

    impl Chance {
        fn of(name: &str) -> Self {
            Self(Prng::stream(Seed::new(7), name))
        }

        fn uniform(&mut self) -> f64 {
            (self.0.below(1 << 40) as f64 + 0.5) / (1_u64 << 40) as f64
        }

        /// Box and Muller, 1958.
        fn normal(&mut self) -> f64 {
            (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
        }

        fn value(&mut self, shape: &str) -> f64 {
            match shape {
                "normal" => self.normal(),
                "uniform" => self.uniform(),
                "skewed" => self.normal().exp(),
                "far outliers" if self.uniform() < 0.1 => self.normal() - 6.0,
                "far outliers" => self.normal(),
                _ if self.uniform() < 0.3 => 0.1 * self.normal() - 1.0,
                _ => 0.1 * self.normal() + 1.0,
            }
        }

        fn values(&mut self, shape: &str, n: usize) -> Vec<f64> {
            (0..n).map(|_| self.value(shape)).collect()
        }
    }

    const TRIES: usize = 2_000;

    fn excludes_zero(difference: Difference) -> bool {
        difference.interval.is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0)
    }

    fn share(is: impl FnMut(&usize) -> bool) -> f64 {
        (0..TRIES).filter(is).count() as f64 / TRIES as f64
    }

    #[test]
    fn variances_of_a_median_are_those_of_drawn_ones() {
        let mut chance = Chance::of("difference/variance");
        for n in 2..=10 {
            let drawn =
                (0..20_000).map(|_| median(&chance.values("normal", n)).unwrap().powi(2)).sum::<f64>()
                    / 20_000.0;
            let table = MEDIAN_VARIANCE[n - 1];
            assert!((drawn / table - 1.0).abs() < 0.04, "{n}: {drawn} {table}");
        }
        const { assert!(FRAC_PI_2 / 11.0 < MEDIAN_VARIANCE[9] * 1.05) };
    }

    /// Mann and Whitney's own table (1947) for n = 4 and m = 4, and critical values as every table of U has them.
    #[test]
    fn ranks_are_those_of_mann_and_whitney() {
        assert_eq!(
            arrangements(4, 4),
            [1.0, 1.0, 2.0, 3.0, 5.0, 5.0, 7.0, 7.0, 8.0, 7.0, 7.0, 5.0, 5.0, 3.0, 2.0, 1.0, 1.0]
        );
        let ranks = [(3, 3), (4, 4), (5, 5), (6, 6), (3, 5), (10, 10), (20, 20)]
            .map(|(before, after)| shift_rank(before, after));
        assert_eq!(ranks, [1, 1, 3, 6, 1, 24, 128]);
        assert!((shift_rank(25, 40) as f64 / shift_rank(25, 41) as f64 - 40.0 / 41.0).abs() < 0.02);
    }

    #[test]
    fn it_is_the_difference_of_the_medians() {
        let got = unpaired(&[10.0, 12.0, 50.0], &[20.0, 23.0, 21.0]).unwrap();
        assert_eq!(got.value, 9.0);
        let turned = unpaired(&[20.0, 23.0, 21.0], &[10.0, 12.0, 50.0]).unwrap();
        let (straight, reversed) = (got.interval.unwrap(), turned.interval.unwrap());
        assert!(
            (straight.low + reversed.high).abs() < 1e-9 && (straight.high + reversed.low).abs() < 1e-9,
            "{straight:?} {reversed:?}"
        );
    }

    #[test]
    fn equal_values_leave_no_doubt_and_two_on_a_side_all_of_it() {
        let sure = unpaired(&[5.0; 3], &[7.0; 4]).unwrap();
        assert_eq!((sure.interval, sure.detectable), (Some(Interval { low: 2.0, high: 2.0 }), Some(0.0)));
        let unsure = Difference { value: 2.5, interval: None, detectable: None };
        assert_eq!(unpaired(&[5.0, 5.0], &[7.0, 8.0, 7.5]), Some(unsure));
        assert_eq!(paired(&[2.0, 3.0]), Some(unsure));
        assert_eq!((unpaired(&[], &[1.0]), paired(&[])), (None, None));
    }

    /// Where both sides are drawn alike, whatever the shape and the number of runs.
    #[test]
    fn where_nothing_differs_it_is_wrong_one_time_in_twenty_at_most() {
        let mut chance = Chance::of("difference/level");
        for shape in SHAPES {
            for (before, after) in [(3, 3), (3, 5), (4, 4), (5, 5), (5, 10), (7, 7), (10, 10)] {
                let claims = share(|_| {
                    excludes_zero(
                        unpaired(&chance.values(shape, before), &chance.values(shape, after)).unwrap(),
                    )
                });
                assert!(claims <= 0.05, "{shape} {before} {after}: {claims}");
            }
            for n in 3..=10 {
                let mut pair = || chance.value(shape) - chance.value(shape);
                let claims =
                    share(|_| excludes_zero(paired(&(0..n).map(|_| pair()).collect::<Vec<_>>()).unwrap()));
                assert!(claims <= 0.05, "{shape} {n} pairs: {claims}");
            }
        }
    }

    /// Where one side spreads four times as much about the same median.
    #[test]
    fn a_wider_spread_alone_is_no_difference() {
        let mut chance = Chance::of("difference/spread");
        for n in [3, 4, 5, 10] {
            let claims = share(|_| {
                let wide: Vec<f64> = chance.values("normal", n).iter().map(|value| value * 4.0).collect();
                excludes_zero(unpaired(&chance.values("normal", n), &wide).unwrap())
            });
            assert!((0.005..=0.05).contains(&claims), "{n}: {claims}");
        }
    }

    /// A true difference as large as the typical `detectable` of such runs is shown about four times in five, and one of half
    /// the interval about every second time.
    #[test]
    fn what_is_detectable_is_shown_four_times_in_five() {
        let mut chance = Chance::of("difference/power");
        for n in [3, 4, 5, 7, 10] {
            let of: Vec<f64> = (0..TRIES)
                .filter_map(|_| {
                    unpaired(&chance.values("normal", n), &chance.values("normal", n))?.detectable
                })
                .collect();
            let size = median(&of).unwrap();
            let shown = share(|_| {
                let after: Vec<f64> = chance.values("normal", n).iter().map(|value| value + size).collect();
                excludes_zero(unpaired(&chance.values("normal", n), &after).unwrap())
            });
            assert!((0.65..0.87).contains(&shown), "{n}: {shown}");
        }
    }
}
