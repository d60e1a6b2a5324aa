//! What losses look like: a queue's, chance, a policer's; and segments that were sent again without need.
//!
//! A queue drops when it is full: the round trip has risen before (Biaz and Vaidya 1999), or, where the queue is short, is a little longer
//! than at other times, and the window is the same at each loss. A policer drops at a constant rate and lets bursts pass in between, without any queue (Flach et al., SIGCOMM
//! 2016); one whose bucket is smaller than a window drops at the same flight each time ([`super::overflows`]). What the receiver reports as a
//! duplicate (DSACK, RFC 2883) had arrived. What an emulated path counted is known better: the only part of it that dropped is why. Where slow start has overflowed something, a few losses after it show neither chance nor what it was.

use super::arrival_timers::timer_share;
use super::bucket;
use super::drops::Drops;
use super::loss_events::{self, LossEvent};
use super::overflows;
use super::queue::standing_us;
use super::rises;
use super::track::{Track, TrackSample};
use crate::ground::interval::TimeInterval;
use crate::ground::statistics::{mean_rank_score, median, relative_spread, rounded, variation};
use crate::ground::thresholds::{THIRDS, Thresholds};
use pipefill_core::limit::Cause;
use pipefill_core::record::{BucketFit, Fact, LossKind, PacketSample};

/// What losses of one direction look like.
#[derive(Debug, Clone, Copy)]
pub(super) struct InferredLosses {
    /// `None` where several kinds look like them.
    pub(super) kind: Option<Fact<LossKind>>,
    /// Round trip before a loss, the median, microseconds; `None` where slow start may have lost all of it: its end drops whatever makes it long.
    pub(super) rtt_us: Option<u64>,
}

/// Of the streams of one direction, which had lost before the first sample or not, on a path that counted these drops of data and of ACKs; `None` where
/// nothing was lost.
pub(super) fn find(
    tracks: &[&Track],
    base_us: u64,
    has_lost_before: bool,
    counted: [Drops; 2],
    thresholds: &Thresholds,
) -> Option<InferredLosses> {
    let losses: Vec<Vec<LossEvent>> = tracks.iter().map(|track| loss_events::of(track)).collect();
    if losses.iter().all(Vec::is_empty) {
        return None;
    }
    let [data, acks] = counted;
    let kind = if are_spurious(tracks, thresholds) == Some(true) {
        Some(Fact::inferred(needless(tracks)))
    } else if data.have_none() {
        // Nothing that was sent again had been lost.
        let needless = needless(tracks);
        (needless == LossKind::Reordering || !acks.have_none()).then_some(Fact::measured(needless))
    } else if are_acks(tracks, thresholds) {
        Some(Fact::inferred(LossKind::Acks))
    } else {
        let inferred = || lost_kind(tracks, &losses, base_us, thresholds).filter(|&kind| data.may_be(kind));
        data.only_kind().map(Fact::measured).or_else(|| inferred().map(Fact::inferred))
    };
    let rtts = round_trips(&losses);
    Some(InferredLosses {
        kind,
        rtt_us: median(&rtts).filter(|_| rtts.len() > 1 || has_lost_before).map(rounded),
    })
}

/// Why segments are lost that did not arrive; `None` where several causes look like that.
fn lost_kind(
    tracks: &[&Track],
    losses: &[Vec<LossEvent>],
    base_us: u64,
    thresholds: &Thresholds,
) -> Option<LossKind> {
    if let Some(kind) = bucket::kind(tracks, thresholds) {
        return Some(kind);
    }
    let is_policed = is_policed(tracks, losses, base_us, thresholds);
    if has_risen(tracks, losses, base_us, thresholds)
        || !is_policed && rises::are_late(tracks, losses, base_us, thresholds)
    {
        return Some(LossKind::Queue);
    }
    let has_overflowed = overflows::come_at_once(tracks, losses, thresholds);
    match overflows::find(tracks, losses, base_us, thresholds) {
        Some(kind) => Some(kind),
        None if is_policed => Some(LossKind::Policer),
        None if is_a_short_queue(tracks, losses, base_us, thresholds) => Some(LossKind::Queue),
        None if has_overflowed && rises::are_those_of_a_queue(tracks, losses, base_us, thresholds) => {
            Some(LossKind::Queue)
        }
        None if overflows::is_a_bucket(tracks, losses, base_us, thresholds) => Some(LossKind::Policer),
        None if has_overflowed && !are_of_chance(tracks, losses, thresholds) => None,
        None => Some(LossKind::Chance),
    }
}

/// What holds the congestion window of a stream whose packets were captured near its receiver; `None` where nothing is missing, or its round trip is
/// not known.
pub(crate) fn cause_of_arrivals(
    samples: &[PacketSample],
    bucket: Option<BucketFit>,
    thresholds: &Thresholds,
) -> Option<Cause> {
    if timer_share(samples, thresholds)? >= thresholds.arrival_timers.value() {
        return Some(Cause::Timeout);
    }
    let track = Track::of_arrivals(samples, thresholds).with_bucket(bucket);
    let base_us = track.min_rtt_us.filter(|&us| us > 0)?;
    if are_spurious(&[&track], thresholds) == Some(true) {
        return Some(needless(&[&track]).into());
    }
    let losses = vec![loss_events::of(&track)];
    let is_lost = losses.iter().any(|losses| !losses.is_empty());
    is_lost.then(|| lost_kind(&[&track], &losses, base_us, thresholds))?.map(Into::into)
}

/// The longest round trip, for streams that lost segments before their first sample and none since: at which their queue overflows nobody saw,
/// but at none of these.
pub(super) fn longest(tracks: &[&Track]) -> Option<u64> {
    let samples = tracks.iter().flat_map(|track| track.samples.as_slice());
    samples.filter_map(|sample| sample.data_rtt_us).max()
}

/// Of the samples before the losses that have one, microseconds.
fn round_trips(losses: &[Vec<LossEvent>]) -> Vec<f64> {
    losses.iter().flatten().filter_map(|loss| loss.before.data_rtt_us).map(|rtt_us| rtt_us as f64).collect()
}

/// Why data are sent again that arrived: they came in another order, or their ACKs did not come.
fn needless(tracks: &[&Track]) -> LossKind {
    let has_seen_reordering = tracks.iter().any(|track| track.has_seen_reordering);
    if has_seen_reordering { LossKind::Reordering } else { LossKind::Acks }
}

/// Whether most of what was sent again had arrived; `None` where nothing was, or nobody reports it.
fn are_spurious(tracks: &[&Track], thresholds: &Thresholds) -> Option<bool> {
    let again: u64 = tracks.iter().map(|track| u64::from(track.retransmits)).sum();
    let reported: Option<u64> = tracks.iter().map(|track| track.spurious.map(u64::from)).sum();
    let share = reported? as f64 / again as f64;
    (again > 0).then_some(share >= thresholds.spurious.value())
}

/// Timers fire for data that arrived: one segment sent again, and all that was out is acknowledged.
fn are_acks(tracks: &[&Track], thresholds: &Thresholds) -> bool {
    let (mut timeouts, mut needless) = (0_u64, 0_u64);
    for track in tracks {
        let mut open: Option<TrackSample> = None;
        for pair in track.samples.as_slice().windows(2) {
            let [before, now] = pair else { continue };
            if now.rto_count > before.rto_count {
                timeouts += u64::from(now.rto_count - before.rto_count);
                open.get_or_insert(*before);
            }
            let Some(since) = open.filter(|since| now.acked > since.acked) else { continue };
            let rounds = now.rto_count.saturating_sub(since.rto_count);
            let is_one_segment = now.retransmits.saturating_sub(since.retransmits) <= rounds;
            let (mss, arrived) = (track.mss.max(1), now.acked - since.acked);
            // Of a flight whose end was lost, only the beginning is.
            let is_all = arrived + mss > since.unacked;
            if is_one_segment && is_all && arrived / mss >= thresholds.arrived_segments.whole() {
                needless += u64::from(rounds);
            }
            open = None;
        }
    }
    timeouts > 0 && 2 * needless >= timeouts
}

/// Whether the round trip before a loss is longer than its base by what only a queue makes of it.
fn has_risen(tracks: &[&Track], losses: &[Vec<LossEvent>], base_us: u64, thresholds: &Thresholds) -> bool {
    // The last of a few segments waits for those of the next round trip, where ACKs are delayed.
    let risen = match is_of_few_segments(tracks, losses, thresholds) {
        true => thresholds.round_trip_long.value(),
        false => 1.0 + thresholds.queue_loss_risen.value(),
    };
    median(&round_trips(losses)).is_some_and(|rtt_us| rtt_us >= risen * base_us.max(1) as f64)
}

/// Whether it is a little longer, always at the same window.
fn is_a_short_queue(
    tracks: &[&Track],
    losses: &[Vec<LossEvent>],
    base_us: u64,
    thresholds: &Thresholds,
) -> bool {
    let rtts = round_trips(losses);
    let Some(rtt_us) = median(&rtts) else { return false };
    let has_risen_a_little = rtt_us - base_us as f64 >= standing_us(base_us, thresholds) as f64;
    let same = losses.iter().all(|of_stream| {
        let windows: Vec<f64> = of_stream.iter().skip(1).map(|loss| loss.before.unacked as f64).collect();
        windows.len() >= thresholds.losses_fewest.count()
            && variation(&windows).is_none_or(|share| share <= thresholds.queue_loss_same_window.value())
    });
    let are_many = rtts.len() >= thresholds.queue_losses_many.count();
    has_risen_a_little && same && (are_many || are_longer_than_usual(&rtts, tracks, thresholds))
}

/// Whether the losses after the first one of each stream show chance: they are many, or the rates between them differ.
fn are_of_chance(tracks: &[&Track], losses: &[Vec<LossEvent>], thresholds: &Thresholds) -> bool {
    let later: usize = losses.iter().map(|of_stream| of_stream.len().saturating_sub(1)).sum();
    let differ = |(track, of_stream): (&&Track, &Vec<LossEvent>)| {
        let rates = of_stream.windows(2).filter_map(|pair| {
            let [earlier, loss] = pair else { return None };
            let interval = TimeInterval { from_us: earlier.last.t_us, to_us: loss.before.t_us };
            Some(interval.bps(track.delivered(interval.from_us, interval.to_us)))
        });
        let rates: Vec<f64> = rates.collect();
        rates.len() >= thresholds.overflow_rates.count()
            && variation(&rates).is_some_and(|share| share > thresholds.overflow_same_rate.value())
    };
    later >= thresholds.losses_fewest.count() || tracks.iter().zip(losses).any(differ)
}

fn is_of_few_segments(tracks: &[&Track], losses: &[Vec<LossEvent>], thresholds: &Thresholds) -> bool {
    let segments =
        |(track, loss): (&&Track, &LossEvent)| loss.before.unacked as f64 / track.mss.max(1) as f64;
    let flights = tracks
        .iter()
        .zip(losses)
        .flat_map(|(track, of_stream)| of_stream.iter().map(move |loss| (track, loss)));
    let flights: Vec<f64> = flights.map(segments).collect();
    median(&flights).is_some_and(|segments| segments < thresholds.plateau_segments.value())
}

/// Whether the round trips before the losses are longer than those of all samples.
fn are_longer_than_usual(rtts: &[f64], tracks: &[&Track], thresholds: &Thresholds) -> bool {
    let all = tracks.iter().flat_map(|track| track.samples.as_slice());
    let all: Vec<f64> = all.filter_map(|sample| sample.data_rtt_us).map(|rtt_us| rtt_us as f64).collect();
    mean_rank_score(rtts, all).is_some_and(|score| score >= thresholds.queue_loss_longer.value())
}

/// Between losses the same rate gets through every time, more than that just before each of them, and the round trip does not rise. All
/// streams together, since they share the bucket.
fn is_policed(tracks: &[&Track], losses: &[Vec<LossEvent>], base_us: u64, thresholds: &Thresholds) -> bool {
    let lost: u64 = tracks.iter().map(|track| u64::from(track.retransmits)).sum();
    if lost < thresholds.policer_losses.whole() {
        return false;
    }
    // A policer's bursts wait behind each other for a moment; more is a queue.
    let rises = |loss: &&LossEvent| {
        loss.before.data_rtt_us.unwrap_or(0) > base_us + 2 * standing_us(base_us, thresholds)
    };
    let all = || losses.iter().flatten();
    if 2 * all().filter(rises).count() > all().count() {
        return false;
    }
    let mut times: Vec<u64> = all().map(|loss| loss.before.t_us).collect();
    times.sort_unstable();
    // What is dropped at once comes in several samples: losses within two round trips are one event.
    times.dedup_by(|later, first| *later - *first <= 2 * base_us);
    let delivered = |from_us: u64, to_us: u64| {
        let bytes = tracks.iter().map(|track| track.delivered(from_us, to_us)).sum();
        TimeInterval { from_us, to_us }.bps(bytes)
    };
    // Slow start overshoots, and what comes next has to recover from that.
    let settled = &times[times.len() / THIRDS..];
    let pairs = || settled.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
    let between: Vec<f64> = pairs().map(|(from, to)| delivered(from, to)).collect();
    let before: Vec<f64> = pairs()
        .map(|(from, to)| delivered(to.saturating_sub(2 * base_us), to) / delivered(from, to).max(1.0))
        .collect();
    between.len() >= thresholds.losses_fewest.count()
        && relative_spread(&between).is_some_and(|spread| spread <= thresholds.policer_same_rate.value())
        && median(&before).is_some_and(|ratio| ratio >= thresholds.policer_burst_rate.value())
}
