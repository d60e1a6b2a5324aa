//! When the send buffer holds an interval: the application would write more, and has no room.

use super::super::conditions::{
    arrival_pattern, has_used_cwnd, has_used_rwnd, has_used_sndbuf, is_below_fair_share, is_path_full,
    is_unasked, is_waiting, runs_dry,
};
use super::super::rule::{Part, Parts, Rule, RuleId};
use super::app::{comes_with_acks, repeats};
use super::cwnd::arriving_packets;
use super::path::{carries_enough, grows};
use crate::ground::thresholds::Thresholds;
use crate::judge::trace::Trace;
use pipefill_core::evidence::{ArrivalsOfAll, PacketSpan};
use pipefill_core::limit::Cause;

pub(super) const BELOW_FAIR_SHARE: Rule = Rule {
    id: RuleId::new("sndbuf.below_fair_share"),
    question: "Is the send buffer used up with all of it sent, and would it not let through the fair share of an empty path, although the path is full?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        let Some(sender) = &evidence.sender else { return false };
        is_path_full(evidence, t, trace)
            && !has_used_rwnd(evidence, t, trace)
            && !has_used_cwnd(evidence, t, trace)
            && !is_waiting(evidence, t, trace)
            && has_used_sndbuf(evidence, t, trace)
            && is_below_fair_share(evidence, sender.unacked_peak)
    },
};

pub(super) const USED_UP: Rule = Rule {
    id: RuleId::new("sndbuf.used_up"),
    question: "Is everything sent that the send buffer holds, and the buffer used up?",
    needs: Parts::of(&[Part::Sender, Part::Plan]),
    holds: |evidence, t, trace| {
        let used = evidence.sender.as_ref().and_then(|sender| sender.sndbuf_used);
        used.is_some_and(|used| trace.at_least(t.sndbuf_used, used))
    },
};

/// Its clock runs where all was sent and the writer waits for room (`tcp_cwnd_validate()`): it misses some of that, and counts nothing else. One
/// reading shows whether data waits at that instant only.
pub(super) const COUNTED: Rule = Rule {
    id: RuleId::new("sndbuf.counted"),
    question: "Does the kernel count that the writer waited for room in the send buffer for most of the time with data outstanding, and is the buffer not far from full?",
    needs: Parts::of(&[Part::Sender, Part::NoPlan]),
    holds: |evidence, t, trace| {
        let Some(sender) = &evidence.sender else { return false };
        sender.sndbuf_limited_share.is_some_and(|share| trace.at_least(t.counter_names, share))
            && sender.sndbuf_used.is_none_or(|used| trace.at_least(t.sndbuf_fullest, used))
    },
};

/// A pacer that limits always has something to send, and so has a window.
pub(super) const EMPTIED_AND_REFILLED: Rule = Rule {
    id: RuleId::new("sndbuf.emptied_and_refilled"),
    question: "Is all that the send buffer holds sent at times, with room in both windows, although the buffer gets full and is never nearly empty?",
    needs: Parts::of(&[Part::Sender, Part::NoPlan]),
    holds: |evidence, t, trace| {
        let Some(sender) = &evidence.sender else { return false };
        let Some((least, most)) = sender.sndbuf_least.zip(sender.sndbuf_used) else { return false };
        is_waiting(evidence, t, trace)
            && sender.unsent_share.is_some_and(|share| trace.at_most(t.always_waiting, share))
            && trace.at_least(t.sndbuf_fullest, most)
            && trace.at_least(t.sndbuf_emptiest, least)
    },
};

/// Another program's output shows what gets through in a round trip, and a send buffer that the program has set: neither window is used up.
pub(super) const EXPLAINS_RATE: Rule = Rule {
    id: RuleId::new("sndbuf.explains_rate"),
    question: "Does data wait with room in both windows, while what gets through in a round trip is most of the send buffer, by another program's output?",
    needs: Parts::of(&[Part::Sender, Part::NoPlan]),
    holds: |evidence, t, trace| {
        let Some(sender) = &evidence.sender else { return false };
        sender.is_flight_estimated && is_waiting(evidence, t, trace) && has_used_sndbuf(evidence, t, trace)
    },
};

/// Its writer waits for it, and not it for its writer. At one instant a buffer is full that a burst has just filled, too: then the kernel has
/// counted no wait.
pub(super) const KEPT_FULL: Rule = Rule {
    id: RuleId::new("sndbuf.kept_full"),
    question: "Is everything sent that the send buffer holds, and is it full at times and never nearly empty, or, in a single reading, full after waits for room that the kernel counted?",
    needs: Parts::of(&[Part::Sender, Part::NoPlan]),
    holds: |evidence, t, trace| {
        let Some(sender) = &evidence.sender else { return false };
        if let Some(packets) = &evidence.packets {
            return packets.flight_least > 0 && has_used_sndbuf(evidence, t, trace);
        }
        sender.sndbuf_used.is_some_and(|most| trace.at_least(t.sndbuf_fullest, most))
            && match sender.sndbuf_least {
                Some(least) => trace.at_least(t.sndbuf_emptiest, least),
                None => sender
                    .sndbuf_limited_share
                    .is_none_or(|share| trace.at_least(t.sndbuf_counted_any, share)),
            }
    },
};

/// An application by its own clock sends as much as it writes, whatever an ACK acknowledges, or evenly, with ACKs at the same times; and a congestion window that nothing is lost from grows. Small
/// writes wait for ACKs too (`tcp_nagle_check()`).
pub(super) const LET_OUT_BY_ACKS: Rule = Rule {
    id: RuleId::new("sndbuf.let_out_by_acks"),
    question: "Do ACKs let out as much as they acknowledge, or a burst in each round trip, or find as much out as ever after, unevenly, with all written data sent, the same amount outstanding all the time and the other side silent, and are the writes large, or does most data leave right after an ACK?",
    needs: Parts::of(&[Part::Sender, Part::NoPlan]),
    holds: |evidence, t, trace| {
        let Some(span) = evidence.packets.map(|packets| packets.span) else { return false };
        let heard = evidence.sender.as_ref().and_then(|sender| sender.heard_in_round_trip);
        heard == Some(0.0)
            && (trace.at_least(t.packet_clocked, span.clocked_share)
                || trace.at_least(t.packet_clocked_bursts, span.clocked_bursts)
                || are_large(&span, t, trace)
                    && span.fill.is_some_and(|fill| trace.at_least(t.packet_always_full, fill)))
            && (are_large(&span, t, trace)
                || trace.at_least(t.packet_prompt_of_writes, span.prompt_share)
                    && trace.at_least(t.packet_clocked_bursts, span.clocked_bursts))
            && span.unevenness.is_some_and(|uneven| trace.above(t.packet_even, uneven))
            && trace.at_most(t.packet_flight_same, span.flight_change)
            && trace.at_least(t.packet_growth, span.round_trips)
            && span.fill.is_some_and(|fill| trace.at_least(t.packet_window_filled, fill))
            && span.bytes_of_a_push.is_some_and(|bytes| {
                trace.at_least(t.packet_write_segments, bytes / (span.segment as f64).max(1.0))
            })
            && span.drained_share.is_some_and(|share| trace.below(t.packet_drained_often, share))
    },
};

/// Whether a few writes make up a flight.
fn are_large(span: &PacketSpan, t: &Thresholds, trace: &mut Trace) -> bool {
    let of_flight = |bytes: f64| bytes / (span.flight as f64).max(1.0);
    span.bytes_of_a_push.is_some_and(|bytes| trace.at_least(t.packet_write_small, of_flight(bytes)))
}

/// A buffer is emptied and filled again; a congestion window would have grown.
pub(super) const ARRIVES_IN_BURSTS: Rule = Rule {
    id: RuleId::new("sndbuf.arrives_in_bursts"),
    question: "Do data arrive in bursts a round trip apart, or in a pattern that repeats each round trip, at the same rate most of the time, without a queue and without losses?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(packets) = arriving_packets(evidence, t, trace) else { return false };
        packets.steady.is_some_and(|rate| {
            trace.at_least(t.arrival_share, rate.share)
                && (trace.at_least(t.arrival_bursts, rate.unevenness)
                    || trace.at_least(t.arrival_bursts_often, rate.bursts_in_round_trip)
                    || repeats(&packets, t, trace))
                && trace.at_most(t.arrival_flat_of_bursts, rate.rtt_risen)
        })
    },
};

/// A window lets out a burst in each round trip, when its ACKs come. A buffer that is emptied by more than a third is written to when that much was
/// acknowledged: later. A timer's waits are longer too.
pub(super) const ARRIVES_APART: Rule = Rule {
    id: RuleId::new("sndbuf.arrives_apart"),
    question: "Do large bursts arrive further apart than a round trip nearly all the time, with silence between them, without the PSH flags of short writes, without timers or a policer's drops, with segments seldom out of order, without growing, and without a queue that makes all round trips twice as long?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(arrivals) = evidence.arrivals else { return false };
        let Some(packets) = arrivals.packets else { return false };
        !matches!(packets.cwnd_cause, Some(Cause::Timeout | Cause::Policer))
            && packets.apart_share.is_some_and(|share| trace.at_least(t.arrival_apart, share))
            && arrivals.whole.idle_share.is_some_and(|share| trace.above(t.queue_idle, share))
            && carries_enough(&arrivals.whole, t, trace)
            && arrivals.whole.risen_always.is_none_or(|risen| trace.below(t.round_trip_long, risen.times))
            && trace.at_most(t.receiver_seldom_disordered, arrivals.whole.disordered_share)
            && !grows(arrivals.whole.settled.growth, arrivals.whole.disordered_share > 0.0, t, trace)
            && trace.below(t.arrival_share, packets.dry_share)
    },
};

/// The same by a socket, where the silences are long enough to be seen. Slow start has them too.
pub(super) const BURSTS_APART: Rule = Rule {
    id: RuleId::new("sndbuf.bursts_apart"),
    question: "Do bursts reach the receiver's socket further apart than a round trip, with silences of two samples and more, segments seldom out of order, and without a queue that makes all round trips twice as long?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some((whole, pattern)) = arrival_pattern(evidence) else { return false };
        trace.at_least(t.samples_of_silence, pattern.silent_share * pattern.samples_in_round_trip)
            && trace.above(t.queue_idle, pattern.silent_share)
            && trace.at_most(t.bursts_apart, pattern.bursts_in_round_trip)
            && trace.at_least(t.bursts_rare, pattern.bursts_in_round_trip)
            && trace.at_most(t.receiver_seldom_disordered, whole.disordered_share)
            && trace.below(t.receiver_starts, whole.growth.each)
            && carries_enough(&whole, t, trace)
            && whole.risen_always.is_none_or(|risen| trace.below(t.round_trip_long, risen.times))
            && is_unasked(evidence, t)
            && !runs_dry(&pattern, t, trace)
    },
};

/// A window of that size would lose segments, or grow.
pub(super) const BURSTS_STEADY: Rule = Rule {
    id: RuleId::new("sndbuf.bursts_steady"),
    question: "Do full segments reach the receiver's socket in bursts at the same rate all the time, with silence between them, neither growing nor out of order?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some((whole, pattern)) = arrival_pattern(evidence) else { return false };
        trace.at_least(t.samples_of_round_trip, pattern.samples_in_round_trip)
            && trace.above(t.queue_idle, pattern.silent_share)
            && neither_grows_nor_loses(&whole, t, trace)
            && carries_enough(&whole, t, trace)
            && is_unasked(evidence, t)
            && !runs_dry(&pattern, t, trace)
    },
};

/// Likewise of packets: over many round trips a window's growth shows.
pub(super) const ARRIVES_THE_SAME: Rule = Rule {
    id: RuleId::new("sndbuf.arrives_the_same"),
    question: "Do data arrive in bursts at the same rate all the time, with silence between them, neither growing nor out of order, and without the PSH flags of short writes, unless there is one burst in each round trip?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(arrivals) = evidence.arrivals else { return false };
        let (Some(packets), whole) = (arrivals.packets, arrivals.whole) else { return false };
        trace.at_least(t.bursts_rounds, whole.rounds as f64)
            && whole.idle_share.is_some_and(|share| trace.above(t.queue_idle, share))
            && whole.segments.is_some_and(|segments| trace.at_least(t.arrival_segments, segments))
            && neither_grows_nor_loses(&whole, t, trace)
            && is_unasked(evidence, t)
            && (trace.below(t.arrival_share, packets.dry_share) || comes_with_acks(&packets, t, trace))
    },
};

fn neither_grows_nor_loses(whole: &ArrivalsOfAll, t: &Thresholds, trace: &mut Trace) -> bool {
    trace.at_most(t.receiver_plateau, whole.spread)
        && trace.below(t.receiver_disordered, whole.disordered_share)
        && trace.at_most(t.bursts_trend, whole.settled.growth.whole - 1.0)
        && whole.risen_always.is_none_or(|risen| trace.below(t.round_trip_long, risen.times))
}

pub(super) const PARTLY_USED: Rule = Rule {
    id: RuleId::new("sndbuf.partly_used"),
    question: "Is everything sent that was written, with part of the send buffer in use between two samples?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        let used = evidence.sender.as_ref().and_then(|sender| sender.sndbuf_used);
        used.is_some_and(|used| trace.at_least(t.sndbuf_partly_used, used))
    },
};
