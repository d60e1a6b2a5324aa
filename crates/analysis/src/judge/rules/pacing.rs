//! When a pacing rate holds an interval.

use super::super::conditions::is_waiting;
use super::super::rule::{Part, Rule, RuleId};
use pipefill_core::limit::LimitedBy;

pub(super) const REACHED: Rule = Rule {
    id: RuleId::new("pacing.reached"),
    limited_by: LimitedBy::Pacing,
    question: "Does data wait while the stream gets the max_pacing_rate that the scenario sets?",
    needs: &[Part::Sender, Part::Plan],
    holds: |evidence, t, trace| {
        let kept = evidence.plan.and_then(|plan| plan.pacing_kept);
        kept.is_some_and(|kept| trace.at_least(t.pacing_reached, kept)) && is_waiting(evidence, t, trace)
    },
};

/// No socket reports its own limit (`SO_MAX_PACING_RATE`).
pub(super) const BY_PROGRAM: Rule = Rule {
    id: RuleId::new("pacing.by_program"),
    limited_by: LimitedBy::Pacing,
    question: "Does data wait while the pacing rate is what gets through, and has it not changed for long?",
    needs: &[Part::Sender, Part::NoPlan],
    holds: |evidence, t, trace| {
        let Some(sender) = &evidence.sender else { return false };
        let Some(rate) = sender.pacing_rate_bps else { return false };
        let round_trip = sender.srtt_us.or(sender.min_rtt_us).unwrap_or(0).max(1);
        trace.at_least(t.paced_steadily, sender.pacing_steady_us as f64 / round_trip as f64)
            && trace.at_least(t.paced_by_program, evidence.acked_bps() / (rate as f64).max(1.0))
            && is_waiting(evidence, t, trace)
    },
};

pub(super) const EXPLAINS_RATE: Rule = Rule {
    id: RuleId::new("pacing.explains_rate"),
    limited_by: LimitedBy::Pacing,
    question: "Does data wait with room in both windows, while the pacing rate explains what is acknowledged?",
    needs: &[Part::Sender],
    holds: |evidence, t, trace| {
        let rate = evidence.sender.as_ref().and_then(|sender| sender.pacing_rate_bps);
        is_waiting(evidence, t, trace)
            && rate.is_some_and(|rate| trace.at_least(t.paced, evidence.acked_bps() / (rate as f64).max(1.0)))
    },
};

pub(super) const LEFT_OVER: Rule = Rule {
    id: RuleId::new("pacing.left_over"),
    limited_by: LimitedBy::Pacing,
    question: "Does data wait with room in both windows, in a socket that paces?",
    needs: &[Part::Sender, Part::Plan],
    holds: |evidence, t, trace| {
        is_waiting(evidence, t, trace)
            && evidence.sender.as_ref().is_some_and(|sender| sender.pacing_rate_bps.is_some())
    },
};
