//! Each flow of a cell over its valid runs: medians, what limited it most of the time, its sentence and its advice.

use super::medians::medians;
use crate::findings::advice::advise;
use crate::findings::finding::Latency;
use crate::findings::headline::{self, room_bps};
use crate::findings::metrics::{AqmMetrics, FlowFigures, FlowMetrics, RunMetrics};
use crate::findings::result::FlowResult;
use crate::findings::times::FlowTimes;
use crate::findings::verdict::{JudgedFlow, Verdict};
use crate::ground::interval::carrying;
use crate::infer::KnownPath;
use crate::judge::Diagnosis;
use pipefill_core::cell::{CellSpec, Direction, FlowSpec};
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::EndFacts;
use std::collections::BTreeMap;

/// The flows of one run: their figures and their path.
#[derive(Clone, Copy)]
pub struct RunFlows<'a> {
    /// Which repetition, from 1.
    pub repeat: u32,
    /// What a scenario asked for; absent where none describes them.
    pub plan: Option<&'a CellSpec>,
    /// What is known of their path.
    pub path: KnownPath,
    /// Names of the congestion controls of the hosts that send forward and in reverse.
    pub congestion_controls: [&'a str; 2],
    /// What is known of the ends that send forward and in reverse.
    pub ends: [EndFacts<'a>; 2],
    /// What the disciplines of the queues did.
    pub aqm: &'a [AqmMetrics],
    /// Their figures.
    pub flows: &'a [FlowMetrics],
}

impl<'a> RunFlows<'a> {
    /// Of a run of the cell `spec`.
    pub fn of(spec: &'a CellSpec, run: &'a RunMetrics) -> Self {
        let facts = run.path_facts.as_ref();
        Self {
            repeat: run.repeat,
            plan: facts.is_none().then_some(spec),
            path: facts.map_or_else(
                || KnownPath::asked(&spec.path),
                |facts| KnownPath::observed(spec.path.family, facts, &run.emulated),
            ),
            congestion_controls: Direction::ALL
                .map(|direction| spec.data_sender(direction).congestion_control.as_str()),
            ends: run.ends(),
            aqm: &run.aqm,
            flows: &run.flows,
        }
    }
}

/// Each of `flows` but pings; none without a valid run.
pub fn results(flows: &[FlowSpec], valid: &[RunFlows<'_>]) -> Vec<FlowResult> {
    if valid.is_empty() {
        return Vec::new();
    }
    carrying(flows).map(|(index, flow)| result(flows, index, flow, valid)).collect()
}

/// The flow that most runs are about; of equals the first.
pub(super) fn headline(valid: &[&RunMetrics], flows: &[FlowResult]) -> Option<u32> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for flow in valid.iter().filter_map(|run| headline::of(run)) {
        *counts.entry(flow.figures.flow).or_default() += 1;
    }
    let most = *counts.values().max()?;
    flows.iter().map(|flow| flow.figures.flow).find(|flow| counts.get(flow) == Some(&most))
}

/// A flow in one run.
struct InRun<'a> {
    run: RunFlows<'a>,
    flow: &'a FlowMetrics,
}

fn result<'a>(flows: &[FlowSpec], index: u32, flow: &FlowSpec, valid: &[RunFlows<'a>]) -> FlowResult {
    let in_run = |&run: &RunFlows<'a>| {
        Some(InRun { run, flow: run.flows.iter().find(|flow| flow.figures.flow == index)? })
    };
    let runs: Vec<InRun<'_>> = valid.iter().filter_map(in_run).collect();
    let of_spec = FlowFigures {
        flow: index,
        protocol: flow.protocol,
        direction: flow.direction,
        streams: flow.parallel,
        goodput_bps: None,
        retransmits: None,
        lost_percent: None,
        capacity: None,
    };
    let figures = medians(runs.iter().map(|in_run| &in_run.flow.figures)).unwrap_or(of_spec);
    let mut result = FlowResult {
        figures,
        verdict: Verdict::default(),
        predicted_bps: None,
        verdict_repeat: None,
        times: FlowTimes::default(),
        latency: latency(&runs),
    };
    explain(&mut result, flows, flow, &runs);
    result
}

/// Shares are means over the runs; the sentence comes from the run with the median goodput among the runs with the cell's cause.
fn explain(result: &mut FlowResult, flows: &[FlowSpec], flow: &FlowSpec, runs: &[InRun<'_>]) {
    let diagnosed: Vec<(&InRun<'_>, &Diagnosis)> =
        runs.iter().filter_map(|in_run| Some((in_run, in_run.flow.diagnosis.as_ref()?))).collect();
    let mut shares: BTreeMap<LimitedBy, f64> = BTreeMap::new();
    for (_, diagnosis) in &diagnosed {
        for (&cause, share) in &diagnosis.limited_fraction {
            *shares.entry(cause).or_default() += share / diagnosed.len() as f64;
        }
    }
    let Some((&limited_by, _)) = shares.iter().max_by(|a, b| a.1.total_cmp(b.1)) else { return };
    let mut of_cause: Vec<&(&InRun<'_>, &Diagnosis)> =
        diagnosed.iter().filter(|(_, diagnosis)| diagnosis.limited_by == limited_by).collect();
    of_cause.sort_by_key(|(in_run, _)| in_run.flow.figures.goodput_bps);
    let Some(&&(middle, diagnosis)) = of_cause.get(of_cause.len() / 2) else { return };
    let RunFlows { plan, path, congestion_controls, ends, .. } = middle.run;
    let of_host = congestion_controls[flow.direction.index()];
    let [sender, receiver] = [flow.direction, flow.direction.opposite()].map(|sends| ends[sends.index()]);
    let judged = JudgedFlow {
        plan: plan.cloned(),
        path,
        flows: plan.map_or_else(|| that_carry(flows, middle.run.flows), |_| flows.to_vec()),
        flow: flow.clone(),
        congestion_control: flow.congestion_control.clone().unwrap_or_else(|| of_host.to_owned()),
        sender_limits: sender.buffers,
        receiver_limits: receiver.buffers,
        sender_options: sender.options,
        receiver_options: receiver.options,
        sender_quota: sender.quota.cloned(),
        receiver_quota: receiver.quota.cloned(),
        // What limited when stays with its run.
        diagnosis: Diagnosis { timeline: Vec::new(), ..diagnosis.clone() },
        latency: middle.flow.latency.clone(),
        aqm: middle.run.aqm.iter().find(|aqm| aqm.direction == flow.direction).cloned(),
        goodput_bps: middle.flow.figures.goodput_bps.unwrap_or(0),
        room_bps: room_bps(middle.flow, middle.run.flows),
    };
    result.predicted_bps = judged.predicted_bps();
    result.verdict_repeat = Some(middle.run.repeat);
    result.times = FlowTimes::of(diagnosis, middle.flow.figures.goodput_bps);
    let advice = advise(&judged);
    result.verdict = Verdict { limited_fraction: Some(shares), ..Verdict::of(Box::new(judged), advice) };
}

/// A flow with less than one part in so many of the largest one's goodput.
const NEXT_TO_NOTHING: u64 = 20;

/// The flows that carried more than next to nothing: the others take no considerable share of the path.
fn that_carry(flows: &[FlowSpec], metrics: &[FlowMetrics]) -> Vec<FlowSpec> {
    let carried = |at: usize| metrics.get(at).and_then(|flow| flow.figures.goodput_bps).unwrap_or(0);
    let most = (0..metrics.len()).map(carried).max().unwrap_or(0);
    let carries = |(at, _): &(usize, _)| carried(*at) >= most / NEXT_TO_NOTHING;
    flows.iter().enumerate().filter(carries).map(|(_, flow)| flow.clone()).collect()
}

/// Medians of each figure; the queue comes from the run in the middle.
fn latency(runs: &[InRun<'_>]) -> Latency {
    let mut bloated: Vec<_> = runs.iter().filter_map(|in_run| in_run.flow.latency.bufferbloat).collect();
    bloated.sort_by_key(|bufferbloat| bufferbloat.added_us);
    let is_mostly = 2 * bloated.len() > runs.len();
    Latency {
        bufferbloat: bloated.get(bloated.len() / 2).copied().filter(|_| is_mostly),
        ..medians(runs.iter().map(|in_run| &in_run.flow.latency)).unwrap_or_default()
    }
}
