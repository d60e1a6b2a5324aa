//! A cumulative count, read at one time out of samples that pass by.

/// What a count was at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountAt {
    at_us: u64,
    /// The last sample up to then.
    before: Option<(u64, u64)>,
    /// The first after it.
    after: Option<(u64, u64)>,
}

impl CountAt {
    pub(crate) fn time(at_us: u64) -> Self {
        Self { at_us, before: None, after: None }
    }

    /// Takes the next sample, in order of time.
    pub(crate) fn observe(&mut self, t_us: u64, count: u64) {
        if t_us <= self.at_us {
            self.before = Some((t_us, count));
        } else if self.after.is_none() {
            self.after = Some((t_us, count));
        }
    }

    /// The count, between two samples in proportion, after the last one as it was then; 0 before the first.
    pub(crate) fn value(&self) -> f64 {
        match (self.before, self.after) {
            (Some(before), Some(after)) => between(before, after, self.at_us),
            (Some((_, count)), None) => count as f64,
            (None, _) => 0.0,
        }
    }

    /// As [`CountAt::value`], but before the first sample what that one says.
    pub(crate) fn value_or_first(&self) -> f64 {
        match (self.before, self.after) {
            (None, Some((_, count))) => count as f64,
            _ => self.value(),
        }
    }
}

/// A count at `t_us`, which lies from one sample to the next.
pub(crate) fn between((t0, count0): (u64, u64), (t1, count1): (u64, u64), t_us: u64) -> f64 {
    let share = |part: u64| part as f64 * (t_us - t0) as f64 / (t1 - t0).max(1) as f64;
    count0 as f64 + share(count1.saturating_sub(count0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_grows_in_proportion_between_two_samples_and_not_outside() {
        let read = |at_us: u64| {
            let mut at = CountAt::time(at_us);
            [(10, 100), (20, 300), (30, 300)].into_iter().for_each(|(t, count)| at.observe(t, count));
            (at.value(), at.value_or_first())
        };
        assert_eq!(read(5), (0.0, 100.0));
        assert_eq!(read(10), (100.0, 100.0));
        assert_eq!(read(15), (200.0, 200.0));
        assert_eq!(read(99), (300.0, 300.0));
        assert_eq!(CountAt::time(1).value_or_first(), 0.0);
    }
}
