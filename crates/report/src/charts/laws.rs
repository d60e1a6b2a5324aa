//! What theory allows along an axis: the lines beside measured points.
//!
//! Never: a law's line where the law does not hold.

use super::short;
use indexmap::IndexMap;
use pipefill_analysis::findings::experiment::CellResult;
use pipefill_analysis::ground::theory::{Bound, Law, bounds, segment_loss};
use pipefill_core::cell::CellSpec;
use pipefill_core::limit::LimitedBy;
use pipefill_core::units::{Bytes, Ratio};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// Points of a line.
const STEPS: u32 = 48;

/// What is on the horizontal axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Quantity {
    /// The round trip, nanoseconds.
    Rtt,
    /// Loss, per cent.
    Loss,
}

/// What a law allows.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) law: usize,
    /// Whose line it is, where it is not the same for all series.
    pub(crate) series: Option<usize>,
    pub(crate) points: Vec<[f64; 2]>,
}

/// A series, and a cell of it: the others differ from that in the axis only.
#[derive(Debug)]
pub(super) struct Template<'a> {
    pub(super) number: usize,
    pub(super) cell: &'a CellResult,
    pub(super) spec: &'a CellSpec,
    /// The receive window of the series.
    pub(super) advertised: Option<Bytes>,
}

/// The first series that has a line, and its points.
type Known = (usize, Vec<[f64; 2]>);

/// Every law along the axis; of lines that are the same for several series one.
pub(super) fn lines(quantity: Quantity, templates: &[Template<'_>], x_range: [f64; 2]) -> Vec<Line> {
    let mut known: IndexMap<(Law, String), Known> = IndexMap::new();
    for template in templates {
        let mut of_law: IndexMap<Law, Vec<[f64; 2]>> = IndexMap::new();
        for step in 0..=STEPS {
            let x = x_range[0] * (x_range[1] / x_range[0]).powf(f64::from(step) / f64::from(STEPS));
            for bound in at(quantity, x, template) {
                of_law.entry(bound.law).or_default().push([short(x), short(bound.bps)]);
            }
        }
        for (law, points) in of_law {
            let key = points.iter().map(|point| format!("{:e} ", point[1])).collect();
            known.entry((law, key)).or_insert((template.number, points));
        }
    }
    let mut lines: Vec<Line> = known
        .into_iter()
        .map(|((law, _), (series, points))| Line {
            name: law.name(),
            law: law as usize,
            series: Some(series),
            points,
        })
        .collect();
    let laws: Vec<usize> = lines.iter().map(|line| line.law).collect();
    for line in &mut lines {
        if laws.iter().filter(|&&law| law == line.law).count() == 1 {
            line.series = None;
        }
    }
    lines
}

/// What the path lets through, whatever the round trip.
pub(super) fn path_rate(spec: &CellSpec) -> Option<f64> {
    let all = bounds(spec, Duration::ZERO, None, None);
    all.iter().find(|bound| bound.law == Law::PathRate).map(|bound| bound.bps)
}

/// The receive window of all streams that limited some of `cells`, which differ in the axis only: the largest that was advertised there. `None` where it
/// limited none: half of the buffer is all that is known then.
pub(super) fn advertised(cells: &[&CellResult]) -> Option<Bytes> {
    let limited = cells.iter().filter(|cell| cell.verdict.limited_by == Some(LimitedBy::Rwnd));
    limited.filter_map(|cell| cell.tcp.rwnd_bytes_p50).max().map(Bytes::new)
}

/// The lowest bound of `cell` that speaks of the flow's own congestion control.
pub(super) fn binding(spec: &CellSpec, cell: &CellResult, advertised: Option<Bytes>) -> Option<Bound> {
    let rtt = round_trip(spec, cell)?;
    let own = spec.flows.iter().find_map(|flow| flow.congestion_control.as_deref());
    let control = own.unwrap_or(&spec.sender.congestion_control);
    let applies = |law: Law| match law {
        Law::PathRate | Law::ReceiveWindow | Law::SendBuffer => true,
        Law::Cubic => control == "cubic",
        Law::Mathis => control == "reno",
        Law::Pftk => false,
    };
    let all = bounds(spec, rtt, segment_loss(spec), advertised).into_iter();
    all.filter(|bound| applies(bound.law)).min_by(|a, b| a.bps.total_cmp(&b.bps))
}

/// The bounds at `x`, all else as in the template.
fn at(quantity: Quantity, x: f64, template: &Template<'_>) -> Vec<Bound> {
    let Template { cell, spec, advertised, .. } = *template;
    match quantity {
        Quantity::Rtt => bounds(spec, Duration::from_nanos(x as u64), segment_loss(spec), advertised),
        Quantity::Loss => {
            let p = segment_loss(spec).map(|_| Ratio::from_percent(x));
            round_trip(spec, cell).map_or_else(Vec::new, |rtt| bounds(spec, rtt, p, advertised))
        }
    }
}

/// As configured; where that is nothing, the median of what was measured.
pub(super) fn round_trip(spec: &CellSpec, cell: &CellResult) -> Option<Duration> {
    let asked = spec.path.rtt();
    if asked.is_zero() {
        cell.tcp.srtt_us_p50.filter(|&us| us > 0).map(Duration::from_micros)
    } else {
        Some(asked)
    }
}
