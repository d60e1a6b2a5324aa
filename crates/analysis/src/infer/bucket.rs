//! What a bucket that explains the losses is: a queue, in which what passes next to a loss has waited, or a policer, which lets it pass at once.
//!
//! What leaves a queue arrives at its rate, one by one: that shows near the receiver too. A paced sender's segments do as well, but have waited nowhere.

use super::track::Track;
use crate::ground::thresholds::{PERMILLE, SEGMENT_BYTES, Thresholds};
use crate::ground::models::headers::Headers;
use pipefill_core::record::{BucketFit, Fact, LossKind, PolicerFacts};

/// Of the streams of one direction; `None` where no bucket explains their losses.
pub(super) fn kind(tracks: &[&Track], base_us: u64, thresholds: &Thresholds) -> Option<LossKind> {
    let fit = find(tracks, thresholds)?;
    Some(if is_queue(&fit, base_us, thresholds)? { LossKind::Queue } else { LossKind::Policer })
}

/// What the policer lets through that dropped segments of these streams; `None` where losses show none.
pub(super) fn policer(
    tracks: &[&Track],
    base_us: u64,
    headers: Headers,
    thresholds: &Thresholds,
) -> Option<Fact<PolicerFacts>> {
    let fit = find(tracks, thresholds)?;
    let of_frames = |payload: u64| payload.saturating_mul(headers.full_frame().get()) / headers.mss();
    (is_queue(&fit, base_us, thresholds) == Some(false)).then(|| {
        Fact::inferred(PolicerFacts {
            rate_bps: of_frames(fit.least_payload_bps),
            most_bps: of_frames(fit.most_payload_bps),
            burst_bytes: of_frames(fit.held_bytes),
        })
    })
}

/// The one that explains most losses.
fn find(tracks: &[&Track], thresholds: &Thresholds) -> Option<BucketFit> {
    let fits = tracks.iter().filter_map(|track| track.bucket);
    fits.filter(|fit| explains(fit, thresholds)).max_by_key(|fit| fit.lost_segments)
}

fn explains(fit: &BucketFit, thresholds: &Thresholds) -> bool {
    let [rank, spread] = [fit.rank_permille, fit.spread_permille].map(|part| f64::from(part) / PERMILLE);
    fit.lost_segments as usize >= thresholds.bucket_losses.count()
        && rank >= thresholds.bucket_rank.value()
        && spread <= thresholds.bucket_spread.value()
}

/// `None` where nothing arrived before a loss.
fn is_queue(fit: &BucketFit, base_us: u64, thresholds: &Thresholds) -> Option<bool> {
    let spacing = f64::from(fit.spacing_permille?) / PERMILLE;
    let has_waited = fit.rtt_us.is_none_or(|rtt_us| {
        let waited_us = u64::from(rtt_us).saturating_sub(base_us) as f64;
        let segment_us = SEGMENT_BYTES * 8e6 / fit.payload_bps.max(1) as f64;
        waited_us >= thresholds.bucket_queue_segments.value() * segment_us
    });
    Some(has_waited && spacing >= thresholds.bucket_spacing.value())
}
