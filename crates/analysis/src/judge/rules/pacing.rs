//! When a pacing rate holds an interval.

use super::super::conditions::{arrival_pattern, is_unasked, is_waiting, paced_share};
use super::super::rule::{Part, Parts, Rule, RuleId};
use super::cwnd::arriving_packets;
use super::path::{has_risen, queues_segments};

pub(super) const REACHED: Rule = Rule {
    id: RuleId::new("pacing.reached"),
    question: "Does data wait while the stream gets the max_pacing_rate that the scenario sets?",
    needs: Parts::of(&[Part::Sender, Part::Plan]),
    holds: |evidence, t, trace| {
        let kept = evidence.plan.and_then(|plan| plan.pacing_kept);
        kept.is_some_and(|kept| trace.at_least(t.pacing_reached, kept)) && is_waiting(evidence, t, trace)
    },
};

/// Packets, and sockets of older kernels, do not show the limit itself (`SO_MAX_PACING_RATE`).
pub(super) const STEADY: Rule = Rule {
    id: RuleId::new("pacing.program.steady"),
    question: "Does data wait while the pacing rate is what gets through, and has it not changed for long?",
    needs: Parts::of(&[Part::Sender, Part::NoPlan]),
    holds: |evidence, t, trace| {
        let Some(sender) = &evidence.sender else { return false };
        let Some(share) = paced_share(evidence, t, trace) else { return false };
        let round_trip = sender.srtt_us.or(sender.min_rtt_us).unwrap_or(0).max(1);
        let steady_us = evidence.packets.map_or(sender.pacing_steady_us, |packets| packets.paced_us);
        trace.at_least(t.paced_steadily, steady_us as f64 / round_trip as f64)
            && trace.at_least(t.paced_by_program, share)
            && is_waiting(evidence, t, trace)
    },
};

/// A congestion control that paces probes for more, which makes a queue.
pub(super) const ARRIVES_EVENLY: Rule = Rule {
    id: RuleId::new("pacing.program.arrives_evenly"),
    question: "Do data arrive evenly, at the same rate most of the time, without a queue and without losses?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let steady = arriving_packets(evidence, t, trace).and_then(|packets| packets.steady);
        steady.is_some_and(|rate| {
            trace.at_least(t.arrival_share, rate.share)
                && trace.at_most(t.arrival_even, rate.unevenness)
                && trace.below(t.arrival_bursts_often, rate.bursts_in_round_trip)
                && trace.at_most(t.arrival_flat, rate.rtt_risen_most)
                && !queues_segments(evidence, t, trace)
        })
    },
};

/// The same by a socket: a sender that always has more to send sends full segments.
pub(super) const COMES_EVENLY: Rule = Rule {
    id: RuleId::new("pacing.program.comes_evenly"),
    question: "Do full segments reach the receiver's socket evenly at the same rate, none of them out of order and none acknowledged by itself, without a queue?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some((whole, pattern)) = arrival_pattern(evidence) else { return false };
        trace.at_least(t.samples_of_round_trip, pattern.samples_in_round_trip)
            && trace.at_most(t.arrival_even, pattern.unevenness)
            && trace.at_most(t.receiver_settled, whole.spread)
            && pattern.short_in_round_trip.is_some_and(|count| trace.at_most(t.short_segments_few, count))
            && pattern.acks_of_segment.is_some_and(|share| trace.at_most(t.acks_of_second, share))
            && !has_risen(whole.risen_often, t, trace)
            && is_unasked(evidence, t)
    },
};

pub(super) const EXPLAINS_RATE: Rule = Rule {
    id: RuleId::new("pacing.explains_rate"),
    question: "Does data wait with room in both windows, while the pacing rate explains what is acknowledged?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        is_waiting(evidence, t, trace)
            && paced_share(evidence, t, trace).is_some_and(|share| trace.at_least(t.paced, share))
    },
};

pub(super) const LEFT_OVER: Rule = Rule {
    id: RuleId::new("pacing.left_over"),
    question: "Does data wait with room in both windows, in a socket that paces?",
    needs: Parts::of(&[Part::Sender, Part::Plan]),
    holds: |evidence, t, trace| {
        is_waiting(evidence, t, trace)
            && evidence.sender.as_ref().is_some_and(|sender| sender.pacing_rate_bps.is_some())
    },
};
