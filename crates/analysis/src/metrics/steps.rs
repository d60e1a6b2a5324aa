//! Samples as step functions of time: each stands for the span up to the next one.
//!
//! Never: a count of samples where a span is meant; a sampler that stalls must not shift a median.

use super::window::Window;
use crate::statistics::weighted_median;

/// A value that stood from `from_us` until `to_us`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step<T> {
    pub(super) from_us: u64,
    pub(super) to_us: u64,
    pub(super) value: T,
}

impl<T> Step<T> {
    pub(super) fn length_us(&self) -> u64 {
        self.to_us - self.from_us
    }
}

/// The steps of `samples` (time, value; in time order) inside `window`. What lies before the first sample is not covered;
/// the last sample stands until the window ends.
pub(super) fn steps<T: Copy>(samples: &[(u64, T)], window: Window) -> Vec<Step<T>> {
    let next_times = samples.iter().skip(1).map(|s| s.0).chain([window.to_us]);
    let spans = samples.iter().zip(next_times);
    spans
        .filter_map(|(&(t, value), next)| {
            let (from_us, to_us) = (t.max(window.from_us), next.min(window.to_us));
            (from_us < to_us).then_some(Step { from_us, to_us, value })
        })
        .collect()
}

/// The median over time of the sum over streams. Where a covering stream has no value, that span is left out; a stream
/// adds nothing where it has no step. `None` where nothing is left.
pub(super) fn median_of_sum(streams: &[Vec<Step<Option<u64>>>]) -> Option<u64> {
    let mut edges: Vec<u64> = streams.iter().flatten().flat_map(|s| [s.from_us, s.to_us]).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut cursors = vec![0_usize; streams.len()];
    let weighted: Vec<(u64, u64)> = edges
        .windows(2)
        .filter_map(|edge| Some((sum_at(streams, &mut cursors, edge[0])?, edge[1] - edge[0])))
        .collect();
    weighted_median(&weighted)
}

/// The sum of the steps that cover `t_us`; moves each cursor past what has ended. `None` without a covering step, or
/// where one has no value.
fn sum_at(streams: &[Vec<Step<Option<u64>>>], cursors: &mut [usize], t_us: u64) -> Option<u64> {
    let mut sum = None;
    let mut missing = false;
    for (stream, cursor) in streams.iter().zip(cursors) {
        while stream.get(*cursor).is_some_and(|step| step.to_us <= t_us) {
            *cursor += 1;
        }
        let Some(step) = stream.get(*cursor).filter(|step| step.from_us <= t_us) else {
            continue;
        };
        match step.value {
            Some(value) => sum = Some(sum.unwrap_or(0) + value),
            None => missing = true,
        }
    }
    sum.filter(|_| !missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WINDOW: Window = Window { from_us: 10, to_us: 30 };

    #[test]
    fn a_sample_stands_until_the_next_inside_the_window() {
        let got = steps(&[(0, 1), (15, 2), (25, 3), (40, 4)], WINDOW);
        let spans: Vec<(u64, u64, i32)> = got.iter().map(|s| (s.from_us, s.to_us, s.value)).collect();
        assert_eq!(spans, [(10, 15, 1), (15, 25, 2), (25, 30, 3)]);
        assert!(steps::<u64>(&[], WINDOW).is_empty());
    }

    #[test]
    fn sums_are_taken_at_one_time() {
        let a = steps(&[(10, Some(1)), (20, Some(5))], WINDOW);
        let b = steps(&[(10, Some(10)), (12, Some(20))], WINDOW);
        // 11 for 2 µs, 21 for 8 µs, 25 for 10 µs: half of the time has passed at 21.
        assert_eq!(median_of_sum(&[a.clone(), b]), Some(21));
        let unknown = steps(&[(10, None)], WINDOW);
        assert_eq!(median_of_sum(&[a, unknown]), None);
        assert_eq!(median_of_sum(&[]), None);
    }

    proptest! {
        #[test]
        fn steps_tile_what_they_cover(mut times in prop::collection::vec(0_u64..100, 1..20), from in 0_u64..100, length in 0_u64..100) {
            times.sort_unstable();
            let samples: Vec<(u64, u64)> = times.iter().map(|&t| (t, t)).collect();
            let window = Window { from_us: from, to_us: from + length };
            let covered: u64 = steps(&samples, window).iter().map(Step::length_us).sum();
            prop_assert_eq!(covered, window.to_us.saturating_sub(window.from_us.max(times[0])));
        }
    }
}
