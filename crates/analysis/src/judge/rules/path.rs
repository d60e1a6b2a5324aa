//! When the path holds an interval: the bottleneck is full, or drops what is offered.

use super::super::conditions::{datagrams_arrive, is_path_full, is_repairing};
use super::super::rule::{Part, Parts, Rule, RuleId};
use super::super::trace::Trace;
use crate::ground::threshold::Threshold;
use crate::ground::thresholds::Thresholds;
use pipefill_core::evidence::{ArrivalsOfAll, Evidence, Growth, Risen};
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::Waiting;

pub(super) const DATAGRAMS_DROPPED: Rule = Rule {
    id: RuleId::new("path.datagrams_dropped"),
    question: "Do counted drops explain the losses, most of them the path's own?",
    needs: Parts::of(&[Part::Datagrams, Part::Plan]),
    holds: |evidence, t, trace| most_dropped(evidence, t, trace) == Some(LimitedBy::Path),
};

/// Its congestion control offers what the path takes.
pub(super) const FULL_OF_QUIC: Rule = Rule {
    id: RuleId::new("path.full.quic"),
    question: "Is it QUIC that offers nearly the path's rate, and do nearly all datagrams arrive?",
    needs: Parts::of(&[Part::Datagrams, Part::Plan]),
    holds: |evidence, t, trace| {
        let Some(datagrams) = evidence.datagrams else { return false };
        datagrams.is_quic
            && datagrams.offered_of_rate.is_some_and(|share| trace.at_least(t.datagrams_fill, share))
            && datagrams_arrive(evidence, t, trace)
    },
};

/// A queue of any size overflows then.
pub(super) const FULL_OF_DATAGRAMS: Rule = Rule {
    id: RuleId::new("path.full.datagrams"),
    question: "Does the path's queue drop most of what is lost, of a flow that offers more than the path's rate?",
    needs: Parts::of(&[Part::Datagrams, Part::Plan]),
    holds: |evidence, t, trace| {
        let offered = evidence.datagrams.and_then(|datagrams| datagrams.offered_of_rate);
        is_dropped_by_queue(evidence, t, trace)
            && offered.is_some_and(|share| trace.at_least(t.datagrams_fill, share))
    },
};

/// Its mean rate fits into the path, and the queue is too short for what comes at once.
pub(super) const BURSTS_OF_DATAGRAMS: Rule = Rule {
    id: RuleId::new("path.bursts.datagrams"),
    question: "Does the path's queue drop most of what is lost, of a flow below the path's rate of which one burst alone needs more than the queue?",
    needs: Parts::of(&[Part::Datagrams, Part::Plan]),
    holds: |evidence, t, trace| {
        let burst = evidence.datagrams.and_then(|datagrams| datagrams.burst_of_queue);
        is_dropped_by_queue(evidence, t, trace)
            && burst.is_some_and(|share| trace.above(t.datagrams_burst, share))
    },
};

pub(super) const SHARED_BY_DATAGRAMS: Rule = Rule {
    id: RuleId::new("path.shared.datagrams"),
    question: "Does the path's queue drop most of what is lost, of a flow below the path's rate whose bursts would fit into the queue?",
    needs: Parts::of(&[Part::Datagrams, Part::Plan]),
    holds: |evidence, t, trace| {
        let datagrams = evidence.datagrams;
        let is_known = datagrams.is_some_and(|datagrams| {
            datagrams.offered_of_rate.is_some() && datagrams.burst_of_queue.is_some()
        });
        is_known && is_dropped_by_queue(evidence, t, trace)
    },
};

pub(super) const DATAGRAMS_LOST: Rule = Rule {
    id: RuleId::new("path.datagrams_lost"),
    question: "Are datagrams lost, where only both ends counted?",
    needs: Parts::of(&[Part::Datagrams, Part::NoPlan]),
    holds: |evidence, t, trace| {
        evidence.datagrams.is_some_and(|datagrams| trace.above(t.datagrams_lost, datagrams.lost_share))
    },
};

/// Whatever was in flight meanwhile: a capture behind the bottleneck shows no queue.
pub(super) const AT_LINE_RATE: Rule = Rule {
    id: RuleId::new("path.full.at_line_rate"),
    question: "Do the packets with their frames fill an Ethernet link, or what is shaped to its rate, all the time?",
    needs: Parts::of(&[Part::NoPlan]),
    holds: |evidence, _, _| evidence.path.line_rate_bps.is_some(),
};

/// A window or a buffer that would not let through the stream's fair share of an empty path stands before it.
pub(super) const FULL: Rule = Rule {
    id: RuleId::new("path.full"),
    question: "Is the bottleneck at its rate, or its queue never empty?",
    needs: Parts::of(&[Part::Sender]),
    holds: is_path_full,
};

/// What it has in flight beyond its estimate of the path is what stands in the queue: neither the losses nor its window hold it back.
pub(super) const FULL_THROUGH_LOSSES: Rule = Rule {
    id: RuleId::new("path.full.through_losses"),
    question: "Does a sender that losses do not slow down recover most of the time, while the queue is never empty?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        let Some(sender) = evidence.sender.as_ref().filter(|sender| sender.ignores_losses) else {
            return false;
        };
        evidence.path.queue_always
            && trace.at_least(t.frames_fewest, evidence.path.frames)
            && is_repairing(sender, t, trace)
    },
};

/// The same of packets, which name no congestion control: what a loss-based one keeps in flight follows from its losses.
pub(super) const FULL_IN_SPITE_OF_LOSSES: Rule = Rule {
    id: RuleId::new("path.full.in_spite_of_losses"),
    question: "Is much of what is sent lost, and is several times as much in flight as losses leave of a window, while a queue stands most of the time?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        let (Some(sender), Some(packets)) = (&evidence.sender, &evidence.packets) else { return false };
        let (lost, segments) = (sender.resent_share(), packets.flight as f64 / (sender.mss as f64).max(1.0));
        trace.at_least(t.kept_losses, lost)
            && trace.at_least(t.kept_flight, segments * lost.sqrt())
            && trace.at_least(t.kept_queue, packets.span.standing_share)
    },
};

pub(super) const ARRIVES_WITH_QUEUE: Rule = Rule {
    id: RuleId::new("path.arrives_with_queue"),
    question: "Is the rate the same once the start is over, with a queue all the time and nothing out of order?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(whole) = evidence.arrivals.map(|arrivals| arrivals.whole) else { return false };
        let settled = whole.settled;
        carries_enough(&whole, t, trace)
            && is_never_silent(&whole, t, trace)
            && trace.at_least(t.receiver_settled_share, settled.share)
            && trace.at_least(t.receiver_rounds, settled.rounds as f64)
            && settled.spread.is_some_and(|spread| trace.at_most(t.receiver_settled, spread))
            && has_risen(settled.risen, t, trace)
            && !settled.is_disordered
            && !grows(settled.growth, true, t, trace)
    },
};

/// A window or a send buffer of one segment releases the next a round trip later, and a larger one releases several. In the middle of a write no program
/// pauses. Only pacing or the bottleneck spaces segments so.
pub(super) const ARRIVES_ONE_BY_ONE: Rule = Rule {
    id: RuleId::new("path.arrives_one_by_one"),
    question: "Do single full segments arrive evenly spaced in the middle of a write, at least half of a round trip apart and not one for each round trip, from a stack that does not pace?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(packets) = evidence.arrivals.and_then(|arrivals| arrivals.packets) else { return false };
        packets.sender_stack.is_some_and(|stack| !stack.paces())
            && trace.at_least(t.arrival_share, packets.single_share)
    },
};

/// A queue that marks keeps a link full: a stream that is cut leaves its share to the others. Marks by chance come to each by itself, and what all
/// bring together varies.
pub(super) const ARRIVES_MARKED: Rule = Rule {
    id: RuleId::new("path.arrives_marked"),
    question: "Do CE marks often come, more often than segments out of order, to one of several streams, while all together bring the same rate, or nearly the same with a queue now and then?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(whole) = evidence.arrivals.map(|arrivals| arrivals.whole) else { return false };
        whole.streams > 1
            && is_often_marked(&whole, t, trace)
            && (trace.at_most(t.receiver_together, whole.spread)
                || trace.at_most(t.receiver_plateau, whole.spread) && has_risen(whole.risen_often, t, trace))
    },
};

/// A loss that does not change the rate is made up for by a queue, which is there now and then; or an application offers no more.
pub(super) const LOSSES_CHANGE_NOTHING: Rule = Rule {
    id: RuleId::new("path.losses_change_nothing"),
    question: "Is the rate exactly the same although segments come out of order now and then, with a queue now and then?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(whole) = evidence.arrivals.map(|arrivals| arrivals.whole) else { return false };
        is_plateau(&whole, t.receiver_plateau, t, trace)
            && trace.at_most(t.receiver_unchanged, whole.spread)
            && whole.disordered_share > 0.0
            && trace.below(t.receiver_disordered, whole.disordered_share)
            && (has_risen(whole.risen_often, t, trace) || whole.has_one_rtt_only)
    },
};

/// What a sender loses more often, or of few segments in a round trip, a queue makes up for too: packets show exactly what arrives.
pub(super) const ARRIVES_THROUGH_LOSSES: Rule = Rule {
    id: RuleId::new("path.arrives_through_losses"),
    question: "Do packets show that the rate is exactly the same, once the start is over at the latest, although segments are missing, with a queue now and then, and without the end of a write in each span?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(arrivals) = evidence.arrivals else { return false };
        let (Some(packets), whole) = (arrivals.packets, arrivals.whole) else { return false };
        let settled = whole.settled;
        let is_unchanged = trace.at_most(t.receiver_unchanged, whole.spread)
            || settled.is_disordered
                && trace.at_least(t.receiver_settled_share, settled.share)
                && trace.at_least(t.receiver_rounds, settled.rounds as f64)
                && settled.spread.is_some_and(|spread| trace.at_most(t.receiver_unchanged, spread));
        whole.disordered_share > 0.0
            && is_unchanged
            && whole.segments.is_some_and(|segments| trace.at_least(t.arrival_segments, segments))
            && is_never_silent(&whole, t, trace)
            && trace.below(t.arrival_share, packets.dry_share)
            && has_risen(whole.risen_often, t, trace)
    },
};

pub(super) const ARRIVES_STEADILY: Rule = Rule {
    id: RuleId::new("path.arrives_steadily"),
    question: "Is the rate nearly the same, with a queue nearly all the time?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(whole) = evidence.arrivals.map(|arrivals| arrivals.whole) else { return false };
        is_plateau(&whole, t.receiver_plateau, t, trace) && has_risen(whole.risen_always, t, trace)
            || trace.at_most(t.receiver_plateau, whole.spread)
                && is_never_silent(&whole, t, trace)
                && queues_segments(evidence, t, trace)
    },
};

/// Whether packets show that some segments wait all the time behind others of their stream, of few in a round trip too: not those of another stream between
/// these hosts. What a sender that paces acknowledges waits for its next segment, and what bursts acknowledge for the next burst.
pub(super) fn queues_segments(evidence: &Evidence, t: &Thresholds, trace: &mut Trace) -> bool {
    let Some(arrivals) = evidence.arrivals else { return false };
    let (whole, bursts) = (arrivals.whole, arrivals.packets.and_then(|packets| packets.bursts_in_round_trip));
    let queued =
        whole.segments.zip(whole.risen_always).map(|(segments, risen)| segments * (1.0 - 1.0 / risen.times));
    whole.streams == 1
        && has_risen(whole.risen_always, t, trace)
        && queued.is_some_and(|queued| trace.at_least(t.receiver_queued, queued))
        && bursts.is_some_and(|bursts| trace.below(t.arrival_busy, bursts))
}

fn is_plateau(whole: &ArrivalsOfAll, spread: Threshold, t: &Thresholds, trace: &mut Trace) -> bool {
    trace.at_most(spread, whole.spread) && carries_enough(whole, t, trace) && is_never_silent(whole, t, trace)
}

/// A queue that stands always has something to send: bursts with silence between them wait for themselves.
fn is_never_silent(whole: &ArrivalsOfAll, t: &Thresholds, trace: &mut Trace) -> bool {
    whole.idle_share.is_none_or(|share| trace.at_most(t.queue_idle, share))
}

/// The place of most drops, where all that were counted explain what is missing.
pub(super) fn most_dropped(evidence: &Evidence, t: &Thresholds, trace: &mut Trace) -> Option<LimitedBy> {
    let datagrams = evidence.datagrams?;
    let places = [
        (datagrams.path_drops, LimitedBy::Path),
        (datagrams.testbed_drops, LimitedBy::Testbed),
        (datagrams.socket_drops, LimitedBy::Receiver),
    ];
    let counted = places.into_iter().filter_map(|(part, place)| Some((part?, place)));
    let all: f64 = counted.clone().map(|(part, _)| part).sum();
    let (_, place) = counted.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (all > 0.0 && trace.at_least(t.drops_explain, all)).then_some(place)
}

/// Whether most of what is missing was dropped by the path, and most of that by its queue.
fn is_dropped_by_queue(evidence: &Evidence, t: &Thresholds, trace: &mut Trace) -> bool {
    let Some(datagrams) = evidence.datagrams else { return false };
    most_dropped(evidence, t, trace) == Some(LimitedBy::Path)
        && datagrams
            .queue_drops
            .zip(datagrams.path_drops)
            .is_some_and(|(queue, path)| path > 0.0 && trace.at_least(t.drops_explain, queue / path))
}

/// Whether CE marks come often, and more often than segments out of order.
pub(super) fn is_often_marked(whole: &ArrivalsOfAll, t: &Thresholds, trace: &mut Trace) -> bool {
    whole
        .marked_share
        .is_some_and(|marked| marked > whole.disordered_share && trace.at_least(t.receiver_marked, marked))
}

/// Whether enough arrives in a round trip for its rate to show anything.
pub(super) fn carries_enough(whole: &ArrivalsOfAll, t: &Thresholds, trace: &mut Trace) -> bool {
    whole.segments.is_some_and(|segments| trace.at_least(t.receiver_segments, segments))
}

/// Whether the rate rises from third to third of the time: by much, or steadily and without any loss.
pub(super) fn grows(growth: Growth, has_losses: bool, t: &Thresholds, trace: &mut Trace) -> bool {
    let least = if has_losses { t.receiver_grown } else { t.receiver_grows_steadily };
    trace.at_least(t.receiver_grows, growth.each) && trace.at_least(least, growth.whole)
}

/// Whether a receiver's round trip is that of a queue.
pub(super) fn has_risen(risen: Option<Risen>, t: &Thresholds, trace: &mut Trace) -> bool {
    risen.is_some_and(|risen| {
        trace.at_least(t.receiver_risen_us, risen.above_us) && trace.at_least(t.receiver_risen, risen.times)
    })
}

pub(super) const MTU: Rule = Rule {
    id: RuleId::new("path.mtu"),
    question: "Is data outstanding, and does nothing come back for more than three timers, although smaller segments than full ones (or the SYN, and the other side asked for something since) were acknowledged before, and no full one ever?",
    needs: Parts::of(&[Part::Waiting]),
    holds: |evidence, _, _| evidence.waiting == Some(Waiting::Silence) && evidence.may_lose_full_segments,
};

/// Three timers have run out, each twice as long as the one before (RFC 6298, 5.5). Where D-SACKs came, data arrived and ACKs were lost.
pub(super) const SILENCE_BY_TIMER: Rule = Rule {
    id: RuleId::new("path.silence.by_timer"),
    question: "Has the retransmission timer been doubled all the time for want of an answer, at least three times, did no D-SACK show that data arrived, with a window that has room for a segment, and does no scenario let anything pass?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        let Some(sender) = &evidence.sender else { return false };
        (evidence.plan.is_none() || evidence.path.is_cut || evidence.path.drops_full_segments)
            && sender.spurious_so_far.unwrap_or(0) == 0
            // A window that is closed is asked for by the same timer (`tcp_probe_timer()`).
            && sender.rwnd.is_none_or(|window| window >= sender.mss)
            && sender.backoff_least.is_some_and(|doublings| trace.at_least(t.silent_timers, doublings.into()))
    },
};

/// The same of a socket. The handshake's segments are smaller ones that were answered. Where the link is known, no full-size segment is ever answered, and
/// the first timer shows that one waits.
pub(super) const MTU_BY_TIMER: Rule = Rule {
    id: RuleId::new("path.mtu.by_timer"),
    question: "Are full-size segments out that wait for the retransmission timer, which a link of the path is known to drop silently, or of which none was ever acknowledged after it was doubled at least three times?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        let Some(sender) = &evidence.sender else { return false };
        let has_one_out = sender.has_full_segments_out && sender.unacked_least >= sender.mss;
        if evidence.path.drops_full_segments {
            return has_one_out
                && (sender.backoff_least.is_some_and(|doublings| doublings > 0)
                    || trace.at_least(t.timer_awaited, sender.timer_share));
        }
        has_one_out
            && evidence.plan.is_none()
            && sender.acked_so_far < sender.mss
            && (SILENCE_BY_TIMER.holds)(evidence, t, trace)
    },
};

pub(super) const SILENCE: Rule = Rule {
    id: RuleId::new("path.silence"),
    question: "Is data outstanding, sent again, and does nothing come back for more than three timers?",
    needs: Parts::of(&[Part::Waiting]),
    holds: |evidence, _, _| evidence.waiting == Some(Waiting::Silence),
};
