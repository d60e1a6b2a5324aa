//! Who holds an interval: the first rule that holds, what it compared, and by how much it was decided.

use super::rule::Rule;
use super::rules::RULES;
use super::trace::{ThresholdComparison, Trace};
use crate::ground::threshold::Threshold;
use crate::ground::thresholds::{PAST, Thresholds};
use pipefill_core::evidence::Evidence;

/// The answer on one interval.
#[derive(Clone, Copy)]
pub(super) struct Decision {
    /// The rule that held.
    pub(super) rule: &'static Rule,
    /// The smallest relative move of one threshold that gives the interval another holder; `None` where none does.
    pub(super) margin: Option<f64>,
}

/// The rule that decides on `evidence`; `None` where it has nothing that any rule asks for.
pub(super) fn decide(evidence: &Evidence, thresholds: &Thresholds) -> Option<Decision> {
    let mut trace = Trace::default();
    let rule = first(evidence, thresholds, &mut trace)?;
    Some(Decision { rule, margin: margin(rule, evidence, thresholds, trace.comparisons()) })
}

fn first(evidence: &Evidence, thresholds: &Thresholds, trace: &mut Trace) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.decides(evidence, thresholds, trace))
}

/// The smallest move of one threshold that changes the holder. Judging again with the threshold moved, and not the single comparison,
/// decides: behind a rule that no longer holds, another one may name the same holder.
fn margin(
    rule: &Rule,
    evidence: &Evidence,
    thresholds: &Thresholds,
    comparisons: &[ThresholdComparison],
) -> Option<f64> {
    let mut open: Vec<(Threshold, f64)> = comparisons.iter().filter_map(turn).collect();
    while let Some(nearest) = open.iter().copied().min_by(by_distance) {
        open.retain(|other| *other != nearest);
        let (threshold, by) = nearest;
        let sides = if by == 0.0 { [PAST, -PAST] } else { [by + PAST.copysign(by); 2] };
        for past in &sides[..if by == 0.0 { 2 } else { 1 }] {
            let mut trace = Trace::moving(threshold, *past);
            let holder = first(evidence, thresholds, &mut trace).map(Rule::limited_by);
            if holder != Some(rule.limited_by()) {
                return Some(by.abs());
            }
            // What the same threshold decides further out, on a way that was not gone before.
            let further = trace.comparisons().iter().filter_map(turn);
            for next in further.filter(|next| next.1 * past > 0.0 && next.1.abs() > by.abs()) {
                if !open.contains(&next) {
                    open.push(next);
                }
            }
        }
    }
    None
}

fn turn(compared: &ThresholdComparison) -> Option<(Threshold, f64)> {
    Some((compared.threshold, compared.turns_at?))
}

fn by_distance(a: &(Threshold, f64), b: &(Threshold, f64)) -> std::cmp::Ordering {
    a.1.abs().total_cmp(&b.1.abs()).then(a.0.index().cmp(&b.0.index()))
}
