//! Losses that come whenever the same amount is in flight: something holds no more. A queue, or a policer's bucket, which works as one where it is
//! smaller than a window.
//!
//! Chance takes a segment after any number of others: how many get through between two losses varies as much as their mean (the geometric
//! distribution). Where something overflows, the window grows back to the same size, over the same number of segments. Where samples lie further apart
//! than a loss and the next one, an equal number of segments still loses an equal number.

use super::loss_events::LossEvent;
use super::queue::standing_us;
use super::track::{Track, TrackSample};
use crate::ground::statistics::{median, variation};
use crate::ground::thresholds::{THIRDS, Thresholds};
use pipefill_core::record::LossKind;

/// What overflows; `None` where losses come at any time, or too seldom to show it.
pub(super) fn find(
    tracks: &[&Track],
    losses: &[Vec<LossEvent>],
    base_us: u64,
    thresholds: &Thresholds,
) -> Option<LossKind> {
    // The end of slow start, and what it takes to recover from that, are no tooth of a saw.
    let regular: Vec<&[LossEvent]> = losses.iter().filter_map(|of_stream| of_stream.get(1..)).collect();
    let with_losses = losses.iter().filter(|of_stream| !of_stream.is_empty()).count();
    let at_same_flight = || regular.iter().all(|losses| come_at_the_same_flight(losses, thresholds));
    let mut losing = tracks.iter().zip(losses).filter(|(_, losses)| !losses.is_empty());
    if regular.len() < with_losses
        || !(at_same_flight() || losing.all(|(track, _)| come_evenly(track, thresholds)))
    {
        return None;
    }
    Some(match has_queue(tracks, &regular, base_us, thresholds)? {
        true => LossKind::Queue,
        false => LossKind::Policer,
    })
}

fn come_at_the_same_flight(losses: &[LossEvent], thresholds: &Thresholds) -> bool {
    let flights: Vec<f64> = losses.iter().map(|loss| loss.before.unacked as f64).collect();
    let between = losses.windows(2).filter_map(|pair| {
        let [first, second] = pair else { return None };
        Some(second.before.delivered.saturating_sub(first.before.delivered) as f64)
    });
    let between: Vec<f64> = between.collect();
    flights.len() >= thresholds.losses_fewest.count()
        && variation(&flights).is_some_and(|share| share <= thresholds.overflow_same_flight.value())
        && variation(&between).is_some_and(|share| share <= thresholds.overflow_regular.value())
}

/// Whether an equal number of segments loses an equal number of them, where samples lie too far apart to show a flight: the variance of the number of
/// losses over that of chance (the index of dispersion).
fn come_evenly(track: &Track, thresholds: &Thresholds) -> bool {
    let samples = track.samples.as_slice();
    // What the end of slow start loses comes at once.
    let settled = &samples[samples.len() / THIRDS..];
    let Some((first, last)) = settled.first().zip(settled.last()) else { return false };
    let sent = |since: &TrackSample, to: &TrackSample| {
        to.delivered.saturating_sub(since.delivered) as f64 / track.mss.max(1) as f64
    };
    let lost =
        |since: &TrackSample, to: &TrackSample| f64::from(to.retransmits.saturating_sub(since.retransmits));
    let share = lost(first, last) / sent(first, last);
    if !(0.0..1.0).contains(&share) || share == 0.0 {
        return false;
    }
    let (mut since, mut blocks, mut squares) = (first, 0.0, 0.0);
    for sample in settled {
        let expected = share * sent(since, sample);
        if expected >= thresholds.overflow_block.value() {
            blocks += 1.0;
            squares += (lost(since, sample) - expected).powi(2) / (expected * (1.0 - share));
            since = sample;
        }
    }
    let freedom = blocks - 1.0;
    let index = squares / freedom;
    // Of chance it is 1, with this standard error.
    let error = (2.0 / freedom).sqrt();
    freedom > 0.0
        && index <= thresholds.overflow_even.value()
        && 1.0 - index >= thresholds.overflow_even_errors.value() * error
}

/// Whether the round trip is longer before the losses than at other times: a queue fills up in the last part of a tooth. A burst that waits for
/// its own beginning is longer in proportion to the window.
fn has_queue(
    tracks: &[&Track],
    losses: &[&[LossEvent]],
    base_us: u64,
    thresholds: &Thresholds,
) -> Option<bool> {
    let before = losses.iter().flat_map(|losses| losses.iter()).filter_map(|loss| loss.before.data_rtt_us);
    let before_us = median(&before.map(|rtt_us| rtt_us as f64).collect::<Vec<f64>>())?;
    let all =
        tracks.iter().flat_map(|track| track.samples.as_slice()).filter_map(|sample| sample.data_rtt_us);
    let usual_us = median(&all.map(|rtt_us| rtt_us as f64).collect::<Vec<f64>>())?;
    let above_us = before_us - base_us as f64;
    Some(
        above_us >= thresholds.queue_stands_us.value()
            && before_us - usual_us >= thresholds.overflow_queue.value() * above_us,
    )
}

/// Whether what slow start lost at once shows that something overflowed: a much larger part of what was sent than later. By chance, losses are as
/// frequent then as at other times.
pub(super) fn come_at_once(tracks: &[&Track], losses: &[Vec<LossEvent>], thresholds: &Thresholds) -> bool {
    let lost =
        |from: &TrackSample, to: &TrackSample| f64::from(to.retransmits.saturating_sub(from.retransmits));
    let mut with_losses = tracks.iter().zip(losses).filter_map(|(track, losses)| {
        let (first, end) = (losses.first()?, track.samples.as_slice().last()?);
        let share = |from: &TrackSample, to: &TrackSample| {
            let delivered = to.delivered.saturating_sub(from.delivered) as f64 / track.mss.max(1) as f64;
            lost(from, to) / (lost(from, to) + delivered).max(1.0)
        };
        Some((lost(&first.before, &first.last), share(&first.before, &first.last), share(&first.last, end)))
    });
    with_losses.any(|(lost, at_once, later)| {
        lost >= thresholds.overflow_fewest.value()
            && at_once >= thresholds.overflow_at_once.value()
            && at_once >= thresholds.overflow_more.value() * later
    })
}

/// Whether slow start lost most of a flight at once, although the round trip had not risen: what it met holds much less than a window, and no
/// queue. An outage loses all of it, and a timer is awaited. Chance adds up to as much over many flights.
pub(super) fn is_a_bucket(
    tracks: &[&Track],
    losses: &[Vec<LossEvent>],
    base_us: u64,
    thresholds: &Thresholds,
) -> bool {
    let is_its = |(track, losses): (&&Track, &Vec<LossEvent>)| {
        losses.first().is_some_and(|LossEvent { before, last }| {
            let lost = u64::from(last.retransmits.saturating_sub(before.retransmits));
            let rtt_us = before.data_rtt_us.unwrap_or(0);
            let delivered = last.delivered.saturating_sub(before.delivered);
            lost >= thresholds.policer_losses.whole()
                && (lost * track.mss) as f64 >= thresholds.overflow_at_once.value() * delivered as f64
                && is_most_of_the_flight(track, lost * track.mss, before.unacked, thresholds)
                && last.rto_count == before.rto_count
                && rtt_us <= base_us + 2 * standing_us(base_us, thresholds)
        })
    };
    let mut with_losses = tracks.iter().zip(losses).filter(|(_, losses)| !losses.is_empty()).peekable();
    with_losses.peek().is_some() && with_losses.all(is_its)
}

fn is_most_of_the_flight(track: &Track, lost: u64, flight: u64, thresholds: &Thresholds) -> bool {
    if track.is_of_arrivals {
        return lost as f64 >= thresholds.overflow_of_arrivals.value() * (flight + lost) as f64;
    }
    lost as f64 >= thresholds.overflow_of_flight.value() * flight as f64
}
