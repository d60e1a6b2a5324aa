//! How the round trips of a cell are distributed: of each flow under load, and of pings beside it and before it.

use super::titled;
use crate::sheet::anchor;
use pipefill_analysis::findings::experiment::{CellResult, FlowResult};
use pipefill_analysis::findings::finding::Distribution;
use schemars::JsonSchema;
use serde::Serialize;

/// A chart is this much wider than its points.
const MARGIN: f64 = 1.15;
/// Colours of pings: beside the load, and without it.
const PINGS: (usize, usize) = (4, 6);

/// One cell's chart. Round trips are in nanoseconds, on a logarithmic axis.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Trips {
    pub(crate) title: String,
    pub(crate) cell: String,
    pub(crate) x_range: [f64; 2],
    /// The round trip without load, as far as it is known.
    pub(crate) idle_ns: Option<f64>,
    pub(crate) series: Vec<Trip>,
}

/// One distribution.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Trip {
    pub(crate) name: String,
    /// Its colour.
    pub(crate) tone: usize,
    /// Round trip, and how many per cent did not exceed it.
    pub(crate) points: Vec<[f64; 2]>,
}

/// Charts of the cells of a variant that have a distribution.
pub(super) fn of(variant: Option<&str>, cells: &[&CellResult]) -> Vec<Trips> {
    cells.iter().filter_map(|cell| chart(variant, cell)).collect()
}

fn chart(variant: Option<&str>, cell: &CellResult) -> Option<Trips> {
    let series = series(cell);
    let idle_ns = cell.flows.iter().find_map(|flow| flow.latency.idle_rtt_us).map(|us| us as f64 * 1e3);
    let all = || series.iter().flat_map(|curve| &curve.points).map(|point| point[0]).chain(idle_ns);
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let name = super::name_of(cell, &[]);
    let title = if name.is_empty() { "round trips".to_owned() } else { format!("round trips, {name}") };
    (!series.is_empty() && least > 0.0).then(|| Trips {
        title: titled(variant, &title),
        cell: anchor(cell),
        x_range: [least / MARGIN, most * MARGIN],
        idle_ns,
        series,
    })
}

/// The flows' own, then those of pings, once for all flows.
fn series(cell: &CellResult) -> Vec<Trip> {
    let named = |flow: &FlowResult| match cell.flows.len() {
        1 => "smoothed RTT".to_owned(),
        _ => format!("{}, smoothed", flow.name()),
    };
    let smoothed = cell.flows.iter().filter_map(|flow| {
        let known = flow.latency.srtt_distribution.as_ref()?;
        Some(trip(named(flow), flow.figures.flow as usize, known))
    });
    let headline = || cell.headline().or_else(|| cell.flows.first());
    let ping = |of: fn(&FlowResult) -> Option<&Distribution>, name: &str, tone| {
        headline().and_then(of).map(|known| trip(name.to_owned(), tone, known))
    };
    let loaded = ping(|flow| flow.latency.ping_distribution.as_ref(), "pings under load", PINGS.0);
    let idle = ping(|flow| flow.latency.idle_ping_distribution.as_ref(), "pings without load", PINGS.1);
    smoothed.chain(loaded).chain(idle).collect()
}

fn trip(name: String, tone: usize, known: &Distribution) -> Trip {
    let points = known.rtt_us.iter().zip(&known.percent);
    let place = |(&us, &percent): (&u64, &u8)| [us as f64 * 1e3, f64::from(percent)];
    Trip { name, tone, points: points.map(place).filter(|point| point[0] > 0.0).collect() }
}
