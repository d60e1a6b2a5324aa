//! A stream's samples in order of time, no more of them than fit, and cut into rounds of a round trip and more.

use crate::ground::interval::TimeInterval;

/// What has a time.
pub(crate) trait Timed {
    /// Microseconds since the record began.
    fn t_us(&self) -> u64;
}

/// Samples of which each second one goes whenever there are too many.
#[derive(Debug)]
pub(crate) struct Samples<T> {
    kept: Vec<T>,
    most: usize,
    /// Every so many samples one is kept.
    stride: usize,
    seen: usize,
}

/// The samples of one round.
#[derive(Debug)]
pub(crate) struct Cut<'a, T> {
    pub(crate) interval: TimeInterval,
    /// As many as a round has at least, or more.
    pub(crate) samples: &'a [T],
    /// The sample that ends it.
    pub(crate) next: &'a T,
}

impl<T: Timed> Samples<T> {
    /// None yet, and never more than `most`.
    pub(crate) fn new(most: usize) -> Self {
        Self { kept: Vec::new(), most, stride: 1, seen: 0 }
    }

    /// Takes the next sample, in order of time.
    pub(crate) fn push(&mut self, sample: T) {
        self.seen += 1;
        if !self.seen.is_multiple_of(self.stride) {
            return;
        }
        if self.kept.len() >= self.most {
            let mut at = 0;
            self.kept.retain(|_| {
                at += 1;
                at % 2 == 0
            });
            self.stride *= 2;
        }
        self.kept.push(sample);
    }

    /// Those that are kept.
    pub(crate) fn as_slice(&self) -> &[T] {
        &self.kept
    }

    /// The last one by `t_us`; the first one where all are later.
    pub(crate) fn at(&self, t_us: u64) -> Option<&T> {
        let next = self.kept.partition_point(|sample| sample.t_us() <= t_us);
        self.kept.get(next.saturating_sub(1))
    }

    /// Rounds of at least `fewest` samples that last at least as long as `least_us` says of their first one. What is left over at the end is
    /// none.
    pub(crate) fn rounds(&self, fewest: usize, least_us: impl Fn(&T) -> u64) -> Vec<Cut<'_, T>> {
        let (mut rounds, mut from) = (Vec::new(), 0);
        for (at, next) in self.kept.iter().enumerate() {
            let samples = &self.kept[from..at];
            let Some(first) = samples.first().filter(|_| samples.len() >= fewest.max(1)) else { continue };
            let interval = TimeInterval { from_us: first.t_us(), to_us: next.t_us() };
            if next.t_us().saturating_sub(first.t_us()) < least_us(first).max(1) {
                continue;
            }
            rounds.push(Cut { interval, samples, next });
            from = at;
        }
        rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Timed for u64 {
        fn t_us(&self) -> u64 {
            *self
        }
    }

    #[test]
    fn rounds_follow_each_other_and_none_is_too_short() {
        let mut samples = Samples::new(64);
        (0..10).for_each(|n| samples.push(n * 10));
        let windows = |least_us| -> Vec<(u64, u64)> {
            let rounds = samples.rounds(4, |_| least_us);
            rounds.iter().map(|round| (round.interval.from_us, round.interval.to_us)).collect()
        };
        assert_eq!(windows(0), [(0, 40), (40, 80)], "four samples at least");
        assert_eq!(windows(55), [(0, 60)]);
    }

    proptest! {
        #[test]
        fn what_is_kept_is_bounded_and_found_again(count in 0_u64..2_000, most in 2_usize..50, t_us in 0_u64..2_500) {
            let mut samples = Samples::new(most);
            (0..count).for_each(|t_us| samples.push(t_us));
            let kept = samples.as_slice();
            prop_assert!(kept.len() <= most);
            prop_assert!(kept.is_sorted());
            prop_assert_eq!(kept.is_empty(), count == 0);
            let last = kept.iter().rev().find(|&&at| at <= t_us).or(kept.first());
            prop_assert_eq!(samples.at(t_us), last);
        }
    }
}
