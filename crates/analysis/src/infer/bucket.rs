//! What a bucket that explains the losses is: a queue, in which what passes next to a loss has waited, or a policer, which lets it pass at once.
//!
//! What leaves a queue arrives at its rate, one by one: that shows near the receiver too. A paced sender's segments do as well, but have waited nowhere.

use super::track::Track;
use crate::ground::models::headers::Headers;
use crate::ground::thresholds::{PERMILLE, SEGMENT_BYTES, Thresholds};
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
            rate_bps: of_frames(fit.payload_bps),
            most_bps: of_frames(fit.most_payload_bps),
            burst_bytes: of_frames(fit.held_bytes),
        })
    })
}

/// Whether losses that were seen before they happened, of the only stream, come at any filling of any bucket: then nothing overflows.
pub(super) fn is_excluded(tracks: &[&Track], thresholds: &Thresholds) -> bool {
    let [track] = tracks else { return false };
    track.bucket.is_some_and(|fit| {
        fit.rtt_us.is_some()
            && u64::from(fit.lost_segments) >= thresholds.policer_losses.whole()
            && f64::from(fit.rank_permille) / PERMILLE < thresholds.bucket_excluded.value()
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
        && fit.held_bytes as f64 >= thresholds.bucket_segments.value() * SEGMENT_BYTES
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use pipefill_core::cell::Direction;

    const BASE_US: u64 = 40_000;

    /// A bucket of 40 kB at 12 Mbit/s.
    const EXPLAINS: BucketFit = BucketFit {
        payload_bps: 12_000_000,
        most_payload_bps: 12_000_000,
        held_bytes: 40_000,
        spread_permille: 300,
        rank_permille: 900,
        lost_segments: 5,
        rtt_us: None,
        spacing_permille: Some(20),
    };

    fn kind_of(fits: &[BucketFit]) -> Option<LossKind> {
        let track = |&fit: &BucketFit| Track::new(Direction::Forward, 1).with_bucket(Some(fit));
        let tracks: Vec<Track> = fits.iter().map(track).collect();
        kind(&tracks.iter().collect::<Vec<_>>(), BASE_US, &STANDARD)
    }

    #[test]
    fn what_arrives_at_the_buckets_rate_and_has_waited_leaves_a_queue() {
        let with = |rtt_us, spacing_permille| kind_of(&[BucketFit { rtt_us, spacing_permille, ..EXPLAINS }]);
        assert_eq!(with(None, Some(20)), Some(LossKind::Policer));
        assert_eq!(with(None, Some(500)), Some(LossKind::Queue));
        assert_eq!(with(None, None), None, "nothing arrived before a loss");
        // A segment takes 965 µs.
        assert_eq!(with(Some(40_900), Some(20)), Some(LossKind::Policer), "another link is slow too");
        assert_eq!(with(Some(40_300), Some(1_000)), Some(LossKind::Policer), "a paced sender's");
        assert_eq!(with(Some(40_900), Some(1_000)), Some(LossKind::Queue));
    }

    #[test]
    fn a_bucket_explains_losses_where_they_come_when_it_is_full() {
        for fit in [
            BucketFit { lost_segments: 4, ..EXPLAINS },
            BucketFit { rank_permille: 899, ..EXPLAINS },
            BucketFit { spread_permille: 301, ..EXPLAINS },
            BucketFit { held_bytes: 5_000, ..EXPLAINS },
        ] {
            assert_eq!(kind_of(&[fit]), None, "{fit:?}");
        }
        let chance = BucketFit { rank_permille: 500, lost_segments: 90, ..EXPLAINS };
        assert_eq!(kind_of(&[chance, EXPLAINS]), Some(LossKind::Policer), "that of the other stream");
        assert_eq!(kind_of(&[]), None);
    }

    #[test]
    fn a_policers_rate_and_bucket_are_those_of_frames() {
        let track = Track::new(Direction::Forward, 1).with_bucket(Some(EXPLAINS));
        let found = policer(&[&track], BASE_US, Headers::USUAL, &STANDARD).map(|policer| policer.value);
        let frames = PolicerFacts { rate_bps: 12_546_961, most_bps: 12_546_961, burst_bytes: 41_823 };
        assert_eq!(found, Some(frames));
    }
}
