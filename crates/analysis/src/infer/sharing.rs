//! Others at the bottleneck: what gets through falls, although the round trip stays up.
//!
//! A queue that stands passes on the bottleneck's rate. Where less of it gets through than at other times, and the round trip is no shorter,
//! others have the rest of it, or the rate itself has changed: a sender can't tell the two apart (nor a queue on the way of the ACKs).

use super::rounds::StandingRound;
use crate::ground::statistics::{median, percentile, relative_spread};
use crate::ground::thresholds::Thresholds;

/// What gets through a bottleneck that others share at times, bits per second of payload.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sharing {
    /// While nobody else is there: the bottleneck's rate.
    pub(super) alone_bps: f64,
    /// At the slowest.
    pub(super) shared_bps: f64,
}

/// `None` where the rate is always nearly the same, or falls with the round trip.
pub(super) fn find(standing: &[StandingRound], thresholds: &Thresholds) -> Option<Sharing> {
    let groups: Vec<StandingRound> =
        standing.chunks_exact(thresholds.sharing_together.count().max(1)).map(mean).collect();
    if groups.len() < thresholds.sharing_groups.count() {
        return None;
    }
    let rates: Vec<f64> = groups.iter().map(|group| group.rate_bps).collect();
    let ends = thresholds.sharing_ends.value();
    let (slow, fast) = (percentile(&rates, ends)?, percentile(&rates, 1.0 - ends)?);
    let nearly_fast = (1.0 - thresholds.sharing_agree.value()) * fast;
    let plateau: Vec<f64> = rates.iter().copied().filter(|&rate| rate >= nearly_fast).collect();
    let rtts = |is_its: &dyn Fn(f64) -> bool| -> Vec<f64> {
        groups.iter().filter(|group| is_its(group.rate_bps)).map(|group| group.rtt_us).collect()
    };
    // A bottleneck that was once ours alone shows a plateau; a window that grows does not.
    let at_the_fastest = rtts(&|rate| rate >= nearly_fast);
    let at_the_slowest = rtts(&|rate| rate <= thresholds.sharing_fallen.value() * fast);
    let is_told = slow >= thresholds.sharing_stalled.value() * fast
        && slow <= thresholds.sharing_fallen.value() * fast
        && plateau.len() as f64 >= thresholds.sharing_alone.value() * groups.len() as f64
        && relative_spread(&plateau)? <= thresholds.sharing_level.value()
        && median(&at_the_slowest)? >= thresholds.sharing_stays_up.value() * median(&at_the_fastest)?;
    is_told.then_some(Sharing { alone_bps: fast, shared_bps: slow })
}

fn mean(rounds: &[StandingRound]) -> StandingRound {
    let count = rounds.len() as f64;
    StandingRound {
        rate_bps: rounds.iter().map(|round| round.rate_bps).sum::<f64>() / count,
        rtt_us: rounds.iter().map(|round| round.rtt_us).sum::<f64>() / count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;

    /// A hundred rounds, each with a rate in Mbit/s and a round trip in milliseconds.
    fn found_sharing(round: impl Fn(usize) -> (f64, f64)) -> Option<u64> {
        let rounds: Vec<StandingRound> = (0..100)
            .map(round)
            .map(|(mbit, ms)| StandingRound { rate_bps: mbit * 1e6, rtt_us: ms * 1e3 })
            .collect();
        find(&rounds, &STANDARD).map(|found| found.shared_bps as u64)
    }

    #[test]
    fn a_rate_that_falls_while_the_round_trip_stays_up_is_shared() {
        let later = |slow: (f64, f64)| move |n: usize| if n < 50 { (50.0, 30.0) } else { slow };
        assert_eq!(found_sharing(later((20.0, 31.0))), Some(20_000_000));
        assert_eq!(found_sharing(later((20.0, 22.0))), None, "the queue is shorter then");
        assert_eq!(found_sharing(later((45.0, 30.0))), None, "hardly less");
        assert_eq!(found_sharing(later((0.0, 30.0))), None, "a timer is waited for");
        assert_eq!(found_sharing(|_| (50.0, 30.0)), None);
        assert_eq!(
            found_sharing(|n| (n as f64, 30.0)),
            None,
            "a window that grows behind a queue of the way back"
        );
    }
}
