//! Conditions that rules of several holders share.

use super::packets::release;
use super::release::Release;
use super::trace::Trace;
use crate::ground::thresholds::Thresholds;
use pipefill_core::evidence::{ArrivalPattern, ArrivalsOfAll, Evidence, QuotaUse, SenderEvidence};
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::{Origin, StreamEnd};

/// Whether the advertised window is used up, or packets show that its sender waits for room in it: for that of a super-packet, up to a third of
/// the window (`tcp_tso_should_defer()`).
pub(super) fn has_used_rwnd(evidence: &Evidence, t: &Thresholds, trace: &mut Trace) -> bool {
    let used = evidence.sender.as_ref().and_then(|sender| sender.rwnd_used);
    used.is_some_and(|used| trace.at_least(t.window_used, used))
        || evidence.packets.is_some_and(|packets| release(&packets, t, trace) == Release::ReceiveWindow)
}

/// Share of the congestion window that is out. Packets show no window: where room in it lets data out, it is as large as what was in flight
/// in the last round trip.
pub(super) fn cwnd_used(evidence: &Evidence, t: &Thresholds, trace: &mut Trace) -> Option<f64> {
    match &evidence.packets {
        Some(packets) => {
            let is_its = release(packets, t, trace) == Release::CongestionWindow;
            is_its.then_some(packets.flight_used)
        }
        None => evidence.sender.as_ref()?.cwnd_used,
    }
}

/// Whether the congestion window is used up.
pub(super) fn has_used_cwnd(evidence: &Evidence, t: &Thresholds, trace: &mut Trace) -> bool {
    cwnd_used(evidence, t, trace).is_some_and(|used| trace.at_least(t.window_used, used))
}

/// The window that is used up; of two the smaller one.
pub(super) fn used_window(evidence: &Evidence, t: &Thresholds, trace: &mut Trace) -> Option<LimitedBy> {
    let sender = evidence.sender.as_ref()?;
    let (by_rwnd, by_cwnd) = (has_used_rwnd(evidence, t, trace), has_used_cwnd(evidence, t, trace));
    let cwnd = sender.cwnd.or_else(|| evidence.packets.map(|packets| packets.flight));
    let is_smaller = sender.rwnd.zip(cwnd).is_some_and(|(rwnd, cwnd)| rwnd < cwnd);
    if by_rwnd && (is_smaller || !by_cwnd) {
        return Some(LimitedBy::Rwnd);
    }
    by_cwnd.then_some(LimitedBy::Cwnd)
}

/// Whether written data waits to be sent.
pub(super) fn is_waiting(evidence: &Evidence, t: &Thresholds, trace: &mut Trace) -> bool {
    if let Some(packets) = &evidence.packets {
        return !matches!(release(packets, t, trace), Release::Application | Release::SendBuffer);
    }
    let unsent = evidence.sender.as_ref().and_then(|sender| sender.unsent_share);
    unsent.is_some_and(|share| trace.at_least(t.waiting, share))
}

/// Whether the send buffer is used up.
pub(super) fn has_used_sndbuf(evidence: &Evidence, t: &Thresholds, trace: &mut Trace) -> bool {
    if let Some(packets) = &evidence.packets {
        return packets.flight > 0 && release(packets, t, trace) == Release::SendBuffer;
    }
    let used = evidence.sender.as_ref().and_then(|sender| sender.sndbuf_used);
    used.is_some_and(|used| trace.at_least(t.sndbuf_used, used))
}

/// What is acknowledged over the pacing rate. Packets show no such rate: where it lets data out, the mean of the whole stream stands for it.
pub(super) fn paced_share(evidence: &Evidence, t: &Thresholds, trace: &mut Trace) -> Option<f64> {
    let rate_bps = match &evidence.packets {
        Some(packets) => (release(packets, t, trace) == Release::Pacer).then_some(packets.mean_bps)?,
        None => evidence.sender.as_ref()?.pacing_rate_bps?,
    };
    Some(evidence.acked_bps() / (rate_bps as f64).max(1.0))
}

/// Whether the sender recovers from losses most of the time.
pub(super) fn is_repairing(sender: &SenderEvidence, t: &Thresholds, trace: &mut Trace) -> bool {
    trace.at_least(t.repairing, sender.repair_share)
}

/// Whether the bottleneck is full during the whole interval: at its rate, or with something in the queue at every sample. Where others
/// share it its rate may not be known: then its queue has to be one that drops, and no queue of the other way.
pub(super) fn is_path_full(evidence: &Evidence, t: &Thresholds, trace: &mut Trace) -> bool {
    let path = &evidence.path;
    let Some(used) = path.rate_used else {
        return path.overflow_always
            && trace.at_least(t.frames_fewest, path.frames)
            && trace.below(t.back_traffic, path.back_share);
    };
    // A queue that only the round trip shows: where the rate is known it sends at that rate, or it overflows and others have the rest. While a timer
    // is awaited the round trip is one of before.
    let is_sampled =
        evidence.plan.is_some() || path.rate_bps.is_some_and(|rate| rate.origin != Origin::Asked);
    let sends = evidence.plan.is_some() || trace.at_least(t.frames_fewest, path.frames);
    let stands = path.queue_always
        && sends
        && (is_sampled || path.overflow_always || trace.at_least(t.queue_sends, used));
    // A bucket that was never empty lets anything through.
    !path.is_within_burst && (stands || trace.at_least(t.path_full, used))
}

/// Whether `bytes` each base round trip are less than the stream's fair share of the path.
pub(super) fn is_below_fair_share(evidence: &Evidence, bytes: u64) -> bool {
    let least = evidence.sender.as_ref().and_then(|sender| sender.min_rtt_us).unwrap_or(0);
    let base_us = if evidence.path.base_rtt_us > 0 { evidence.path.base_rtt_us } else { least };
    let alone = bytes as f64 * 8e6 / base_us as f64;
    // Where the path's rate is not known, what holds the stream by itself stays its limit.
    base_us > 0 && evidence.path.fair_share_bps.is_none_or(|share| alone < share)
}

/// Whether a thread of an end had no time left: it computed, or waited for a CPU that others had. Without a scenario a process may have other
/// work, and only that of `end` counts, which holds the other one back.
pub(super) fn is_cpu_bound(evidence: &Evidence, end: StreamEnd, t: &Thresholds, trace: &mut Trace) -> bool {
    let used = match (evidence.plan, end) {
        (Some(_), _) => evidence.endpoint_thread(),
        (None, StreamEnd::Sender) => evidence.sender_thread,
        (None, StreamEnd::Receiver) => evidence.receiver_thread,
    };
    used.is_some_and(|used| trace.at_least(t.cpu_busy, used.total()))
}

/// Whether a CPU quota is too small for what its cgroup does.
pub(super) fn runs_out(quota: QuotaUse, t: &Thresholds, trace: &mut Trace) -> bool {
    quota.periods > 0.0 && trace.at_least(t.quota_periods, quota.periods)
}

/// Whether the advertised window is closed in front of data that the application has not read. What waits for a lost segment does not
/// count. Without the receiver's socket: the window was larger before.
pub(super) fn is_unread(evidence: &Evidence, t: &Thresholds, trace: &mut Trace) -> bool {
    let Some(sender) = &evidence.sender else { return false };
    let is_full = match (evidence.receiver, evidence.plan) {
        (Some(receiver), _) => trace.at_least(t.unread, receiver.unread_share),
        (None, Some(_)) => false,
        (None, None) => sender.rwnd.zip(sender.rwnd_widest).is_some_and(|(now, widest)| {
            // A window that was never open is as closed as one that closed.
            trace.at_most(t.window_shrunk, if widest > 0 { now as f64 / widest as f64 } else { 0.0 })
        }),
    };
    is_full && has_used_rwnd(evidence, t, trace) && !is_repairing(sender, t, trace)
}

/// What the receiver's socket alone shows over the whole of the stream.
pub(super) fn arrival_pattern(evidence: &Evidence) -> Option<(ArrivalsOfAll, ArrivalPattern)> {
    let whole = evidence.arrivals?.whole;
    Some((whole, whole.pattern?))
}

/// Whether what reaches a receiver's socket shows that its sender has nothing left to send again and again: each segment ends a write, or writes end
/// in segments that are not full, evenly in time. A send buffer's bursts may end in some too.
pub(super) fn runs_dry(pattern: &ArrivalPattern, t: &Thresholds, trace: &mut Trace) -> bool {
    pattern.acks_of_segment.is_some_and(|share| trace.at_least(t.acks_of_each, share))
        || (trace.at_most(t.arrival_bursts, pattern.unevenness)
            && pattern.short_in_round_trip.is_some_and(|count| trace.at_least(t.short_segments, count)))
}

/// Whether the receiver says less than something in each of several round trips: neither requests nor a window of the application let the sender go on.
pub(super) fn is_unasked(evidence: &Evidence, t: &Thresholds) -> bool {
    let spoken = evidence.arrivals.and_then(|arrivals| arrivals.spoken_in_round_trip);
    spoken.is_some_and(|spoken| spoken * t.app_window_rounds.value() < 1.0)
}

/// Whether nearly all datagrams arrive, or the few losses are not those of a full queue.
pub(super) fn datagrams_arrive(evidence: &Evidence, t: &Thresholds, trace: &mut Trace) -> bool {
    let Some(datagrams) = evidence.datagrams else { return false };
    let is_of_a_queue = datagrams.queue_drops.is_some_and(|part| trace.at_least(t.drops_explain, part));
    let negligible = if is_of_a_queue { t.datagrams_lost_in_queue } else { t.datagrams_lost };
    trace.at_most(negligible, datagrams.lost_share)
}
