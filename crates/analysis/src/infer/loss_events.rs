//! When a stream loses segments: what is lost within two round trips is one event.

use super::track::{Track, TrackSample};

/// A first loss after a while without any, and those that follow at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct LossEvent {
    /// The sample before it.
    pub(super) before: TrackSample,
    /// The sample with the last of them.
    pub(super) last: TrackSample,
}

/// Those of `track`, in order of time.
pub(super) fn of(track: &Track) -> Vec<LossEvent> {
    let mut found: Vec<LossEvent> = Vec::new();
    for pair in track.samples.as_slice().windows(2) {
        let [before, now] = pair else { continue };
        if now.retransmits <= before.retransmits {
            continue;
        }
        let quiet_us = now.srtt_us.unwrap_or(0).saturating_mul(2);
        match found.last_mut().filter(|loss| now.t_us - loss.last.t_us <= quiet_us) {
            Some(loss) => loss.last = *now,
            None => found.push(LossEvent { before: *before, last: *now }),
        }
    }
    found
}
