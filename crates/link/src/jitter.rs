//! The random part of a delay.

use pipefill_core::cell::{JitterDistribution, JitterSpec};
use pipefill_core::prng::Prng;
use std::time::Duration;

/// The largest spread, about 146 years, so that twice of it fits.
const MAX_SPREAD: Duration = Duration::from_nanos(1 << 62);

/// A source of independent delay offsets.
#[derive(Debug)]
pub struct Jitter {
    spread_ns: u64,
    distribution: JitterDistribution,
    prng: Prng,
}

impl Jitter {
    /// The source for `spec`; `None` where the offset is always zero.
    pub fn new(spec: &JitterSpec, prng: Prng) -> Option<Self> {
        let spread = spec.spread.min(MAX_SPREAD);
        let spread_ns = u64::try_from(spread.as_nanos()).ok()?;
        (spread_ns > 0).then(|| Self { spread_ns, distribution: spec.distribution.clone(), prng })
    }

    /// The next offset in nanoseconds. Draws: one (uniform, quantiles) or two (normal).
    pub fn offset_ns(&mut self) -> i64 {
        match &self.distribution {
            JitterDistribution::Uniform => {
                let above_lowest = self.prng.below(2 * self.spread_ns + 1);
                above_lowest.wrapping_sub(self.spread_ns).cast_signed()
            }
            JitterDistribution::Normal => scaled(self.prng.next_normal(), self.spread_ns),
            JitterDistribution::Quantiles(table) => {
                scaled(inverse_cdf(table, self.prng.next_unit()), self.spread_ns)
            }
        }
    }
}

/// `table` at the probability `u` in [0, 1), interpolated linearly. A single value is a constant, no value is zero.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a position in a table: small and not negative"
)]
fn inverse_cdf(table: &[f64], u: f64) -> f64 {
    let position = u * table.len().saturating_sub(1) as f64;
    let index = position as usize;
    match (table.get(index), table.get(index + 1)) {
        (Some(low), Some(high)) => low + (high - low) * (position - index as f64),
        (Some(only), None) => *only,
        (None, _) => 0.0,
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "nanoseconds of a spread; an extreme offset saturates"
)]
fn scaled(factor: f64, spread_ns: u64) -> i64 {
    (factor * spread_ns as f64).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::units::Seed;

    const SPREAD_NS: u64 = 1_000_000;
    const DRAWS: u32 = 40_000;

    fn offsets(distribution: JitterDistribution) -> Vec<f64> {
        let spec = JitterSpec { spread: Duration::from_nanos(SPREAD_NS), distribution, reorder: true };
        let mut jitter = Jitter::new(&spec, Prng::stream(Seed::new(3), "forward/jitter")).expect("a spread");
        (0..DRAWS).map(|_| jitter.offset_ns() as f64).collect()
    }

    fn mean_and_sd(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        (mean, variance.sqrt())
    }

    /// Checks a mean of 0 (within 4 standard errors) and the standard deviation (within 2 %).
    fn assert_moments(values: &[f64], expected_sd: f64) {
        let (mean, sd) = mean_and_sd(values);
        assert!(mean.abs() < 4.0 * expected_sd / f64::from(DRAWS).sqrt(), "mean {mean}");
        assert!((sd / expected_sd - 1.0).abs() < 0.02, "sd {sd}");
    }

    #[test]
    fn uniform_fills_plus_minus_spread() {
        let values = offsets(JitterDistribution::Uniform);
        let spread = SPREAD_NS as f64;
        assert!(values.iter().all(|x| x.abs() <= spread));
        assert!(values.iter().any(|x| *x < -0.99 * spread) && values.iter().any(|x| *x > 0.99 * spread));
        assert_moments(&values, spread / 3.0_f64.sqrt());
    }

    #[test]
    fn normal_has_the_spread_as_its_standard_deviation() {
        assert_moments(&offsets(JitterDistribution::Normal), SPREAD_NS as f64);
    }

    #[test]
    fn quantiles_follow_the_table() {
        // Half of the mass in -1..0, half in 0..3.
        let values = offsets(JitterDistribution::Quantiles(vec![-1.0, 0.0, 3.0]));
        let spread = SPREAD_NS as f64;
        assert!(values.iter().all(|x| (-spread..=3.0 * spread).contains(x)));
        let negative = values.iter().filter(|x| **x < 0.0).count() as f64 / f64::from(DRAWS);
        assert!((negative - 0.5).abs() < 0.01, "{negative}");
        let (mean, _) = mean_and_sd(&values);
        assert!((mean / spread - 0.5).abs() < 0.03, "{mean}");
    }

    #[test]
    fn a_table_of_one_value_is_a_constant() {
        assert_eq!(inverse_cdf(&[2.5], 0.7), 2.5);
        assert_eq!(inverse_cdf(&[], 0.7), 0.0);
    }

    #[test]
    fn no_spread_is_no_jitter() {
        let spec =
            JitterSpec { spread: Duration::ZERO, distribution: JitterDistribution::Normal, reorder: true };
        assert!(Jitter::new(&spec, Prng::from_state([1; 4])).is_none());
    }
}
