//! The catalogue judged by the sockets of one end alone, flow by flow.
//!
//! What no socket can tell is left out of the shares and counted apart: flows of UDP, whose sockets count nothing, and drops of the instrument
//! itself, which look like any others.

use super::word;
use crate::findings::experiment::{CellResult, Experiment};
use crate::infer::View;
use pipefill_core::cell::{CellSpec, ExpectMetric, Protocol};
use pipefill_core::limit::{CwndCause, LimitedBy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How good the verdicts of one end's sockets are.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Blindfold {
    /// Whose sockets.
    pub view: View,
    /// Flows of TCP with a planted limiter and a valid run.
    pub judged: usize,
    /// Those whose category is right.
    pub right: usize,
    /// Those that are said to be unknown.
    pub unknown: usize,
    /// Those whose category is wrong.
    pub wrong: usize,
    /// Flows held back by their congestion window, for a planted cause.
    pub causes_judged: usize,
    /// Those whose cause is right as well as their category.
    pub causes_right: usize,
    /// Flows that no socket can tell of: UDP, and drops of the instrument.
    pub left_out: usize,
    /// Planted → found → number of flows.
    pub confusion: BTreeMap<String, BTreeMap<String, usize>>,
    /// Planted cause of the congestion window → found → number of flows.
    pub cause_confusion: BTreeMap<String, BTreeMap<String, usize>>,
    /// Flow by flow.
    pub flows: Vec<BlindFlow>,
}

/// One flow of a scenario.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BlindFlow {
    /// The scenario.
    pub scenario: String,
    /// Index of the flow in its cell.
    pub flow: u32,
    /// Its limit by construction: category, and for the congestion window why.
    pub planted: String,
    /// What the sockets tell; null where no run was valid.
    pub found: Option<String>,
    /// Whether the category is right.
    pub right: bool,
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
    /// Judges pairs of experiments of one cell each: as planned, and as the sockets of `view` tell it.
    pub fn of<'a>(view: View, pairs: impl Iterator<Item = (&'a Experiment, &'a Experiment)>) -> Self {
        let mut result = Self { view, ..Self::default() };
        for (planned, blind) in pairs {
            for (cell, seen) in planned.cells.iter().zip(&blind.cells) {
                let spec = &planned.plan.cell(cell.index).spec;
                for (index, (limit, cause)) in planted(spec) {
                    result.add(planned, spec, seen, index, limit, cause);
                }
            }
        }
        result
    }

    fn add(
        &mut self,
        planned: &Experiment,
        spec: &CellSpec,
        seen: &CellResult,
        index: u32,
        limit: LimitedBy,
        cause: Option<CwndCause>,
    ) {
        let Some(flow) = usize::try_from(index).ok().and_then(|index| spec.flows.get(index)) else { return };
        if flow.protocol == Protocol::Udp || limit == LimitedBy::Testbed {
            self.left_out += 1;
            return;
        }
        let of_flow = seen.flows.iter().find(|one| one.figures.flow == index);
        let facts = seen.run_values.iter().find_map(|run| run.path_facts.as_ref());
        let found = of_flow.and_then(|one| Some((one.verdict.limited_by?, one.verdict.cwnd_cause)));
        let one = BlindFlow {
            scenario: planned.experiment.clone(),
            flow: index,
            planted: named(limit, cause),
            found: found.map(|(limit, cause)| named(limit, cause)),
            right: found.is_some_and(|(found, _)| found == limit),
            asked_base_rtt_us: u64::try_from(spec.path.rtt().as_micros()).ok().filter(|&us| us > 0),
            base_rtt_us: facts.and_then(|facts| Some(facts.base_rtt_us?.value)),
            asked_rate_bps: spec.path.way(flow.direction).bottleneck.as_ref().map(|one| one.rate.bps()),
            rate_bps: facts.and_then(|facts| Some(facts.way(flow.direction).rate_bps?.value)),
            verdict: of_flow.and_then(|one| one.verdict.sentence.clone()),
        };
        if let Some((found, found_cause)) = found {
            self.count(&one, (limit, cause), (found, found_cause));
        }
        self.flows.push(one);
    }

    fn count(
        &mut self,
        one: &BlindFlow,
        (limit, cause): (LimitedBy, Option<CwndCause>),
        (found, found_cause): (LimitedBy, Option<CwndCause>),
    ) {
        let add = |matrix: &mut BTreeMap<String, BTreeMap<String, usize>>, planted: &str, found: &str| {
            *matrix.entry(planted.to_owned()).or_default().entry(found.to_owned()).or_default() += 1;
        };
        self.judged += 1;
        match one.right {
            true => self.right += 1,
            false if found == LimitedBy::Unknown => self.unknown += 1,
            false => self.wrong += 1,
        }
        add(&mut self.confusion, limit.as_str(), found.as_str());
        if let Some(cause) = cause {
            self.causes_judged += 1;
            self.causes_right += usize::from(one.right && found_cause == Some(cause));
            let found = found_cause.map_or(found.as_str(), CwndCause::as_str);
            add(&mut self.cause_confusion, cause.as_str(), found);
        }
    }
}

fn named(limited_by: LimitedBy, cause: Option<CwndCause>) -> String {
    super::named(limited_by.as_str(), cause.map(CwndCause::as_str))
}

/// Each flow with its planted limiter: from `[expect] flows`, else that of the cell, where it has one flow.
fn planted(spec: &CellSpec) -> Vec<(u32, (LimitedBy, Option<CwndCause>))> {
    let parse = |text: &str| {
        let mut words = text.split_whitespace();
        let limit = words.next().and_then(LimitedBy::from_word)?;
        Some((limit, words.next().and_then(CwndCause::from_word)))
    };
    let carries = |(_, flow): &(u32, &pipefill_core::cell::FlowSpec)| flow.protocol != Protocol::Ping;
    let indexes: Vec<u32> = (0..).zip(&spec.flows).filter(carries).map(|(index, _)| index).collect();
    let each = match word(spec, ExpectMetric::Flows) {
        Some(text) => text.split(',').map(parse).collect(),
        None if indexes.len() == 1 => {
            let limit = word(spec, ExpectMetric::LimitedBy).and_then(LimitedBy::from_word);
            let cause = word(spec, ExpectMetric::CwndCause).and_then(CwndCause::from_word);
            vec![limit.map(|limit| (limit, cause))]
        }
        None => Vec::new(),
    };
    indexes.into_iter().zip(each).filter_map(|(index, limit)| Some((index, limit?))).collect()
}
