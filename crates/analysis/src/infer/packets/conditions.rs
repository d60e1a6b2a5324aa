//! What the figures of a span mean for data that wait: conditions that inference and the rules share.

use crate::ground::threshold::Compare;
use crate::ground::thresholds::Thresholds;
use pipefill_core::evidence::PacketSpan;

/// Whether the sender waits for room in the advertised window, and fills it.
pub(crate) fn uses_window(span: &PacketSpan, t: &Thresholds, compare: &mut impl Compare) -> bool {
    compare.at_least(t.packet_window_full, span.full_window_share)
        && (is_filled_while_it_grows(span, t, compare)
            || span.fill.is_none_or(|fill| compare.at_least(t.packet_window_filled, fill)))
}

/// Whether a window that grows has no room all the time: most of the time less was out than in the end.
fn is_filled_while_it_grows(span: &PacketSpan, t: &Thresholds, compare: &mut impl Compare) -> bool {
    compare.above(t.packet_flight_same, span.flight_change)
        && compare.at_least(t.packet_window_always, span.full_window_share)
}

/// Whether the queue of written data runs dry.
pub(crate) fn is_dry(span: &PacketSpan, t: &Thresholds, compare: &mut impl Compare) -> bool {
    span.bytes_of_a_push.is_some_and(|bytes| {
        // An unknown window is at least as large as the largest flight.
        let window = if span.widest_window > 0 { Some(span.widest_window) } else { span.flight_most };
        compare.below(t.packet_write, bytes)
            && window.is_none_or(|window| compare.below(t.packet_dry, bytes / (window as f64 / 2.0)))
            && span.pushes_of_burst.is_none_or(|pushes| compare.at_least(t.packet_dry_bursts, pushes))
    })
}

/// Whether the congestion window may be what a loss has left.
pub(crate) fn has_lost(span: &PacketSpan, t: &Thresholds, compare: &mut impl Compare) -> bool {
    compare.below(t.packet_loss_memory, span.since_loss as f64)
}

/// Whether data leave evenly, not on ACKs, and without a queue: a congestion control that paces (BBR) probes for more.
pub(crate) fn is_paced(span: &PacketSpan, t: &Thresholds, compare: &mut impl Compare) -> bool {
    compare.below(t.packet_prompt, span.prompt_share)
        && span.unevenness.is_some_and(|uneven| compare.at_most(t.packet_even, uneven))
        && is_flat(span, t, compare)
}

/// Whether a send buffer is filled again now and then: a congestion window that nothing is lost from grows, and is filled after each ACK; what
/// is written at any time fills none.
pub(crate) fn is_refilled(span: &PacketSpan, t: &Thresholds, compare: &mut impl Compare) -> bool {
    if !compare.at_least(t.packet_growth, span.round_trips) {
        return false;
    }
    let is_filled_again = compare.at_most(t.packet_flight_same, span.flight_change)
        && span.fill.is_some_and(|fill| compare.below(t.packet_refilled, fill))
        && compare.at_least(t.packet_prompt, span.prompt_share)
        && !has_held_more(span, t, compare);
    is_filled_again
        || compare.at_least(t.packet_flight_constant, span.since_change as f64) && is_flat(span, t, compare)
}

/// Whether a send buffer is emptied, and filled again by the ACK that makes room: what is in flight falls meanwhile, as no window lets it.
pub(crate) fn is_emptied(span: &PacketSpan, t: &Thresholds, compare: &mut impl Compare) -> bool {
    (compare.at_least(t.packet_prompt, span.prompt_share) || bursts_follow_the_last(span, t, compare))
        && (compare.at_least(t.packet_fallen_often, span.fallen_share) || is_far_from_full(span, t, compare))
}

/// Whether a burst comes when nearly all of the one before is acknowledged: a writer that overfills a buffer by far waits until that has room again.
fn bursts_follow_the_last(span: &PacketSpan, t: &Thresholds, compare: &mut impl Compare) -> bool {
    compare.at_least(t.bursts_rare, span.clocked_bursts)
        && span.before_bursts.is_some_and(|share| compare.at_most(t.packet_nearly_nothing, share))
}

/// Whether much less than the most is out when ACKs come, as losses of an earlier span do not make it.
fn is_far_from_full(span: &PacketSpan, t: &Thresholds, compare: &mut impl Compare) -> bool {
    span.since_loss > 0
        && compare.at_least(t.packet_growth, span.round_trips)
        && compare.at_most(t.packet_flight_same, span.flight_change)
        && span.fill.is_some_and(|fill| compare.below(t.packet_emptied, fill))
        && !has_held_more(span, t, compare)
}

/// Whether a send buffer has room: it held more before a loss, and only a congestion window shrinks.
fn has_held_more(span: &PacketSpan, t: &Thresholds, compare: &mut impl Compare) -> bool {
    span.flight_before_loss > 0
        && compare.below(t.packet_held, span.flight as f64 / span.flight_before_loss as f64)
}

/// Whether the flight is constant for longer than a congestion window allows without a loss: a used window grows (RFC 5681, 3.1).
pub(crate) fn flight_stays_the_same(span: &PacketSpan, t: &Thresholds, compare: &mut impl Compare) -> bool {
    span.flight_before_loss == 0 && compare.at_least(t.packet_flight_constant, span.since_change as f64)
}

/// Whether written data wait to be sent.
pub(super) fn has_unsent(span: &PacketSpan, t: &Thresholds, compare: &mut impl Compare) -> bool {
    uses_window(span, t, compare)
        || !is_dry(span, t, compare)
            && !is_emptied(span, t, compare)
            && (has_lost(span, t, compare) || is_paced(span, t, compare) || !is_refilled(span, t, compare))
}

/// Whether data wait that neither the receiver's window nor a buffer nor a pacing rate holds back.
pub(super) fn waits_for_cwnd(span: &PacketSpan, t: &Thresholds, compare: &mut impl Compare) -> bool {
    !uses_window(span, t, compare)
        && !is_dry(span, t, compare)
        && !is_emptied(span, t, compare)
        && (has_lost(span, t, compare)
            || !is_paced(span, t, compare)
                && !is_refilled(span, t, compare)
                && !flight_stays_the_same(span, t, compare))
}

/// Whether they wait for a pacing rate.
pub(super) fn waits_for_pacer(span: &PacketSpan, t: &Thresholds, compare: &mut impl Compare) -> bool {
    !uses_window(span, t, compare)
        && !is_dry(span, t, compare)
        && !is_emptied(span, t, compare)
        && !has_lost(span, t, compare)
        && is_paced(span, t, compare)
}

fn is_flat(span: &PacketSpan, t: &Thresholds, compare: &mut impl Compare) -> bool {
    compare.below(t.packet_rtt_risen, span.rtt_risen.times)
        && compare.below(t.packet_rtt_risen_us, span.rtt_risen.above_us)
}
