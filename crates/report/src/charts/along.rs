//! Goodput and round trip along an axis, whatever it is: its values stand side by side, as the scenario lists them.
//!
//! The round trip has a chart for every axis, goodput one where an axis is the only one and is neither a round trip nor a loss, which have
//! charts with theory's lines.

use super::heats::{self, BACKEND};
use super::{laws, name_of, plots, titled};
use crate::quantity::QuantityKind;
use crate::sheet::anchor;
use indexmap::IndexMap;
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
            Self::Goodput => "interval of the median",
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
    let mut charts = Vec::new();
    for path in axes.keys() {
        let has_plot = plots::has(path);
        if axes.len() == 1 && !has_plot {
            charts.extend(chart(experiment, variant, cells, path, Upward::Goodput));
        }
        charts.extend(chart(experiment, variant, cells, path, Upward::Rtt));
    }
    charts
}

/// A cell, and one of its flows.
type OfCell<'a> = (&'a CellResult, Option<&'a FlowResult>);

/// `None` with fewer than two points in every series.
fn chart(
    experiment: &Experiment,
    variant: Option<&str>,
    cells: &[&CellResult],
    path: &str,
    upward: Upward,
) -> Option<Along> {
    let axes = heats::varied(cells);
    let values = axes.get(path)?;
    let several = axes.contains_key(BACKEND);
    let mut groups: IndexMap<String, Vec<OfCell<'_>>> = IndexMap::new();
    for &cell in cells {
        let backend = cell.backend.clone().filter(|_| several);
        for (flow, name) in flows(cell) {
            let parts = [Some(name_of(cell, &[path])), backend.clone(), name].into_iter().flatten();
            let name: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
            groups.entry(name.join(", ")).or_default().push((cell, flow));
        }
    }
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
    let series: Vec<Steps> = all.filter(|series| !series.points.is_empty()).collect();
    if series.iter().all(|series| series.points.len() < 2) {
        return None;
    }
    let rates: Vec<Option<f64>> =
        cells.iter().map(|cell| laws::path_rate(&experiment.plan.cell(cell.index).spec)).collect();
    let same = rates.windows(2).all(|pair| pair[0] == pair[1]);
    let path_bps = rates.first().copied().flatten().filter(|_| same && upward == Upward::Goodput);
    let axis = path.rsplit('.').next().unwrap_or(path);
    let what = if upward == Upward::Goodput { "goodput" } else { "round trip under load" };
    Some(Along {
        title: titled(variant, &format!("{what} by {axis}")),
        axis: axis.to_owned(),
        values: heats::told_apart(values),
        y_range: y_range(upward, &series, path_bps)?,
        upward,
        path_bps,
        series,
    })
}

/// The flows of `cell` with their names, which an only one has not; none where nothing was measured.
fn flows(cell: &CellResult) -> Vec<(Option<&FlowResult>, Option<String>)> {
    match cell.flows.as_slice() {
        [] => vec![(None, None)],
        [only] => vec![(Some(only), None)],
        several => several.iter().map(|flow| (Some(flow), Some(flow.name()))).collect(),
    }
}

fn y_range(upward: Upward, series: &[Steps], path_bps: Option<f64>) -> Option<[f64; 2]> {
    let points = || series.iter().flat_map(|series| &series.points);
    let all = || points().flat_map(|point| [Some(point.y), point.low, point.high]).flatten().chain(path_bps);
    let most = all().fold(0.0, f64::max) * if upward == Upward::Goodput { 1.05 } else { MARGIN };
    let least = match upward {
        Upward::Goodput => 0.0,
        Upward::Rtt => all().fold(f64::INFINITY, f64::min) / MARGIN,
    };
    (most > least).then_some([least, most])
}
