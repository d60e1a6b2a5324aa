//! Figures of a long time in bounded memory: one sample in a number of them, and the least of each part of the time.

/// Parts of the time whose least delay is kept.
const BINS: usize = 512;
/// Length of a part at first, nanoseconds; it doubles.
const BIN_NS: u64 = 1_000_000;

/// Every n-th sample; n doubles where there are more than are kept.
#[derive(Debug, Clone)]
pub(super) struct Thinned<T> {
    pub(super) all: Vec<T>,
    most: usize,
    step: u64,
    /// How many there were.
    pub(super) seen: u64,
}

impl<T: Copy> Thinned<T> {
    pub(super) const fn new(most: usize) -> Self {
        Self { all: Vec::new(), most, step: 1, seen: 0 }
    }

    pub(super) fn observe(&mut self, sample: T) {
        if self.seen.is_multiple_of(self.step) {
            self.all.push(sample);
        }
        self.seen += 1;
        if self.all.len() >= self.most {
            let mut at = 0_usize;
            self.all.retain(|_| {
                at += 1;
                !at.is_multiple_of(2)
            });
            self.step = self.step.saturating_mul(2);
        }
    }
}

/// The least delay of each part of the time, with when it was.
#[derive(Debug, Clone, Default)]
pub(super) struct Envelope {
    from_ns: Option<u64>,
    width_ns: u64,
    bins: Vec<Option<(u64, i64)>>,
}

impl Envelope {
    pub(super) fn observe(&mut self, time_ns: u64, delay_ns: i64) {
        let from_ns = *self.from_ns.get_or_insert(time_ns);
        self.width_ns = self.width_ns.max(BIN_NS);
        let since = time_ns.saturating_sub(from_ns);
        while since / self.width_ns >= BINS as u64 {
            self.halve();
        }
        let at = (since / self.width_ns) as usize;
        if at >= self.bins.len() {
            self.bins.resize(at + 1, None);
        }
        let bin = &mut self.bins[at];
        *bin = least(*bin, Some((time_ns, delay_ns)));
    }

    fn halve(&mut self) {
        self.bins = self.bins.chunks(2).map(|pair| least(pair[0], pair.get(1).copied().flatten())).collect();
        self.width_ns = self.width_ns.saturating_mul(2);
    }

    /// Time and delay of each part that has one, in order.
    pub(super) fn points(&self) -> impl Iterator<Item = (u64, i64)> + Clone + '_ {
        self.bins.iter().flatten().copied()
    }
}

fn least(left: Option<(u64, i64)>, right: Option<(u64, i64)>) -> Option<(u64, i64)> {
    left.into_iter().chain(right).min_by_key(|&(_, delay)| delay)
}

/// The value of `sorted` that `percent` per cent of the values do not exceed; `None` without values.
pub(super) fn percentile(sorted: &[i64], percent: usize) -> Option<i64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last * percent).div_ceil(100)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_samples_are_thinned_evenly() {
        let mut thinned = Thinned::new(64);
        (0..10_000_u64).for_each(|sample| thinned.observe(sample));
        assert!((32..64).contains(&thinned.all.len()), "{}", thinned.all.len());
        assert_eq!(thinned.seen, 10_000);
        let gaps: Vec<u64> = thinned.all.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| *gap == gaps[0]), "{gaps:?}");
    }

    #[test]
    fn the_least_of_all_time_is_never_lost() {
        let mut envelope = Envelope::default();
        for at in 0..100_000_u64 {
            let delay = if at == 77_777 { 5 } else { 100 + (at % 7) as i64 };
            envelope.observe(at * 1_000_000, delay);
        }
        assert!(envelope.bins.len() <= BINS);
        assert_eq!(envelope.points().min_by_key(|&(_, delay)| delay), Some((77_777_000_000, 5)));
    }

    #[test]
    fn percentiles_are_values_that_were_there() {
        let sorted: Vec<i64> = (1..=100).collect();
        assert_eq!((percentile(&sorted, 50), percentile(&sorted, 99)), (Some(51), Some(100)));
        assert_eq!((percentile(&[7], 95), percentile(&[], 50)), (Some(7), None));
    }
}
