//! Goodput against the round trip and against loss, with what theory says.

use super::laws::{self, Line, Quantity, Template};
use super::{name_of, titled};
use crate::quantity::QuantityKind;
use crate::sheet::anchor;
use indexmap::IndexMap;
use pipefill_analysis::findings::experiment::{CellResult, Experiment};
use pipefill_core::cell::{CellSpec, LossSpec};
use pipefill_core::units::Ratio;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// As many series as there are colours are shown until somebody asks for more; theory's lines are those of these.
pub(crate) const SERIES: usize = 8;
/// A chart is this much wider and taller than its points.
const MARGIN: f64 = 1.6;
/// A path's rate is shown where it is less than this factor above all points.
const FAR: f64 = 30.0;

/// One chart; both axes are logarithmic.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: Quantity,
    pub(crate) x_range: [f64; 2],
    pub(crate) y_range: [f64; 2],
    /// Of measured over the lowest bound; `None` where theory says nothing.
    pub(crate) ratio_range: Option<[f64; 2]>,
    pub(crate) series: Vec<Series>,
    pub(crate) lines: Vec<Line>,
    /// Sentences about what is not where one would look for it.
    pub(crate) left_out: Vec<String>,
}

/// Cells that differ in the horizontal axis only.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// Its colour and shape: the same ones whatever was measured.
    pub(crate) tone: usize,
    pub(crate) points: Vec<Point>,
    /// What somebody else measured there.
    pub(crate) published: Vec<[f64; 2]>,
}

/// One cell.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Point {
    pub(crate) cell: String,
    pub(crate) label: String,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) low: Option<u64>,
    pub(crate) high: Option<u64>,
    pub(crate) coverage: Option<f64>,
    /// The lowest of theory's bounds, and whose it is.
    pub(crate) bound: Option<f64>,
    pub(crate) law: Option<&'static str>,
}

impl Point {
    /// Measured over the lowest bound.
    pub(crate) fn ratio(&self) -> Option<f64> {
        self.bound.filter(|&bps| bps > 0.0).map(|bps| self.y / bps)
    }
}

impl Quantity {
    /// Its axis' name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rtt => "round trip without queues",
            Self::Loss => "random loss",
        }
    }

    /// How its values are written.
    pub(crate) const fn kind(self) -> QuantityKind {
        match self {
            Self::Rtt => QuantityKind::Time,
            Self::Loss => QuantityKind::Percent,
        }
    }

    /// Axes of a scenario that set it.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Rtt => &["rtt", "forward_delay", "reverse_delay"],
            Self::Loss => &["loss"],
        }
    }

    /// Where `cell` stands; `None` where it has no place.
    fn of(self, spec: &CellSpec, cell: &CellResult) -> Option<f64> {
        match self {
            Self::Rtt => Some(laws::round_trip(spec, cell)?.as_nanos() as f64),
            Self::Loss => configured_loss(spec).map(Ratio::percent).filter(|&percent| percent > 0.0),
        }
    }
}

/// Whether the axis at `path` is across one of these charts.
pub(super) fn has(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or(path);
    [Quantity::Rtt, Quantity::Loss].iter().any(|quantity| quantity.keys().contains(&last))
}

/// The charts of one variant: of each quantity that differs between its cells.
pub(super) fn of(experiment: &Experiment, variant: Option<&str>, cells: &[&CellResult]) -> Vec<Plot> {
    let spec = |cell: &CellResult| &experiment.plan.cell(cell.index).spec;
    [Quantity::Rtt, Quantity::Loss]
        .into_iter()
        .filter(|quantity| {
            let asked = |cell: &&CellResult| match quantity {
                Quantity::Rtt => Some(spec(cell).path.rtt().as_nanos()),
                Quantity::Loss => configured_loss(spec(cell)).map(|p| (p.fraction() * 1e12) as u128),
            };
            let distinct: BTreeSet<u128> = cells.iter().filter_map(asked).collect();
            distinct.len() > 1
        })
        .filter_map(|quantity| plot(experiment, quantity, variant, cells))
        .collect()
}

fn plot(
    experiment: &Experiment,
    quantity: Quantity,
    variant: Option<&str>,
    cells: &[&CellResult],
) -> Option<Plot> {
    let spec = |cell: &CellResult| &experiment.plan.cell(cell.index).spec;
    let keys: Vec<&str> = cells
        .iter()
        .flat_map(|cell| cell.axes.keys())
        .map(String::as_str)
        .filter(|path| path.rsplit('.').next().is_some_and(|last| quantity.keys().contains(&last)))
        .collect();
    let mut groups: IndexMap<String, Vec<&CellResult>> = IndexMap::new();
    for cell in cells {
        groups.entry(name_of(cell, &keys)).or_default().push(cell);
    }
    let mut left_out = left_out(experiment, quantity, cells);
    let series: Vec<Series> = groups
        .iter()
        .enumerate()
        .map(|(tone, (name, cells))| Series {
            name: name.clone(),
            tone,
            points: measured(cells).filter_map(|cell| point(spec(cell), quantity, cell)).collect(),
            published: measured(cells).filter_map(|cell| published(spec(cell), quantity, cell)).collect(),
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    if series.iter().all(|series| series.points.len() < 2) {
        return None;
    }
    let all = || series.iter().flat_map(|series| &series.points);
    let others = || series.iter().flat_map(|series| &series.published);
    let x_range = range(all().map(|point| point.x))?;
    let y_range = range(all().map(|point| point.y).chain(others().map(|point| point[1])))?;
    let rates = groups.values().filter_map(|cells| laws::path_rate(spec(cells[0])));
    let y_range = [
        y_range[0],
        rates.filter(|&bps| bps < y_range[1] * FAR).map(|bps| bps * MARGIN).fold(y_range[1], f64::max),
    ];
    let kept = series.iter().enumerate().filter(|(_, series)| series.tone < SERIES);
    let templates: Vec<Template<'_>> = kept
        .map(|(number, series)| Template {
            number,
            cell: measured(&groups[&series.name]).next().unwrap_or(groups[&series.name][0]),
            spec: spec(groups[&series.name][0]),
        })
        .collect();
    let lines = laws::lines(quantity, &templates, x_range);
    let is_near = |line: &Line| line.points.iter().any(|point| (y_range[0]..=y_range[1]).contains(&point[1]));
    let (lines, far): (Vec<Line>, Vec<Line>) = lines.into_iter().partition(is_near);
    let far: BTreeSet<String> = far.iter().map(|line| described(line, &series)).collect();
    if !far.is_empty() {
        let far: Vec<String> = far.into_iter().collect();
        left_out.push(format!("Far from all points, and not drawn: {}.", far.join(", ")));
    }
    if series.iter().any(|series| series.tone >= SERIES) {
        left_out.push(format!(
            "Theory's lines are those of the first {SERIES} series; the table below has every cell's bound."
        ));
    }
    let title = match quantity {
        Quantity::Rtt => "goodput against the round trip",
        Quantity::Loss => "goodput against loss",
    };
    Some(Plot {
        title: titled(variant, title),
        x: quantity,
        x_range,
        y_range,
        ratio_range: ratio_range(&series),
        series,
        lines,
        left_out,
    })
}

/// The cells that have a place on an axis of goodput.
fn measured<'a>(cells: &[&'a CellResult]) -> impl Iterator<Item = &'a CellResult> {
    cells.iter().copied().filter(|cell| cell.goodput_bps.is_some_and(|bps| bps > 0))
}

/// The law's name, with its series' where it is not that of all.
fn described(line: &Line, series: &[Series]) -> String {
    match line.series.map(|number| &series[number].name).filter(|name| !name.is_empty()) {
        Some(name) => format!("{} ({name})", line.name),
        None => line.name.to_owned(),
    }
}

fn point(spec: &CellSpec, quantity: Quantity, cell: &CellResult) -> Option<Point> {
    let y = cell.goodput_bps? as f64;
    let allowed = laws::binding(spec, cell);
    Some(Point {
        cell: anchor(cell),
        label: cell.coordinates(),
        x: quantity.of(spec, cell)?,
        y,
        low: cell.goodput_bps_low,
        high: cell.goodput_bps_high,
        coverage: cell.goodput_coverage,
        bound: allowed.map(|bound| bound.bps),
        law: allowed.map(|bound| bound.law.name()),
    })
}

fn published(spec: &CellSpec, quantity: Quantity, cell: &CellResult) -> Option<[f64; 2]> {
    let bps = cell.published?.goodput_bps.filter(|&bps| bps > 0.0)?;
    Some([quantity.of(spec, cell)?, bps])
}

/// The loss of the direction forward, whatever its unit.
fn configured_loss(spec: &CellSpec) -> Option<Ratio> {
    match spec.path.forward.loss {
        LossSpec::None => Some(Ratio::ZERO),
        LossSpec::Independent(p) => Some(p),
        LossSpec::GilbertElliott { .. } | LossSpec::Packets(_) => None,
    }
}

fn left_out(experiment: &Experiment, quantity: Quantity, cells: &[&CellResult]) -> Vec<String> {
    let spec = |cell: &CellResult| &experiment.plan.cell(cell.index).spec;
    let measured = || cells.iter().filter(|cell| cell.goodput_bps.is_some());
    let without: Vec<String> = measured()
        .filter(|cell| quantity.of(spec(cell), cell).is_none())
        .map(|cell| {
            format!(
                "{} {}",
                cell.coordinates(),
                QuantityKind::Rate.alone(cell.goodput_bps.unwrap_or(0) as f64)
            )
        })
        .collect();
    let moved = measured().any(|cell| {
        quantity == Quantity::Rtt && spec(cell).path.rtt().is_zero() && cell.tcp.srtt_us_p50.is_some()
    });
    let mut notes = Vec::new();
    match without.len() {
        0 => {}
        1..=6 => notes.push(format!("Zero has no place on a logarithmic axis: {}.", without.join("; "))),
        many => notes.push(format!("{many} cells at zero have no place on a logarithmic axis.")),
    }
    if moved {
        notes.push("A round trip of 0 stands where it was measured: at the median RTT.".to_owned());
    }
    notes
}

/// With 1 in it.
fn ratio_range(series: &[Series]) -> Option<[f64; 2]> {
    let ratios = series.iter().flat_map(|series| &series.points).filter_map(Point::ratio);
    let known: Vec<f64> = ratios.collect();
    (!known.is_empty()).then(|| range(known.into_iter().chain([1.0])))?
}

fn range(values: impl Iterator<Item = f64> + Clone) -> Option<[f64; 2]> {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let most = values.fold(0.0, f64::max);
    (most > 0.0 && least.is_finite()).then(|| [least / MARGIN, most * MARGIN])
}
