//! Others at the bottleneck: what gets through falls, although the round trip stays up.
//!
//! A queue that stands passes on the bottleneck's rate. Where less of it gets through than at other times, and the round trip is no shorter,
//! others have the rest of it, or the rate itself has changed: a sender can't tell the two apart (nor a queue on the way of the ACKs).

use super::rounds::StandingRound;
use crate::ground::statistics::{median, percentile, relative_spread};

/// StandingRound rounds that are looked at together, so that the ACKs of one round do not count.
const TOGETHER: usize = 4;
/// Groups that tell.
const FEWEST_GROUPS: usize = 8;
/// Of the fastest rate at most this part gets through at the slowest: where it is more, all rounds agree on one rate.
const FALLEN: f64 = 0.80;
/// Where less than this part gets through, nobody's share is that small: a timer is waited for.
const STALLED: f64 = 0.05;
/// The fastest ones agree within this part.
const AGREE: f64 = 0.10;
/// A plateau is as long as this part of the groups at least: a window that grows has fewer near its largest.
const ALONE: f64 = 0.15;
/// And its rates, from the first to the third quartile, differ by no more than this part of their median.
const LEVEL: f64 = 0.02;
/// The round trip is then no shorter than this part of what it was at the fastest.
const STAYS_UP: f64 = 0.95;

/// What gets through a bottleneck that others share at times, bits per second of payload.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sharing {
    /// While nobody else is there: the bottleneck's rate.
    pub(super) alone_bps: f64,
    /// At the slowest.
    pub(super) shared_bps: f64,
}

/// `None` where the rate is always nearly the same, or falls with the round trip.
pub(super) fn find(standing: &[StandingRound]) -> Option<Sharing> {
    let groups: Vec<StandingRound> = standing.chunks_exact(TOGETHER).map(mean).collect();
    if groups.len() < FEWEST_GROUPS {
        return None;
    }
    let rates: Vec<f64> = groups.iter().map(|one| one.rate_bps).collect();
    let (slow, fast) = (percentile(&rates, 0.1)?, percentile(&rates, 0.9)?);
    let plateau: Vec<f64> = rates.iter().copied().filter(|&rate| rate >= (1.0 - AGREE) * fast).collect();
    let rtts = |is_its: &dyn Fn(f64) -> bool| -> Vec<f64> {
        groups.iter().filter(|one| is_its(one.rate_bps)).map(|one| one.rtt_us).collect()
    };
    // A bottleneck that was once ours alone shows a plateau; a window that grows does not.
    let at_the_fastest = rtts(&|rate| rate >= (1.0 - AGREE) * fast);
    let at_the_slowest = rtts(&|rate| rate <= FALLEN * fast);
    let is_told = slow >= STALLED * fast
        && slow <= FALLEN * fast
        && plateau.len() as f64 >= ALONE * groups.len() as f64
        && relative_spread(&plateau)? <= LEVEL
        && median(&at_the_slowest)? >= STAYS_UP * median(&at_the_fastest)?;
    is_told.then_some(Sharing { alone_bps: fast, shared_bps: slow })
}

fn mean(rounds: &[StandingRound]) -> StandingRound {
    let count = rounds.len() as f64;
    StandingRound {
        rate_bps: rounds.iter().map(|one| one.rate_bps).sum::<f64>() / count,
        rtt_us: rounds.iter().map(|one| one.rtt_us).sum::<f64>() / count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred rounds, each with a rate in Mbit/s and a round trip in milliseconds.
    fn found(round: impl Fn(usize) -> (f64, f64)) -> Option<u64> {
        let rounds: Vec<StandingRound> = (0..100)
            .map(round)
            .map(|(mbit, ms)| StandingRound { rate_bps: mbit * 1e6, rtt_us: ms * 1e3 })
            .collect();
        find(&rounds).map(|found| found.shared_bps as u64)
    }

    #[test]
    fn a_rate_that_falls_while_the_round_trip_stays_up_is_shared() {
        let later = |slow: (f64, f64)| move |n: usize| if n < 50 { (50.0, 30.0) } else { slow };
        assert_eq!(found(later((20.0, 31.0))), Some(20_000_000));
        assert_eq!(found(later((20.0, 22.0))), None, "the queue is shorter then");
        assert_eq!(found(later((45.0, 30.0))), None, "hardly less");
        assert_eq!(found(later((0.0, 30.0))), None, "a timer is waited for");
        assert_eq!(found(|_| (50.0, 30.0)), None);
        assert_eq!(found(|n| (n as f64, 30.0)), None, "a window that grows behind a queue of the way back");
    }
}
