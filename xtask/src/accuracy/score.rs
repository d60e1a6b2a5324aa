//! Real against simulated, cell by cell, and what groups of cells come to.
//!
//! Of a cell's repetitions (other seeds of netem) the medians are compared: a single run under random loss tells more of its seed
//! than of TCP. Never: a cell left out.

use super::golden::{AqmOutcome, Golden, Outcome};

/// What drops a cell's packets; the bounds differ by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// Nothing was lost.
    Nothing,
    /// The queue overflowed; nothing else was lost.
    Queue,
    /// netem drew losses.
    Random,
}

impl Cause {
    /// In the order of the page.
    pub(crate) const ALL: [Self; 3] = [Self::Nothing, Self::Queue, Self::Random];

    /// As the page says it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "no loss",
            Self::Queue => "queue loss",
            Self::Random => "random loss",
        }
    }
}

/// One cell, all repetitions.
#[derive(Debug, Clone)]
pub(crate) struct Score {
    /// Its first repetition, for the path.
    pub(crate) golden: Golden,
    pub(crate) cause: Cause,
    pub(crate) real: Typical,
    pub(crate) simulated: Typical,
    /// Largest distance of a repetition of Linux from the median of Linux, as a share: what chance alone does.
    pub(crate) real_spread: f64,
    /// Largest difference of the least round trip in one repetition in which Linux knows it, microseconds.
    pub(crate) min_rtt_off_us: f64,
}

/// Medians over the repetitions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Typical {
    pub(crate) goodput_bps: f64,
    pub(crate) retransmits: f64,
    pub(crate) min_rtt_us: f64,
    /// Share of the time in Recovery or Loss.
    pub(crate) repair_share: f64,
    /// Of the queue's discipline, where there is one.
    pub(crate) aqm: Option<AqmOutcome>,
}

impl Score {
    /// Relative error of the goodput, signed: above zero where the simulator is faster.
    pub(crate) fn error(&self) -> f64 {
        self.simulated.goodput_bps / self.real.goodput_bps - 1.0
    }

    /// Simulated over real retransmits; `None` where Linux had none.
    pub(crate) fn retransmit_ratio(&self) -> Option<f64> {
        (self.real.retransmits > 0.0).then(|| self.simulated.retransmits / self.real.retransmits)
    }

    /// Linux retransmitted.
    pub(crate) fn is_lossy(&self) -> bool {
        self.real.retransmits > 0.0
    }

    /// Difference of the time's share in Recovery and Loss.
    pub(crate) fn repair_difference(&self) -> f64 {
        self.simulated.repair_share - self.real.repair_share
    }
}

/// Scores in the order of the goldens; runs of the same cell stand one after the other.
pub(crate) fn scores(pairs: &[(Golden, Outcome)]) -> Vec<Score> {
    pairs.chunk_by(|(a, _), (b, _)| a.cell == b.cell).map(score).collect()
}

fn score(pairs: &[(Golden, Outcome)]) -> Score {
    let golden = pairs[0].0.clone();
    let real: Vec<&Outcome> = pairs.iter().map(|(golden, _)| golden.outcome()).collect();
    let simulated: Vec<&Outcome> = pairs.iter().map(|(_, outcome)| outcome).collect();
    let typical_real = typical(&real);
    let distance = |outcome: &&Outcome| (outcome.goodput_bps / typical_real.goodput_bps - 1.0).abs();
    let off =
        |(golden, simulated): &(Golden, Outcome)| (simulated.min_rtt_us - golden.outcome().min_rtt_us).abs();
    let clear = pairs.iter().filter(|(golden, _)| golden.has_clear_round_trip());
    Score {
        cause: cause(&golden, &real),
        real: typical_real,
        simulated: typical(&simulated),
        real_spread: real.iter().map(distance).fold(0.0, f64::max),
        min_rtt_off_us: clear.map(off).fold(0.0, f64::max),
        golden,
    }
}

fn cause(golden: &Golden, real: &[&Outcome]) -> Cause {
    if golden.loss_percent > 0.0 {
        Cause::Random
    } else if real.iter().any(|outcome| outcome.tbf_dropped.unwrap_or(0.0) > 0.0) {
        Cause::Queue
    } else {
        Cause::Nothing
    }
}

fn typical(outcomes: &[&Outcome]) -> Typical {
    let of = |field: fn(&Outcome) -> f64| {
        let values: Vec<f64> = outcomes.iter().map(|outcome| field(outcome)).collect();
        median(values)
    };
    Typical {
        goodput_bps: of(|o| o.goodput_bps),
        retransmits: of(|o| o.retransmits),
        min_rtt_us: of(|o| o.min_rtt_us),
        repair_share: of(|o| o.ca_state_fraction.recovery + o.ca_state_fraction.loss),
        aqm: typical_aqm(outcomes),
    }
}

fn typical_aqm(outcomes: &[&Outcome]) -> Option<AqmOutcome> {
    let aqms: Option<Vec<AqmOutcome>> = outcomes.iter().map(|outcome| outcome.aqm).collect();
    let aqms = aqms?;
    let of = |field: fn(&AqmOutcome) -> f64| median(aqms.iter().map(field).collect());
    Some(AqmOutcome {
        dropped: of(|aqm| aqm.dropped),
        marked: of(|aqm| aqm.marked),
        sojourn_us_p50: of(|aqm| aqm.sojourn_us_p50),
        sojourn_us_p95: of(|aqm| aqm.sojourn_us_p95),
    })
}

/// The middle one; of an even number the mean of the middle two.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let upper = values.len() / 2;
    let lower = (values.len() - 1) / 2;
    f64::midpoint(values[lower], values[upper])
}

/// The nearest-rank percentile; `None` of nothing.
pub(crate) fn percentile(values: &[f64], percent: usize) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!([vec![7.0], vec![9.0, 1.0], vec![3.0, 100.0, 2.0]].map(median), [7.0, 5.0, 3.0]);
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!([50, 90, 95, 100].map(|p| percentile(&values, p)), [10.0, 18.0, 19.0, 20.0].map(Some));
        assert_eq!(percentile(&[], 50), None);
        assert_eq!(percentile(&[3.0], 50), Some(3.0));
    }
}
