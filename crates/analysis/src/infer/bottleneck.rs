//! The bottleneck's rate and queue: what is delivered no longer rises with what is in flight, and the round trip does.
//!
//! A queue that stands delivers at the bottleneck's rate whatever is in flight (Kleinrock 1979; BBR's model, Cardwell et al. 2016). Rounds in
//! which the round trip is above its base, and written data waits, give that rate; where they disagree it is none. A round trip that is
//! long for another reason (a queue on the way of the ACKs, jitter, delayed ACKs) shows a rate that follows the window, or one that was
//! exceeded at other times.

use super::loss_events::{self, LossEvent};
use super::queue::{beyond_bursts_us, standing_us};
use super::rounds::{Round, StandingRound};
use super::sharing::{self, Sharing};
use super::track::Track;
use crate::ground::interval::TimeInterval;
use crate::ground::models::headers::Headers;
use crate::ground::statistics::{median, percentile, relative_spread};
use crate::ground::thresholds::Thresholds;
use pipefill_core::cell::Protocol;
use pipefill_core::record::{Fact, Origin, WayFacts};
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

/// The streams of one direction with their rounds, on a path of a known base round trip.
#[derive(Clone, Copy)]
pub(super) struct DirectionRounds<'a> {
    pub(super) tracks: &'a [&'a Track],
    pub(super) rounds: &'a [Vec<Round>],
    pub(super) base_rtt_us: Fact<u64>,
    /// Rounds of a plateau that have to agree.
    pub(super) plateau_rounds: usize,
    pub(super) thresholds: &'a Thresholds,
}

impl DirectionRounds<'_> {
    /// The bottleneck; `None` where no plateau is seen.
    pub(super) fn bottleneck(&self, headers: Headers) -> Option<InferredBottleneck> {
        let is_beyond_bursts =
            |round: &Round| round.rtt_us.0 >= beyond_bursts_us(self.base_us(), self.thresholds);
        let any = || self.plateau(|round| self.is_free(round) || is_beyond_bursts(round), 0);
        let alone = || {
            let alone_bps = self.sharing()?.alone_bps;
            let moving = self.rounds.iter().flatten().map(|round| self.delivered_bps(round.interval));
            let fastest = moving.fold(0.0, f64::max);
            (fastest <= self.thresholds.plateau_exceeded.value() * alone_bps).then_some(alone_bps)
        };
        let (payload_bps, rate_since_us, is_tried, is_by_sharing) = self
            .plateau(|round| self.is_free(round), 0)
            .map(|rate| (rate, None, true, false))
            .or_else(|| alone().map(|rate| (rate, None, true, true)))
            .or_else(|| {
                self.plateau_after_a_fall().map(|(rate, since_us)| (rate, Some(since_us), true, false))
            })
            .or_else(|| any().map(|rate| (rate, None, false, false)))?;
        let mss = self.mss()?;
        let frame = headers.frame(Protocol::Tcp, Bytes::new(mss)).get() as f64;
        let rate_bps = (payload_bps * frame / mss as f64) as u64;
        let rounds = self.rounds.iter().flatten();
        let longest = rounds.map(|round| round.rtt_us.1).max().unwrap_or(self.base_us());
        let way = WayFacts {
            rate_bps: Some(Fact::inferred(rate_bps)),
            rate_since_us,
            queue_us: Some(Fact::inferred(longest.saturating_sub(self.base_us()))),
            ..WayFacts::default()
        };
        Some(InferredBottleneck { way, is_by_sharing, is_tried })
    }

    /// Whether others have a part of the bottleneck at times: what gets through then.
    pub(super) fn shared(&self) -> Option<Fact<u64>> {
        self.sharing().map(|found| Fact::inferred(found.shared_bps as u64))
    }

    fn sharing(&self) -> Option<Sharing> {
        sharing::find(&self.standing(|round| self.is_free(round)), self.thresholds)
    }

    /// Whether the receiver's window was mostly open.
    fn is_free(&self, round: &Round) -> bool {
        round.closed_share < self.thresholds.round_open.value()
    }

    /// Whether these rounds tell a queue from a window that never changes, whose rate follows its round trip. The least round trip that somebody saw
    /// does. Where smoothed ones stand for it, what is in flight has to change more than the rate.
    fn are_of_a_queue(&self, standing: &[StandingRound], rate_spread: f64) -> bool {
        let in_flight = standing.iter().map(|round| round.rate_bps * round.rtt_us);
        self.base_rtt_us.origin != Origin::Inferred
            || relative_spread(&in_flight.collect::<Vec<f64>>())
                .is_some_and(|spread| spread > self.thresholds.plateau_steadier.value() * rate_spread)
    }

    const fn base_us(&self) -> u64 {
        self.base_rtt_us.value
    }

    /// Whether something came all the time, as from a queue that stands. Where others share the queue, they are served in between.
    fn is_busy(&self, round: &Round) -> bool {
        let idle_most = self.thresholds.queue_idle.value();
        let delivers = |track: &&&Track| track.delivered(round.interval.from_us, round.interval.to_us) > 0;
        let is_shared = || self.tracks.iter().filter(delivers).count() > 1;
        round.idle_share.is_none_or(|share| share <= idle_most) || is_shared()
    }

    /// The rate of payload at which the rounds that count agree, of those that begin at `since_us` and later.
    fn plateau(&self, counts: impl Fn(&Round) -> bool, since_us: u64) -> Option<f64> {
        let t = self.thresholds;
        let moves = |rate: &f64| *rate > 0.0;
        let is_since = |round: &Round| round.interval.from_us >= since_us;
        let standing = self.standing(|round| is_since(round) && self.is_busy(round) && counts(round));
        let rates: Vec<f64> = standing.iter().map(|round| round.rate_bps).filter(moves).collect();
        let every = self.rounds.iter().flatten().filter(|round| is_since(round));
        let every: Vec<f64> = every.map(|round| self.delivered_bps(round.interval)).filter(moves).collect();
        let middle = median(&rates).filter(|_| rates.len() >= self.plateau_rounds)?;
        let spread = relative_spread(&rates)?;
        let most = percentile(&every, t.plateau_high.value())?;
        let is_queue = self.are_of_a_queue(&standing, spread);
        (is_queue && spread <= t.plateau_spread.value() && most <= t.plateau_exceeded.value() * middle)
            .then_some(middle)
    }

    /// The same of a path whose rate falls for good in the first half of the time: what got through before does not count. With the time of
    /// the fall. ACKs that wait slow a flow down too: a queue that dropped before the fall, and not since, holds no more than it held then.
    fn plateau_after_a_fall(&self) -> Option<(f64, u64)> {
        let t = self.thresholds;
        let standing = self.standing(|round| self.is_free(round) && self.is_busy(round));
        let last = || standing.iter().rev().take(self.plateau_rounds);
        let last_bps = median(&last().map(|round| round.rate_bps).collect::<Vec<f64>>())?;
        let last_rtt_us = median(&last().map(|round| round.rtt_us).collect::<Vec<f64>>())?;
        let all = || self.rounds.iter().flatten().map(|round| round.interval);
        let is_faster =
            |interval: &TimeInterval| self.delivered_bps(*interval) > t.plateau_exceeded.value() * last_bps;
        let since_us = all().filter(is_faster).map(|interval| interval.to_us).max()?;
        let life = all().reduce(TimeInterval::around)?;
        let losses: Vec<LossEvent> = self.tracks.iter().flat_map(|track| loss_events::of(track)).collect();
        let fastest_bps = all().map(|interval| self.delivered_bps(interval)).fold(0.0, f64::max);
        let dropped_at_us = losses.iter().filter_map(|loss| loss.before.data_rtt_us);
        let held = fastest_bps * self.above_base_us(dropped_at_us.max().unwrap_or(self.base_us()) as f64);
        let is_early = since_us - life.from_us <= life.length_us() / 2;
        let is_its_queue = losses.is_empty()
            || losses.iter().any(|loss| loss.last.t_us > since_us)
            || last_bps * self.above_base_us(last_rtt_us) <= t.plateau_exceeded.value() * held;
        (is_early && is_its_queue).then_some(())?;
        Some((self.plateau(|round| self.is_free(round), since_us)?, since_us))
    }

    fn above_base_us(&self, rtt_us: f64) -> f64 {
        (rtt_us - self.base_us() as f64).max(0.0)
    }

    /// The rounds that count, stream by stream in order of time.
    fn standing(&self, counts: impl Fn(&Round) -> bool) -> Vec<StandingRound> {
        let Some(mss) = self.mss() else { return Vec::new() };
        let t = self.thresholds;
        let is_read = |of_stream: &&Vec<Round>| {
            let shrunk = of_stream.iter().filter(|round| round.has_shrunk).count() as f64;
            shrunk <= t.slow_reader.value() * of_stream.len() as f64
        };
        // Where smoothed round trips stand for the least one, a single long one makes another long.
        let is_smoothed = self.base_rtt_us.origin == Origin::Inferred;
        let stands = |round: &&Round| {
            let above_us = if is_smoothed { round.rttvar_us } else { 0 };
            round.rtt_us.0 >= self.base_us() + standing_us(self.base_us(), t).max(above_us)
                && round.unsent_share >= t.round_open.value()
                && counts(round)
                && self.in_flight(round) >= t.plateau_segments.whole() * mss
                && self.waiting(round) >= t.plateau_waiting.value() * mss as f64
        };
        let standing = |round: &Round| StandingRound {
            rate_bps: self.delivered_bps(round.interval),
            rtt_us: round.rtt_us.0 as f64,
        };
        self.rounds.iter().filter(is_read).flatten().filter(stands).map(standing).collect()
    }

    /// What its round trip above the base is of the rate, bytes: what waits in the queue, if it is one.
    fn waiting(&self, round: &Round) -> f64 {
        let above_us = round.rtt_us.0.saturating_sub(self.base_us());
        self.delivered_bps(round.interval) * above_us as f64 / 8e6
    }

    fn mss(&self) -> Option<u64> {
        self.tracks.iter().map(|track| track.mss).max().filter(|&mss| mss > 0)
    }

    fn in_flight(&self, round: &Round) -> u64 {
        let unacked = |track: &&Track| Some(track.samples.at(round.interval.from_us)?.unacked);
        self.tracks.iter().filter_map(unacked).sum::<u64>().max(round.flight)
    }

    /// What all of them delivered in `window`, bits per second of payload.
    fn delivered_bps(&self, interval: TimeInterval) -> f64 {
        interval.bps(self.tracks.iter().map(|track| track.delivered(interval.from_us, interval.to_us)).sum())
    }
}
