//! Intervals of a mean, and of the difference of two: Student's and Welch's.
//!
//! With the three to ten runs that anyone makes a bootstrap of the median would be too narrow (see
//! [`crate::statistics::bootstrap_median`]). Never: an interval from a single value.

use crate::statistics::Interval;

/// Two-sided 95 % points of Student's t for 1 to 30 degrees of freedom (Fisher and Yates, 1938, table III).
const T_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// A mean, and how sure it is.
struct Estimate {
    mean: f64,
    /// The square of its standard error, s² / n.
    error2: f64,
    freedom: usize,
}

/// Student's (1908) 95 % interval of the mean of `values`, `mean ± t(n − 1) × s / √n`; `None` with fewer than two.
pub fn student_95(values: &[f64]) -> Option<Interval> {
    let Estimate { mean, error2, freedom } = Estimate::of(values)?;
    Some(around(mean, t_95(freedom) * error2.sqrt()))
}

/// Welch's (1947) 95 % interval of the mean of `after` less that of `before`, for values that are no pairs and spread
/// differently: `difference ± t(ν) × √(e₁ + e₂)` with `e = s² / n` of each side, ν by Satterthwaite (1946), rounded down. `None`
/// with fewer than two values on a side.
pub fn welch_95(before: &[f64], after: &[f64]) -> Option<Interval> {
    let (one, other) = (Estimate::of(before)?, Estimate::of(after)?);
    let error2 = one.error2 + other.error2;
    let share = |side: &Estimate| (side.error2 / error2).powi(2) / side.freedom as f64;
    // Without any spread there is nothing to multiply, whatever t is.
    let half =
        if error2 > 0.0 { t_95((1.0 / (share(&one) + share(&other))) as usize) * error2.sqrt() } else { 0.0 };
    Some(around(other.mean - one.mean, half))
}

/// The mean of `values`; `None` without any.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

impl Estimate {
    fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let freedom = values.len().checked_sub(1).filter(|&freedom| freedom > 0)?;
        let mean = mean(values)?;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self { mean, error2: squares / freedom as f64 / n, freedom })
    }
}

fn around(centre: f64, half: f64) -> Interval {
    Interval { low: centre - half, high: centre + half }
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

    /// Student's own example (1908, "additional hours of sleep", differences of ten patients): mean 1.58, s = 1.23, and the
    /// interval that every textbook gives is 0.70 to 2.46.
    #[test]
    fn students_own_example() {
        let sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let got = student_95(&sleep).unwrap();
        assert!((got.low - 0.70).abs() < 0.005 && (got.high - 2.46).abs() < 0.005, "{got:?}");
    }

    /// The example of unequal variances that Wikipedia's article on Welch's test works through: t = −2.46, ν = 25.0. R's `t.test`
    /// gives −3.98 to −0.35 for the first less the second.
    #[test]
    fn welchs_interval_is_that_of_r() {
        let first =
            [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4];
        let second =
            [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4];
        let got = welch_95(&first, &second).unwrap();
        assert!((got.low - 0.35).abs() < 0.01 && (got.high - 3.98).abs() < 0.01, "{got:?}");
        let turned = welch_95(&second, &first).unwrap();
        assert!((turned.low + got.high).abs() < 1e-9 && (turned.high + got.low).abs() < 1e-9, "{turned:?}");
    }

    #[test]
    fn equal_values_leave_no_doubt_and_single_ones_all_of_it() {
        assert_eq!(welch_95(&[5.0, 5.0], &[7.0, 7.0, 7.0]), Some(Interval { low: 2.0, high: 2.0 }));
        assert_eq!((welch_95(&[5.0], &[7.0, 8.0]), student_95(&[5.0])), (None, None));
    }

    /// Of 2000 comparisons of three runs with three others, spread as widely or four times as much, at most one in twenty and a
    /// little finds a difference where there is none.
    #[test]
    fn where_nothing_differs_it_is_wrong_one_time_in_twenty_at_most() {
        let mut prng = Prng::stream(Seed::new(7), "means/level");
        for widening in [1.0, 4.0] {
            let mut noise = |scale: f64| {
                let sum = (0..12).map(|_| prng.below(1_000)).sum::<u64>() as f64;
                (sum - 5_994.0) * scale
            };
            let mut claims = 0;
            for _ in 0..2_000 {
                let before = [noise(1.0), noise(1.0), noise(1.0)];
                let after = [noise(widening), noise(widening), noise(widening)];
                let got = welch_95(&before, &after).unwrap();
                claims += usize::from(got.low > 0.0 || got.high < 0.0);
            }
            assert!((20..130).contains(&claims), "{claims}");
        }
    }
}
