//! Sums over the streams at each moment, and their medians over time. A sample stands until the stream's next one.
//!
//! Never: a count of samples where a span is meant; a sampler that stalls must not shift a median.

use crate::ground::interval::TimeInterval;
use crate::ground::weighted_values::WeightedValues;

/// `N` values of each stream, summed, in the streams' measured windows.
#[derive(Debug)]
pub(super) struct Sums<const N: usize> {
    streams: Vec<StreamValues<N>>,
    /// Where windows begin and end, and streams may come or go; what lies before [`Sums::reached_us`] is gone, latest first.
    edges: Vec<u64>,
    reached_us: u64,
    weighted: [WeightedValues; N],
}

#[derive(Debug)]
struct StreamValues<const N: usize> {
    window: TimeInterval,
    /// The last sample.
    values: Option<[Option<u64>; N]>,
}

impl<const N: usize> Sums<N> {
    /// Of the streams with these windows.
    pub(super) fn over(windows: Vec<TimeInterval>) -> Self {
        let mut edges: Vec<u64> = windows.iter().flat_map(|window| [window.from_us, window.to_us]).collect();
        edges.sort_unstable_by(|a, b| b.cmp(a));
        edges.dedup();
        let streams = windows.into_iter().map(|window| StreamValues { window, values: None }).collect();
        Self { streams, edges, reached_us: 0, weighted: std::array::from_fn(|_| WeightedValues::default()) }
    }

    /// Takes the next sample, of the stream at `place`. None is older than the last one.
    pub(super) fn observe(&mut self, t_us: u64, place: usize, values: [Option<u64>; N]) {
        self.advance(t_us);
        self.streams[place].values = Some(values);
    }

    /// The median over time of each sum, after the last sample. Where a stream in its window has no value, that span is left
    /// out; a stream adds nothing outside of its window, or before its first sample. `None` where nothing is left.
    pub(super) fn medians(mut self) -> [Option<u64>; N] {
        if let Some(&end_us) = self.edges.first() {
            self.advance(end_us);
        }
        self.weighted.map(|values| values.lower_median())
    }

    /// Lets the last samples stand until `to_us`.
    fn advance(&mut self, to_us: u64) {
        while let Some(edge_us) = self.edges.pop_if(|edge_us| *edge_us <= to_us) {
            self.stand(edge_us);
        }
        self.stand(to_us);
    }

    /// Up to `to_us`, with no edge before it.
    fn stand(&mut self, to_us: u64) {
        let from_us = self.reached_us;
        if to_us <= from_us {
            return;
        }
        let (mut sums, mut is_missing) = ([None; N], [false; N]);
        for stream in &self.streams {
            let is_inside = (stream.window.from_us..stream.window.to_us).contains(&from_us);
            let Some(values) = stream.values.filter(|_| is_inside) else { continue };
            for (number, value) in values.into_iter().enumerate() {
                is_missing[number] |= value.is_none();
                sums[number] = value.map(|value| sums[number].unwrap_or(0) + value).or(sums[number]);
            }
        }
        for ((values, sum), is_missing) in self.weighted.iter_mut().zip(sums).zip(is_missing) {
            if let Some(sum) = sum.filter(|_| !is_missing) {
                values.add(sum, to_us - from_us);
            }
        }
        self.reached_us = to_us;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: TimeInterval = TimeInterval { from_us: 10, to_us: 30 };

    fn median(samples: &[(u64, usize, Option<u64>)]) -> Option<u64> {
        let mut sums = Sums::over(vec![WINDOW, WINDOW]);
        samples.iter().for_each(|&(t_us, place, value)| sums.observe(t_us, place, [value]));
        let [median] = sums.medians();
        median
    }

    #[test]
    fn sums_are_taken_at_one_time() {
        // 11 for 2 µs, 21 for 8 µs, 25 for 10 µs: half of the time has passed at 21.
        let a_and_b = [(10, 0, Some(1)), (10, 1, Some(10)), (12, 1, Some(20)), (20, 0, Some(5))];
        assert_eq!(median(&a_and_b), Some(21));
        assert_eq!(median(&[(10, 0, Some(1)), (10, 1, None)]), None);
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_sample_stands_until_the_next_one_inside_of_the_window() {
        // 1 from 10 to 15, 2 from 15 to 25, 3 from 25 to 30; what comes later is outside.
        let samples = [(5, 0, Some(1)), (15, 0, Some(2)), (25, 0, Some(3)), (40, 0, Some(4))];
        assert_eq!(median(&samples), Some(2));
        assert_eq!(median(&[(29, 0, Some(7))]), Some(7));
        assert_eq!(median(&[(31, 0, Some(7))]), None);
    }
}
