//! The catalogue judged by the sockets of one end alone, flow by flow.
//!
//! What no socket can tell is left out of the shares and counted apart: flows of UDP, whose sockets count nothing, and drops of the instrument
//! itself, which look like any others.

use super::planted::{CatalogueSet, Confusion, Grade, Grades, NOTHING, Planted};
use super::scenario_name;
use crate::findings::experiment::{CellResult, Experiment};
use crate::infer::View;
use pipefill_core::cell::{CellSpec, Protocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How good the verdicts of one end's sockets are.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Blindfold {
    /// Whose sockets.
    pub view: View,
    /// Set by set.
    pub sets: BTreeMap<CatalogueSet, BlindSet>,
    /// Flow by flow.
    pub flows: Vec<BlindFlow>,
}

/// The flows of a set.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BlindSet {
    /// Flows of TCP with a planted limit and a valid run, by how far their verdicts name it.
    #[serde(flatten)]
    pub grades: Grades,
    /// Flows that no socket can tell of: UDP, and drops of the instrument.
    pub left_out: usize,
    /// Planted limit → found → number of flows.
    pub confusion: Confusion,
    /// Planted cause → found → number of flows.
    pub cause_confusion: Confusion,
}

/// One flow of a scenario.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BlindFlow {
    /// The set of the scenario.
    pub set: CatalogueSet,
    /// The scenario.
    pub scenario: String,
    /// Index of the flow in its cell.
    pub flow: u32,
    /// Its limit by construction, with its cause where that is planted.
    pub planted: String,
    /// What the sockets tell; null where no run was valid.
    pub found: Option<String>,
    /// How far that names what was planted; null where no run was valid.
    pub grade: Option<Grade>,
    /// The base round trip that was asked for, microseconds.
    pub asked_base_rtt_us: Option<u64>,
    /// The one that the sockets tell.
    pub base_rtt_us: Option<u64>,
    /// The rate of the path in the flow's direction that was asked for, bits per second.
    pub asked_rate_bps: Option<u64>,
    /// The one that the sockets tell; null where no flow has tried it.
    pub rate_bps: Option<u64>,
    /// The sentence.
    pub verdict: Option<String>,
}

impl Blindfold {
    /// Judges pairs of experiments: as planned, and as the sockets of `view` tell it.
    pub fn of<'a>(
        view: View,
        pairs: impl Iterator<Item = (CatalogueSet, &'a Experiment, &'a Experiment)>,
    ) -> Self {
        let mut result = Self { view, ..Self::default() };
        for (set, planned, blind) in pairs {
            for (cell, seen) in planned.cells.iter().zip(&blind.cells) {
                let spec = &planned.plan.cell(cell.index).spec;
                for (index, planted) in Planted::in_flows(spec) {
                    result.add((set, scenario_name(planned, cell)), spec, seen, index, &planted);
                }
            }
        }
        result
    }

    fn add(
        &mut self,
        (set, scenario): (CatalogueSet, String),
        spec: &CellSpec,
        seen: &CellResult,
        index: u32,
        planted: &Planted,
    ) {
        let Some(flow) = usize::try_from(index).ok().and_then(|index| spec.flows.get(index)) else { return };
        let sums = self.sets.entry(set).or_default();
        if flow.protocol == Protocol::Udp || planted.is_testbed() {
            sums.left_out += 1;
            return;
        }
        let of_flow = seen.flows.iter().find(|flow| flow.figures.flow == index);
        let verdict = of_flow.filter(|_| seen.valid > 0).map(|flow| &flow.verdict);
        let grade = verdict.map(|verdict| planted.grade(verdict));
        if let Some((verdict, grade)) = verdict.zip(grade) {
            sums.grades.add(planted, grade);
            let limit = verdict.limited_by.map_or(NOTHING, |limit| limit.as_str());
            count(&mut sums.confusion, planted.limit_name(), limit);
            if planted.has_cause() {
                let cause = planted.found_cause(verdict).map_or(limit, |cause| cause.as_str());
                count(&mut sums.cause_confusion, planted.cause_name(), cause);
            }
        }
        let facts = seen.run_values.iter().find_map(|run| run.path_facts.as_ref());
        self.flows.push(BlindFlow {
            set,
            scenario,
            flow: index,
            planted: planted.name(),
            found: verdict.map(|verdict| planted.found(verdict)),
            grade,
            asked_base_rtt_us: u64::try_from(spec.path.rtt().as_micros()).ok().filter(|&us| us > 0),
            base_rtt_us: facts.and_then(|facts| Some(facts.base_rtt_us?.value)),
            asked_rate_bps: spec
                .path
                .way(flow.direction)
                .bottleneck
                .as_ref()
                .map(|bottleneck| bottleneck.rate.bps()),
            rate_bps: facts.and_then(|facts| Some(facts.way(flow.direction).rate_bps?.value)),
            verdict: verdict.and_then(|verdict| verdict.sentence.clone()),
        });
    }
}

fn count(confusion: &mut Confusion, planted: String, found: &str) {
    *confusion.entry(planted).or_default().entry(found.to_owned()).or_default() += 1;
}
