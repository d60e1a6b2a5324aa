//! The catalogue judged: what was planted in each scenario, what the verdict found, and the confusion matrix.
//!
//! Never: a run without a valid record counted as right, or as wrong: it was not judged.

mod blindfold;

pub use blindfold::{BlindFlow, Blindfold};

use crate::findings::experiment::{CellResult, Experiment, SCHEMA};
use crate::findings::perturbation::Perturbation;
use pipefill_core::cell::{Bound, CellSpec, ExpectMetric};
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
    /// Scenario by scenario.
    pub findings: Vec<Finding>,
    /// Planted cause → found cause → number of scenarios.
    pub confusion: BTreeMap<String, BTreeMap<String, usize>>,
    /// The same scenarios judged by the sockets of one end alone; absent where nobody asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blindfold: Option<Blindfold>,
    /// Which verdicts hang on one threshold; absent where nobody asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturbation: Option<Perturbation>,
}

/// One scenario of the catalogue.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Finding {
    /// Its name.
    pub scenario: String,
    /// Its limit by construction: category, and for the congestion window why.
    pub planted: String,
    /// What the verdict says; null where no run was valid.
    pub found: Option<String>,
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
    /// Judges `experiments`, of one cell each.
    pub fn of<'a>(experiments: impl Iterator<Item = &'a Experiment>) -> Self {
        let (mut findings, mut backends) = (Vec::new(), Vec::new());
        for experiment in experiments {
            for cell in &experiment.cells {
                findings.push(Finding::of(experiment, cell));
                backends.extend(cell.backend.clone());
            }
        }
        backends.sort_unstable();
        backends.dedup();
        let judged = || findings.iter().filter_map(|one| Some((one, one.found.as_ref()?)));
        let mut confusion: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
        for (finding, found) in judged() {
            *confusion.entry(finding.planted.clone()).or_default().entry(found.clone()).or_default() += 1;
        }
        Self {
            schema: SCHEMA,
            backends,
            right: judged().filter(|(one, _)| one.right).count(),
            judged: judged().count(),
            confusion,
            findings,
            blindfold: None,
            perturbation: None,
        }
    }
}

impl Finding {
    fn of(experiment: &Experiment, cell: &CellResult) -> Self {
        let spec = &experiment.plan.cell(cell.index).spec;
        let found = cell.verdict.limited_by.map(|limited_by| {
            let refined = spec.expect.iter().any(|one| one.metric == ExpectMetric::CwndCause);
            named(
                limited_by.as_str(),
                cell.verdict.cwnd_cause.filter(|_| refined).map(pipefill_core::limit::CwndCause::as_str),
            )
        });
        let failed = cell.expectations.iter().filter(|one| one.failed()).map(|one| one.text.clone());
        let invalid = cell.invalid.iter().map(|one| format!("{}: {}", one.reason, one.detail));
        let wrong: Vec<String> = failed.chain(invalid).collect();
        Self {
            scenario: experiment.experiment.clone(),
            planted: planted(spec),
            right: found.is_some() && cell.expectations.iter().all(|one| !one.failed()),
            found,
            goodput_bps: cell.goodput_bps,
            verdict: cell.verdict.sentence.clone(),
            wrong,
        }
    }
}

fn planted(spec: &CellSpec) -> String {
    let word = |metric| word(spec, metric);
    named(word(ExpectMetric::LimitedBy).unwrap_or(""), word(ExpectMetric::CwndCause))
}

/// What an expectation of `spec` says in a word.
fn word(spec: &CellSpec, metric: ExpectMetric) -> Option<&str> {
    spec.expect.iter().filter(|one| one.metric == metric).find_map(|one| match &one.bound {
        Bound::Word(word) => Some(word.as_str()),
        _ => None,
    })
}

fn named(limited_by: &str, cwnd_cause: Option<&str>) -> String {
    cwnd_cause.map_or_else(|| limited_by.to_owned(), |cause| format!("{limited_by} {cause}"))
}
