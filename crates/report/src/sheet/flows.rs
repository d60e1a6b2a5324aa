//! The table of the flows, where a cell has more than one, or pings beside its only one: each with its own goodput, limit and round trips.

use super::column::{self, Column, column, float};
use super::{Heading, SheetEntry};
use crate::cause::limit_to_ask_for;
use crate::quantity::QuantityKind;
use pipefill_analysis::findings::experiment::{CellResult, FlowResult};
use pipefill_analysis::findings::finding::RttSource;

const COLUMNS: [Column<FlowResult>; 7] = [
    column("goodput", QuantityKind::Rate, |flow| float(flow.figures.goodput_bps)),
    column("lost", QuantityKind::Percent, |flow| flow.figures.lost_percent),
    column("retr", QuantityKind::Count, |flow| float(flow.figures.retransmits)),
    column("idle RTT", QuantityKind::Time, |flow| ns(flow.latency.idle_rtt_us)),
    column("RTT", QuantityKind::Time, |flow| ns(flow.latency.loaded_rtt_us_p50)),
    column("p95", QuantityKind::Time, |flow| ns(flow.latency.loaded_rtt_us_p95)),
    column("p99", QuantityKind::Time, |flow| ns(flow.latency.loaded_rtt_us_p99)),
];

/// The flows of those of `cells` that have more than one, or pings beside it, each with its cell.
pub(super) fn rows<'a>(cells: &[&'a CellResult]) -> Vec<(&'a CellResult, &'a FlowResult)> {
    let is_pinged = |flow: &FlowResult| flow.latency.loaded_rtt_source == Some(RttSource::Ping);
    let is_told = |cell: &CellResult| cell.flows.len() > 1 || cell.flows.iter().any(is_pinged);
    cells
        .iter()
        .copied()
        .filter(|cell| is_told(cell))
        .flat_map(|cell| cell.flows.iter().map(move |flow| (cell, flow)))
        .collect()
}

/// The columns beside the axes.
pub(super) fn columns(flows: &[&FlowResult]) -> Vec<(Heading, Vec<SheetEntry>)> {
    let mut columns = vec![column::words("flow", flows, |flow| Some(flow.name()))];
    columns.extend(column::of_numbers(&COLUMNS.iter().collect::<Vec<_>>(), false, flows));
    columns.push(column::words("limit", flows, |flow| limit_to_ask_for(&flow.verdict)));
    columns
}

fn ns(us: Option<u64>) -> Option<f64> {
    float(us).map(|us| us * 1e3)
}
