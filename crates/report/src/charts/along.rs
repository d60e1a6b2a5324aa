//! Goodput and round trip along an axis, whatever it is: its values stand side by side, as the scenario lists them.
//!
//! The round trip has a chart for every axis, goodput one where an axis is the only one and is neither a round trip nor a loss, which have
//! charts with theory's lines.

use super::facets::facets;
use super::heats::{self, BACKEND};
use super::{INTERVAL, in_part, laws, name_of, plots, titled};
use crate::quantity::QuantityKind;
use crate::sheet::anchor;
use indexmap::{IndexMap, IndexSet};
use pipefill_analysis::findings::experiment::{CellResult, Experiment, FlowResult};
use schemars::JsonSchema;
use serde::Serialize;

/// A chart is this much taller than its points.
const MARGIN: f64 = 1.3;

/// What is measured upwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Upward {
    /// Bits per second, from 0 on: the median, with its interval.
    Goodput,
    /// Nanoseconds, logarithmic: the median under load, up to the 99th percentile, down to the idle round trip.
    Rtt,
}

/// One chart.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Along {
    pub(crate) title: String,
    pub(crate) axis: String,
    pub(crate) values: Vec<String>,
    pub(crate) upward: Upward,
    pub(crate) y_range: [f64; 2],
    /// What the path lets through, where that is the same for all cells.
    pub(crate) path_bps: Option<f64>,
    pub(crate) series: Vec<Steps>,
    /// What has no chart, in a sentence.
    pub(crate) left_out: Option<String>,
}

/// Cells that differ in the axis only; of cells with several flows one of these.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Steps {
    pub(crate) name: String,
    /// Its colour: the same one whatever was measured.
    pub(crate) tone: usize,
    pub(crate) points: Vec<Step>,
}

/// One cell.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Step {
    pub(crate) cell: String,
    pub(crate) label: String,
    /// Index of its value.
    pub(crate) at: usize,
    pub(crate) y: f64,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    /// Of a round trip.
    pub(crate) p95: Option<f64>,
}

impl Step {
    /// Whether what lies around it is seen.
    pub(crate) fn is_wide(&self) -> bool {
        self.low.zip(self.high).is_some_and(|(low, high)| low < high)
    }
}

/// A median with what lies around it.
struct Measured {
    y: f64,
    low: Option<f64>,
    high: Option<f64>,
    p95: Option<f64>,
}

impl Upward {
    /// How its values are written.
    pub(crate) const fn kind(self) -> QuantityKind {
        match self {
            Self::Goodput => QuantityKind::Rate,
            Self::Rtt => QuantityKind::Time,
        }
    }

    /// The name of its axis.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::Rtt => "round trip under load",
        }
    }

    /// What the ends of a point's line are.
    pub(crate) const fn ends(self) -> &'static str {
        match self {
            Self::Goodput => INTERVAL,
            Self::Rtt => "from idle to the 99th percentile, a tick at the 95th",
        }
    }

    /// What was measured of `flow`, or of `cell` where that has no other.
    fn of(self, cell: &CellResult, flow: Option<&FlowResult>) -> Option<Measured> {
        let is_only = cell.flows.len() < 2;
        let bps = |value: Option<u64>| value.map(|bps| bps as f64);
        let ns = |value: Option<u64>| value.filter(|&us| us > 0).map(|us| us as f64 * 1e3);
        match self {
            Self::Goodput if is_only => Some(Measured {
                y: bps(cell.goodput_bps)?,
                low: bps(cell.goodput_bps_low),
                high: bps(cell.goodput_bps_high),
                p95: None,
            }),
            Self::Goodput => {
                Some(Measured { y: bps(flow?.figures.goodput_bps)?, low: None, high: None, p95: None })
            }
            Self::Rtt => {
                let latency = &flow?.latency;
                Some(Measured {
                    y: ns(latency.loaded_rtt_us_p50)?,
                    low: ns(latency.idle_rtt_us),
                    high: ns(latency.loaded_rtt_us_p99),
                    p95: ns(latency.loaded_rtt_us_p95),
                })
            }
        }
    }
}

/// The charts of one variant.
pub(super) fn of(experiment: &Experiment, variant: Option<&str>, cells: &[&CellResult]) -> Vec<Along> {
    let mut axes = heats::varied(cells);
    axes.shift_remove(BACKEND);
    let mut all = Vec::new();
    for path in axes.keys() {
        let has_plot = plots::has(path);
        if axes.len() == 1 && !has_plot {
            all.extend(charts(experiment, variant, cells, path, Upward::Goodput));
        }
        all.extend(charts(experiment, variant, cells, path, Upward::Rtt));
    }
    all
}

/// A cell, and one of its flows.
type OfCell<'a> = (&'a CellResult, Option<&'a FlowResult>);

/// The chart along `path`, in parts where it would have too many series; all have the same axes.
fn charts(
    experiment: &Experiment,
    variant: Option<&str>,
    cells: &[&CellResult],
    path: &str,
    upward: Upward,
) -> Vec<Along> {
    let axes = heats::varied(cells);
    let Some(values) = axes.get(path) else { return Vec::new() };
    let facets = facets(cells, &[path]);
    let without: Vec<&str> = [path].into_iter().chain(facets.axes.iter().copied()).collect();
    let has_backends = axes.contains_key(BACKEND) && !facets.axes.contains(&BACKEND);
    let mut parts: Vec<(&str, Vec<Steps>)> = Vec::new();
    for facet in &facets.shown {
        let mut groups: IndexMap<String, Vec<OfCell<'_>>> = IndexMap::new();
        for &cell in &facet.cells {
            let backend = cell.backend.clone().filter(|_| has_backends);
            for (flow, name) in flows(cell) {
                let parts = [Some(name_of(cell, &without)), backend.clone(), name].into_iter().flatten();
                let name: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
                groups.entry(name.join(", ")).or_default().push((cell, flow));
            }
        }
        let series = series(&groups, path, values, upward);
        if series.iter().any(|series| series.points.len() > 1) {
            parts.push((&facet.name, series));
        }
    }
    let rates: Vec<Option<f64>> =
        cells.iter().map(|cell| laws::path_rate(&experiment.plan.cell(cell.index).spec)).collect();
    let same = rates.windows(2).all(|pair| pair[0] == pair[1]);
    let path_bps = rates.first().copied().flatten().filter(|_| same && upward == Upward::Goodput);
    let Some(y_range) = y_range(upward, &parts, path_bps) else {
        return Vec::new();
    };
    let axis = path.rsplit('.').next().unwrap_or(path);
    let what = if upward == Upward::Goodput { "goodput" } else { "round trip under load" };
    let title = titled(variant, &format!("{what} by {axis}"));
    let labels = heats::labels(path, values);
    let last = parts.len().saturating_sub(1);
    let chart = |(number, (part, series)): (usize, (&str, Vec<Steps>))| Along {
        title: in_part(title.clone(), part),
        axis: axis.to_owned(),
        values: labels.clone(),
        y_range,
        upward,
        path_bps,
        series,
        left_out: facets.left_out().filter(|_| number == last),
    };
    parts.into_iter().enumerate().map(chart).collect()
}

/// A series for each of `groups` that was measured anywhere.
fn series(
    groups: &IndexMap<String, Vec<OfCell<'_>>>,
    path: &str,
    values: &IndexSet<&str>,
    upward: Upward,
) -> Vec<Steps> {
    let step = |&(cell, flow): &OfCell<'_>| {
        let Measured { y, low, high, p95 } = upward.of(cell, flow)?;
        let at = values.get_index_of(cell.axes.get(path)?.as_str())?;
        Some(Step { cell: anchor(cell), label: cell.coordinates(), at, y, low, high, p95 })
    };
    let steps = |(tone, (name, group)): (usize, (&String, &Vec<OfCell<'_>>))| Steps {
        name: name.clone(),
        tone,
        points: group.iter().filter_map(step).collect(),
    };
    let all = groups.iter().enumerate().map(steps);
    all.filter(|series| !series.points.is_empty()).collect()
}

/// The flows of `cell` with their names, which an only one has not; none where nothing was measured.
fn flows(cell: &CellResult) -> Vec<(Option<&FlowResult>, Option<String>)> {
    match cell.flows.as_slice() {
        [] => vec![(None, None)],
        [only] => vec![(Some(only), None)],
        several => several.iter().map(|flow| (Some(flow), Some(flow.name()))).collect(),
    }
}

/// Of all `parts` together.
fn y_range(upward: Upward, parts: &[(&str, Vec<Steps>)], path_bps: Option<f64>) -> Option<[f64; 2]> {
    let points = || parts.iter().flat_map(|(_, series)| series).flat_map(|series| &series.points);
    let all = || points().flat_map(|point| [Some(point.y), point.low, point.high]).flatten().chain(path_bps);
    let most = all().fold(0.0, f64::max) * if upward == Upward::Goodput { 1.05 } else { MARGIN };
    let least = match upward {
        Upward::Goodput => 0.0,
        Upward::Rtt => all().fold(f64::INFINITY, f64::min) / MARGIN,
    };
    (most > least).then_some([least, most])
}
