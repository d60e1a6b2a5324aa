//! Which verdicts hang on one threshold: records judged again with one threshold moved at a time.
//!
//! A span's margin says how far a threshold has to move before the span has another holder. Moving each threshold by that part and judging
//! again has to come to the same spans: the one is the test of the other.

use crate::ground::interval::TimeInterval;
use crate::ground::step_function::Step;
use crate::ground::threshold::Layer;
use crate::ground::thresholds::{ABOUT, STANDARD, Thresholds};
use crate::infer::{Inference, KnownRun, with_facts};
use crate::judge::{Diagnosing, Diagnosis, FinishedLedger, Holding};
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::{AnyRow, Manifest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What moving every threshold by a part of itself, up and down, did to the verdicts.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Perturbation {
    /// The part, e.g. 0.1.
    pub by: f64,
    /// Thresholds that were moved.
    pub thresholds: usize,
    /// Flows that were judged.
    pub flows: usize,
    /// Those whose verdict changes with one threshold.
    pub hanging: Vec<HangingVerdict>,
    /// Time of all TCP streams, microseconds.
    pub span_us: u64,
    /// Of it, time that has another holder with one threshold of a rule moved.
    pub moved_us: u64,
    /// Time whose margin is less than the part.
    pub within_margin_us: u64,
}

/// A verdict that changes with one threshold.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct HangingVerdict {
    /// The scenario.
    pub scenario: String,
    /// Index of the flow in its cell.
    pub flow: u32,
    /// Its verdict.
    pub limited_by: LimitedBy,
    /// The margin of that.
    pub margin: Option<f64>,
    /// What changes it, and to what.
    pub changes: Vec<VerdictChange>,
}

/// A threshold whose move changes a verdict.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct VerdictChange {
    /// Its name.
    pub threshold: String,
    /// By which part it is moved; below zero: made smaller.
    pub by: f64,
    /// The verdict then.
    pub limited_by: LimitedBy,
}

/// One judgement of a run.
struct Judgement {
    diagnoses: Vec<Diagnosis>,
    ledgers: Vec<FinishedLedger>,
}

impl Perturbation {
    /// Of moves by `by`; no run yet.
    pub fn new(by: f64) -> Self {
        Self { by, thresholds: ABOUT.len(), ..Self::default() }
    }

    /// Adds a run of `scenario` with all its rows, in order of time.
    pub fn add(&mut self, scenario: &str, manifest: &Manifest, rows: &[AnyRow]) {
        let known = inferred(manifest, rows, &STANDARD);
        let base = judge(&known, rows, &STANDARD);
        let mut hanging: Vec<HangingVerdict> =
            base.diagnoses.iter().map(|own| hangs(scenario, own)).collect();
        let mut moved: Vec<Vec<TimeInterval>> = vec![Vec::new(); base.ledgers.len()];
        for (index, about) in ABOUT.iter().enumerate() {
            for by in [-self.by, self.by] {
                let thresholds = STANDARD.with_moved(index, 1.0 + by);
                // A threshold of the rules leaves alone what was inferred before they are asked.
                let other = match about.layer {
                    Layer::Judge => judge(&known, rows, &thresholds),
                    Layer::Infer => judge(&inferred(manifest, rows, &thresholds), rows, &thresholds),
                };
                for (verdict, diagnosis) in hanging.iter_mut().zip(&other.diagnoses) {
                    if diagnosis.limited_by != verdict.limited_by {
                        let threshold = about.name.to_owned();
                        verdict.changes.push(VerdictChange {
                            threshold,
                            by,
                            limited_by: diagnosis.limited_by,
                        });
                    }
                }
                if about.layer == Layer::Judge {
                    for ((moved, before), after) in moved.iter_mut().zip(&base.ledgers).zip(&other.ledgers) {
                        moved.extend(other_holders(&before.spans, &after.spans));
                    }
                }
            }
        }
        self.flows += base.diagnoses.len();
        self.hanging.extend(hanging.into_iter().filter(|verdict| !verdict.changes.is_empty()));
        self.span_us += base.ledgers.iter().map(|ledger| ledger.sums.life_us()).sum::<u64>();
        self.moved_us += moved.into_iter().map(covered_us).sum::<u64>();
        self.within_margin_us +=
            base.ledgers.iter().map(|ledger| ledger.sums.within_margin_us(self.by)).sum::<u64>();
    }
}

fn hangs(scenario: &str, diagnosis: &Diagnosis) -> HangingVerdict {
    HangingVerdict {
        scenario: scenario.to_owned(),
        flow: diagnosis.flow,
        limited_by: diagnosis.limited_by,
        margin: diagnosis.margin,
        changes: Vec::new(),
    }
}

/// `manifest` with what its samples show of the path, where no scenario describes it.
fn inferred(manifest: &Manifest, rows: &[AnyRow], thresholds: &Thresholds) -> Manifest {
    if manifest.subject.observed().is_none() {
        return manifest.clone();
    }
    let mut inference = Inference::new(&KnownRun::of(manifest), thresholds);
    rows.iter().for_each(|row| inference.push(row));
    with_facts(manifest, inference.facts())
}

fn judge(manifest: &Manifest, rows: &[AnyRow], thresholds: &Thresholds) -> Judgement {
    let mut diagnosing = Diagnosing::new(manifest, thresholds);
    rows.iter().for_each(|row| diagnosing.push(row));
    let (diagnoses, ledgers) = diagnosing.finish_with_ledgers();
    Judgement { diagnoses, ledgers }
}

/// Where two partitions of the same time name different holders.
fn other_holders(before: &[Step<Holding>], after: &[Step<Holding>]) -> Vec<TimeInterval> {
    let (mut found, mut at) = (Vec::new(), 0);
    for own in before {
        while let Some(other) = after.get(at) {
            let both = TimeInterval { from_us: own.from_us, to_us: own.to_us }
                .within(TimeInterval { from_us: other.from_us, to_us: other.to_us });
            if both.length_us() > 0 && own.value.limited_by != other.value.limited_by {
                found.push(both);
            }
            if other.to_us > own.to_us {
                break;
            }
            at += 1;
        }
    }
    found
}

/// The time that any of `intervals` covers.
fn covered_us(mut intervals: Vec<TimeInterval>) -> u64 {
    intervals.sort_by_key(|interval| interval.from_us);
    let (mut covered_us, mut end_us) = (0, 0);
    for interval in intervals {
        let rest = TimeInterval { from_us: interval.from_us.max(end_us), to_us: interval.to_us };
        covered_us += rest.length_us();
        end_us = end_us.max(interval.to_us);
    }
    covered_us
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_time_is_counted_once() {
        let interval = |from_us, to_us| TimeInterval { from_us, to_us };
        assert_eq!(covered_us(vec![interval(5, 10), interval(0, 7), interval(20, 30), interval(22, 25)]), 20);
        assert_eq!(covered_us(Vec::new()), 0);
    }
}
