//! The bottleneck's rate and queue: what is delivered no longer rises with what is in flight, and the round trip does.
//!
//! A queue that stands delivers at the bottleneck's rate whatever is in flight (Kleinrock 1979; BBR's model, Cardwell et al. 2016). Rounds in
//! which the round trip is above its base, and written data waits, give that rate; where they disagree it is none. A round trip that is
//! long for another reason (a queue on the way of the ACKs, jitter, delayed ACKs) shows a rate that follows the window, or one that was
//! exceeded at other times.

use super::queue::{beyond_bursts_us, standing_us};
use super::rounds::{Round, StandingRound};
use super::sharing::{self, Sharing};
use super::track::Track;
use crate::ground::interval::TimeInterval;
use crate::ground::models::headers::Headers;
use crate::ground::statistics::{median, percentile, relative_spread};
use crate::ground::thresholds::Thresholds;
use pipefill_core::cell::Protocol;
use pipefill_core::record::{Fact, WayFacts};
use pipefill_core::units::Bytes;

/// What is known of a bottleneck, and who tried it.
#[derive(Debug, Clone, Copy)]
pub(super) struct InferredBottleneck {
    pub(super) way: WayFacts,
    /// Whether it is the rate that a flow had alone, before others came: a queue that overflows has to confirm it.
    pub(super) is_by_sharing: bool,
    /// Whether senders tried for more than their receivers' windows: a window that never changes says little.
    pub(super) is_tried: bool,
}

/// Of the streams of one direction with their rounds; `None` where no plateau is seen.
pub(super) fn find(
    tracks: &[&Track],
    rounds: &[Vec<Round>],
    base_us: u64,
    headers: Headers,
    thresholds: &Thresholds,
) -> Option<InferredBottleneck> {
    let is_free = |round: &Round| is_free(round, thresholds);
    let free = plateau(tracks, rounds, base_us, thresholds, is_free);
    let is_beyond_bursts = |round: &Round| round.rtt_us.0 >= beyond_bursts_us(base_us, thresholds);
    let any =
        || plateau(tracks, rounds, base_us, thresholds, |round| is_free(round) || is_beyond_bursts(round));
    let alone = || {
        let alone_bps = sharing(tracks, rounds, base_us, thresholds)?.alone_bps;
        let moving = rounds.iter().flatten().map(|round| delivered_bps(tracks, round.interval));
        let fastest = moving.fold(0.0, f64::max);
        (fastest <= thresholds.plateau_exceeded.value() * alone_bps).then_some(alone_bps)
    };
    let (payload_bps, is_tried, is_by_sharing) = free
        .map(|rate| (rate, true, false))
        .or_else(|| alone().map(|rate| (rate, true, true)))
        .or_else(|| any().map(|rate| (rate, false, false)))?;
    let mss = mss(tracks)?;
    let frame = headers.frame(Protocol::Tcp, Bytes::new(mss)).get() as f64;
    let rate_bps = (payload_bps * frame / mss as f64) as u64;
    let longest = rounds.iter().flatten().map(|round| round.rtt_us.1).max().unwrap_or(base_us);
    let way = WayFacts {
        rate_bps: Some(Fact::inferred(rate_bps)),
        queue_us: Some(Fact::inferred(longest.saturating_sub(base_us))),
        ..WayFacts::default()
    };
    Some(InferredBottleneck { way, is_by_sharing, is_tried })
}

/// Whether the receiver's window was mostly open.
fn is_free(round: &Round, thresholds: &Thresholds) -> bool {
    round.closed_share < thresholds.round_open.value()
}

/// The rate of payload at which the rounds that count agree.
fn plateau(
    tracks: &[&Track],
    rounds: &[Vec<Round>],
    base_us: u64,
    thresholds: &Thresholds,
    counts: impl Fn(&Round) -> bool,
) -> Option<f64> {
    let moves = |rate: &f64| *rate > 0.0;
    let stands = standing(tracks, rounds, base_us, thresholds, counts);
    let rates: Vec<f64> = stands.iter().map(|one| one.rate_bps).filter(moves).collect();
    let every: Vec<f64> =
        rounds.iter().flatten().map(|round| delivered_bps(tracks, round.interval)).filter(moves).collect();
    let middle = median(&rates).filter(|_| rates.len() >= thresholds.plateau_rounds.count())?;
    let spread = relative_spread(&rates)?;
    let most = percentile(&every, thresholds.plateau_high.value())?;
    (spread <= thresholds.plateau_spread.value() && most <= thresholds.plateau_exceeded.value() * middle)
        .then_some(middle)
}

/// Whether others have a part of the bottleneck at times: what gets through then.
pub(super) fn shared(
    tracks: &[&Track],
    rounds: &[Vec<Round>],
    base_us: u64,
    thresholds: &Thresholds,
) -> Option<Fact<u64>> {
    sharing(tracks, rounds, base_us, thresholds).map(|found| Fact::inferred(found.shared_bps as u64))
}

fn sharing(
    tracks: &[&Track],
    rounds: &[Vec<Round>],
    base_us: u64,
    thresholds: &Thresholds,
) -> Option<Sharing> {
    let is_free = |round: &Round| is_free(round, thresholds);
    sharing::find(&standing(tracks, rounds, base_us, thresholds, is_free), thresholds)
}

/// The rounds that count, stream by stream in order of time.
fn standing(
    tracks: &[&Track],
    rounds: &[Vec<Round>],
    base_us: u64,
    thresholds: &Thresholds,
    counts: impl Fn(&Round) -> bool,
) -> Vec<StandingRound> {
    let Some(mss) = mss(tracks) else { return Vec::new() };
    let read = rounds.iter().filter(|of_stream| !is_read_slowly(of_stream, thresholds)).flatten();
    let stands = |round: &&Round| {
        round.rtt_us.0 >= base_us + standing_us(base_us, thresholds)
            && round.unsent_share >= thresholds.round_open.value()
            && counts(round)
            && in_flight(tracks, round) >= thresholds.plateau_segments.whole() * mss
    };
    let standing = |round: &Round| StandingRound {
        rate_bps: delivered_bps(tracks, round.interval),
        rtt_us: round.rtt_us.0 as f64,
    };
    read.filter(stands).map(standing).collect()
}

fn mss(tracks: &[&Track]) -> Option<u64> {
    tracks.iter().map(|track| track.mss).max().filter(|&mss| mss > 0)
}

fn is_read_slowly(rounds: &[Round], thresholds: &Thresholds) -> bool {
    rounds.iter().filter(|round| round.has_shrunk).count() as f64
        > thresholds.slow_reader.value() * rounds.len() as f64
}

fn in_flight(tracks: &[&Track], round: &Round) -> u64 {
    let others: u64 =
        tracks.iter().filter_map(|track| Some(track.samples.at(round.interval.from_us)?.unacked)).sum();
    others.max(round.flight)
}

/// What all of them delivered in `window`, bits per second of payload.
fn delivered_bps(tracks: &[&Track], interval: TimeInterval) -> f64 {
    interval.bps(tracks.iter().map(|track| track.delivered(interval.from_us, interval.to_us)).sum())
}
