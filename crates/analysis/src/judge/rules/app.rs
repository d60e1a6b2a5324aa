//! When the application holds an interval: it offers no more.

use super::super::conditions::{
    arrival_pattern, datagrams_arrive, has_used_cwnd, has_used_rwnd, has_used_sndbuf, is_below_fair_share,
    is_path_full, is_unasked, is_waiting, paced_share, runs_dry,
};
use super::super::rule::{Part, Parts, Rule, RuleId};
use super::super::trace::Trace;
use super::cwnd::arriving_packets;
use super::path::{ARRIVES_STEADILY, ARRIVES_WITH_QUEUE, LOSSES_CHANGE_NOTHING, grows};
use crate::ground::thresholds::{PERMILLE, Thresholds};
use pipefill_core::evidence::{ArrivingPackets, Evidence, SteadyRate};
use pipefill_core::record::Waiting;

/// Of a connection that carried nothing and has nothing to send: no rule is asked.
pub(in crate::judge) const IDLE: RuleId = RuleId::new("app.idle");

/// Losses of a queue count sooner than others.
pub(super) const DATAGRAMS_ARRIVE: Rule = Rule {
    id: RuleId::new("app.rate.datagrams_arrive"),
    question: "Do nearly all datagrams arrive, or are the few losses not those of a full queue?",
    needs: Parts::of(&[Part::Datagrams, Part::Plan]),
    holds: datagrams_arrive,
};

pub(super) const DATAGRAMS_OFFERED: Rule = Rule {
    id: RuleId::new("app.rate.datagrams_offered"),
    question: "Was all that was asked for sent, and did it arrive?",
    needs: Parts::of(&[Part::Datagrams, Part::NoPlan]),
    holds: |evidence, t, trace| {
        let offered = evidence.datagrams.and_then(|datagrams| datagrams.offered_share);
        offered.is_some_and(|share| trace.at_least(t.offered_carried, share))
    },
};

/// Nothing behind an application that is on time holds it back, even where a large write waits for its turn.
pub(super) const ON_TIME: Rule = Rule {
    id: RuleId::new("app.rate.on_time"),
    question: "Has the application got through what it was to offer by now, but for the write in progress?",
    needs: Parts::of(&[Part::Offer, Part::Sender]),
    holds: |evidence, t, trace| {
        let Some(offer) = evidence.offer else { return false };
        let is_full = is_path_full(evidence, t, trace);
        trace.at_least(if is_full { t.on_time_in_full_path } else { t.on_time }, offer.kept)
    },
};

/// Whoever wants more fills at least one of them.
pub(super) const OFFERS_LESS_IN_FULL_PATH: Rule = Rule {
    id: RuleId::new("app.offers_less_in_full_path"),
    question: "Is the path full while neither a window nor the send buffer of this stream is used up, nor does this stream alone keep in flight what fills it?",
    needs: Parts::of(&[Part::Sender, Part::NoPlan]),
    holds: |evidence, t, trace| {
        // The mean of an interval does not show what was filled in it.
        evidence.sender.as_ref().is_some_and(|sender| !sender.is_flight_estimated)
            && is_path_full(evidence, t, trace)
            && !has_used_cwnd(evidence, t, trace)
            && !has_used_rwnd(evidence, t, trace)
            && !has_used_sndbuf(evidence, t, trace)
            && !fills_path_alone(evidence, t, trace)
    },
};

/// Whether the queue is this stream's own: with less of it in flight none would stand.
fn fills_path_alone(evidence: &Evidence, t: &Thresholds, trace: &mut Trace) -> bool {
    let Some(packets) = &evidence.packets else { return false };
    evidence.path.own_share.is_some_and(|share| trace.at_least(t.path_own, share))
        && !is_below_fair_share(evidence, packets.flight)
}

pub(super) const ARRIVES_DRY: Rule = Rule {
    id: RuleId::new("app.arrives_dry"),
    question: "Do the PSH flags of what arrives show, most of the time, that all that was written was sent?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(packets) = arriving_packets(evidence, t, trace) else { return false };
        trace.at_least(t.arrival_share, packets.dry_share)
            && !(is_unasked(evidence, t) && comes_with_acks(&packets, t, trace))
            && !keeps_line_busy(evidence, t, trace)
    },
};

/// The same near the receiver, where what is out is not seen. A send buffer is filled again whether or not this side speaks, a pacer sends evenly,
/// and a congestion window still grows once the start is over.
pub(super) const WINDOW_ARRIVES: Rule = Rule {
    id: RuleId::new("app.window.arrives"),
    question: "Does the same arrive in each round trip once the start is over, or the same rate in bursts apart, all that was written or unevenly, while this side speaks in each?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(arrivals) = evidence.arrivals else { return false };
        let Some(packets) = arrivals.packets else { return false };
        let settled = arrivals.whole.settled;
        // Two round trips have now one more of the bursts, now one fewer, where these take a part of a round trip themselves.
        let comes_in_bursts = |rate: SteadyRate| {
            trace.at_least(t.arrival_share, rate.share) && trace.at_least(t.arrival_bursts, rate.unevenness)
        };
        let is_same = packets.steady.is_some_and(comes_in_bursts)
            || settled.spread.is_some_and(|spread| trace.at_most(t.app_window_even, spread));
        is_same
            && arrivals
                .spoken_in_round_trip
                .is_some_and(|spoken| trace.at_least(t.app_window_credits, spoken))
            && !grows(settled.growth, settled.is_disordered, t, trace)
            && (trace.at_least(t.arrival_share, packets.dry_share)
                || packets.steady.is_some_and(|rate| {
                    trace.at_least(t.arrival_share, rate.share)
                        && trace.above(t.arrival_even, rate.unevenness)
                        && trace.at_most(t.arrival_flat_of_bursts, rate.rtt_risen)
                }))
    },
};

/// Nobody lets it go on, likewise.
pub(super) const ARRIVES_UNASKED: Rule = Rule {
    id: RuleId::new("app.rate.arrives_unasked"),
    question: "Do the PSH flags show the same, while this side speaks less than once in five round trips?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(packets) = arriving_packets(evidence, t, trace) else { return false };
        is_unasked(evidence, t)
            && trace.at_least(t.arrival_share, packets.dry_share)
            && !comes_with_acks(&packets, t, trace)
            && !keeps_line_busy(evidence, t, trace)
    },
};

/// Nothing is outstanding then: what a buffer or a window holds back is let out by the ACK of what came before. A lost segment at the end is sent again later.
pub(super) const ARRIVES_AFTER_PAUSES: Rule = Rule {
    id: RuleId::new("app.rate.arrives_after_pauses"),
    question: "Is most of the time silence that is longer than a round trip and a delayed ACK, with nothing missing, while this side says nothing?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(packets) = arriving_packets(evidence, t, trace) else { return false };
        let disordered = evidence.arrivals.map_or(0.0, |arrivals| arrivals.whole.disordered_share);
        disordered <= 0.0 && trace.at_least(t.arrival_share, packets.paused_share)
    },
};

/// The same of a window of the application by a socket.
pub(super) const WINDOW_COMES: Rule = Rule {
    id: RuleId::new("app.window.comes"),
    question: "Does the same reach the receiver's socket in each round trip once the start is over, in bursts or in segments that are not full, while this side speaks in each?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some((whole, pattern)) = arrival_pattern(evidence) else { return false };
        let settled = whole.settled;
        let spoken = evidence.arrivals.and_then(|arrivals| arrivals.spoken_in_round_trip);
        // A round of two round trips ends with a sample.
        let of_sampling = 1.0 / (2.0 * pattern.samples_in_round_trip.max(1.0));
        spoken.is_some_and(|spoken| trace.at_least(t.app_window_credits, spoken))
            && settled.spread.is_some_and(|spread| trace.at_most(t.app_window_even, spread - of_sampling))
            && !grows(settled.growth, settled.is_disordered, t, trace)
            && (trace.above(t.queue_idle, pattern.silent_share) || runs_dry(&pattern, t, trace))
    },
};

/// A program that writes what the kernel joins to full segments is not seen so.
pub(super) const COMES_IN_WRITES: Rule = Rule {
    id: RuleId::new("app.rate.comes_in_writes"),
    question: "Do segments that are not full reach the receiver's socket in each round trip, or is each of them acknowledged at once since it ends a write, while this side says nothing?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some((_, pattern)) = arrival_pattern(evidence) else { return false };
        is_unasked(evidence, t) && runs_dry(&pattern, t, trace)
    },
};

pub(super) const WRITES_IN_LUMPS: Rule = Rule {
    id: RuleId::new("app.writes_in_lumps"),
    question: "Does data wait that no window holds back, although the pacing rate allows much more or the kernel flags the application?",
    needs: Parts::of(&[Part::Sender, Part::NoPlan]),
    holds: |evidence, t, trace| {
        let Some(sender) = &evidence.sender else { return false };
        is_waiting(evidence, t, trace)
            && (sender.app_limited_share > 0.0
                || paced_share(evidence, t, trace).is_some_and(|share| trace.below(t.unpaced, share)))
    },
};

pub(super) const OFFERS_RATE: Rule = Rule {
    id: RuleId::new("app.rate.offers_rate"),
    question: "Is everything sent that was written, of an application that was to offer a rate?",
    needs: Parts::of(&[Part::Sender, Part::Offer]),
    holds: |_, _, _| true,
};

/// Whether bursts come once in each round trip, or in a pattern that repeats each: ACKs let them out, and no clock of the application's.
pub(super) fn comes_with_acks(packets: &ArrivingPackets, t: &Thresholds, trace: &mut Trace) -> bool {
    if repeats(packets, t, trace) {
        return true;
    }
    let mut is_clocked = |bursts: f64| trace.at_most(t.arrival_clocked, (bursts - 1.0).abs());
    match packets.steady {
        Some(rate) => {
            is_clocked(rate.bursts_in_round_trip)
                && trace.at_least(t.arrival_share, rate.share)
                && trace.at_least(t.arrival_bursts, rate.unevenness)
        }
        // Of a few round trips the rates differ by a burst: of the whole time there is one in each.
        None => packets.bursts_in_round_trip.is_some_and(is_clocked),
    }
}

/// Whether the pattern of the bursts that arrive repeats each round trip, and after no other time.
pub(super) fn repeats(packets: &ArrivingPackets, t: &Thresholds, trace: &mut Trace) -> bool {
    let share = |permille: u32| f64::from(permille) / PERMILLE;
    packets.repetition.is_some_and(|found| {
        trace.at_least(t.arrival_repeated, share(found.repeated_permille))
            && trace.at_most(t.arrival_repeated_otherwise, share(found.otherwise_permille))
    })
}

/// Whether what arrives comes at the rate of a line that is never idle, behind a queue: then it does not matter that all that was written was sent.
fn keeps_line_busy(evidence: &Evidence, t: &Thresholds, trace: &mut Trace) -> bool {
    let Some(arrivals) = evidence.arrivals else { return false };
    let (whole, bursts) = (arrivals.whole, arrivals.packets.and_then(|packets| packets.bursts_in_round_trip));
    trace.at_most(t.receiver_settled, whole.spread)
        && whole.idle_share.is_some_and(|share| trace.at_most(t.queue_idle, share))
        && bursts.is_some_and(|bursts| trace.below(t.arrival_busy, bursts))
        && whole.settled.risen.is_some_and(|risen| trace.at_least(t.arrival_queue_long, risen.times))
        // Else the queue may be of others.
        && [&ARRIVES_WITH_QUEUE, &LOSSES_CHANGE_NOTHING, &ARRIVES_STEADILY]
            .iter()
            .any(|rule| (rule.holds)(evidence, t, trace))
}

/// Nobody lets it go on: neither requests nor a window of the application.
pub(super) const UNASKED: Rule = Rule {
    id: RuleId::new("app.rate.unasked"),
    question: "Is everything sent that was written, with room in the send buffer, and did the other side say nothing for five round trips?",
    needs: Parts::of(&[Part::Sender, Part::NoPlan]),
    holds: |evidence, _, _| {
        evidence.sender.as_ref().and_then(|sender| sender.heard_in_round_trip) == Some(0.0)
    },
};

pub(super) const OFFERS_LESS: Rule = Rule {
    id: RuleId::new("app.offers_less"),
    question: "Is everything sent that was written, with room in the send buffer?",
    needs: Parts::of(&[Part::Sender, Part::NoPlan]),
    holds: |_, _, _| true,
};

pub(super) const NOTHING_WAITS: Rule = Rule {
    id: RuleId::new("app.nothing_waits"),
    question: "Is everything sent that was written, with an idle CPU and an empty send buffer?",
    needs: Parts::of(&[Part::Sender]),
    holds: |_, _, _| true,
};

/// What is out stays the same in each round trip, and what the other side says lets the next out (`channel_check_window()` of OpenSSH, RFC 9113, 5.2).
/// A write that a pacer spreads waits at some samples; the kernel flags the application if all of it has left within the round trip.
pub(super) const WINDOW: Rule = Rule {
    id: RuleId::new("app.window"),
    question: "Is the same out for five round trips, with room in both windows, while nothing waits or the kernel flags the application, and the other side speaks in each?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        let Some(sender) = &evidence.sender else { return false };
        let room = |used: Option<f64>, size: Option<u64>| {
            used.zip(size).is_none_or(|(used, size)| (1.0 - used) * size as f64 >= (2 * sender.mss) as f64)
        };
        sender.unacked_least > 0
            && sender.unacked_peak > 2 * sender.mss
            && room(sender.cwnd_used, sender.cwnd)
            && room(sender.rwnd_used, sender.rwnd)
            && sender.heard_in_round_trip.is_some_and(|heard| trace.at_least(t.app_window_credits, heard))
            && sender.unacked_spread.is_some_and(|spread| trace.at_most(t.app_window_even, spread))
            && (!is_waiting(evidence, t, trace) || sender.app_limited_share > 0.0)
    },
};

pub(in crate::judge) const REQUEST: Rule = Rule {
    id: RuleId::new("app.request"),
    question: "Has the other side asked for nothing, or does it still send?",
    needs: Parts::of(&[Part::Waiting]),
    holds: |evidence, _, _| evidence.waiting == Some(Waiting::Request),
};

pub(super) const RESPONSE: Rule = Rule {
    id: RuleId::new("app.response"),
    question: "Was this side asked, and has it not begun to answer?",
    needs: Parts::of(&[Part::Waiting]),
    holds: |evidence, _, _| evidence.waiting == Some(Waiting::Response),
};

pub(super) const TURNS: Rule = Rule {
    id: RuleId::new("app.turns"),
    question: "Is it the round trip at a change of speaker, or data that takes less than a round trip?",
    needs: Parts::of(&[Part::Waiting]),
    holds: |evidence, _, _| evidence.waiting == Some(Waiting::Turns),
};

pub(in crate::judge) const RATE: Rule = Rule {
    id: RuleId::new("app.rate"),
    question: "Is everything acknowledged, and does the sender go on without having been asked?",
    needs: Parts::of(&[Part::Waiting]),
    holds: |evidence, _, _| evidence.waiting == Some(Waiting::Rate),
};

pub(super) const DELAYED_ACK: Rule = Rule {
    id: RuleId::new("app.delayed_ack"),
    question: "Do at most two segments wait, at least three times, for an ACK that comes 20 ms later than the round trip?",
    needs: Parts::of(&[Part::Waiting]),
    holds: |evidence, _, _| evidence.waiting == Some(Waiting::DelayedAck),
};

pub(super) const NAGLE: Rule = Rule {
    id: RuleId::new("app.nagle"),
    question: "Does less than a segment wait for an ACK that comes 20 ms later than the round trip?",
    needs: Parts::of(&[Part::Waiting]),
    holds: |evidence, _, _| evidence.waiting == Some(Waiting::Nagle),
};
