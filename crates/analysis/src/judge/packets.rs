//! What lets new data out, by the packets of a span: the order in which the conditions on its figures are asked.

use super::release::Release;
use super::trace::Trace;
use crate::ground::thresholds::Thresholds;
use crate::infer::losses;
use crate::infer::packets::conditions::{
    flight_stays_the_same, has_lost, is_dry, is_emptied, is_paced, is_refilled, uses_window,
};
use crate::infer::packets::{
    StreamPackets, apart_share, bursts_in_round_trip, fallen_share, paused_share, resumed_share,
    single_share, steady_rate,
};
use pipefill_core::evidence::{ArrivingPackets, PacketSpan, SentPackets};
use pipefill_core::record::StreamSummary;
use pipefill_core::stacks::Stack;

/// Of `packets`, for which it is asked once for each judgement.
pub(super) fn release(packets: &SentPackets, t: &Thresholds, trace: &mut Trace) -> Release {
    if let Some(release) = trace.release {
        return release;
    }
    let release = match release_of_span(&packets.span, t, trace) {
        Release::SendBuffer if packets.is_doubling => Release::CongestionWindow,
        Release::Application if packets.is_doubled => Release::CongestionWindow,
        release => release,
    };
    trace.release = Some(release);
    release
}

fn release_of_span(span: &PacketSpan, t: &Thresholds, trace: &mut Trace) -> Release {
    if uses_window(span, t, trace) {
        Release::ReceiveWindow
    } else if is_dry(span, t, trace) {
        if fills_no_buffer(span, t, trace) { Release::Application } else { Release::SendBuffer }
    } else if is_emptied(span, t, trace) {
        Release::SendBuffer
    } else if has_lost(span, t, trace) {
        Release::CongestionWindow
    } else if is_paced(span, t, trace) {
        Release::Pacer
    } else if is_refilled(span, t, trace) {
        Release::SendBuffer
    } else if flight_stays_the_same(span, t, trace) {
        Release::Unexplained
    } else {
        Release::CongestionWindow
    }
}

/// What the packets of a stream show that arrive near the capture point.
pub(super) fn arriving(
    packets: &StreamPackets<'_>,
    sender_stack: Option<Stack>,
    summary: &StreamSummary,
    t: &Thresholds,
) -> ArrivingPackets {
    let is_dry = |span: &PacketSpan| release_of_span(span, t, &mut Trace::default()) == Release::Application;
    let dry = packets.spans.iter().filter(|span| is_dry(&span.figures)).map(|span| span.samples.len());
    ArrivingPackets {
        dry_share: dry.sum::<usize>() as f64 / packets.samples.len().max(1) as f64,
        steady: steady_rate(packets.samples, t),
        apart_share: apart_share(packets.samples, t),
        paused_share: paused_share(packets.samples, t),
        resumed_share: resumed_share(packets.samples, t),
        bursts_in_round_trip: bursts_in_round_trip(packets.samples),
        fallen_share: fallen_share(packets.samples, t),
        single_share: single_share(packets.samples, t),
        sender_stack,
        cwnd_cause: losses::cause_of_arrivals(packets.samples, summary.bucket, t),
        repetition: summary.repetition,
    }
}

/// Whether the application writes too little at once, or too seldom, to fill a buffer.
fn fills_no_buffer(span: &PacketSpan, t: &Thresholds, trace: &mut Trace) -> bool {
    let over = |whole: u64| span.bytes_of_a_push.unwrap_or(f64::INFINITY) / (whole as f64).max(1.0);
    trace.below(t.packet_write_small, over(span.flight))
        || trace.below(t.packet_write_segments, over(span.segment))
        || trace.at_least(t.packet_tails, span.tail_share)
        || span.drained_share.is_some_and(|share| trace.at_least(t.packet_drained_often, share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use pipefill_core::evidence::Risen;

    /// Data wait, ACKs let them out, and nothing was lost.
    fn waiting() -> PacketSpan {
        PacketSpan {
            segment: 1_448,
            flight: 200_000,
            full_window_share: 0.0,
            fill: Some(0.95),
            bytes_of_a_push: Some(400_000.0),
            pushes_of_burst: None,
            tail_share: 0.0,
            widest_window: 1_000_000,
            drained_share: Some(0.0),
            fallen_share: 0.0,
            since_loss: 9,
            flight_most: Some(200_000),
            flight_before_loss: 0,
            since_change: 0,
            prompt_share: 0.9,
            clocked_share: 0.9,
            clocked_bursts: 0.0,
            before_bursts: None,
            unevenness: Some(0.5),
            rtt_risen: Risen { times: 1.0, above_us: 0.0 },
            standing_share: 0.0,
            flight_change: 0.1,
            round_trips: 6.0,
        }
    }

    fn of(change: impl Fn(&mut PacketSpan)) -> Release {
        let mut span = waiting();
        change(&mut span);
        release_of_span(&span, &STANDARD, &mut Trace::default())
    }

    #[test]
    fn each_release_shows_in_the_figures_of_a_span() {
        assert_eq!(of(|_| ()), Release::CongestionWindow);
        assert_eq!(of(|span| span.full_window_share = 0.5), Release::ReceiveWindow);
        let half_full = |span: &mut PacketSpan| (span.full_window_share, span.fill) = (0.9, Some(0.5));
        assert_ne!(of(half_full), Release::ReceiveWindow, "half of it is out when ACKs come");
        let growing = |span: &mut PacketSpan| {
            half_full(span);
            span.flight_change = 0.2;
        };
        assert_eq!(of(growing), Release::ReceiveWindow, "of the last, largest window");
        assert_eq!(of(|span| span.bytes_of_a_push = Some(100_000.0)), Release::SendBuffer);
        assert_eq!(of(|span| span.bytes_of_a_push = Some(4_000.0)), Release::Application);
        let paced = |span: &mut PacketSpan| (span.prompt_share, span.unevenness) = (0.1, Some(0.1));
        assert_eq!(of(paced), Release::Pacer);
        let filled_again = |span: &mut PacketSpan| span.fill = Some(0.8);
        assert_eq!(of(filled_again), Release::SendBuffer);
        assert_eq!(of(|span| span.since_change = 1), Release::SendBuffer, "a window grows");
        let doubling = SentPackets {
            span: PacketSpan { since_change: 1, ..waiting() },
            is_doubling: true,
            ..SentPackets::default()
        };
        assert_eq!(release(&doubling, &STANDARD, &mut Trace::default()), Release::CongestionWindow);
        let unscaled = |bytes: f64| of(|span| (span.widest_window, span.bytes_of_a_push) = (0, Some(bytes)));
        assert_eq!(unscaled(60_000.0), Release::SendBuffer, "less than half of what a window held");
        assert_eq!(unscaled(100_000.0), Release::CongestionWindow, "the window may be twice as large");
        let risen = |span: &mut PacketSpan| {
            (span.since_change, span.rtt_risen) = (1, Risen { times: 1.4, above_us: 8e3 });
        };
        assert_eq!(of(risen), Release::Unexplained, "a window grows, whatever the round trip does");
        let after_loss = |span: &mut PacketSpan| {
            risen(span);
            span.flight_before_loss = 200_000;
        };
        assert_eq!(of(after_loss), Release::CongestionWindow, "CUBIC stays where it lost");
        let shrunk = |span: &mut PacketSpan| {
            filled_again(span);
            span.flight_before_loss = 600_000;
        };
        assert_eq!(of(shrunk), Release::CongestionWindow, "a buffer that held more has room");
        let emptied = |span: &mut PacketSpan| (span.fallen_share, span.since_loss) = (0.05, 0);
        assert_eq!(of(emptied), Release::SendBuffer, "whatever was lost");
        let later = |span: &mut PacketSpan| {
            emptied(span);
            span.prompt_share = 0.4;
        };
        assert_eq!(of(later), Release::CongestionWindow, "no ACK made room");
        let overfilled = |span: &mut PacketSpan| {
            later(span);
            (span.clocked_bursts, span.before_bursts) = (0.6, Some(0.02));
        };
        assert_eq!(of(overfilled), Release::SendBuffer, "the last ACK did");
        let half = |span: &mut PacketSpan| {
            overfilled(span);
            span.before_bursts = Some(0.5);
        };
        assert_eq!(of(half), Release::CongestionWindow, "any ACK may have come before");
        for change in [paced, filled_again] {
            let lost = of(|span| {
                change(span);
                span.since_loss = 2;
            });
            assert_eq!(lost, Release::CongestionWindow, "what a loss has left");
        }
    }

    #[test]
    fn a_short_queue_is_the_applications_where_it_fills_no_buffer() {
        let dry = |change: &dyn Fn(&mut PacketSpan)| {
            of(|span| {
                span.bytes_of_a_push = Some(60_000.0);
                change(span);
            })
        };
        assert_eq!(dry(&|_| ()), Release::SendBuffer);
        assert_eq!(dry(&|span| span.flight = 250_000), Release::Application, "small writes");
        assert_eq!(dry(&|span| span.tail_share = 0.7), Release::Application, "writes end in short segments");
        assert_eq!(dry(&|span| span.drained_share = Some(0.3)), Release::Application, "the pipe runs empty");
        assert_ne!(
            dry(&|span| span.widest_window = 150_000),
            Release::SendBuffer,
            "as long as a longer queue's"
        );
    }
}
