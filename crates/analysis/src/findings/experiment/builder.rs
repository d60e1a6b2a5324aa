//! Joins runs to the cells of their plan.
//!
//! Never: a run counted for a cell that it does not belong to, or an invalid one in a median.

use super::flows::{self, RunFlows};
use super::medians::medians;
use crate::findings::metrics::{PingMetrics, RunMetrics, TcpMetrics, UnmetSetting};
use crate::findings::result::{
    CellResult, EnvironmentSummary, Experiment, InvalidCount, PublishedFigures, SCHEMA,
};
use crate::findings::verdict::Verdict;
use crate::findings::{conclusions, expect};
use crate::ground::statistics::{median, median_interval, rounded};
use indexmap::{IndexMap, IndexSet};
use pipefill_core::plan::{Cell, Plan};
use pipefill_core::record::{CaStateSource, Environment, Manifest, RunRecord};
use pipefill_core::scenario::axis_number;
use std::collections::{BTreeMap, BTreeSet};

/// A record whose cell the plan does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("run {run} belongs to cell {cell}, which the plan does not have")]
pub struct UnknownCell {
    /// The run's id.
    pub run: String,
    /// Its cell's id.
    pub cell: String,
}

/// Takes runs one by one and keeps their figures only.
#[derive(Debug, Clone)]
pub struct ExperimentBuilder {
    plan: Plan,
    environment: EnvironmentSummary,
    /// Per cell index and backend.
    runs: BTreeMap<(usize, String), Vec<RunMetrics>>,
}

impl ExperimentBuilder {
    /// An experiment of which nothing has run yet.
    pub fn new(plan: Plan) -> Self {
        Self { plan, environment: EnvironmentSummary::default(), runs: BTreeMap::new() }
    }

    /// Adds a run that is in memory.
    ///
    /// # Errors
    /// As [`ExperimentBuilder::add_condensed`].
    pub fn add(&mut self, record: &RunRecord) -> Result<(), UnknownCell> {
        self.add_condensed(&record.manifest, RunMetrics::of(record))
    }

    /// Adds a run's figures. Cells match by index where the ids agree, else by id.
    ///
    /// # Errors
    /// [`UnknownCell`] where the plan has no such cell; nothing is added.
    pub fn add_condensed(&mut self, manifest: &Manifest, metrics: RunMetrics) -> Result<(), UnknownCell> {
        let index = self
            .cell_index(&metrics)
            .ok_or_else(|| UnknownCell { run: metrics.id.clone(), cell: metrics.cell_id.clone() })?;
        self.environment.add(&manifest.environment, &manifest.pipefill);
        let key = (index, metrics.backend.clone());
        self.runs.entry(key).or_default().push(metrics);
        Ok(())
    }

    /// The experiment, which takes the runs' figures over. Its words are `report`'s to add.
    pub fn finish(mut self) -> Experiment {
        for runs in self.runs.values_mut() {
            runs.sort_by_key(|run| run.repeat);
        }
        let mut cells: Vec<CellResult> = Vec::with_capacity(self.plan.cells.len());
        for cell in &self.plan.cells {
            cells.extend(results(&self.plan, cell.index, &mut self.runs));
        }
        Experiment {
            schema: SCHEMA,
            experiment: self.plan.experiment.to_string(),
            environment: self.environment,
            conclusions: conclusions::judge(&self.plan, &cells),
            cells,
            plan: self.plan,
        }
    }

    fn cell_index(&self, metrics: &RunMetrics) -> Option<usize> {
        let is_it = |cell: &Cell| cell.id == metrics.cell_id;
        let at_index = self.plan.find(metrics.cell_index).filter(|cell| is_it(cell));
        at_index.or_else(|| self.plan.cells.iter().find(|cell| is_it(cell))).map(|cell| cell.index)
    }
}

/// One result for each backend that ran the cell, or one empty result. Its runs are taken out of `runs`.
fn results(
    plan: &Plan,
    index: usize,
    runs: &mut BTreeMap<(usize, String), Vec<RunMetrics>>,
) -> Vec<CellResult> {
    let of_cell = runs.range((index, String::new())..(index + 1, String::new()));
    let keys: Vec<(usize, String)> = of_cell.map(|(key, _)| key.clone()).collect();
    let ran = keys.iter().filter_map(|key| runs.remove_entry(key));
    let mut results: Vec<CellResult> =
        ran.map(|((_, backend), runs)| cell_result(plan, index, Some(&backend), runs)).collect();
    if results.is_empty() {
        results.push(cell_result(plan, index, None, Vec::new()));
    }
    results
}

impl EnvironmentSummary {
    fn add(&mut self, environment: &Environment, pipefill: &str) {
        let Environment { kernel, cpus, cpu_model, privilege, data_path, host_rate_bps: _, facts: _ } =
            environment;
        self.pipefill.insert(pipefill.to_owned());
        self.kernel.extend(kernel.clone());
        self.cpus.extend(*cpus);
        self.cpu_model.extend(cpu_model.clone());
        self.privilege.extend(privilege.clone());
        self.data_path.extend(data_path.clone());
    }
}

fn cell_result(plan: &Plan, index: usize, backend: Option<&str>, runs: Vec<RunMetrics>) -> CellResult {
    let cell = plan.cell(index);
    let valid: Vec<&RunMetrics> = runs.iter().filter(|run| run.is_valid()).collect();
    let mut result = CellResult {
        index,
        id: cell.id.clone(),
        axes: cell.axes.iter().cloned().collect(),
        axis_numbers: cell.axes.iter().filter_map(|(path, value)| axis_number(path, value)).collect(),
        backend: backend.map(str::to_owned),
        runs: runs.len(),
        valid: valid.len(),
        deterministic: cell.deterministic,
        offered_bps: offered(cell),
        published: published(plan, index),
        invalid: invalid_counts(&runs),
        unmet_settings: unmet_settings(&runs),
        ..figures(&valid)
    };
    if cell.deterministic && result.goodput_bps.is_some() {
        (result.goodput_bps_low, result.goodput_bps_high) = (result.goodput_bps, result.goodput_bps);
        result.goodput_coverage = Some(1.0);
    }
    explain(&mut result, cell, &valid);
    if valid.is_empty() && !runs.is_empty() {
        let invalid: Vec<&RunMetrics> = runs.iter().collect();
        let (offered_bps, published) = (result.offered_bps, result.published);
        result.invalid_figures = Some(Box::new(CellResult { offered_bps, published, ..figures(&invalid) }));
    }
    result.run_values = runs;
    result.expectations = expect::evaluate(&cell.spec, &result);
    result
}

/// What limited each flow, and the cell: the flow with the most to gain in most runs.
fn explain(result: &mut CellResult, cell: &Cell, valid: &[&RunMetrics]) {
    let runs: Vec<RunFlows<'_>> = valid.iter().map(|run| RunFlows::of(&cell.spec, run)).collect();
    result.flows = flows::results(&cell.spec.flows, &runs);
    result.headline_flow = flows::headline(valid, &result.flows);
    let Some(flow) = result.headline().cloned() else { return };
    result.verdict = Verdict { reason: None, ..flow.verdict };
    result.predicted_bps = flow.predicted_bps;
    result.verdict_repeat = flow.verdict_repeat;
    result.times = flow.times;
}

/// A result with the figures of the valid runs, without the cell's coordinates.
fn figures(valid: &[&RunMetrics]) -> CellResult {
    let whole = |field: fn(&RunMetrics) -> Option<u64>| {
        median_of(valid, |run| field(run).map(|value| value as f64)).map(rounded)
    };
    let goodputs: Vec<f64> =
        valid.iter().filter_map(|run| run.goodput_bps.map(|value| value as f64)).collect();
    let covered = median_interval(&goodputs);
    let interval = covered.map(|covered| covered.interval);
    let tcp = medians(valid.iter().map(|run| &run.tcp)).unwrap_or_default();
    CellResult {
        goodput_bps: whole(|run| run.goodput_bps),
        goodput_bps_low: interval.map(|interval| rounded(interval.low)),
        goodput_bps_high: interval.map(|interval| rounded(interval.high)),
        goodput_coverage: covered.map(|covered| covered.coverage),
        goodput_whole_bps: whole(|run| run.goodput_whole_bps),
        sender_bps: whole(|run| run.sender_bps),
        fairness_index: median_of(valid, |run| run.fairness_index),
        tcp: TcpMetrics { ca_state_source: ca_state_source(valid), ..tcp },
        udp: medians(valid.iter().map(|run| &run.udp)).unwrap_or_default(),
        aqm: medians(valid.iter().map(|run| &run.aqm)).unwrap_or_default(),
        ping: middle_ping(valid),
        path_lateness_p99_ns: valid.iter().filter_map(|run| run.instrument.path_lateness_p99_ns).max(),
        ..CellResult::default()
    }
}

/// The pings of the run in the middle: its figures belong together, medians of each would not. A run without a fitted base
/// stands for the cell only where no run has one.
fn middle_ping(valid: &[&RunMetrics]) -> Option<PingMetrics> {
    let pings = || valid.iter().filter_map(|run| run.ping.as_ref());
    let mut fitted: Vec<(f64, &PingMetrics)> =
        pings().filter_map(|ping| Some((ping.base_rtt_us?, ping))).collect();
    fitted.sort_by(|a, b| a.0.total_cmp(&b.0));
    fitted.get(fitted.len() / 2).map(|&(_, ping)| ping).or_else(|| pings().next()).cloned()
}

/// The median over the runs that have the value.
fn median_of(runs: &[&RunMetrics], field: impl Fn(&RunMetrics) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = runs.iter().filter_map(|run| field(run)).collect();
    median(&values)
}

fn ca_state_source(valid: &[&RunMetrics]) -> Option<CaStateSource> {
    let sources = || valid.iter().filter_map(|run| run.tcp.ca_state_source);
    sources().find(|&source| source == CaStateSource::Sampled).or_else(|| sources().next())
}

fn offered(cell: &Cell) -> Option<u64> {
    let of_flow = cell.spec.flows.iter().map(|flow| Some(flow.bitrate?.bps() * u64::from(flow.parallel)));
    of_flow.sum::<Option<u64>>().filter(|_| !cell.spec.flows.is_empty())
}

/// All figures that the plan has for the cell; the first wins.
fn published(plan: &Plan, index: usize) -> Option<PublishedFigures> {
    let mut of_cell = plan.published.iter().filter(|p| p.cell == index).peekable();
    of_cell.peek()?;
    Some(of_cell.fold(PublishedFigures::default(), |known, more| PublishedFigures {
        goodput_bps: known.goodput_bps.or(more.goodput_bps),
        lost_percent: known.lost_percent.or(more.lost_percent),
        retransmits: known.retransmits.or(more.retransmits),
        ca_state_us: known.ca_state_us.or(more.ca_state_us),
    }))
}

fn invalid_counts(runs: &[RunMetrics]) -> Vec<InvalidCount> {
    let mut counts: IndexMap<&str, InvalidCount> = IndexMap::new();
    for run in runs {
        let mut seen = BTreeSet::new();
        for invalid in run.invalid.iter().filter(|i| seen.insert(&i.reason)) {
            let count = counts.entry(&invalid.reason).or_insert_with(|| InvalidCount {
                reason: invalid.reason.clone(),
                runs: 0,
                detail: invalid.detail.clone(),
            });
            count.runs += 1;
        }
    }
    counts.into_values().collect()
}

/// Of all runs, valid or not, each once: a machine that refuses does so in every run.
fn unmet_settings(runs: &[RunMetrics]) -> Vec<UnmetSetting> {
    let distinct: IndexSet<&UnmetSetting> = runs.iter().flat_map(|run| &run.unmet_settings).collect();
    distinct.into_iter().cloned().collect()
}
