//! A stream's samples in rounds of a round trip and more: how long a round trip took, what was in flight, and what held it.

use super::samples::Cut;
use super::track::{Track, TrackSample};
use crate::ground::interval::TimeInterval;
use crate::ground::thresholds::Thresholds;

/// One round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) interval: TimeInterval,
    /// Least and largest smoothed round trip, without delays of ACKs.
    pub(super) rtt_us: (u64, u64),
    /// By how much single ones differ from the smoothed ones.
    pub(super) rttvar_us: u64,
    /// Share of its samples with written data that was not sent.
    pub(super) unsent_share: f64,
    /// Share with a closed window.
    pub(super) closed_share: f64,
    /// Whether that was because the reader is slow.
    pub(super) has_shrunk: bool,
    /// Most that was unacknowledged.
    pub(super) flight: u64,
    /// Share of the times between its samples in which next to nothing was delivered; absent where so little is delivered that chance decides.
    pub(super) idle_share: Option<f64>,
}

/// A round in which a queue stands and data wait behind it.
#[derive(Debug, Clone, Copy)]
pub(super) struct StandingRound {
    /// What all streams of the direction deliver, payload.
    pub(super) rate_bps: f64,
    /// The least round trip.
    pub(super) rtt_us: f64,
}

/// The rounds of `track`, of at least `fewest` samples, in which a round trip was measured, in order of time.
pub(super) fn of(track: &Track, fewest: usize, thresholds: &Thresholds) -> Vec<Round> {
    track
        .samples
        .rounds(fewest, |first| first.srtt_us.unwrap_or(0))
        .iter()
        .filter_map(|cut| round(cut, track.mss, thresholds))
        .collect()
}

fn round(cut: &Cut<'_, TrackSample>, mss: u64, thresholds: &Thresholds) -> Option<Round> {
    let rtts = || cut.samples.iter().filter_map(|sample| sample.data_rtt_us);
    let share = |is: fn(&TrackSample) -> bool| {
        cut.samples.iter().filter(|sample| is(sample)).count() as f64 / cut.samples.len() as f64
    };
    Some(Round {
        interval: cut.interval,
        rtt_us: (rtts().min()?, rtts().max()?),
        rttvar_us: cut.samples.iter().map(|sample| sample.rttvar_us).max().unwrap_or(0),
        unsent_share: share(|sample| sample.has_unsent),
        closed_share: share(|sample| sample.is_closed),
        has_shrunk: cut.samples.iter().any(|sample| sample.is_closed && sample.has_shrunk),
        flight: cut.samples.iter().map(|sample| sample.unacked).max().unwrap_or(0),
        idle_share: idle_share(
            cut.samples.iter().chain([cut.next]).map(|sample| (sample.t_us, sample.delivered)),
            mss,
            thresholds,
        ),
    })
}

/// The share of the time between samples, each with what was delivered by then, in which next to nothing was: less than a part of the mean rate.
pub(super) fn idle_share(
    delivered: impl Iterator<Item = (u64, u64)> + Clone,
    mss: u64,
    thresholds: &Thresholds,
) -> Option<f64> {
    let steps = delivered.clone().skip(1).zip(delivered);
    let steps: Vec<(f64, f64)> = steps
        .map(|((to_us, now), (from_us, before))| {
            (to_us.saturating_sub(from_us) as f64, now.saturating_sub(before) as f64)
        })
        .collect();
    let (time, bytes) = steps.iter().fold((0.0, 0.0), |(time, bytes), step| (time + step.0, bytes + step.1));
    let is_much = bytes >= thresholds.idle_segments.value() * (mss * steps.len() as u64) as f64;
    let idle = steps.iter().filter(|(us, got)| *got < thresholds.idle_part.value() * bytes / time * us);
    (is_much && time > 0.0).then(|| idle.map(|(us, _)| us).sum::<f64>() / time)
}
