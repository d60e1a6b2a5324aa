//! A stream's samples in rounds of a round trip and more: how long a round trip took, what was in flight, and what held it.

use super::samples::Cut;
use super::track::{Track, TrackSample};
use crate::ground::interval::TimeInterval;
use crate::ground::thresholds::Thresholds;

/// One round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) interval: TimeInterval,
    /// Least and largest smoothed round trip.
    pub(super) rtt_us: (u64, u64),
    /// Share of its samples with written data that was not sent.
    pub(super) unsent_share: f64,
    /// Share with a closed window.
    pub(super) closed_share: f64,
    /// Whether that was because the reader is slow.
    pub(super) has_shrunk: bool,
    /// Most that was unacknowledged.
    pub(super) flight: u64,
}

/// A round in which a queue stands and data wait behind it.
#[derive(Debug, Clone, Copy)]
pub(super) struct StandingRound {
    /// What all streams of the direction deliver, payload.
    pub(super) rate_bps: f64,
    /// The least round trip.
    pub(super) rtt_us: f64,
}

/// The rounds of `track` in which a round trip was measured, in order of time.
pub(super) fn of(track: &Track, thresholds: &Thresholds) -> Vec<Round> {
    track
        .samples
        .rounds(thresholds.epoch_samples.count(), |first| first.srtt_us.unwrap_or(0))
        .iter()
        .filter_map(round)
        .collect()
}

fn round(cut: &Cut<'_, TrackSample>) -> Option<Round> {
    let rtts = || cut.samples.iter().filter_map(|sample| sample.srtt_us);
    let share = |is: fn(&TrackSample) -> bool| {
        cut.samples.iter().filter(|sample| is(sample)).count() as f64 / cut.samples.len() as f64
    };
    Some(Round {
        interval: cut.interval,
        rtt_us: (rtts().min()?, rtts().max()?),
        unsent_share: share(|sample| sample.has_unsent),
        closed_share: share(|sample| sample.is_closed),
        has_shrunk: cut.samples.iter().any(|sample| sample.is_closed && sample.has_shrunk),
        flight: cut.samples.iter().map(|sample| sample.unacked).max().unwrap_or(0),
    })
}
