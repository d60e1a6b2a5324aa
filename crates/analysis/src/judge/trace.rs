//! What the rules compared while they judged one interval: each value, its threshold, and how far apart they are.

use super::release::Release;
use crate::ground::threshold::{Compare, Threshold};
use crate::ground::thresholds::COMPARISONS;
use pipefill_core::evidence::ArrivingPackets;

/// One comparison with a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ThresholdComparison {
    /// With which.
    pub(super) threshold: Threshold,
    /// What was compared with it, in its unit.
    pub(super) value: f64,
    /// The relative move of the threshold at which the comparison turns, e.g. 0.1 where it would have to be a tenth larger; below zero
    /// where it would have to be smaller. `None` where no move turns it.
    pub(super) turns_at: Option<f64>,
    /// Which of the rules compared, by its place in the order.
    pub(super) rule: usize,
}

/// A threshold that is moved for one judgement.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Move {
    index: usize,
    factor: f64,
}

/// Records comparisons, and may judge with one threshold moved.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    comparisons: Vec<ThresholdComparison>,
    moved: Option<Move>,
    /// The rule that is asked, by its place in the order.
    pub(super) rule: usize,
    /// What lets data out by the packets, once that was asked.
    pub(super) release: Option<Release>,
    /// What packets that arrive show of a sender, likewise.
    pub(super) arriving: Option<Option<ArrivingPackets>>,
}

impl Default for Trace {
    fn default() -> Self {
        Self::with(Vec::with_capacity(COMPARISONS), None)
    }
}

impl Trace {
    fn with(comparisons: Vec<ThresholdComparison>, moved: Option<Move>) -> Self {
        Self { comparisons, moved, rule: 0, release: None, arriving: None }
    }

    /// Begins again, of rules that compare with `threshold` as if it were `by` of itself larger; below zero: smaller.
    pub(super) fn begin_moving(&mut self, threshold: Threshold, by: f64) {
        let mut comparisons = std::mem::take(&mut self.comparisons);
        comparisons.clear();
        let moved = Some(Move { index: threshold.index(), factor: 1.0 + by });
        *self = Self::with(comparisons, moved);
    }

    /// What was compared so far, in order.
    pub(super) fn comparisons(&self) -> &[ThresholdComparison] {
        &self.comparisons
    }

    /// Whether `value` is the threshold or more.
    pub(super) fn at_least(&mut self, threshold: Threshold, value: f64) -> bool {
        let bound = self.bound(threshold);
        self.compare(threshold, value, value >= bound)
    }

    /// Whether `value` is more than the threshold.
    pub(super) fn above(&mut self, threshold: Threshold, value: f64) -> bool {
        let bound = self.bound(threshold);
        self.compare(threshold, value, value > bound)
    }

    /// Whether `value` is less than the threshold.
    pub(super) fn below(&mut self, threshold: Threshold, value: f64) -> bool {
        !self.at_least(threshold, value)
    }

    /// Whether `value` is the threshold or less.
    pub(super) fn at_most(&mut self, threshold: Threshold, value: f64) -> bool {
        !self.above(threshold, value)
    }

    fn bound(&self, threshold: Threshold) -> f64 {
        let moved = self.moved.filter(|moved| moved.index == threshold.index());
        moved.map_or(threshold.value(), |moved| threshold.value() * moved.factor)
    }

    fn compare(&mut self, threshold: Threshold, value: f64, holds: bool) -> bool {
        // With a threshold moved, only what else it decides is of interest.
        if self.moved.is_some_and(|moved| moved.index != threshold.index()) {
            return holds;
        }
        let turns_at = (value.is_finite() && value >= 0.0).then(|| value / threshold.value() - 1.0);
        self.comparisons.push(ThresholdComparison { threshold, value, turns_at, rule: self.rule });
        holds
    }
}

impl Compare for Trace {
    fn at_least(&mut self, threshold: Threshold, value: f64) -> bool {
        Self::at_least(self, threshold, value)
    }

    fn above(&mut self, threshold: Threshold, value: f64) -> bool {
        Self::above(self, threshold, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;

    #[test]
    fn a_comparison_shows_how_far_its_threshold_would_have_to_move() {
        let mut trace = Trace::default();
        assert!(trace.at_least(STANDARD.waiting, 0.75) && trace.below(STANDARD.waiting, 0.25));
        assert!(trace.at_most(STANDARD.waiting, 0.5) && !trace.above(STANDARD.waiting, 0.5));
        assert!(trace.at_least(STANDARD.waiting, f64::INFINITY));
        let turns: Vec<Option<f64>> = trace.comparisons().iter().map(|compared| compared.turns_at).collect();
        assert_eq!(turns, [Some(0.5), Some(-0.5), Some(0.0), Some(0.0), None]);
    }

    #[test]
    fn one_threshold_is_moved_and_no_other() {
        let mut trace = Trace::default();
        trace.begin_moving(STANDARD.waiting, 0.2);
        assert!(!trace.at_least(STANDARD.waiting, 0.59) && trace.at_least(STANDARD.waiting, 0.61));
        assert!(trace.at_least(STANDARD.repairing, 0.5));
        assert_eq!(trace.comparisons().len(), 2, "those of the moved one");
    }
}
