//! Each flow of a cell over its valid runs: medians, what limited it most of the time, its sentence and its advice.

use super::medians::medians;
use crate::findings::advice;
use crate::findings::finding::Latency;
use crate::findings::headline::{self, room_bps};
use crate::findings::metrics::{FlowFigures, FlowMetrics, RunMetrics};
use crate::findings::result::FlowResult;
use crate::findings::verdict::JudgedFlow;
use crate::infer;
use crate::judge::Diagnosis;
use pipefill_core::cell::{CellSpec, FlowSpec, Protocol};
use pipefill_core::limit::{CwndCause, LimitedBy};
use std::collections::BTreeMap;

/// Every flow of `spec` but pings; none without a valid run.
pub fn results(spec: &CellSpec, valid: &[&RunMetrics]) -> Vec<FlowResult> {
    if valid.is_empty() {
        return Vec::new();
    }
    let flows = (0_u32..).zip(&spec.flows).filter(|(_, flow)| flow.protocol != Protocol::Ping);
    flows.map(|(index, flow)| result(spec, index, flow, valid)).collect()
}

/// The flow that most runs are about; of equals the first.
pub(super) fn headline(valid: &[&RunMetrics], flows: &[FlowResult]) -> Option<u32> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for flow in valid.iter().filter_map(|run| headline::of(&run.flows)) {
        *counts.entry(flow.figures.flow).or_default() += 1;
    }
    let most = *counts.values().max()?;
    flows.iter().map(|flow| flow.figures.flow).find(|flow| counts.get(flow) == Some(&most))
}

/// A flow in one run.
struct InRun<'a> {
    run: &'a RunMetrics,
    flow: &'a FlowMetrics,
}

fn result(spec: &CellSpec, index: u32, flow: &FlowSpec, valid: &[&RunMetrics]) -> FlowResult {
    let in_run = |run: &&'_ RunMetrics| run.flows.iter().position(|one| one.figures.flow == index);
    let runs: Vec<InRun<'_>> =
        valid.iter().filter_map(|run| Some(InRun { run, flow: &run.flows[in_run(run)?] })).collect();
    let of_spec = FlowFigures {
        flow: index,
        protocol: flow.protocol,
        direction: flow.direction,
        streams: flow.parallel,
        goodput_bps: None,
        retransmits: None,
        lost_percent: None,
    };
    let figures = medians(runs.iter().map(|one| &one.flow.figures)).unwrap_or(of_spec);
    let mut result = FlowResult {
        figures,
        limited_by: None,
        limited_fraction: None,
        cwnd_cause: None,
        rule: None,
        margin: None,
        predicted_bps: None,
        verdict: None,
        verdict_repeat: None,
        advice: None,
        judged: None,
        latency: latency(&runs),
    };
    explain(&mut result, spec, flow, &runs);
    result
}

/// Shares are means over the runs; the sentence is that of the run with the median goodput among those with the cell's cause.
fn explain(result: &mut FlowResult, spec: &CellSpec, flow: &FlowSpec, runs: &[InRun<'_>]) {
    let diagnosed: Vec<(&InRun<'_>, &Diagnosis)> =
        runs.iter().filter_map(|one| Some((one, one.flow.diagnosis.as_ref()?))).collect();
    let mut shares: BTreeMap<LimitedBy, f64> = BTreeMap::new();
    for (_, diagnosis) in &diagnosed {
        for (&cause, share) in &diagnosis.limited_fraction {
            *shares.entry(cause).or_default() += share / diagnosed.len() as f64;
        }
    }
    let Some((&limited_by, _)) = shares.iter().max_by(|a, b| a.1.total_cmp(b.1)) else { return };
    let mut of_cause: Vec<&(&InRun<'_>, &Diagnosis)> =
        diagnosed.iter().filter(|(_, diagnosis)| diagnosis.limited_by == limited_by).collect();
    of_cause.sort_by_key(|(one, _)| one.flow.figures.goodput_bps);
    let Some(&&(one, diagnosis)) = of_cause.get(of_cause.len() / 2) else { return };
    let facts = one.run.path_facts.as_ref();
    let is_sharers = match (limited_by, diagnosis.cwnd_cause) {
        (LimitedBy::Path, _) => true,
        (LimitedBy::Cwnd, cause) => cause.is_none_or(|cause| cause == CwndCause::QueueLoss),
        _ => false,
    };
    let judged = JudgedFlow {
        spec: of_the_run(spec, one.run),
        flow: flow.clone(),
        // What limited when stays with its run.
        diagnosis: Diagnosis { timeline: Vec::new(), ..diagnosis.clone() },
        latency: one.flow.latency.clone(),
        goodput_bps: one.flow.figures.goodput_bps.unwrap_or(0),
        is_observed: facts.is_some(),
        shared: facts
            .filter(|_| is_sharers)
            .and_then(|facts| infer::of_others(facts, flow.direction, limited_by)),
    };
    result.limited_by = Some(limited_by);
    result.limited_fraction = Some(shares);
    result.cwnd_cause = diagnosis.cwnd_cause;
    result.rule = diagnosis.rule;
    result.margin = diagnosis.margin;
    result.predicted_bps = judged.predicted_bps();
    result.verdict_repeat = Some(one.run.repeat);
    result.advice = Some(advice::advise(&judged, room_bps(one.flow, &one.run.flows)));
    result.judged = Some(Box::new(judged));
}

/// A flow with less than one part in so many of the largest one's goodput.
const NEXT_TO_NOTHING: u64 = 20;

/// `spec`, with the path that the run's own samples tell of where nobody planned it.
fn of_the_run(spec: &CellSpec, run: &RunMetrics) -> CellSpec {
    let mut known = spec.clone();
    let Some(facts) = &run.path_facts else { return known };
    infer::apply(&mut known, facts);
    // Who carries next to nothing takes nothing from the others.
    let carried = |at: usize| run.flows.get(at).and_then(|one| one.figures.goodput_bps).unwrap_or(0);
    let most = (0..run.flows.len()).map(carried).max().unwrap_or(0);
    let mut carries = (0..).map(|at| carried(at) >= most / NEXT_TO_NOTHING);
    known.flows.retain(|_| carries.next().unwrap_or(true));
    known
}

/// Medians of each figure; the queue is that of the run in the middle.
fn latency(runs: &[InRun<'_>]) -> Latency {
    let mut bloated: Vec<_> = runs.iter().filter_map(|one| one.flow.latency.bufferbloat).collect();
    bloated.sort_by_key(|one| one.added_us);
    let is_mostly = 2 * bloated.len() > runs.len();
    Latency {
        bufferbloat: bloated.get(bloated.len() / 2).copied().filter(|_| is_mostly),
        ..medians(runs.iter().map(|one| &one.flow.latency)).unwrap_or_default()
    }
}
