//! Goodput against the round trip and against loss, with what theory says.
//!
//! Never: a line of a law where it does not hold, or a point moved to where it can be drawn without saying so.

use super::{name_of, short, titled};
use crate::quantity::Kind;
use crate::sheet::anchor;
use indexmap::IndexMap;
use pipefill_analysis::experiment::{CellResult, Experiment};
use pipefill_analysis::theory::{Bound, Law, bounds, segment_loss};
use pipefill_core::cell::{CellSpec, LossSpec};
use pipefill_core::units::Ratio;
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::Duration;

/// Points of a line.
const STEPS: u32 = 48;
/// A chart is this much wider and taller than its points.
const MARGIN: f64 = 1.6;
/// A path's rate is shown where it is less than this factor above all points.
const FAR: f64 = 30.0;

/// What is on the horizontal axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::html) enum Quantity {
    /// The round trip, nanoseconds.
    Rtt,
    /// Loss, per cent.
    Loss,
}

/// One chart; both axes are logarithmic.
#[derive(Debug, Serialize)]
pub(in crate::html) struct Plot {
    pub(in crate::html) title: String,
    pub(in crate::html) x: Quantity,
    pub(in crate::html) x_range: [f64; 2],
    pub(in crate::html) y_range: [f64; 2],
    pub(in crate::html) series: Vec<Series>,
    pub(in crate::html) lines: Vec<Line>,
    /// Sentences about what is not where one would look for it.
    pub(in crate::html) left_out: Vec<String>,
}

/// Cells that differ in the horizontal axis only.
#[derive(Debug, Serialize)]
pub(in crate::html) struct Series {
    pub(in crate::html) name: String,
    pub(in crate::html) points: Vec<Point>,
    /// What somebody else measured there.
    pub(in crate::html) published: Vec<[f64; 2]>,
}

/// One cell.
#[derive(Debug, Serialize)]
pub(in crate::html) struct Point {
    pub(in crate::html) cell: String,
    pub(in crate::html) label: String,
    pub(in crate::html) x: f64,
    pub(in crate::html) y: f64,
    pub(in crate::html) low: Option<u64>,
    pub(in crate::html) high: Option<u64>,
    /// The lowest of theory's bounds, and whose it is.
    pub(in crate::html) bound: Option<f64>,
    pub(in crate::html) law: Option<&'static str>,
}

/// What a law allows.
#[derive(Debug, Serialize)]
pub(in crate::html) struct Line {
    pub(in crate::html) name: String,
    pub(in crate::html) law: usize,
    pub(in crate::html) points: Vec<[f64; 2]>,
}

impl Quantity {
    /// Its axis' name.
    pub(in crate::html) const fn name(self) -> &'static str {
        match self {
            Self::Rtt => "round trip without queues",
            Self::Loss => "random loss",
        }
    }

    /// How its values are written.
    pub(in crate::html) const fn kind(self) -> Kind {
        match self {
            Self::Rtt => Kind::Time,
            Self::Loss => Kind::Percent,
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
            Self::Rtt => Some(round_trip(spec, cell)?.as_nanos() as f64),
            Self::Loss => configured_loss(spec).map(Ratio::percent).filter(|&percent| percent > 0.0),
        }
    }
}

/// The charts of one variant: of each quantity that differs between its cells.
pub(super) fn of(experiment: &Experiment, variant: Option<&str>, cells: &[&CellResult]) -> Vec<Plot> {
    let spec = |cell: &CellResult| &experiment.plan.cells[cell.index].spec;
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
    let spec = |cell: &CellResult| &experiment.plan.cells[cell.index].spec;
    let keys: Vec<&str> = cells
        .iter()
        .flat_map(|cell| cell.axes.keys())
        .map(String::as_str)
        .filter(|path| path.rsplit('.').next().is_some_and(|last| quantity.keys().contains(&last)))
        .collect();
    let mut groups: IndexMap<String, Vec<&CellResult>> = IndexMap::new();
    for cell in cells.iter().filter(|cell| cell.goodput_bps.is_some_and(|bps| bps > 0)) {
        groups.entry(name_of(cell, &keys)).or_default().push(cell);
    }
    let mut left_out = left_out(experiment, quantity, cells);
    let series: Vec<Series> = groups
        .iter()
        .map(|(name, cells)| Series {
            name: name.clone(),
            points: cells.iter().filter_map(|cell| point(spec(cell), quantity, cell)).collect(),
            published: cells.iter().filter_map(|cell| published(spec(cell), quantity, cell)).collect(),
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
    let rates = groups.values().filter_map(|cells| path_rate(spec(cells[0])));
    let y_range = [
        y_range[0],
        rates.filter(|&bps| bps < y_range[1] * FAR).map(|bps| bps * MARGIN).fold(y_range[1], f64::max),
    ];
    let templates = groups.iter().map(|(name, cells)| (name.as_str(), cells[0], spec(cells[0])));
    let lines = lines(quantity, templates.collect(), x_range, y_range);
    let far = lines.iter().filter(|line| line.points.is_empty()).map(|line| line.name.clone());
    let far: BTreeSet<String> = far.collect();
    if !far.is_empty() {
        let far: Vec<String> = far.into_iter().collect();
        left_out.push(format!("Far from all points, and not drawn: {}.", far.join(", ")));
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
        series,
        lines: lines.into_iter().filter(|line| !line.points.is_empty()).collect(),
        left_out,
    })
}

fn point(spec: &CellSpec, quantity: Quantity, cell: &CellResult) -> Option<Point> {
    let y = cell.goodput_bps? as f64;
    let allowed = round_trip(spec, cell).and_then(|rtt| binding(spec, rtt, segment_loss(spec)));
    Some(Point {
        cell: anchor(cell),
        label: cell.coordinates(),
        x: quantity.of(spec, cell)?,
        y,
        low: cell.goodput_bps_low,
        high: cell.goodput_bps_high,
        bound: allowed.map(|bound| bound.bps),
        law: allowed.map(|bound| bound.law.name()),
    })
}

fn published(spec: &CellSpec, quantity: Quantity, cell: &CellResult) -> Option<[f64; 2]> {
    let bps = cell.published?.goodput_bps.filter(|&bps| bps > 0.0)?;
    Some([quantity.of(spec, cell)?, bps])
}

/// What the path lets through, whatever the round trip.
fn path_rate(spec: &CellSpec) -> Option<f64> {
    let all = bounds(spec, Duration::ZERO, None);
    all.iter().find(|bound| bound.law == Law::PathRate).map(|bound| bound.bps)
}

/// The lowest bound that speaks of the flow's own congestion control.
fn binding(spec: &CellSpec, rtt: Duration, p: Option<Ratio>) -> Option<Bound> {
    let own = spec.flows.iter().find_map(|flow| flow.congestion_control.as_deref());
    let control = own.unwrap_or(&spec.sender.congestion_control);
    let applies = |law: Law| match law {
        Law::PathRate | Law::ReceiveWindow | Law::SendBuffer => true,
        Law::Cubic => control == "cubic",
        Law::Mathis => control == "reno",
        Law::Pftk => false,
    };
    let all = bounds(spec, rtt, p).into_iter().filter(|bound| applies(bound.law));
    all.min_by(|a, b| a.bps.total_cmp(&b.bps))
}

/// A law's values along the axis, and the first series that it holds for.
struct Known<'a> {
    series: &'a str,
    points: Vec<[f64; 2]>,
}

/// Every law along the axis; of laws that are the same for several series one. A line that is far away has no points.
fn lines(
    quantity: Quantity,
    templates: Vec<(&str, &CellResult, &CellSpec)>,
    x_range: [f64; 2],
    y_range: [f64; 2],
) -> Vec<Line> {
    let mut known: IndexMap<(Law, String), Known<'_>> = IndexMap::new();
    for (name, cell, spec) in templates {
        let mut of_law: IndexMap<Law, Vec<[f64; 2]>> = IndexMap::new();
        for step in 0..=STEPS {
            let x = x_range[0] * (x_range[1] / x_range[0]).powf(f64::from(step) / f64::from(STEPS));
            for bound in at(quantity, x, cell, spec) {
                of_law.entry(bound.law).or_default().push([short(x), short(bound.bps)]);
            }
        }
        for (law, points) in of_law {
            let key = points.iter().map(|point| format!("{:e} ", point[1])).collect();
            known.entry((law, key)).or_insert(Known { series: name, points });
        }
    }
    let count = |law: Law| known.keys().filter(|(other, _)| *other == law).count();
    let is_near = |point: &[f64; 2]| (y_range[0]..=y_range[1]).contains(&point[1]);
    let line = |(law, Known { series, points }): (&Law, &Known<'_>)| Line {
        name: if count(*law) > 1 && !series.is_empty() {
            format!("{} ({series})", law.name())
        } else {
            law.name().to_owned()
        },
        law: *law as usize,
        points: if points.iter().any(is_near) { points.clone() } else { Vec::new() },
    };
    known.iter().map(|((law, _), known)| line((law, known))).collect()
}

/// The bounds at `x`, all else as in `spec`.
fn at(quantity: Quantity, x: f64, cell: &CellResult, spec: &CellSpec) -> Vec<Bound> {
    match quantity {
        Quantity::Rtt => bounds(spec, Duration::from_nanos(x as u64), segment_loss(spec)),
        Quantity::Loss => {
            let p = segment_loss(spec).map(|_| Ratio::from_percent(x));
            round_trip(spec, cell).map_or_else(Vec::new, |rtt| bounds(spec, rtt, p))
        }
    }
}

/// As configured; where that is nothing, the median of what was measured.
fn round_trip(spec: &CellSpec, cell: &CellResult) -> Option<Duration> {
    let asked = spec.path.rtt();
    if asked.is_zero() {
        cell.srtt_us_p50.filter(|&us| us > 0).map(Duration::from_micros)
    } else {
        Some(asked)
    }
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
    let spec = |cell: &CellResult| &experiment.plan.cells[cell.index].spec;
    let measured = || cells.iter().filter(|cell| cell.goodput_bps.is_some());
    let without: Vec<String> = measured()
        .filter(|cell| quantity.of(spec(cell), cell).is_none())
        .map(|cell| {
            format!("{} {}", cell.coordinates(), Kind::Rate.alone(cell.goodput_bps.unwrap_or(0) as f64))
        })
        .collect();
    let moved = measured().any(|cell| {
        quantity == Quantity::Rtt && spec(cell).path.rtt().is_zero() && cell.srtt_us_p50.is_some()
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

fn range(values: impl Iterator<Item = f64> + Clone) -> Option<[f64; 2]> {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let most = values.fold(0.0, f64::max);
    (most > 0.0 && least.is_finite()).then(|| [least / MARGIN, most * MARGIN])
}
