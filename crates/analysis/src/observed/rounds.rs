//! A stream's samples in rounds of a round trip and more: how long a round trip took, what was in flight, and what held it.

use super::look::{Look, Track};
use crate::metrics::window::Window;

/// Samples that a round has at least.
const FEWEST_SAMPLES: usize = 4;

/// One round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) window: Window,
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

/// The rounds of `track`, in order of time. What is left over at the end is none.
pub(super) fn cut(track: &Track) -> Vec<Round> {
    let looks = &track.looks;
    let (mut rounds, mut from) = (Vec::new(), 0);
    for at in 0..looks.len() {
        let (first, now) = (&looks[from], &looks[at]);
        let length_us = now.t_us.saturating_sub(first.t_us);
        if at - from < FEWEST_SAMPLES || length_us < first.srtt_us.unwrap_or(0).max(1) {
            continue;
        }
        let part = &looks[from..at];
        let rtts = || part.iter().filter_map(|look| look.srtt_us);
        if let (Some(least), Some(most)) = (rtts().min(), rtts().max()) {
            let share = |is: fn(&Look) -> bool| {
                part.iter().filter(|look| is(look)).count() as f64 / part.len() as f64
            };
            rounds.push(Round {
                window: Window { from_us: first.t_us, to_us: now.t_us },
                rtt_us: (least, most),
                unsent_share: share(|look| look.has_unsent),
                closed_share: share(|look| look.is_closed),
                has_shrunk: part.iter().any(|look| look.is_closed && look.has_shrunk),
                flight: part.iter().map(|look| look.unacked).max().unwrap_or(0),
            });
        }
        from = at;
    }
    rounds
}
