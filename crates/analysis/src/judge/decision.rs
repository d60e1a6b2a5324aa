//! Who holds an interval: the first rule that holds, what it compared, and by how much it was decided.

use super::rule::{Parts, Rule};
use super::rules::RULES;
use super::trace::{ThresholdComparison, Trace};
use crate::ground::threshold::Threshold;
use crate::ground::thresholds::{PAST, Thresholds};
use pipefill_core::evidence::Evidence;
use std::sync::OnceLock;

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
    let question = Question { rules: applicable(evidence), evidence, thresholds };
    let mut trace = Trace::default();
    let rule = question.first(0, &mut trace)?;
    Some(Decision { rule, margin: question.margin(rule, trace.comparisons()) })
}

/// The rules whose parts of the evidence are there, in order.
fn applicable(evidence: &Evidence) -> &'static [&'static Rule] {
    static RULES_OF: [OnceLock<Vec<&'static Rule>>; Parts::COUNT] = [const { OnceLock::new() }; Parts::COUNT];
    let present = Parts::in_evidence(evidence);
    let of_parts = || RULES.iter().copied().filter(|rule| rule.needs.are_in(present)).collect();
    RULES_OF[present.index()].get_or_init(of_parts)
}

/// Who holds one interval.
struct Question<'a> {
    rules: &'static [&'static Rule],
    evidence: &'a Evidence,
    thresholds: &'a Thresholds,
}

impl Question<'_> {
    /// The first rule that holds of those from `from` on.
    fn first(&self, from: usize, trace: &mut Trace) -> Option<&'static Rule> {
        let mut rules = self.rules.iter().enumerate().skip(from);
        let holds = |(index, rule): &(usize, &&'static Rule)| {
            trace.rule = *index;
            (rule.holds)(self.evidence, self.thresholds, trace)
        };
        rules.find(holds).map(|(_, rule)| *rule)
    }

    /// The smallest move of one threshold that changes the holder. Judging again with the threshold moved, and not the single comparison,
    /// decides: behind a rule that no longer holds, another one may name the same holder. Rules that stand before the first one that
    /// compares with the threshold answer as they did.
    fn margin(&self, rule: &'static Rule, comparisons: &[ThresholdComparison]) -> Option<f64> {
        let limited_by = rule.limited_by();
        let is_held_otherwise = |other: Option<&'static Rule>| {
            other.is_none_or(|other| !std::ptr::eq(other, rule) && other.limited_by() != limited_by)
        };
        let mut trace = Trace::default();
        let mut open: Vec<(Threshold, f64)> = comparisons.iter().filter_map(turn).collect();
        while let Some(nearest) = open.iter().copied().min_by(by_distance) {
            open.retain(|other| *other != nearest);
            let (threshold, by) = nearest;
            let asks = |compared: &&ThresholdComparison| compared.threshold == threshold;
            let from = comparisons.iter().find(asks).map_or(0, |compared| compared.rule);
            let sides = if by == 0.0 { [PAST, -PAST] } else { [by + PAST.copysign(by); 2] };
            for past in &sides[..if by == 0.0 { 2 } else { 1 }] {
                trace.begin_moving(threshold, *past);
                if is_held_otherwise(self.first(from, &mut trace)) {
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
}

fn turn(compared: &ThresholdComparison) -> Option<(Threshold, f64)> {
    Some((compared.threshold, compared.turns_at?))
}

fn by_distance(a: &(Threshold, f64), b: &(Threshold, f64)) -> std::cmp::Ordering {
    a.1.abs().total_cmp(&b.1.abs()).then(a.0.index().cmp(&b.0.index()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::{ABOUT, STANDARD};
    use pipefill_core::evidence::{PathEvidence, SenderEvidence};
    use pipefill_core::limit::LimitedBy;
    use pipefill_core::record::Fact;
    use proptest::prelude::*;

    fn holder(evidence: &Evidence, thresholds: &Thresholds) -> Option<LimitedBy> {
        decide(evidence, thresholds).map(|decision| decision.rule.limited_by())
    }

    prop_compose! {
        fn of_sender()(
            used in proptest::array::uniform3(proptest::option::of(0.0..1.2_f64)),
            shares in proptest::array::uniform4(0.0..1.0_f64),
            (cwnd, rwnd, retransmits) in (20_000..400_000_u64, 20_000..400_000_u64, 0..200_u32),
            (base_us, waits_us, rate_used) in (1_000..50_000_u64, 0..100_000_u64, 0.1..1.1_f64),
            (queue_always, overflow_always) in any::<(bool, bool)>(),
        ) -> Evidence {
            let sender = SenderEvidence {
                acked: 1_250_000,
                acked_so_far: 12_500_000,
                unacked_peak: cwnd.min(rwnd),
                cwnd_used: used[0],
                cwnd: Some(cwnd),
                rwnd_used: used[1],
                rwnd: Some(rwnd),
                sndbuf_used: used[2],
                unsent_share: Some(shares[0]),
                app_limited_share: shares[1],
                repair_share: shares[2],
                timer_share: shares[3] * shares[2],
                srtt_us: Some(base_us + waits_us),
                srtt_mean_us: Some(base_us + waits_us),
                min_rtt_us: Some(base_us),
                retransmits,
                mss: 1448,
                ..SenderEvidence::default()
            };
            let path = PathEvidence {
                base_rtt_us: base_us,
                rate_bps: Some(Fact::inferred(100_000_000)),
                rate_used: Some(rate_used),
                own_share: Some(1.0),
                queue_always,
                overflow_always,
                frames: 800.0,
                ..PathEvidence::default()
            };
            Evidence { from_us: 1_000_000, to_us: 2_000_000, sender: Some(sender), path, ..Evidence::default() }
        }
    }

    proptest! {
        #[test]
        fn no_threshold_decides_within_the_margin_and_one_does_behind_it(evidence in of_sender()) {
            let decision = decide(&evidence, &STANDARD).expect("a sender was seen");
            let (is_held_by, most) = (Some(decision.rule.limited_by()), decision.margin.unwrap_or(1.0));
            let with = |by: f64| {
                let evidence = &evidence;
                (0..ABOUT.len()).flat_map(move |index| [1.0 - by, 1.0 + by].map(|times| {
                    holder(evidence, &STANDARD.with_moved(index, times))
                }))
            };
            prop_assert!(with(0.999 * most).all(|held_by| held_by == is_held_by), "{} {:?}", decision.rule.id, decision.margin);
            if decision.margin.is_some() {
                prop_assert!(with(most + 2.0 * PAST).any(|held_by| held_by != is_held_by), "{} {:?}", decision.rule.id, decision.margin);
            }
        }
    }
}
