//! What the receiving socket alone tells: bytes per round trip against its window, data that is not read, segments out of order.
//!
//! The receiver measures its own round trip (`tcp_rcv_rtt_measure_ts()`, RFC 7323 timestamps) and knows its window, its queue and what
//! arrives. Whether the sender is held by its application, its buffer or its pacing it can't know: these are `unknown`.

use crate::ground::interval::TimeInterval;
use crate::ground::statistics::{median, percentile, relative_spread};
use crate::infer::samples::{Cut, Samples, Timed};
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::TcpSample;

/// Round trips in a round, so that bursts of one do not count.
const ROUND_TRIPS: u64 = 2;
/// A round trip of so many times the median is none.
const TOO_LONG: f64 = 3.0;
/// Half of the receive buffer waits for the application.
const UNREAD: f64 = 0.50;
/// What arrives in a round trip is nearly the window.
const USED_UP: f64 = 0.80;
/// From the first to the third quartile the rates of a full path differ by no more than this part of their median.
const PLATEAU: f64 = 0.20;
/// A round trip so much above the least one has a queue in it: by this part, and by two of the kernel's milliseconds.
const RISEN: f64 = 1.12;
const RISEN_US: u64 = 2_000;
/// Of fewer segments in a round trip the receiver's estimate of it says little.
const FEWEST_SEGMENTS: f64 = 20.0;
/// A full path has a queue in so many of its rounds; where losses do not change the rate, in so many of them.
const NEARLY_ALWAYS: f64 = 0.75;
const OFTEN: f64 = 0.25;
/// From this part of the median rate on, the start is over.
const STARTED: f64 = 0.9;
/// A window that still grows brings this much more at the end than at the beginning …
const GROWN: f64 = 1.25;
/// … or, without any loss, so much more from one third of the time to the next, and this much in all: an application's rate wavers.
const GROWS: f64 = 1.02;
const STEADILY: f64 = 1.10;
/// Segments came out of order in one of so many rounds: their sender sees losses, or what looks like them.
const DISORDERED: usize = 20;
/// A rate that losses do not change is the same but for this, as [`PLATEAU`].
const UNCHANGED: f64 = 0.02;
/// Rounds that tell.
const FEWEST_ROUNDS: usize = 3;
/// Samples that are kept: beyond it each second one goes.
const LOOKS_MAX: usize = 1 << 14;
/// Payload of a full segment.
const SEGMENT: f64 = 1_448.0;

/// One sample.
#[derive(Debug, Clone, Copy)]
struct Look {
    t_us: u64,
    received: u64,
    rtt_us: Option<u64>,
    window: Option<u64>,
    unread: Option<f64>,
    out_of_order: u32,
}

/// Some round trips.
#[derive(Debug, Clone, Copy)]
struct Round {
    window: TimeInterval,
    rate_bps: f64,
    /// What arrives in a round trip over the advertised window.
    used: Option<f64>,
    unread: f64,
    is_disordered: bool,
}

/// Collects one stream's samples.
#[derive(Debug)]
pub(crate) struct Receiving {
    looks: Samples<Look>,
}

impl Timed for Look {
    fn t_us(&self) -> u64 {
        self.t_us
    }
}

impl Default for Receiving {
    fn default() -> Self {
        Self { looks: Samples::new(LOOKS_MAX) }
    }
}

impl Receiving {
    pub(crate) fn see(&mut self, row: &TcpSample) {
        let info = &row.info;
        let share = |(used, size): (u64, u64)| used as f64 / size.max(1) as f64;
        self.looks.push(Look {
            t_us: row.t_us,
            received: info.bytes_received.unwrap_or(0),
            rtt_us: info.rcv_rtt_us.map(u64::from),
            window: info.local_rwnd_bytes.map(u64::from),
            unread: row.rmem_alloc_bytes.zip(row.rcvbuf_bytes).map(share),
            out_of_order: info.rcv_ooo_segments.unwrap_or(0),
        });
    }

    /// What limited the stream when. Of its life, `measured` decides where single rounds do not tell; `others` go the same way.
    pub(crate) fn judge(
        &self,
        life: TimeInterval,
        measured: TimeInterval,
        others: &[&Self],
    ) -> Vec<(TimeInterval, LimitedBy)> {
        let rounds = self.rounds();
        let within = |window: TimeInterval| {
            rounds.iter().copied().filter(move |round| round.window.within(window).length_us() > 0)
        };
        let counted: Vec<Round> = within(measured).collect();
        let counted = if counted.len() < FEWEST_ROUNDS { within(life).collect() } else { counted };
        let whole = self.whole(&counted, others);
        within(life).map(|round| (round.window, of_round(&round).unwrap_or(whole))).collect()
    }

    fn rounds(&self) -> Vec<Round> {
        // The first round trip of a connection that was idle at first is the time since it was opened.
        let rtts: Vec<f64> =
            self.looks.as_slice().iter().filter_map(|look| look.rtt_us).map(|us| us as f64).collect();
        let most_us = median(&rtts).map_or(u64::MAX, |usual| (TOO_LONG * usual) as u64);
        let least_us = |first: &Look| ROUND_TRIPS * first.rtt_us.unwrap_or(0).min(most_us);
        self.looks.rounds(least_us).iter().map(round).collect()
    }

    /// What all rounds together say, for those that say nothing by themselves.
    fn whole(&self, rounds: &[Round], others: &[&Self]) -> LimitedBy {
        if rounds.len() < FEWEST_ROUNDS {
            return LimitedBy::Unknown;
        }
        let together = |round: &Round| {
            round.rate_bps + others.iter().map(|other| other.rate_bps(round.window)).sum::<f64>()
        };
        let rates: Vec<f64> = rounds.iter().map(together).collect();
        let disordered = rounds.iter().filter(|round| round.is_disordered).count();
        let is_enough = self.carries_enough(rounds);
        if is_enough && self.has_filled_the_path(rounds) {
            return LimitedBy::Path;
        }
        if is_enough && grows(&rounds.iter().map(|round| round.rate_bps).collect::<Vec<_>>(), disordered) {
            return LimitedBy::Cwnd;
        }
        let spread = relative_spread(&rates).unwrap_or(f64::INFINITY);
        let is_often_disordered = disordered * DISORDERED >= rounds.len();
        // A loss that does not change the rate is made up for by a queue, which is there now and then; or an application offers no more.
        let has_queue = self.has_risen(rounds, OFTEN) || self.has_one_rtt_only(rounds);
        let is_covered = spread <= UNCHANGED && disordered > 0 && !is_often_disordered && has_queue;
        match spread <= PLATEAU {
            true if is_enough && (is_covered || self.has_risen(rounds, NEARLY_ALWAYS)) => LimitedBy::Path,
            false if is_often_disordered => LimitedBy::Cwnd,
            _ => LimitedBy::Unknown,
        }
    }

    /// Whether the rate stays the same once the start is over, with a queue all the time.
    fn has_filled_the_path(&self, rounds: &[Round]) -> bool {
        let rates: Vec<f64> = rounds.iter().map(|round| round.rate_bps).collect();
        let usual = median(&rates).unwrap_or(0.0);
        let started = rates.iter().position(|&rate| rate >= STARTED * usual).unwrap_or(0);
        let (settled, rates) = (&rounds[started..], &rates[started..]);
        2 * settled.len() >= rounds.len()
            && settled.len() >= FEWEST_ROUNDS
            && relative_spread(rates).is_some_and(|spread| spread <= PLATEAU / 2.0)
            && self.has_risen(settled, NEARLY_ALWAYS)
            && !settled.iter().any(|round| round.is_disordered)
            && !grows(rates, 1)
    }

    /// Whether a queue stands in the round trip in `share` of the rounds.
    fn has_risen(&self, rounds: &[Round], share: f64) -> bool {
        let least = self.looks.as_slice().iter().filter_map(|look| look.rtt_us).min();
        let low = percentile(&self.rtts_of(rounds), 1.0 - share);
        low.zip(least)
            .is_some_and(|(low, least)| low >= (least + RISEN_US) as f64 && low >= RISEN * least as f64)
    }

    /// Whether the receiver has stopped measuring: without timestamps it sees a round trip only where a window ends (`tcp_rcv_rtt_measure()`).
    fn has_one_rtt_only(&self, rounds: &[Round]) -> bool {
        let rtts = self.rtts_of(rounds);
        rtts.iter().all(|rtt| Some(rtt) == rtts.first())
    }

    /// Whether enough arrives in a round trip to tell anything by its rate.
    fn carries_enough(&self, rounds: &[Round]) -> bool {
        let middle = median(&self.rtts_of(rounds)).unwrap_or(0.0);
        let mean_bps = rounds.iter().map(|round| round.rate_bps).sum::<f64>() / rounds.len().max(1) as f64;
        mean_bps * middle / 8e6 >= FEWEST_SEGMENTS * SEGMENT
    }

    /// The round trips that were told in the time of `rounds`, microseconds.
    fn rtts_of(&self, rounds: &[Round]) -> Vec<f64> {
        let (Some(first), Some(last)) = (rounds.first(), rounds.last()) else { return Vec::new() };
        let span = first.window.from_us..last.window.to_us;
        let looks = self.looks.as_slice().iter().filter(|look| span.contains(&look.t_us));
        looks.filter_map(|look| look.rtt_us).map(|us| us as f64).collect()
    }

    fn rate_bps(&self, window: TimeInterval) -> f64 {
        let count = |t_us| self.looks.at(t_us).map_or(0, |look| look.received);
        window.bps(count(window.to_us).saturating_sub(count(window.from_us)))
    }
}

fn round(cut: &Cut<'_, Look>) -> Round {
    let first = cut.samples.first().unwrap_or(cut.next);
    let rate_bps = cut.window.bps(cut.next.received.saturating_sub(first.received));
    let rtt_us = cut.samples.iter().filter_map(|look| look.rtt_us).min();
    let largest = cut.samples.iter().filter_map(|look| look.window).max();
    let used = |(rtt, window): (u64, u64)| rate_bps * rtt as f64 / 8e6 / window.max(1) as f64;
    Round {
        window: cut.window,
        rate_bps,
        used: rtt_us.zip(largest).map(used),
        unread: cut.samples.iter().filter_map(|look| look.unread).fold(0.0, f64::max),
        is_disordered: cut.next.out_of_order > first.out_of_order,
    }
}

/// The rate rises from third to third of the time: by much, or steadily and without any loss.
fn grows(rates: &[f64], disordered: usize) -> bool {
    let third = rates.len() / 3;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let [first, second, last] =
        [&rates[..third], &rates[third..rates.len() - third], &rates[rates.len() - third..]].map(mean);
    let rises = second >= GROWS * first && last >= GROWS * second;
    let least = if disordered == 0 { STEADILY } else { GROWN };
    rises && last > 0.0 && last >= least * first
}

/// What a round says by itself.
fn of_round(round: &Round) -> Option<LimitedBy> {
    if round.unread >= UNREAD {
        return Some(LimitedBy::Receiver);
    }
    round.used.filter(|&used| used >= USED_UP).map(|_| LimitedBy::Rwnd)
}
