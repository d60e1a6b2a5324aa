//! The catalogue judged: what was planted in each scenario, what the verdict found, and the confusion matrix.
//!
//! Never: a run without a valid record counted as right, or as wrong: it was not judged.

mod blindfold;
mod planted;

pub use blindfold::{BlindFlow, BlindSet, Blindfold};
pub use planted::{CatalogueSet, Confusion, Grade, Grades};

use crate::findings::experiment::{CellResult, Experiment, SCHEMA};
use crate::findings::perturbation::Perturbation;
use planted::Planted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All scenarios of the catalogue that ran.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Catalogue {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What ran them.
    pub backends: Vec<String>,
    /// Scenarios whose every expectation held.
    pub right: usize,
    /// Scenarios with a valid run.
    pub judged: usize,
    /// Set by set.
    pub sets: BTreeMap<CatalogueSet, SetResult>,
    /// Scenario by scenario.
    pub findings: Vec<Finding>,
    /// The same scenarios judged by the sockets of one end alone; absent where nobody asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blindfold: Option<Blindfold>,
    /// Which verdicts hang on one threshold; absent where nobody asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturbation: Option<Perturbation>,
}

/// The scenarios of a set.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SetResult {
    /// Those with a valid run, by how far their verdicts name what was planted.
    #[serde(flatten)]
    pub grades: Grades,
    /// Those without one.
    pub not_judged: usize,
    /// Planted limit and cause → found → number of scenarios.
    pub confusion: Confusion,
}

/// One scenario of the catalogue.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Finding {
    /// The set that it belongs to.
    pub set: CatalogueSet,
    /// Its name; of a scenario with several cells that of the cell.
    pub scenario: String,
    /// Its limit by construction, with its cause where that is planted.
    pub planted: String,
    /// What the verdict says; null where no run was valid.
    pub found: Option<String>,
    /// How far that names what was planted; null where no run was valid.
    pub grade: Option<Grade>,
    /// Whether every expectation held.
    pub right: bool,
    /// Median of the runs.
    pub goodput_bps: Option<u64>,
    /// The verdict's sentence.
    pub verdict: Option<String>,
    /// Expectations that did not hold, and why runs were invalid.
    pub wrong: Vec<String>,
}

impl Catalogue {
    /// Judges every cell of `experiments` that plants something.
    pub fn of<'a>(experiments: impl Iterator<Item = (CatalogueSet, &'a Experiment)>) -> Self {
        let (mut findings, mut backends) = (Vec::new(), Vec::new());
        let mut sets: BTreeMap<CatalogueSet, SetResult> = BTreeMap::new();
        for (set, experiment) in experiments {
            for cell in &experiment.cells {
                backends.extend(cell.backend.clone());
                let spec = &experiment.plan.cell(cell.index).spec;
                if let Some(planted) = Planted::in_cell(spec) {
                    let finding = Finding::of(set, experiment, cell, &planted);
                    sets.entry(set).or_default().add(&planted, &finding);
                    findings.push(finding);
                }
            }
        }
        backends.sort_unstable();
        backends.dedup();
        Self {
            schema: SCHEMA,
            backends,
            right: findings.iter().filter(|finding| finding.right).count(),
            judged: findings.iter().filter(|finding| finding.found.is_some()).count(),
            sets,
            findings,
            blindfold: None,
            perturbation: None,
        }
    }
}

impl SetResult {
    fn add(&mut self, planted: &Planted, finding: &Finding) {
        let Some((grade, found)) = finding.grade.zip(finding.found.as_ref()) else {
            self.not_judged += 1;
            return;
        };
        self.grades.add(planted, grade);
        *self.confusion.entry(finding.planted.clone()).or_default().entry(found.clone()).or_default() += 1;
    }
}

impl Finding {
    fn of(set: CatalogueSet, experiment: &Experiment, cell: &CellResult, planted: &Planted) -> Self {
        let verdict = Some(&cell.verdict).filter(|_| cell.valid > 0);
        let failed = cell
            .expectations
            .iter()
            .filter(|expectation| expectation.failed())
            .map(|expectation| expectation.text.clone());
        let invalid = cell.invalid.iter().map(|reason| format!("{}: {}", reason.reason, reason.detail));
        let wrong: Vec<String> = failed.chain(invalid).collect();
        Self {
            set,
            scenario: scenario_name(experiment, cell),
            planted: planted.name(),
            found: verdict.map(|verdict| planted.found(verdict)),
            grade: verdict.map(|verdict| planted.grade(verdict)),
            right: verdict.is_some() && cell.expectations.iter().all(|expectation| !expectation.failed()),
            goodput_bps: cell.goodput_bps,
            verdict: cell.verdict.sentence.clone(),
            wrong,
        }
    }
}

/// The name of the scenario; of one with axes their values in the cell.
pub fn scenario_name(experiment: &Experiment, cell: &CellResult) -> String {
    if cell.axes.is_empty() {
        return experiment.experiment.clone();
    }
    cell.axes.values().map(String::as_str).collect::<Vec<_>>().join(" ")
}
