//! Values over time in bounded memory.
//!
//! Invariant: every value that was put in lies within one of the spans, and the counts of the spans add up to the values.

/// Values of a moment, or, where there were too many to keep each, of a short time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueSpan {
    /// Nanoseconds from the connection's first packet to the first of them.
    pub from_ns: u64,
    /// The same for the last.
    pub to_ns: u64,
    /// The least value; of sequence numbers the first.
    pub low: u64,
    /// The largest value; for sequence numbers the number after the last byte.
    pub high: u64,
    /// How many they are.
    pub count: u64,
}

impl ValueSpan {
    fn join(&mut self, other: &Self) {
        self.from_ns = self.from_ns.min(other.from_ns);
        self.to_ns = self.to_ns.max(other.to_ns);
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
        self.count += other.count;
    }
}

/// At most so many spans; more are merged with their neighbours in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spans {
    spans: Vec<ValueSpan>,
    most: usize,
    width_ns: u64,
}

impl Spans {
    /// None yet; `most` is at least 2.
    pub const fn new(most: usize) -> Self {
        Self { spans: Vec::new(), most, width_ns: 0 }
    }

    /// At most `most` spans; where `width_ns` is not 0, values within the same multiple of it are one span from the begin.
    pub const fn of_cells(most: usize, width_ns: u64) -> Self {
        Self { spans: Vec::new(), most, width_ns }
    }

    /// The spans, in the order in which they came.
    pub fn as_slice(&self) -> &[ValueSpan] {
        &self.spans
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// What came within a time of this length is one span, nanoseconds; 0 where nothing was merged.
    pub const fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// These spans, merged into at most `most`.
    #[must_use]
    pub fn at_most(&self, most: usize) -> Self {
        let mut fewer = Self { spans: self.spans.clone(), most, width_ns: self.width_ns };
        if fewer.spans.len() > most {
            fewer.widen();
        }
        fewer
    }

    /// These spans, merged to a length of at least `width_ns`.
    #[must_use]
    pub fn in_cells(&self, width_ns: u64) -> Self {
        let mut longer = Self { width_ns: self.width_ns.max(width_ns), ..self.clone() };
        longer.merge();
        longer
    }

    /// A value, or a range of values, at a time.
    pub(super) fn push(&mut self, at_ns: u64, low: u64, high: u64) {
        let new = ValueSpan { from_ns: at_ns, to_ns: at_ns, low, high, count: 1 };
        if self.merged_with_last(&new) {
            return;
        }
        if self.spans.len() >= self.most {
            self.widen();
            if self.merged_with_last(&new) {
                return;
            }
        }
        self.spans.push(new);
    }

    fn merged_with_last(&mut self, new: &ValueSpan) -> bool {
        let width_ns = self.width_ns;
        let Some(last) = self.spans.last_mut().filter(|last| is_near(last, new, width_ns)) else {
            return false;
        };
        last.join(new);
        true
    }

    /// Merges over longer and longer times, until at least half of the room is free.
    fn widen(&mut self) {
        let end_ns = self.spans.iter().map(|span| span.to_ns).max().unwrap_or(0);
        self.width_ns = self.width_ns.max(end_ns / self.most.max(1) as u64 / 2);
        while self.spans.len() > self.most / 2 && self.spans.len() > 1 {
            self.width_ns = self.width_ns.max(1).saturating_mul(2);
            self.merge();
        }
    }

    fn merge(&mut self) {
        let width_ns = self.width_ns;
        self.spans.dedup_by(|later, kept| {
            let is_one = is_near(kept, later, width_ns);
            if is_one {
                kept.join(later);
            }
            is_one
        });
    }
}

/// Whether both begin in the same of the times of `width_ns` that follow one another from 0.
fn is_near(left: &ValueSpan, right: &ValueSpan, width_ns: u64) -> bool {
    let place = |span: &ValueSpan| span.from_ns.checked_div(width_ns);
    width_ns > 0 && (width_ns == u64::MAX || place(left) == place(right))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost_and_there_are_never_too_many(
            most in 2_usize..20,
            values in prop::collection::vec((any::<u64>(), 0..1000_u64, 0..1000_u64), 0..200),
        ) {
            let mut spans = Spans::new(most);
            for &(at, low, more) in &values {
                spans.push(at, low, low + more);
                prop_assert!(spans.as_slice().len() <= most);
            }
            prop_assert_eq!(spans.as_slice().iter().map(|span| span.count).sum::<u64>(), values.len() as u64);
            for (at, low, more) in values {
                let has = |span: &ValueSpan| {
                    (span.from_ns..=span.to_ns).contains(&at) && span.low <= low && low + more <= span.high
                };
                prop_assert!(spans.as_slice().iter().any(has));
            }
        }
    }

    #[test]
    fn few_values_stay_as_they_are() {
        let mut spans = Spans::new(4);
        for at in [5, 5, 6, 900] {
            spans.push(at, at, at + 1);
        }
        assert_eq!((spans.as_slice().len(), spans.width_ns()), (4, 0));
        assert_eq!(spans.at_most(4), spans);
    }

    #[test]
    fn what_is_merged_is_near_in_time_and_an_idle_time_stays_free() {
        let mut spans = Spans::new(10);
        for at in (0..100).chain(1_000_000..1_000_100) {
            spans.push(at, at, at + 1);
        }
        let longest = spans.as_slice().iter().map(|span| span.to_ns - span.from_ns).max();
        assert!(longest < Some(200), "{spans:?}");
        assert!(spans.width_ns() > 0);
    }
}
