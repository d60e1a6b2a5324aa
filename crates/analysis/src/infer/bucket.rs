//! Decides whether the leaky bucket that explains the losses of a direction is a queue or a policer.
//!
//! Segments leave a queue at its rate, and have waited in it; a policer lets a burst pass at once. Segments of a paced sender come at nearly that rate too, but
//! have not waited.

use super::track::Track;
use crate::ground::models::headers::Headers;
use crate::ground::statistics::rounded;
use crate::ground::thresholds::{PERMILLE, SEGMENT_BYTES, Thresholds};
use pipefill_core::record::{BucketFit, Fact, LossKind, PolicerFacts};

/// What dropped segments of the streams of one direction; `None` where no bucket explains their losses.
pub(super) fn kind(tracks: &[&Track], thresholds: &Thresholds) -> Option<LossKind> {
    let fit = find(tracks, thresholds)?;
    Some(if is_queue(&fit, thresholds)? { LossKind::Queue } else { LossKind::Policer })
}

/// Rate and bucket of the policer that dropped segments of these streams; `None` where losses show no policer.
pub(super) fn policer(
    tracks: &[&Track],
    headers: Headers,
    thresholds: &Thresholds,
) -> Option<Fact<PolicerFacts>> {
    let fit = find(tracks, thresholds)?;
    let of_frames = |payload: u64| payload.saturating_mul(headers.full_frame().get()) / headers.mss();
    (is_queue(&fit, thresholds) == Some(false)).then(|| {
        Fact::inferred(PolicerFacts {
            rate_bps: of_frames(fit.payload_bps),
            most_bps: of_frames(fit.most_payload_bps),
            burst_bytes: of_frames(fit.held_bytes),
        })
    })
}

/// The rate of the queue that dropped segments of these streams, bits per second of frames; `None` where losses show no queue, or the rate is uncertain.
pub(super) fn rate(tracks: &[&Track], headers: Headers, thresholds: &Thresholds) -> Option<Fact<u64>> {
    let fit = find(tracks, thresholds).filter(|fit| is_queue(fit, thresholds) == Some(true))?;
    let has_waited =
        waited_segments(&fit).is_none_or(|segments| segments >= thresholds.bucket_rate_segments.value());
    let times = fit.most_payload_bps as f64 / fit.payload_bps.max(1) as f64;
    let is_close = times <= thresholds.bucket_rates_narrow.value();
    let frames = headers.full_frame().get() as f64 / headers.mss() as f64;
    let leaves_bps = leaves_bps(&fit, thresholds).filter(|_| has_waited && is_close)?;
    Some(Fact::inferred(rounded(leaves_bps * frames)))
}

/// The bucket that explains the losses of the stream with most of them.
fn find(tracks: &[&Track], thresholds: &Thresholds) -> Option<BucketFit> {
    let fits = tracks.iter().filter_map(|track| track.bucket);
    fits.filter(|fit| explains(fit, thresholds)).max_by_key(|fit| fit.lost_segments)
}

fn explains(fit: &BucketFit, thresholds: &Thresholds) -> bool {
    let [rank, spread] = [fit.rank_permille, fit.spread_permille].map(|part| f64::from(part) / PERMILLE);
    fit.events as usize >= thresholds.bucket_events.count()
        && rank >= thresholds.bucket_rank.value()
        && spread <= thresholds.bucket_spread.value()
}

/// `None` where nothing arrived before a loss, or neither at a rate of the bucket nor in a burst. An ACK may stand for two segments, so ACKs show a
/// queue only where segments have waited too.
fn is_queue(fit: &BucketFit, thresholds: &Thresholds) -> Option<bool> {
    let spacing = f64::from(fit.spacing_permille?) / PERMILLE;
    if let Some(segments) = waited_segments(fit) {
        let at_highest = spacing * fit.most_payload_bps as f64 / fit.payload_bps.max(1) as f64;
        return Some(
            segments >= thresholds.bucket_queue_segments.value()
                && at_highest >= thresholds.bucket_spacing.value(),
        );
    }
    let is_burst = spacing <= thresholds.bucket_burst_spacing.value();
    leaves_bps(fit, thresholds).map(|_| true).or(is_burst.then_some(false))
}

/// The rate at which segments arrive before a loss, bits per second of payload; `None` where it is not among the rates that explain the losses.
fn leaves_bps(fit: &BucketFit, thresholds: &Thresholds) -> Option<f64> {
    let leaves_bps = fit.payload_bps as f64 * PERMILLE / f64::from(fit.spacing_permille?);
    let beyond = [fit.payload_bps as f64 / leaves_bps, leaves_bps / fit.most_payload_bps as f64];
    beyond.iter().all(|&times| times <= thresholds.bucket_rates_agree.value()).then_some(leaves_bps)
}

/// How many segments those beside a loss have waited behind, at the bucket's rate; `None` where their round trips are not seen.
fn waited_segments(fit: &BucketFit) -> Option<f64> {
    Some(f64::from(fit.waited_us?) * fit.payload_bps as f64 / (SEGMENT_BYTES * 8e6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use pipefill_core::cell::Direction;

    /// A bucket of 40 kB at 12 Mbit/s.
    const EXPLAINS: BucketFit = BucketFit {
        payload_bps: 12_000_000,
        most_payload_bps: 12_000_000,
        held_bytes: 40_000,
        spread_permille: 300,
        rank_permille: 900,
        lost_segments: 5,
        events: 3,
        waited_us: None,
        spacing_permille: Some(20),
    };

    fn kind_of(fits: &[BucketFit]) -> Option<LossKind> {
        let track = |&fit: &BucketFit| Track::new(Direction::Forward, 1).with_bucket(Some(fit));
        let tracks: Vec<Track> = fits.iter().map(track).collect();
        kind(&tracks.iter().collect::<Vec<_>>(), &STANDARD)
    }

    #[test]
    fn what_arrives_at_the_buckets_rate_and_has_waited_leaves_a_queue() {
        let with =
            |waited_us, spacing_permille| kind_of(&[BucketFit { waited_us, spacing_permille, ..EXPLAINS }]);
        assert_eq!(with(None, Some(20)), Some(LossKind::Policer));
        assert_eq!(with(None, Some(880)), Some(LossKind::Queue));
        assert_eq!(with(None, Some(860)), None, "faster than the bucket empties, and in no burst");
        assert_eq!(with(None, None), None, "nothing arrived before a loss");
        // A segment takes 965 µs.
        assert_eq!(with(Some(900), Some(20)), Some(LossKind::Policer), "another link is slow too");
        assert_eq!(with(Some(300), Some(1_000)), Some(LossKind::Policer), "a paced sender's");
        assert_eq!(with(Some(900), Some(1_000)), Some(LossKind::Queue));
        let ranges = BucketFit { most_payload_bps: 48_000_000, waited_us: Some(2_500), ..EXPLAINS };
        let at = |spacing_permille| kind_of(&[BucketFit { spacing_permille, ..ranges }]);
        assert_eq!([at(Some(250)), at(Some(20))], [Some(LossKind::Queue), Some(LossKind::Policer)]);
    }

    #[test]
    fn a_bucket_explains_losses_where_they_come_when_it_is_full() {
        for fit in [
            BucketFit { events: 2, ..EXPLAINS },
            BucketFit { rank_permille: 899, ..EXPLAINS },
            BucketFit { spread_permille: 301, ..EXPLAINS },
        ] {
            assert_eq!(kind_of(&[fit]), None, "{fit:?}");
        }
        let chance = BucketFit { rank_permille: 500, lost_segments: 90, ..EXPLAINS };
        assert_eq!(kind_of(&[chance, EXPLAINS]), Some(LossKind::Policer), "that of the other stream");
        assert_eq!(kind_of(&[]), None);
    }

    #[test]
    fn a_queues_rate_is_that_at_which_segments_leave_it() {
        let rate_of = |fit: BucketFit| {
            let track = Track::new(Direction::Forward, 1).with_bucket(Some(fit));
            rate(&[&track], Headers::USUAL, &STANDARD).map(|rate| rate.value)
        };
        let queue = BucketFit { most_payload_bps: 15_000_000, spacing_permille: Some(900), ..EXPLAINS };
        assert_eq!(rate_of(queue), Some(13_941_068));
        assert_eq!(
            rate_of(BucketFit { spacing_permille: Some(690), ..queue }),
            None,
            "faster than any that fits"
        );
        assert_eq!(rate_of(BucketFit { waited_us: Some(1_900), ..queue }), None, "less than two have waited");
        assert_eq!(rate_of(BucketFit { waited_us: Some(2_000), ..queue }), Some(13_941_068));
        assert_eq!(rate_of(EXPLAINS), None, "a policer's");
    }

    #[test]
    fn a_policers_rate_and_bucket_are_those_of_frames() {
        let track = Track::new(Direction::Forward, 1).with_bucket(Some(EXPLAINS));
        let found = policer(&[&track], Headers::USUAL, &STANDARD).map(|policer| policer.value);
        let frames = PolicerFacts { rate_bps: 12_546_961, most_bps: 12_546_961, burst_bytes: 41_823 };
        assert_eq!(found, Some(frames));
    }
}
