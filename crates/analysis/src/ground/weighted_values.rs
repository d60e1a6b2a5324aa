//! Values and how much each weighs, in memory that does not grow with their number: what a median of a long run comes from.
//!
//! Exact up to `MOST` distinct values; past that values are told apart by fewer leading bits, as many as fit. Never: a
//! result that depends on the order in which the values came.

use crate::ground::distribution::{Distribution, PERCENTS};
use std::cmp::Ordering;

/// Distinct values that are kept apart.
const MOST: usize = 4096;

/// Weighted values, sorted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WeightedValues {
    /// Value and weight.
    weights: Vec<(u64, u64)>,
    /// Leading bits that tell two values apart.
    significant: u32,
}

impl Default for WeightedValues {
    fn default() -> Self {
        Self { weights: Vec::new(), significant: u64::BITS }
    }
}

impl WeightedValues {
    /// Adds `value` with `weight`; without one it is nothing.
    pub(crate) fn add(&mut self, value: u64, weight: u64) {
        if weight == 0 {
            return;
        }
        loop {
            let value = leading(value, self.significant);
            match self.weights.binary_search_by_key(&value, |&(value, _)| value) {
                Ok(at) => return self.weights[at].1 += weight,
                Err(at) if self.weights.len() < MOST => return self.weights.insert(at, (value, weight)),
                Err(_) => self.coarsen(),
            }
        }
    }

    /// Adds all values of `other`.
    pub(crate) fn absorb(&mut self, other: &Self) {
        other.weights.iter().for_each(|&(value, weight)| self.add(value, weight));
    }

    /// The weight of all values up to `most`.
    pub(crate) fn weight_up_to(&self, most: u64) -> u64 {
        self.weights.iter().filter(|(value, _)| *value <= most).map(|(_, weight)| weight).sum()
    }

    /// The lower weighted median: see [`WeightedValues::lower_percentile`].
    pub(crate) fn lower_median(&self) -> Option<u64> {
        self.lower_percentile(50)
    }

    /// The lower weighted percentile: the smallest value at which at least `percent` of the total weight have been seen. For
    /// step functions of time, where a weight is how long the value stood. `None` without values.
    pub(crate) fn lower_percentile(&self, percent: u128) -> Option<u64> {
        let total = self.total();
        (total > 0).then(|| self.at((total * percent).div_ceil(100).saturating_sub(1)))
    }

    /// The values at each of [`PERCENTS`]. `None` without values.
    pub(crate) fn distribution(&self) -> Option<Distribution> {
        let rtt_us: Option<Vec<u64>> =
            PERCENTS.iter().map(|&percent| self.lower_percentile(percent.into())).collect();
        Some(Distribution { percent: PERCENTS.to_vec(), rtt_us: rtt_us? })
    }

    /// The median where each value counts as often as it weighs: the mean of the middle two of an even number. `None` without
    /// values.
    pub(crate) fn median(&self) -> Option<f64> {
        let total = self.total();
        (total > 0).then(|| self.at((total - 1) / 2) as f64 / 2.0 + self.at(total / 2) as f64 / 2.0)
    }

    /// The weight of all values.
    pub(crate) fn total(&self) -> u128 {
        self.weights.iter().map(|&(_, weight)| u128::from(weight)).sum()
    }

    /// The value at `rank`, from 0, where each stands as often as it weighs.
    pub(crate) fn at(&self, rank: u128) -> u64 {
        let mut seen = 0;
        let is_there = |&&(_, weight): &&(u64, u64)| {
            seen += u128::from(weight);
            seen > rank
        };
        self.weights.iter().find(is_there).map_or(0, |&(value, _)| value)
    }

    /// One bit less tells values apart.
    fn coarsen(&mut self) {
        self.significant -= 1;
        let significant = self.significant;
        self.weights.iter_mut().for_each(|(value, _)| *value = leading(*value, significant));
        self.weights.dedup_by(|later, kept| match later.0.cmp(&kept.0) {
            Ordering::Equal => {
                kept.1 += later.1;
                true
            }
            _ => false,
        });
    }
}

/// `value` with all but its `significant` leading bits zero.
fn leading(value: u64, significant: u32) -> u64 {
    let spare = (u64::BITS - value.leading_zeros()).saturating_sub(significant);
    value >> spare << spare
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::statistics::median;
    use proptest::prelude::*;

    fn weigh(weighted: &[(u64, u64)]) -> WeightedValues {
        let mut values = WeightedValues::default();
        weighted.iter().for_each(|&(value, weight)| values.add(value, weight));
        values
    }

    #[test]
    fn a_weighted_median_counts_time_not_samples() {
        assert_eq!(weigh(&[(1, 1), (2, 1), (9, 10)]).lower_median(), Some(9));
        assert_eq!(weigh(&[(1, 5), (2, 5)]).lower_median(), Some(1));
        assert_eq!(weigh(&[(7, 0)]).lower_median(), None);
        assert_eq!(weigh(&[(0, 0), (7, 3)]).lower_median(), Some(7));
        assert_eq!(weigh(&[(u64::MAX, u64::MAX), (3, u64::MAX)]).lower_median(), Some(3));
    }

    #[test]
    fn a_percentile_is_where_that_much_of_the_weight_has_been_seen() {
        let ramp: Vec<(u64, u64)> = (1..=100).map(|n| (n, 7)).collect();
        let of_ramp = |percent| weigh(&ramp).lower_percentile(percent);
        assert_eq!([0, 1, 50, 95, 100].map(of_ramp), [1, 1, 50, 95, 100].map(Some));
        assert_eq!(weigh(&[(1, 94), (9, 6)]).lower_percentile(95), Some(9));
        assert_eq!(weigh(&[(1, 95), (9, 5)]).lower_percentile(95), Some(1));
        assert_eq!(weigh(&[]).lower_percentile(95), None);
    }

    #[test]
    fn however_many_values_come_few_are_kept_and_the_median_is_near() {
        let all: Vec<(u64, u64)> = (0..1_000_000).map(|n| (20_000_000 + n * 17, 1)).collect();
        let values = weigh(&all);
        assert!(values.weights.capacity() <= MOST, "{}", values.weights.len());
        let (exact, got) = (20_000_000.0 + 499_999.5 * 17.0, values.median().unwrap());
        assert!(got <= exact && got >= exact * (1.0 - 1.0 / 1024.0), "{got} for {exact}");
    }

    #[test]
    fn values_of_every_size_are_told_apart_too() {
        let all: Vec<(u64, u64)> =
            (0..64).flat_map(|bit| (0..512).map(move |n| ((1 << bit) | n, 1))).collect();
        let values = weigh(&all);
        assert!(values.weights.len() <= MOST && values.significant >= 7, "{values:?}");
    }

    proptest! {
        #[test]
        fn a_weighted_median_has_half_the_weight_on_each_side(weighted in prop::collection::vec((0_u64..50, 1_u64..20), 1..30)) {
            let m = weigh(&weighted).lower_median().unwrap();
            let total: u64 = weighted.iter().map(|w| w.1).sum();
            let below: u64 = weighted.iter().filter(|w| w.0 < m).map(|w| w.1).sum();
            let above: u64 = weighted.iter().filter(|w| w.0 > m).map(|w| w.1).sum();
            prop_assert!(below * 2 < total && above * 2 <= total);
        }

        #[test]
        fn of_few_values_it_is_the_median(values in prop::collection::vec(0_u64..1 << 40, 1..60)) {
            let single: Vec<(u64, u64)> = values.iter().map(|&value| (value, 1)).collect();
            let plain: Vec<f64> = values.iter().map(|&value| value as f64).collect();
            prop_assert_eq!(weigh(&single).median(), median(&plain));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4))]

        #[test]
        fn the_order_does_not_matter(mut values in prop::collection::vec(any::<u64>(), 5000..6000)) {
            let forwards = weigh(&values.iter().map(|&value| (value, 1)).collect::<Vec<_>>());
            values.reverse();
            let backwards = weigh(&values.iter().map(|&value| (value, 1)).collect::<Vec<_>>());
            prop_assert_eq!(forwards.weights, backwards.weights);
        }
    }
}
