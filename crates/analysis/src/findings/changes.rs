//! Two experiments, cell by cell: what changed from one to the other, and whether that is more than chance.
//!
//! A figure is the median of the valid runs, as in a report. The runs of both sides are no pairs, since they were made at other
//! times: see [`statistics::unpaired`] for the interval of a difference. Never: a verdict where the interval holds zero or a
//! side has fewer than three runs (one of a deterministic cell), or a cell that is left out without a word.

mod circumstances;
mod matching;

use crate::findings::experiment::{CellResult, EnvironmentSummary, Experiment};
use crate::findings::metrics::RunMetrics;
use crate::ground::statistics::{self, VALUES_MIN, median};
use indexmap::IndexMap;
use matching::Matched;
use pipefill_core::limit::LimitedBy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The version of the comparison's JSON.
pub const SCHEMA: u32 = 1;

/// What changed between two experiments.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Changes {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The first experiment, which the other is held against.
    pub before: Side,
    /// The second one.
    pub after: Side,
    /// A change for the worse counts as a regression from this share of what was before.
    pub threshold_fraction: f64,
    /// What else is not the same, and may be the reason: a line each.
    pub notes: Vec<String>,
    /// Cells of equal coordinates that have runs on both sides, in the first one's order.
    pub cells: Vec<CellChange>,
    /// Coordinates of cells that have runs in the first one alone.
    pub only_before: Vec<IndexMap<String, String>>,
    /// Coordinates of cells that have runs in the second one alone.
    pub only_after: Vec<IndexMap<String, String>>,
    /// Cells that are a regression.
    pub regressions: usize,
    /// Cells that are an improvement.
    pub improvements: usize,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Side {
    /// Where its records are, as the user named it.
    pub directory: String,
    /// The scenario's name.
    pub experiment: String,
    /// `lab`, `sim`.
    pub backends: BTreeSet<String>,
    /// Where it was run.
    pub environment: EnvironmentSummary,
}

/// A cell on both sides.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CellChange {
    /// Scenario path → value as text, of the first side.
    pub axes: IndexMap<String, String>,
    /// Whether the resolved cells are the very same: equal ids.
    pub same_cell: bool,
    /// Valid runs of the first side.
    pub valid_before: usize,
    /// Valid runs of the second one.
    pub valid_after: usize,
    /// Goodput.
    pub goodput_bps: Option<Change>,
    /// Smoothed round trip that 95 % of the time did not exceed.
    pub srtt_us_p95: Option<Change>,
    /// Segments sent again.
    pub retransmits: Option<Change>,
    /// UDP loss.
    pub lost_percent: Option<Change>,
    /// What limited it before.
    pub limited_by_before: Option<LimitedBy>,
    /// What limits it now.
    pub limited_by_after: Option<LimitedBy>,
    /// The sentence of before.
    pub verdict_before: Option<String>,
    /// The sentence of now.
    pub verdict_after: Option<String>,
    /// Goodput became less by the threshold at least, or the round trip longer and goodput no more.
    pub regression: bool,
    /// Goodput became more, or the round trip shorter, by the threshold at least, and the other is not worse.
    pub improvement: bool,
    /// Both goodput and the round trip became more, by the threshold at least: a pipe that is full has a queue.
    pub trade_off: bool,
    /// The command that repeats the first side's cell.
    pub repeat_command_before: String,
    /// The command that repeats the second one's.
    pub repeat_command_after: String,
}

/// A figure on both sides: medians of the valid runs, as a report has them.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Change {
    /// Median before.
    pub before: f64,
    /// Median now.
    pub after: f64,
    /// After − before.
    pub difference: f64,
    /// Lower end of the difference's 95 % interval; null where a side has fewer than three values.
    pub difference_low: Option<f64>,
    /// Upper end.
    pub difference_high: Option<f64>,
    /// Difference over before; null where that is zero.
    pub difference_fraction: Option<f64>,
    /// The smallest true difference that these runs would show four times in five; null where there is no interval.
    pub detectable_difference: Option<f64>,
    /// The same over before; null where that is zero.
    pub detectable_fraction: Option<f64>,
    /// What that says.
    pub finding: Finding,
}

/// What a difference says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The whole interval is on the good side of zero.
    Better,
    /// It is on the bad one.
    Worse,
    /// It holds zero.
    NotShown,
    /// A side has fewer than three valid runs.
    TooFewRuns,
}

/// Which way is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Good {
    More,
    Less,
}

impl Changes {
    /// From `before` to `after`, each with its directory. A change for the worse of `threshold_fraction` and more is a regression.
    pub fn of(before: (&str, &Experiment), after: (&str, &Experiment), threshold_fraction: f64) -> Self {
        let Matched { pairs, only_before, only_after } = matching::matched(before.1, after.1);
        let cells: Vec<CellChange> =
            pairs.iter().map(|&(before, after)| CellChange::of(before, after, threshold_fraction)).collect();
        let axes = |cells: Vec<&CellResult>| cells.into_iter().map(|cell| cell.axes.clone()).collect();
        Self {
            schema: SCHEMA,
            notes: circumstances::notes(before.1, after.1, &pairs),
            before: Side::of(before.0, before.1),
            after: Side::of(after.0, after.1),
            threshold_fraction,
            regressions: cells.iter().filter(|cell| cell.regression).count(),
            improvements: cells.iter().filter(|cell| cell.improvement).count(),
            cells,
            only_before: axes(only_before),
            only_after: axes(only_after),
        }
    }
}

impl Side {
    fn of(directory: &str, experiment: &Experiment) -> Self {
        Self {
            directory: directory.to_owned(),
            experiment: experiment.experiment.clone(),
            backends: circumstances::backends(experiment),
            environment: experiment.environment.clone(),
        }
    }
}

impl CellChange {
    fn of(before: &CellResult, after: &CellResult, threshold: f64) -> Self {
        let change = |good, field: fn(&RunMetrics) -> Option<f64>| {
            Change::of(&values(before, field), &values(after, field), good)
        };
        let goodput_bps = change(Good::More, |run| run.goodput_bps.map(|bps| bps as f64));
        let srtt_us_p95 = change(Good::Less, |run| run.tcp.srtt_us_p95.map(|us| us as f64));
        let is = |change: Option<Change>, finding| {
            change.is_some_and(|change| change.finding == finding && change.is_of(threshold))
        };
        let (faster, slower) = (is(goodput_bps, Finding::Better), is(goodput_bps, Finding::Worse));
        let (nearer, farther) = (is(srtt_us_p95, Finding::Better), is(srtt_us_p95, Finding::Worse));
        Self {
            axes: before.axes.clone(),
            same_cell: before.id == after.id,
            valid_before: before.valid,
            valid_after: after.valid,
            goodput_bps,
            srtt_us_p95,
            retransmits: change(Good::Less, |run| run.tcp.retransmits.map(|count| count as f64)),
            lost_percent: change(Good::Less, |run| run.udp.lost_percent),
            limited_by_before: before.verdict.limited_by,
            limited_by_after: after.verdict.limited_by,
            verdict_before: before.verdict.sentence.clone(),
            verdict_after: after.verdict.sentence.clone(),
            regression: slower || (farther && !faster),
            improvement: (faster && !farther) || (nearer && !slower),
            trade_off: faster && farther,
            repeat_command_before: before.repeat_command.clone(),
            repeat_command_after: after.repeat_command.clone(),
        }
    }

    /// Whether a side has runs, and none that can be believed.
    pub fn is_unusable(&self) -> bool {
        self.valid_before == 0 || self.valid_after == 0
    }
}

impl Change {
    /// `None` where a side has no value.
    fn of(before: &[f64], after: &[f64], good: Good) -> Option<Self> {
        let (median_before, median_after) = (median(before)?, median(after)?);
        let statistics::Difference { value, interval, detectable } = statistics::unpaired(before, after)?;
        let of_before = |value: f64| (median_before > 0.0).then(|| value / median_before);
        let (more, less) = match good {
            Good::More => (Finding::Better, Finding::Worse),
            Good::Less => (Finding::Worse, Finding::Better),
        };
        Some(Self {
            before: median_before,
            after: median_after,
            difference: value,
            difference_low: interval.map(|interval| interval.low),
            difference_high: interval.map(|interval| interval.high),
            difference_fraction: of_before(value),
            detectable_difference: detectable,
            detectable_fraction: detectable.and_then(of_before),
            finding: match interval {
                Some(interval) if interval.low > 0.0 => more,
                Some(interval) if interval.high < 0.0 => less,
                Some(_) => Finding::NotShown,
                None => Finding::TooFewRuns,
            },
        })
    }

    /// Whether it is `threshold` of what was before, or more. Anything is more than a share of nothing.
    fn is_of(&self, threshold: f64) -> bool {
        self.difference_fraction.is_none_or(|share| share.abs() >= threshold)
    }
}

/// The figure of each valid run that has one. The only run of a deterministic cell is repeated as often as a verdict needs values.
fn values(cell: &CellResult, field: fn(&RunMetrics) -> Option<f64>) -> Vec<f64> {
    let values: Vec<f64> = cell.run_values.iter().filter(|run| run.is_valid()).filter_map(field).collect();
    match values[..] {
        [value] if cell.deterministic => vec![value; VALUES_MIN],
        _ => values,
    }
}
