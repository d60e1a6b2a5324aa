//! How late the round trip rises before a loss: a queue that holds little is filled by the last segments that a window grows by.
//!
//! A burst that waits for its own end grows with the window, and is at least half as long all the time since the window was halved. By chance a loss
//! comes at any time, so that the part of the time with such a round trip is as likely any from 0 to 1.

use super::loss_events::LossEvent;
use super::queue::standing_us;
use super::track::Track;
use crate::ground::statistics::{median, rank_score};
use crate::ground::thresholds::Thresholds;

/// The round trip before one loss, and since the loss before.
#[derive(Debug, Clone, Copy)]
struct Rise {
    /// Above the base, microseconds.
    above_us: f64,
    /// The part of the samples in which it was at least half as much above the base.
    share: f64,
}

/// Whether the round trip rises so late before each of several losses as by chance it does not.
pub(super) fn are_late(
    tracks: &[&Track],
    losses: &[Vec<LossEvent>],
    base_us: u64,
    thresholds: &Thresholds,
) -> bool {
    let ranks: Vec<f64> = find(tracks, losses, base_us, thresholds).map(|rise| 1.0 - rise.share).collect();
    rank_score(&ranks).is_some_and(|score| score >= thresholds.queue_loss_longer.value())
}

/// Whether it rises late before most of a few losses, by as much as only a queue makes of it: for losses of which chance is excluded.
pub(super) fn are_those_of_a_queue(
    tracks: &[&Track],
    losses: &[Vec<LossEvent>],
    base_us: u64,
    thresholds: &Thresholds,
) -> bool {
    let median_of = |value: fn(Rise) -> f64| {
        median(&find(tracks, losses, base_us, thresholds).map(value).collect::<Vec<f64>>())
    };
    median_of(|rise| rise.share).is_some_and(|share| share <= thresholds.queue_loss_late.value())
        && median_of(|rise| rise.above_us)
            .is_some_and(|above_us| above_us >= standing_us(base_us, thresholds) as f64)
}

/// Before each loss but the first of a stream: the end of slow start makes a round trip longer all at once.
fn find<'a>(
    tracks: &'a [&Track],
    losses: &'a [Vec<LossEvent>],
    base_us: u64,
    thresholds: &'a Thresholds,
) -> impl Iterator<Item = Rise> + 'a {
    tracks.iter().zip(losses).flat_map(move |(track, of_stream)| {
        of_stream.windows(2).filter_map(move |pair| {
            let [earlier, loss] = pair else { return None };
            rise(track, earlier, loss, base_us, thresholds)
        })
    })
}

/// `None` where too few samples lie between the two losses.
fn rise(
    track: &Track,
    earlier: &LossEvent,
    loss: &LossEvent,
    base_us: u64,
    thresholds: &Thresholds,
) -> Option<Rise> {
    // Until what was lost is repaired.
    let repair_us = earlier.last.srtt_us.unwrap_or(0).saturating_mul(2);
    let since_us = earlier.last.t_us.saturating_add(repair_us);
    let samples = track.samples.as_slice();
    let between = samples.partition_point(|sample| sample.t_us < since_us)
        ..samples.partition_point(|sample| sample.t_us <= loss.before.t_us);
    let above_us = |rtt_us: u64| rtt_us as f64 - base_us as f64;
    let all: Vec<f64> =
        samples.get(between)?.iter().filter_map(|sample| sample.data_rtt_us).map(above_us).collect();
    let before_us = above_us(loss.before.data_rtt_us?);
    if all.len() < thresholds.queue_loss_samples.count() {
        return None;
    }
    let half_us = thresholds.queue_loss_half.value() * before_us;
    let long = all.iter().filter(|&&above_us| above_us >= half_us).count();
    // What a host's scheduling adds is no rise.
    let has_risen = before_us >= thresholds.queue_stands_us.value();
    let share = if has_risen { long as f64 / all.len() as f64 } else { 1.0 };
    Some(Rise { above_us: before_us, share })
}
