//! What the simulator has to hold against Linux, and whether it does.
//!
//! Never: a bound that moves with the result, or a cell that no bound looks at.

use super::golden::Golden;
use super::score::{Cause, Score, percentile};

/// What is said of the bounds on the page.
pub(crate) const RULES: &str = "\
**Goodput**: the relative error of the median over a cell's repetitions. **Lossy** is a cell in which Linux retransmitted (median). Its
**retransmits** agree within a factor of 1.5; where Linux had 4 or fewer, a difference of at most 2 segments agrees as well, since a
factor of so few is decided by a single loss. Its **repair**, the share of the samples in the states Recovery and Loss, agrees within 10
percentage points. The **least round trip** agrees within 1 µs and a step of the oracle's clock (256 ns); where jitter is drawn, the
least of the draws decides, which differ, so that these cells are left to the table below. Repetitions of cells below 4000 whose round trip
was lengthened by 2 or 4 µs are left out as well: Linux's own value is then, by chance, exact or a whole number of milliseconds.
";

/// A factor by which retransmits may differ.
const FACTOR: f64 = 1.5;
/// Up to so many retransmits on Linux …
const FEW: f64 = 4.0;
/// … a difference of so many agrees.
const FEW_OFF: f64 = 2.0;
/// Difference of the time's share in Recovery and Loss.
const REPAIR_OFF: f64 = 0.10;
/// A microsecond and the oracle's clock step.
const MIN_RTT_OFF_US: f64 = 1.256;

/// Whether a cell was looked at while the simulator was tuned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Tuned,
    HeldOut,
}

impl Part {
    const ALL: [Self; 2] = [Self::Tuned, Self::HeldOut];

    const fn word(self) -> &'static str {
        match self {
            Self::Tuned => "tuned on or looked at",
            Self::HeldOut => "held out",
        }
    }

    fn of(golden: &Golden) -> Self {
        if golden.is_held_out() { Self::HeldOut } else { Self::Tuned }
    }
}

/// A bound of each part: a little above what was measured on all of its cells when the bound was set, so that a change that makes the
/// simulator worse is seen.
#[derive(Debug, Clone, Copy)]
struct Bound {
    tuned: f64,
    held_out: f64,
}

impl Bound {
    const fn of(self, part: Part) -> f64 {
        match part {
            Part::Tuned => self.tuned,
            Part::HeldOut => self.held_out,
        }
    }
}

/// A bound and what was measured.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) what: &'static str,
    pub(crate) part: &'static str,
    pub(crate) cells: usize,
    pub(crate) measured: String,
    pub(crate) bound: String,
    pub(crate) holds: bool,
}

/// Goodput: bounds of the median and of an upper percentile, as shares.
struct Goodput {
    what: &'static str,
    causes: &'static [Cause],
    median: Bound,
    /// The percentile, and its bound.
    upper: (usize, Bound),
}

/// Cells that agree, as a share of those to which it applies.
struct Agreement {
    what: &'static str,
    applies: fn(&Score) -> bool,
    agrees: fn(&Score) -> bool,
    least: Bound,
}

const GOODPUT: [Goodput; 2] = [
    Goodput {
        what: "goodput without random loss",
        causes: &[Cause::Nothing, Cause::Queue],
        median: Bound { tuned: 0.001, held_out: 0.001 },
        upper: (95, Bound { tuned: 0.045, held_out: 0.03 }),
    },
    Goodput {
        what: "goodput with random loss",
        causes: &[Cause::Random],
        median: Bound { tuned: 0.02, held_out: 0.025 },
        upper: (90, Bound { tuned: 0.20, held_out: 0.15 }),
    },
];

/// With GSO, as hosts have it by default.
const GSO: Goodput = Goodput {
    what: "goodput with GSO, without random loss",
    causes: &[Cause::Nothing, Cause::Queue],
    median: Bound { tuned: 0.01, held_out: 0.01 },
    upper: (95, Bound { tuned: 0.08, held_out: 0.06 }),
};

/// Behind a discipline of the queue.
const AQM: Goodput = Goodput {
    what: "goodput",
    causes: &[Cause::Nothing, Cause::Queue],
    median: Bound { tuned: 0.02, held_out: 0.02 },
    upper: (95, Bound { tuned: 0.10, held_out: 0.10 }),
};

/// Share by which drops and marks may differ …
const SIGNALS_OFF: f64 = 0.10;
/// … and packets, where that is more.
const SIGNALS_OFF_PACKETS: f64 = 2.0;
/// Share by which the 95th percentile of the sojourn time may differ …
const SOJOURN_OFF: f64 = 0.15;
/// … and microseconds, where that is more: a queue that is empty nearly always.
const SOJOURN_OFF_US: f64 = 100.0;

const AQM_AGREEMENTS: [Agreement; 3] = [
    Agreement {
        what: "drops and marks together",
        applies: |score| score.real.aqm.is_some(),
        agrees: signals_agree,
        least: Bound { tuned: 0.8, held_out: 0.8 },
    },
    Agreement {
        what: "drops and marks, each",
        applies: |score| score.real.aqm.is_some(),
        agrees: drops_and_marks_agree,
        least: Bound { tuned: 0.8, held_out: 0.8 },
    },
    Agreement {
        what: "95th percentile of the sojourn time",
        applies: |score| score.real.aqm.is_some(),
        agrees: sojourns_agree,
        least: Bound { tuned: 0.8, held_out: 0.8 },
    },
];

const AGREEMENTS: [Agreement; 3] = [
    Agreement {
        what: "retransmits, lossy cells",
        applies: Score::is_lossy,
        agrees: retransmits_agree,
        least: Bound { tuned: 0.9, held_out: 0.97 },
    },
    Agreement {
        what: "repair, lossy cells",
        applies: Score::is_lossy,
        agrees: repair_agrees,
        least: Bound { tuned: 0.95, held_out: 0.95 },
    },
    Agreement {
        what: "least round trip, no jitter",
        applies: |score| score.golden.jitter_ms == 0.0,
        agrees: |score| score.min_rtt_off_us <= MIN_RTT_OFF_US,
        least: Bound { tuned: 1.0, held_out: 1.0 },
    },
];

/// Every bound on the cells looked at and on the held-out ones; of a group without cells nothing is said.
pub(crate) fn verdicts(scores: &[Score]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for part in Part::ALL {
        let cells: Vec<&Score> = scores.iter().filter(|score| Part::of(&score.golden) == part).collect();
        verdicts.extend(GOODPUT.iter().filter_map(|bound| bound.judge(part, &cells)));
        verdicts.extend(AGREEMENTS.iter().filter_map(|bound| bound.judge(part, &cells)));
    }
    verdicts
}

/// The bound of hosts with GSO, on the cells looked at and on the held-out ones.
pub(crate) fn gso_verdicts(scores: &[Score]) -> Vec<Verdict> {
    let of = |part| scores.iter().filter(move |score| Part::of(&score.golden) == part).collect::<Vec<_>>();
    Part::ALL.into_iter().filter_map(|part| GSO.judge(part, &of(part))).collect()
}

/// The bounds of disciplines of the queue, on the cells looked at and on the held-out ones.
pub(crate) fn aqm_verdicts(scores: &[Score]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for part in Part::ALL {
        let cells: Vec<&Score> = scores.iter().filter(|score| Part::of(&score.golden) == part).collect();
        verdicts.extend(AQM.judge(part, &cells));
        verdicts.extend(AQM_AGREEMENTS.iter().filter_map(|bound| bound.judge(part, &cells)));
    }
    verdicts
}

/// The sum of drops and marks within the bound.
pub(crate) fn signals_agree(score: &Score) -> bool {
    let (Some(real), Some(simulated)) = (score.real.aqm, score.simulated.aqm) else { return false };
    packets_agree(real.dropped + real.marked, simulated.dropped + simulated.marked)
}

/// Drops within the bound, and marks within it.
fn drops_and_marks_agree(score: &Score) -> bool {
    let (Some(real), Some(simulated)) = (score.real.aqm, score.simulated.aqm) else { return false };
    packets_agree(real.dropped, simulated.dropped) && packets_agree(real.marked, simulated.marked)
}

fn packets_agree(real: f64, simulated: f64) -> bool {
    (simulated - real).abs() <= SIGNALS_OFF_PACKETS.max(real * SIGNALS_OFF)
}

/// The 95th percentile of the sojourn time within its bound.
pub(crate) fn sojourns_agree(score: &Score) -> bool {
    let (Some(real), Some(simulated)) = (score.real.aqm, score.simulated.aqm) else { return false };
    let off = (simulated.sojourn_us_p95 - real.sojourn_us_p95).abs();
    off <= SOJOURN_OFF_US.max(real.sojourn_us_p95 * SOJOURN_OFF)
}

/// Within the factor; or few on Linux, and few apart.
pub(crate) fn retransmits_agree(score: &Score) -> bool {
    let (real, simulated) = (score.real.retransmits, score.simulated.retransmits);
    let is_few = real <= FEW && (simulated - real).abs() <= FEW_OFF;
    is_few || (simulated <= real * FACTOR && real <= simulated * FACTOR)
}

/// Within ten percentage points.
pub(crate) fn repair_agrees(score: &Score) -> bool {
    score.repair_difference().abs() <= REPAIR_OFF
}

impl Goodput {
    fn judge(&self, part: Part, cells: &[&Score]) -> Option<Verdict> {
        let of_cause = cells.iter().filter(|score| self.causes.contains(&score.cause));
        let errors: Vec<f64> = of_cause.map(|score| score.error().abs()).collect();
        let (rank, limit) = (self.upper.0, self.upper.1.of(part));
        let middle = self.median.of(part);
        let (median, upper) = (percentile(&errors, 50)?, percentile(&errors, rank)?);
        let text = |median: f64, upper: f64| {
            format!("median {:.2} %, p{rank} {:.2} %", median * 100.0, upper * 100.0)
        };
        Some(Verdict {
            what: self.what,
            part: part.word(),
            cells: errors.len(),
            measured: text(median, upper),
            bound: text(middle, limit),
            holds: median <= middle && upper <= limit,
        })
    }
}

impl Agreement {
    fn judge(&self, part: Part, cells: &[&Score]) -> Option<Verdict> {
        let to_judge: Vec<&Score> = cells.iter().copied().filter(|score| (self.applies)(score)).collect();
        let agreeing = to_judge.iter().filter(|score| (self.agrees)(score)).count();
        let share = (!to_judge.is_empty()).then(|| agreeing as f64 / to_judge.len() as f64)?;
        Some(Verdict {
            what: self.what,
            part: part.word(),
            cells: to_judge.len(),
            measured: format!("{:.1} % of the cells agree", share * 100.0),
            bound: format!("{:.0} %", self.least.of(part) * 100.0),
            holds: share >= self.least.of(part),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::golden::Outcome;
    use super::super::score::scores;
    use super::*;

    type Change = fn(&mut Outcome);

    fn golden(cell: u32, retransmits: f64) -> Golden {
        let json = serde_json::json!({
            "cell": cell, "seed": 1, "rate_bps": 100_000_000, "rtt_ms": 20.0, "loss_percent": 0.0,
            "congestion_control": "cubic", "queue_bytes": 250_000, "buffers": "default",
            "tcp_rmem": [4096, 131_072, 6_291_456], "tcp_wmem": [4096, 16_384, 4_194_304],
            "duration_s": 30.0, "tbf_burst_bytes": 32_768, "ok": true,
            "result": {
                "goodput_bps": 90e6, "retransmits": retransmits, "min_rtt_us": 20_000.0, "tbf_dropped": 0.0,
                "ca_state_fraction": {"recovery": 0.1, "loss": 0.0},
            },
        });
        serde_json::from_value(json).expect("a golden")
    }

    fn score(cell: u32, retransmits: f64, change: Change) -> Score {
        let golden = golden(cell, retransmits);
        let mut simulated = golden.outcome().clone();
        change(&mut simulated);
        scores(&[(golden, simulated)]).swap_remove(0)
    }

    fn failing(scores: &[Score]) -> Vec<(&'static str, &'static str)> {
        let failed = verdicts(scores).into_iter().filter(|verdict| !verdict.holds);
        failed.map(|verdict| (verdict.part, verdict.what)).collect()
    }

    #[test]
    fn what_is_the_same_holds_and_each_difference_fails_its_own_bound() {
        assert_eq!(failing(&[score(1, 10.0, |_| ())]), []);
        let cases: [(Change, &str); 4] = [
            (|outcome| outcome.goodput_bps = 85e6, "goodput without random loss"),
            (|outcome| outcome.retransmits = 16.0, "retransmits, lossy cells"),
            (|outcome| outcome.ca_state_fraction.loss = 0.11, "repair, lossy cells"),
            (|outcome| outcome.min_rtt_us = 20_002.0, "least round trip, no jitter"),
        ];
        for (change, what) in cases {
            assert_eq!(failing(&[score(1, 10.0, change)]), [("tuned on or looked at", what)]);
            assert_eq!(failing(&[score(5000, 10.0, change)]), [("held out", what)]);
        }
    }

    #[test]
    fn few_retransmits_may_differ_by_two_and_more_by_the_factor() {
        let agrees = |real, change| retransmits_agree(&score(1, real, change));
        assert!(agrees(4.0, |outcome| outcome.retransmits = 2.0));
        assert!(agrees(1.0, |outcome| outcome.retransmits = 3.0));
        assert!(!agrees(4.0, |outcome| outcome.retransmits = 7.0));
        assert!(!agrees(5.0, |outcome| outcome.retransmits = 3.0));
        assert!(agrees(100.0, |outcome| outcome.retransmits = 150.0));
        assert!(!agrees(100.0, |outcome| outcome.retransmits = 66.0));
    }
}
