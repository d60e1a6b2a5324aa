//! Sequence numbers that must have been sent and have not passed the capture point: lost before it, overtaken, or not captured.
//!
//! Memory: at most 1024 gaps of a direction; the oldest are forgotten.

const GAPS_MAX: usize = 1024;

/// One range, and the packet behind it that showed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) since_ns: u64,
    pub(super) tsval: Option<u32>,
    pub(super) ip_id: u16,
}

/// What a packet filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Filled {
    /// The lowest gap that it filled, or filled a part of.
    pub(super) gap: Gap,
    /// Bytes that had not passed before, of all gaps.
    pub(super) bytes: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Gaps(Vec<Gap>);

impl Gaps {
    /// With a single gap.
    pub(super) fn of(gap: Gap) -> Self {
        Self(vec![gap])
    }

    /// A gap above all others.
    pub(super) fn open(&mut self, gap: Gap) {
        if self.0.len() == GAPS_MAX {
            self.0.remove(0);
        }
        self.0.push(gap);
    }

    /// Whether some of `from..to` is missing.
    pub(super) fn overlaps(&self, from: u64, to: u64) -> bool {
        let at = self.0.partition_point(|gap| gap.to <= from);
        self.0.get(at).is_some_and(|gap| gap.from < to)
    }

    /// Notes that `from..to` passed; `None` where the whole range had passed before.
    pub(super) fn fill(&mut self, from: u64, to: u64) -> Option<Filled> {
        let at = self.0.partition_point(|gap| gap.to <= from);
        let gap = *self.0.get(at).filter(|gap| gap.from < to)?;
        let mut bytes = 0;
        // A packet may reach over several.
        while let Some(&gap) = self.0.get(at).filter(|gap| gap.from < to) {
            self.0.remove(at);
            bytes += gap.to.min(to) - gap.from.max(from);
            if gap.to > to {
                self.0.insert(at, Gap { from: to, ..gap });
            }
            if gap.from < from {
                self.0.insert(at, Gap { to: from, ..gap });
                break;
            }
            if gap.to > to {
                break;
            }
        }
        Some(Filled { gap, bytes })
    }

    /// No time since they were seen is known any more: what fills them counts as late.
    pub(super) fn forget_times(&mut self) {
        self.0.iter_mut().for_each(|gap| gap.since_ns = 0);
    }

    pub(super) fn memory(&self) -> usize {
        self.0.capacity() * size_of::<Gap>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(from: u64, to: u64) -> Gap {
        Gap { from, to, since_ns: 0, tsval: None, ip_id: 0 }
    }

    #[test]
    fn a_gap_is_filled_from_either_end_and_in_the_middle() {
        let mut gaps = Gaps::default();
        gaps.open(gap(10, 100));
        assert_eq!(
            [(0, 10), (0, 11), (99, 120), (100, 120)].map(|(from, to)| gaps.overlaps(from, to)),
            [false, true, true, false]
        );
        assert_eq!(gaps.fill(100, 120), None);
        assert_eq!(gaps.fill(40, 50), Some(Filled { gap: gap(10, 100), bytes: 10 }));
        assert_eq!(gaps.fill(40, 50), None);
        assert_eq!(gaps.fill(0, 20), Some(Filled { gap: gap(10, 40), bytes: 10 }));
        assert_eq!(gaps.fill(90, 200), Some(Filled { gap: gap(50, 100), bytes: 10 }));
        assert_eq!(gaps.0, [gap(20, 40), gap(50, 90)]);
        assert_eq!(gaps.fill(0, 300), Some(Filled { gap: gap(20, 40), bytes: 60 }));
        assert!(gaps.0.is_empty());
    }

    #[test]
    fn the_oldest_of_too_many_are_forgotten() {
        let mut gaps = Gaps::default();
        for n in 0..2000 {
            gaps.open(gap(n * 10, n * 10 + 5));
        }
        assert_eq!(gaps.0.len(), GAPS_MAX);
        assert_eq!(gaps.fill(0, 1), None);
        assert!(gaps.fill(19_990, 19_991).is_some());
    }
}
