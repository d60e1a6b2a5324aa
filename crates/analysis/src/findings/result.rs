//! What is found of an experiment: the document that `pipefill report` prints.
//!
//! The names of the fields are the JSON contract of schema 1. Never: a contract name that is missing where nothing was measured (null
//! instead).

use crate::findings::finding::Latency;
use crate::findings::metrics::{
    AqmMetrics, FlowFigures, PingMetrics, RunMetrics, TcpMetrics, UdpMetrics, UnmetSetting,
};
use crate::findings::times::FlowTimes;
use crate::findings::verdict::Verdict;
use indexmap::IndexMap;
use pipefill_core::cell::flow_name;
use pipefill_core::plan::{Plan, PublishedStates};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The version of the report's JSON.
pub const SCHEMA: u32 = 1;

/// Everything that a report shows.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Experiment {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The scenario's `name`.
    pub experiment: String,
    /// Where it was run.
    pub environment: EnvironmentSummary,
    /// In plan order; a cell that ran on two backends has a result for each.
    pub cells: Vec<CellResult>,
    /// What was published of it, judged by these cells.
    #[serde(default)]
    pub conclusions: Vec<ConclusionResult>,
    /// What was asked.
    pub plan: Plan,
}

/// The machines of all runs: every distinct value, sorted. More than one kernel in a table is worth a second look.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct EnvironmentSummary {
    /// Versions of pipefill.
    pub pipefill: BTreeSet<String>,
    /// `uname -r`.
    pub kernel: BTreeSet<String>,
    /// CPUs that the process could use.
    pub cpus: BTreeSet<u32>,
    /// CPU models.
    pub cpu_model: BTreeSet<String>,
    /// `root` or `user-namespace`.
    pub privilege: BTreeSet<String>,
    /// What emulated the path.
    pub data_path: BTreeSet<String>,
}

/// One cell's result: medians over its valid runs.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CellResult {
    /// Position in the plan.
    pub index: usize,
    /// The cell's id.
    pub id: String,
    /// Scenario path → value as text, in the scenario's order.
    pub axes: IndexMap<String, String>,
    /// The axes that are numbers, in SI base units: `path.rtt` = `"50ms"` is `path_rtt_s` → 0.05, a rate `…_bps`, a size `…_bytes`, a share
    /// `…_ratio`.
    #[serde(default)]
    pub axis_numbers: IndexMap<String, f64>,
    /// `lab` or `sim`; null where the cell was not run.
    pub backend: Option<String>,
    /// Runs recorded.
    pub runs: usize,
    /// Of these, valid.
    pub valid: usize,
    /// Whether nothing in the cell is left to chance: it was run once, and every other run of it would be the same.
    #[serde(default)]
    pub deterministic: bool,
    /// Goodput at the receivers.
    pub goodput_bps: Option<u64>,
    /// Lower end of the interval of that median, a run's goodput; null with fewer than two valid runs. Of a deterministic cell both ends
    /// are its goodput.
    pub goodput_bps_low: Option<u64>,
    /// Upper end.
    pub goodput_bps_high: Option<u64>,
    /// The share of such intervals that hold the true median: 0.75 with three runs, 0.9375 with five, 0.95 and more from six on; 1 of a
    /// deterministic cell.
    #[serde(default)]
    pub goodput_coverage: Option<f64>,
    /// Goodput without leaving out a warm-up.
    pub goodput_whole_bps: Option<u64>,
    /// What the sending sockets took.
    pub sender_bps: Option<u64>,
    /// What the applications offer, as asked: the sum of `bitrate × parallel`; null where a flow has no limit.
    pub offered_bps: Option<u64>,
    /// Jain's index over the streams.
    pub fairness_index: Option<f64>,
    /// What TCP's senders saw: medians of each figure; `ca_state_source` is `sampled` as soon as one run's is.
    #[serde(flatten)]
    pub tcp: TcpMetrics,
    /// Every flow but pings, in the scenario's order.
    #[serde(default)]
    pub flows: Vec<FlowResult>,
    /// Which of `flows` the verdict is about: the index in the cell of the one with the most to gain.
    #[serde(default)]
    pub headline_flow: Option<u32>,
    /// What limited that flow, and what to change.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// That flow's times, and what happened to it.
    #[serde(flatten)]
    pub times: FlowTimes,
    /// What UDP's receivers saw: medians of each figure.
    #[serde(flatten)]
    pub udp: UdpMetrics,
    /// What pings measured: of the valid run whose fitted base is the (upper) median; null where there was none.
    #[serde(default)]
    pub ping: Option<PingMetrics>,
    /// What the disciplines of the queues did: medians of each figure; none where all are drop-tail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aqm: Vec<AqmMetrics>,
    /// What theory predicts; null where nothing was sampled.
    pub predicted_bps: Option<u64>,
    /// Which repetition the sentence is about; null where there is none.
    pub verdict_repeat: Option<u32>,
    /// What somebody else measured in this cell.
    pub published: Option<PublishedFigures>,
    /// The cell's assertions, judged.
    pub expectations: Vec<ExpectationResult>,
    /// Why runs were invalid, by reason.
    pub invalid: Vec<InvalidCount>,
    /// What was asked of the machine and not granted, in any run; each once.
    pub unmet_settings: Vec<UnmetSetting>,
    /// Lateness of the path's releases, 99th percentile: the largest of the valid runs.
    pub path_lateness_p99_ns: Option<u64>,
    /// The command that repeats this cell.
    pub repeat_command: String,
    /// Every run, valid or not.
    pub run_values: Vec<RunMetrics>,
    /// Medians of the invalid runs where no run is valid: to be shown as such, and concluded from by nobody.
    #[serde(skip)]
    #[schemars(skip)]
    pub invalid_figures: Option<Box<CellResult>>,
}

impl CellResult {
    /// The flow that the verdict is about.
    pub fn headline(&self) -> Option<&FlowResult> {
        self.flows.iter().find(|flow| Some(flow.figures.flow) == self.headline_flow)
    }

    /// The coordinates in one line, e.g. `tcp, rtt 10ms, loss 1%`.
    pub fn coordinates(&self) -> String {
        coordinates(&self.axes)
    }

    /// Those of its coordinates that `other` does not have.
    pub fn coordinates_beside(&self, other: &Self) -> Vec<String> {
        self.axes
            .iter()
            .filter(|(path, value)| other.axes.get(*path) != Some(value))
            .map(coordinate)
            .collect()
    }
}

/// The axes of a cell in one line, each named by the last part of its path; the variant by its name alone.
pub fn coordinates(axes: &IndexMap<String, String>) -> String {
    let parts: Vec<String> = axes.iter().map(coordinate).collect();
    if parts.is_empty() { "the only cell".to_owned() } else { parts.join(", ") }
}

fn coordinate((path, value): (&String, &String)) -> String {
    let last = path.rsplit('.').next().unwrap_or(path);
    if path == "variant" { value.clone() } else { format!("{last} {value}") }
}

/// One flow of a cell: medians over its valid runs, and what limited it.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FlowResult {
    /// What it is and what it got, medians over the runs.
    #[serde(flatten)]
    pub figures: FlowFigures,
    /// What limited it, and what to change.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What theory predicts; null where it does not apply.
    pub predicted_bps: Option<u64>,
    /// Which repetition the sentence is about.
    pub verdict_repeat: Option<u32>,
    /// Its times, and what happened to it.
    #[serde(flatten)]
    pub times: FlowTimes,
    /// Its round trips, without load and under it: medians over the runs.
    #[serde(flatten)]
    pub latency: Latency,
}

impl FlowResult {
    /// What it is, in a few words: `tcp, forward`, `4 tcp streams, reverse`.
    pub fn describe(&self) -> String {
        let (protocol, direction) = (self.figures.protocol.as_str(), self.figures.direction.as_str());
        match self.figures.streams {
            1 => format!("{protocol}, {direction}"),
            streams => format!("{streams} {protocol} streams, {direction}"),
        }
    }

    /// Its name in tables and pictures.
    pub fn name(&self) -> String {
        let figures = &self.figures;
        flow_name(figures.flow, figures.protocol, figures.streams, figures.direction)
    }
}

/// Published figures of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PublishedFigures {
    /// Goodput at the receiver.
    pub goodput_bps: Option<f64>,
    /// UDP loss.
    pub lost_percent: Option<f64>,
    /// Retransmitted segments.
    pub retransmits: Option<f64>,
    /// Time in congestion states.
    pub ca_state_us: Option<PublishedStates>,
}

/// A reason for which runs of a cell were invalid.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct InvalidCount {
    /// The stable word.
    pub reason: String,
    /// Runs with this reason.
    pub runs: usize,
    /// What happened in the first of them.
    pub detail: String,
}

/// One assertion, judged.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ExpectationResult {
    /// The scenario's text.
    pub text: String,
    /// Whether it held; null where it could not be judged, which counts as failed.
    pub held: Option<bool>,
    /// What was measured: a number in the metric's unit, or a word.
    pub measured: Option<Value>,
    /// What it was compared with, in the same unit.
    pub bound: Option<Value>,
    /// Why it could not be judged.
    pub reason: Option<String>,
}

impl ExpectationResult {
    /// Whether exit code 1 is due: it did not hold, or could not be judged.
    pub fn failed(&self) -> bool {
        self.held != Some(true)
    }
}

/// A side of a comparison.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number in the metric's unit: bits/s, µs, per cent, or a count.
    Number(f64),
    /// A word (`limited_by`).
    Word(String),
}

/// A published conclusion, judged.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ConclusionResult {
    /// What was published.
    pub published: String,
    /// Whether our figures bear it out.
    pub opinion: Opinion,
    /// What we conclude; null where the scenario has no words for that outcome.
    pub ours: Option<String>,
    /// The figures that say so, a sentence each.
    pub evidence: Vec<String>,
    /// Every claim that it rests on.
    pub claims: Vec<ClaimResult>,
}

/// Whether a conclusion stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opinion {
    /// Every claim holds in every cell.
    Confirmed,
    /// A claim fails in some cell.
    Refuted,
    /// A claim could not be judged, and none failed.
    NotTested,
}

/// A claim, judged in every cell that it speaks of.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ClaimResult {
    /// As the scenario has it.
    pub text: String,
    /// Each cell, on each backend that ran it.
    pub cells: Vec<JudgedCell>,
}

/// A claim about one cell.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct JudgedCell {
    /// Index of the cell in the plan.
    pub cell: usize,
    /// Index of the cell that it is compared with; null where the claim speaks of one.
    pub other: Option<usize>,
    /// What ran it; null where nothing did.
    pub backend: Option<String>,
    /// Whether it holds; null where it could not be judged.
    pub held: Option<bool>,
    /// What was measured, in the metric's unit.
    pub measured: Option<Value>,
    /// What it was compared with: the bound, or the other cell's figure before a share of it is taken.
    pub compared_with: Option<Value>,
}
