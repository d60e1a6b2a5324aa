//! The bottleneck's rate and queue: what is delivered no longer rises with what is in flight, and the round trip does.
//!
//! A queue that stands delivers at the bottleneck's rate whatever is in flight (Kleinrock 1979; BBR's model, Cardwell et al. 2016). Rounds in
//! which the round trip is above its base, and written data waits, give that rate; where they disagree it is none. A round trip that is
//! long for another reason (a queue on the way of the ACKs, jitter, delayed ACKs) shows a rate that follows the window, or one that was
//! exceeded at other times.

use super::look::Track;
use super::rounds::{Round, StandingRound};
use super::sharing::{self, Sharing};
use crate::ground::interval::TimeInterval;
use crate::ground::models::headers::Headers;
use crate::ground::statistics::{median, percentile, relative_spread};
use pipefill_core::cell::Protocol;
use pipefill_core::record::{Fact, WayFacts, beyond_bursts_us, standing_us};
use pipefill_core::units::Bytes;

/// Rounds that have to agree.
const FEWEST_ROUNDS: usize = 5;
/// From the first to the third quartile the rates of a plateau differ by no more than this part of their median.
const PLATEAU: f64 = 0.20;
/// More than that part above a bottleneck's rate is not delivered in one round of ten.
const EXCEEDED: f64 = 1.30;
/// A round of fewer segments shows the receiver's delayed ACKs, not a queue.
const FEWEST_SEGMENTS: u64 = 8;
/// Windows that shrink in more than one round of so many are those of slow readers, whose ACKs are late too.
const SLOW_READER: usize = 10;
/// Half of the samples.
const HALF: f64 = 0.5;

/// What is known of a bottleneck, and who tried it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
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
) -> Option<Found> {
    let free = plateau(tracks, rounds, base_us, is_free);
    let is_beyond_bursts = |round: &Round| round.rtt_us.0 >= beyond_bursts_us(base_us);
    let any = || plateau(tracks, rounds, base_us, |round| is_free(round) || is_beyond_bursts(round));
    let alone = || {
        let alone_bps = sharing(tracks, rounds, base_us)?.alone_bps;
        let moving = rounds.iter().flatten().map(|round| delivered_bps(tracks, round.window));
        let fastest = moving.fold(0.0, f64::max);
        (fastest <= EXCEEDED * alone_bps).then_some(alone_bps)
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
    Some(Found { way, is_by_sharing, is_tried })
}

/// Whether the receiver's window was mostly open.
fn is_free(round: &Round) -> bool {
    round.closed_share < HALF
}

/// The rate of payload at which the rounds that count agree.
fn plateau(
    tracks: &[&Track],
    rounds: &[Vec<Round>],
    base_us: u64,
    counts: impl Fn(&Round) -> bool,
) -> Option<f64> {
    let moves = |rate: &f64| *rate > 0.0;
    let stands = standing(tracks, rounds, base_us, counts);
    let rates: Vec<f64> = stands.iter().map(|one| one.rate_bps).filter(moves).collect();
    let every: Vec<f64> =
        rounds.iter().flatten().map(|round| delivered_bps(tracks, round.window)).filter(moves).collect();
    let middle = median(&rates).filter(|_| rates.len() >= FEWEST_ROUNDS)?;
    let spread = relative_spread(&rates)?;
    let most = percentile(&every, 0.9)?;
    (spread <= PLATEAU && most <= EXCEEDED * middle).then_some(middle)
}

/// Whether others have a part of the bottleneck at times: what gets through then.
pub(super) fn shared(tracks: &[&Track], rounds: &[Vec<Round>], base_us: u64) -> Option<Fact<u64>> {
    sharing(tracks, rounds, base_us).map(|found| Fact::inferred(found.shared_bps as u64))
}

fn sharing(tracks: &[&Track], rounds: &[Vec<Round>], base_us: u64) -> Option<Sharing> {
    sharing::find(&standing(tracks, rounds, base_us, is_free))
}

/// The rounds that count, stream by stream in order of time.
fn standing(
    tracks: &[&Track],
    rounds: &[Vec<Round>],
    base_us: u64,
    counts: impl Fn(&Round) -> bool,
) -> Vec<StandingRound> {
    let Some(mss) = mss(tracks) else { return Vec::new() };
    let read = rounds.iter().filter(|of_stream| !is_read_slowly(of_stream)).flatten();
    let stands = |round: &&Round| {
        round.rtt_us.0 >= base_us + standing_us(base_us)
            && round.unsent_share >= HALF
            && counts(round)
            && in_flight(tracks, round) >= FEWEST_SEGMENTS * mss
    };
    let standing = |round: &Round| StandingRound {
        rate_bps: delivered_bps(tracks, round.window),
        rtt_us: round.rtt_us.0 as f64,
    };
    read.filter(stands).map(standing).collect()
}

fn mss(tracks: &[&Track]) -> Option<u64> {
    tracks.iter().map(|track| track.mss).max().filter(|&mss| mss > 0)
}

fn is_read_slowly(rounds: &[Round]) -> bool {
    rounds.iter().filter(|round| round.has_shrunk).count() * SLOW_READER > rounds.len()
}

fn in_flight(tracks: &[&Track], round: &Round) -> u64 {
    let others: u64 =
        tracks.iter().filter_map(|track| Some(track.looks.at(round.window.from_us)?.unacked)).sum();
    others.max(round.flight)
}

/// What all of them delivered in `window`, bits per second of payload.
fn delivered_bps(tracks: &[&Track], window: TimeInterval) -> f64 {
    window.bps(tracks.iter().map(|track| track.delivered(window.from_us, window.to_us)).sum())
}
