//! Goodput against the round trip and against loss, with what theory says.

use super::facets::{Facet, facets};
use super::laws::{self, Line, Quantity, Template};
use super::{SERIES, in_part, name_of, titled};
use crate::quantity::QuantityKind;
use crate::sheet::anchor;
use indexmap::{IndexMap, IndexSet};
use pipefill_analysis::findings::experiment::{CellResult, Experiment};
use pipefill_core::cell::{CellSpec, LossSpec};
use pipefill_core::units::{Bytes, Ratio};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

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
    /// Whether its interval is seen.
    pub(crate) fn is_wide(&self) -> bool {
        self.low.zip(self.high).is_some_and(|(low, high)| low < high)
    }

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
        .flat_map(|quantity| plots(experiment, quantity, variant, cells))
        .collect()
}

/// What has to be known of all parts of a chart before one is drawn.
struct Draft<'a> {
    name: String,
    /// The cells of each series, whether they have a place or not.
    groups: IndexMap<String, Vec<&'a CellResult>>,
    series: Vec<Series>,
    left_out: Vec<String>,
}

/// The chart of `quantity`, in parts where it would have too many series; all have the same axes.
fn plots(
    experiment: &Experiment,
    quantity: Quantity,
    variant: Option<&str>,
    cells: &[&CellResult],
) -> Vec<Plot> {
    let keys: Vec<&str> = cells
        .iter()
        .flat_map(|cell| cell.axes.keys())
        .map(String::as_str)
        .filter(|path| path.rsplit('.').next().is_some_and(|last| quantity.keys().contains(&last)))
        .collect::<IndexSet<_>>()
        .into_iter()
        .collect();
    let facets = facets(cells, &keys);
    let without: Vec<&str> = keys.iter().copied().chain(facets.axes.iter().copied()).collect();
    let mut drafts: Vec<Draft<'_>> =
        facets.shown.iter().filter_map(|facet| draft(experiment, quantity, facet, &without)).collect();
    if let Some(last) = drafts.last_mut() {
        last.left_out.extend(facets.left_out());
    }
    let Some(ranges) = Ranges::of(experiment, &drafts) else { return Vec::new() };
    drafts.into_iter().map(|draft| plot(experiment, quantity, variant, draft, &ranges)).collect()
}

/// `None` with fewer than two points in every series.
fn draft<'a>(
    experiment: &Experiment,
    quantity: Quantity,
    facet: &Facet<'a>,
    without: &[&str],
) -> Option<Draft<'a>> {
    let spec = |cell: &CellResult| &experiment.plan.cell(cell.index).spec;
    let mut groups: IndexMap<String, Vec<&CellResult>> = IndexMap::new();
    for &cell in &facet.cells {
        groups.entry(name_of(cell, without)).or_default().push(cell);
    }
    let series = |(tone, (name, cells)): (usize, (&String, &Vec<&CellResult>))| {
        let advertised = laws::advertised(cells);
        Series {
            name: name.clone(),
            tone,
            points: measured(cells)
                .filter_map(|cell| point(spec(cell), quantity, cell, advertised))
                .collect(),
            published: measured(cells).filter_map(|cell| published(spec(cell), quantity, cell)).collect(),
        }
    };
    let all = groups.iter().enumerate().map(series);
    let series: Vec<Series> = all.filter(|series| !series.points.is_empty()).collect();
    let left_out = left_out(experiment, quantity, &facet.cells);
    series.iter().any(|series| series.points.len() > 1).then(|| Draft {
        name: facet.name.clone(),
        groups,
        series,
        left_out,
    })
}

/// The axes of all parts.
struct Ranges {
    x: [f64; 2],
    y: [f64; 2],
    ratio: Option<[f64; 2]>,
}

impl Ranges {
    /// `None` without a point.
    fn of(experiment: &Experiment, drafts: &[Draft<'_>]) -> Option<Self> {
        let series = || drafts.iter().flat_map(|draft| &draft.series);
        let all = || series().flat_map(|series| &series.points);
        let others = || series().flat_map(|series| &series.published);
        let y = range(all().map(|point| point.y).chain(others().map(|point| point[1])))?;
        let groups = drafts.iter().flat_map(|draft| draft.groups.values());
        let rates = groups.filter_map(|cells| laws::path_rate(&experiment.plan.cell(cells[0].index).spec));
        let most = rates.filter(|&bps| bps < y[1] * FAR).map(|bps| bps * MARGIN).fold(y[1], f64::max);
        Some(Self { x: range(all().map(|point| point.x))?, y: [y[0], most], ratio: ratio_range(all()) })
    }
}

fn plot(
    experiment: &Experiment,
    quantity: Quantity,
    variant: Option<&str>,
    draft: Draft<'_>,
    ranges: &Ranges,
) -> Plot {
    let Draft { name, groups, series, mut left_out } = draft;
    let spec = |cell: &CellResult| &experiment.plan.cell(cell.index).spec;
    let kept = series.iter().enumerate().filter(|(_, series)| series.tone < SERIES);
    let templates: Vec<Template<'_>> = kept
        .map(|(number, series)| {
            let cells = &groups[&series.name];
            Template {
                number,
                cell: measured(cells).next().unwrap_or(cells[0]),
                spec: spec(cells[0]),
                advertised: laws::advertised(cells),
            }
        })
        .collect();
    let lines = laws::lines(quantity, &templates, ranges.x);
    let is_near =
        |line: &Line| line.points.iter().any(|point| (ranges.y[0]..=ranges.y[1]).contains(&point[1]));
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
    Plot {
        title: in_part(titled(variant, title), &name),
        x: quantity,
        x_range: ranges.x,
        y_range: ranges.y,
        ratio_range: ranges
            .ratio
            .filter(|_| series.iter().flat_map(|series| &series.points).any(|point| point.ratio().is_some())),
        series,
        lines,
        left_out,
    }
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

/// `advertised`: the window of its series.
fn point(spec: &CellSpec, quantity: Quantity, cell: &CellResult, advertised: Option<Bytes>) -> Option<Point> {
    let y = cell.goodput_bps? as f64;
    let allowed = laws::binding(spec, cell, laws::advertised(&[cell]).or(advertised));
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
fn ratio_range<'a>(points: impl Iterator<Item = &'a Point>) -> Option<[f64; 2]> {
    let known: Vec<f64> = points.filter_map(Point::ratio).collect();
    (!known.is_empty()).then(|| range(known.into_iter().chain([1.0])))?
}

fn range(values: impl Iterator<Item = f64> + Clone) -> Option<[f64; 2]> {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let most = values.fold(0.0, f64::max);
    (most > 0.0 && least.is_finite()).then(|| [least / MARGIN, most * MARGIN])
}
