//! The round trip without load: the least one that the kernel saw (`tcpi_min_rtt`, the minimum of a window of 300 s, `tcp_update_rtt_min()`).
//!
//! A segment that overtakes others, or an ACK that is taken for another's, makes that minimum absurd; then the round trip that most samples
//! do not exceed by much stands for it. Where the path got longer, it is that of most of the time.

use super::detour::longer_rtt_us;
use super::track::Track;
use crate::ground::statistics::{percentile, rounded};
use crate::ground::thresholds::Thresholds;
use pipefill_core::record::Fact;

/// Of all streams, since they share the path.
pub(super) fn find<'a>(
    tracks: impl Iterator<Item = &'a Track>,
    thresholds: &Thresholds,
) -> Option<Fact<u64>> {
    let (mut least, mut smoothed): (Option<u64>, Vec<f64>) = (None, Vec::new());
    let (mut is_reordered, mut largest): (bool, Option<&Track>) = (false, None);
    for track in tracks {
        largest = largest.into_iter().chain([track]).max_by_key(|track| track.delivered_in_all());
        is_reordered |= track.has_seen_reordering;
        least = least.into_iter().chain(track.min_rtt_us).min();
        smoothed
            .extend(track.samples.as_slice().iter().filter_map(|sample| sample.srtt_us).map(|us| us as f64));
    }
    if let Some(longer_us) = largest.and_then(|track| longer_rtt_us(track, thresholds)) {
        return Some(Fact::inferred(longer_us));
    }
    let at = |share| percentile(&smoothed, share).map(rounded);
    match (least, at(thresholds.base_rtt_low.value())) {
        (Some(least), Some(low))
            if is_reordered && (least as f64) < thresholds.base_rtt_absurd.value() * low as f64 =>
        {
            at(thresholds.base_rtt_usual.value()).map(Fact::inferred)
        }
        (Some(least), _) => Some(Fact::measured(least)),
        (None, _) => at(0.0).map(Fact::inferred),
    }
}
