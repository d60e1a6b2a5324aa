//! When the congestion window holds an interval.

use super::super::conditions::{
    arrival_pattern, cwnd_used, is_repairing, is_unasked, is_waiting, runs_dry, used_window,
};
use super::super::rule::{Part, Parts, Rule, RuleId};
use super::super::trace::Trace;
use super::path::{ARRIVES_STEADILY, ARRIVES_WITH_QUEUE, carries_enough, grows, has_risen, is_often_marked};
use crate::ground::thresholds::Thresholds;
use pipefill_core::evidence::{ArrivingPackets, Evidence};
use pipefill_core::limit::{Cause, LimitedBy};
use pipefill_core::record::Waiting;

/// The losses at the end of a flight: no duplicate ACK shows them.
pub(super) const TIMEOUT: Rule = Rule {
    id: RuleId::new("cwnd.timeout"),
    question: "Does the sender wait for the retransmission timer for at least half of the time, and does sending again help?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        let awaited = evidence.sender.as_ref().map(|sender| sender.timer_share).filter(|&share| share > 0.0);
        awaited.is_some_and(|share| trace.at_least(t.timer_awaited, share))
    },
};

/// A few segments, of which too few duplicate ACKs come, or none.
pub(super) const TIMER: Rule = Rule {
    id: RuleId::new("cwnd.timeout.of_a_turn"),
    question: "Are a few segments out, is nothing heard until the retransmission timer sends them again, and does that help?",
    needs: Parts::of(&[Part::Waiting]),
    holds: |evidence, _, _| evidence.waiting == Some(Waiting::Timer),
};

pub(super) const REPAIRING: Rule = Rule {
    id: RuleId::new("cwnd.repairing"),
    question: "Does the sender recover from losses most of the time, with a congestion control that they slow down?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        let Some(sender) = &evidence.sender else { return false };
        let is_slowed = !sender.ignores_losses || trace.above(t.withstood, sender.resent_share());
        is_slowed && is_repairing(sender, t, trace)
    },
};

pub(super) const USED_UP: Rule = Rule {
    id: RuleId::new("cwnd.used_up"),
    question: "Does data wait while the congestion window is used up, and is it smaller than a receive window that is used up?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        is_waiting(evidence, t, trace) && used_window(evidence, t, trace) == Some(LimitedBy::Cwnd)
    },
};

pub(super) const NEARLY_USED_UP: Rule = Rule {
    id: RuleId::new("cwnd.nearly_used_up"),
    question: "Does data wait, unexplained, while most of the congestion window is out?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        is_waiting(evidence, t, trace)
            && cwnd_used(evidence, t, trace).is_some_and(|used| trace.at_least(t.window_nearly_used, used))
    },
};

pub(super) const ARRIVALS_GROW: Rule = Rule {
    id: RuleId::new("cwnd.arrivals_grow"),
    question: "Does what arrives grow from third to third of the time, and not fall from one round trip to the next before anything is missing?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(arrivals) = evidence.arrivals else { return false };
        let whole = arrivals.whole;
        // Without a loss no window falls; the end of an answer does, and what comes in a round trip that is longer than the least one.
        let falls = arrivals.packets.is_some_and(|packets| {
            is_unasked(evidence, t)
                && !has_risen(whole.risen_often, t, trace)
                && trace.at_least(t.packet_fallen_often, packets.fallen_share)
        });
        // Packets show round trips exactly.
        let is_exact = arrivals.packets.is_some()
            && whole.segments.is_some_and(|segments| trace.at_least(t.arrival_segments, segments));
        (is_exact || carries_enough(&whole, t, trace))
            && grows(whole.growth, whole.disordered_share > 0.0, t, trace)
            && !falls
            && !arrivals.packets.is_some_and(|packets| is_written_in_bursts(&packets, t, trace))
    },
};

/// What a window holds back leaves in full segments: a program wrote each burst that ends in less, and no more.
fn is_written_in_bursts(packets: &ArrivingPackets, t: &Thresholds, trace: &mut Trace) -> bool {
    packets.resumed_share.is_some_and(|share| trace.at_most(t.resumed_seldom, share))
}

/// A sender that is told of a mark cuts its window (`tcp_enter_cwr()`). A path that stays full all the same has a queue that marks.
pub(super) const ARRIVALS_MARKED: Rule = Rule {
    id: RuleId::new("cwnd.ecn.arrivals_marked"),
    question: "Do CE marks often come, more often than segments out of order, while the rate is not the same with a queue nearly all the time?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(whole) = evidence.arrivals.map(|arrivals| arrivals.whole) else { return false };
        is_often_marked(&whole, t, trace) && !(ARRIVES_STEADILY.holds)(evidence, t, trace)
    },
};

/// The rate is what the policer leaves of it, and may be the same all the time.
pub(super) const ARRIVALS_POLICED: Rule = Rule {
    id: RuleId::new("cwnd.policer.arrivals"),
    question: "Do the packets that arrive show that a policer drops others, while segments often come out of order?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(arrivals) = evidence.arrivals else { return false };
        arrivals.packets.is_some_and(|packets| packets.cwnd_cause == Some(Cause::Policer))
            && trace.at_least(t.receiver_disordered, arrivals.whole.disordered_share)
    },
};

pub(super) const ARRIVALS_DISORDERED: Rule = Rule {
    id: RuleId::new("cwnd.arrivals_disordered"),
    question: "Does the rate of what arrives vary while segments often come out of order?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(whole) = evidence.arrivals.map(|arrivals| arrivals.whole) else { return false };
        trace.above(t.receiver_plateau, whole.spread)
            && trace.at_least(t.receiver_disordered, whole.disordered_share)
    },
};

/// Without a queue losses come before the path is full. A policer, or a queue of a few packets, leaves the same rate all the time.
pub(super) const ARRIVALS_MOSTLY_DISORDERED: Rule = Rule {
    id: RuleId::new("cwnd.arrivals_mostly_disordered"),
    question: "Do segments come out of order in most of the rounds, while no queue makes round trips longer?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some((whole, _)) = arrival_pattern(evidence) else { return false };
        trace.at_least(t.receiver_mostly_disordered, whole.disordered_share)
            && !has_risen(whole.risen_often, t, trace)
    },
};

/// A path that is silent at times is not full.
pub(super) const ARRIVALS_SILENT: Rule = Rule {
    id: RuleId::new("cwnd.arrivals_silent"),
    question: "Do segments often come out of order, with silence between bursts, while no queue makes round trips longer?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some((whole, pattern)) = arrival_pattern(evidence) else { return false };
        trace.at_least(t.receiver_disordered, whole.disordered_share)
            && trace.above(t.queue_idle, pattern.silent_share)
            && !has_risen(whole.risen_often, t, trace)
            && !runs_dry(&pattern, t, trace)
    },
};

/// What packets that arrive show of a sender, unless its congestion window shows itself in what arrives. A receiver's round trip is longer where
/// the sender has nothing to answer with, as with a queue: the path gives way.
pub(super) fn arriving_packets(
    evidence: &Evidence,
    t: &Thresholds,
    trace: &mut Trace,
) -> Option<ArrivingPackets> {
    if let Some(known) = trace.arriving {
        return known;
    }
    let packets = evidence.arrivals?.packets?;
    let shows_itself = [&ARRIVALS_MARKED, &ARRIVALS_GROW, &ARRIVALS_DISORDERED]
        .iter()
        .any(|rule| (rule.holds)(evidence, t, trace));
    let found = (!shows_itself || (ARRIVES_WITH_QUEUE.holds)(evidence, t, trace)).then_some(packets);
    *trace.arriving.insert(found)
}

/// ACKs that wait let less out in a round trip than comes through: data that come at once do not wait. Before silence it is the sender that waits.
pub(super) const ACKS_DELAYED: Rule = Rule {
    id: RuleId::new("cwnd.ack_path.arrives"),
    question: "Do ACKs wait on their way for at least half of the round trip, by the timestamps of what comes, while something always comes?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let delayed = evidence.arrivals.and_then(|arrivals| arrivals.whole.acks_delayed);
        delayed.is_some_and(|acks| {
            trace.at_least(t.acks_wait, acks.share) && trace.at_most(t.queue_idle, acks.silent_share)
        })
    },
};

pub(super) const STARTUP: Rule = Rule {
    id: RuleId::new("cwnd.startup"),
    question: "Has each round trip so far brought half as much again as the one before, or does each flight of an answer wait for its ACKs behind a full segment, with nothing missing?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, _, _| {
        evidence.arrivals.is_some_and(|arrivals| arrivals.is_slow_start && !arrivals.is_idle_restart)
    },
};

/// Each flight is larger than the one before as a window grows that its ACKs fill: behind HyStart, in congestion avoidance, or with one ACK for each flight.
pub(super) const FLIGHTS_GROW: Rule = Rule {
    id: RuleId::new("cwnd.hystart_exit.flights"),
    question: "Does each flight wait for its ACKs behind a full segment, with nothing missing, and are later flights larger?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, _, _| evidence.arrivals.is_some_and(|arrivals| arrivals.grows_in_flights),
};

/// A window that was kept would have been let out at once.
pub(super) const IDLE_RESTART: Rule = Rule {
    id: RuleId::new("cwnd.idle_restart.arrives"),
    question: "Does the same come again after an idle time longer than the retransmission timer, from less than an earlier round trip brought?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, _, _| evidence.arrivals.is_some_and(|arrivals| arrivals.is_idle_restart),
};
