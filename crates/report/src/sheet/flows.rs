//! The table of the flows, where a cell has more than one: each with its own goodput, limit and round trips.

use super::columns::{self, Column, column, float};
use super::{Entry, Heading};
use crate::quantity::Kind;
use pipefill_analysis::experiment::{CellResult, FlowResult};
use pipefill_core::cell::{Direction, Protocol};

const COLUMNS: [Column<FlowResult>; 6] = [
    column("goodput", Kind::Rate, |flow| float(flow.figures.goodput_bps)),
    column("lost", Kind::Percent, |flow| flow.figures.lost_percent),
    column("retr", Kind::Count, |flow| float(flow.figures.retransmits)),
    column("idle RTT", Kind::Time, |flow| ns(flow.latency.idle_rtt_us)),
    column("RTT", Kind::Time, |flow| ns(flow.latency.loaded_rtt_us_p50)),
    column("p95", Kind::Time, |flow| ns(flow.latency.loaded_rtt_us_p95)),
];

/// The flows of those of `cells` that have more than one, each with its cell.
pub(super) fn rows<'a>(cells: &[&'a CellResult]) -> Vec<(&'a CellResult, &'a FlowResult)> {
    let several = cells.iter().copied().filter(|cell| cell.flows.len() > 1);
    several.flat_map(|cell| cell.flows.iter().map(move |flow| (cell, flow))).collect()
}

/// The columns beside the axes.
pub(super) fn columns(flows: &[&FlowResult]) -> Vec<(Heading, Vec<Entry>)> {
    let mut columns = vec![columns::words("flow", flows, |flow| Some(named(flow)))];
    columns.extend(columns::of_numbers(&COLUMNS.iter().collect::<Vec<_>>(), false, flows));
    let limit = |flow: &FlowResult| flow.limited_by.map(|limit| limit.as_str().to_owned());
    columns.push(columns::words("limit", flows, limit));
    columns
}

/// `0 tcp ×4 →`: its place in the scenario, its streams, and which way its data go.
pub(crate) fn named(flow: &FlowResult) -> String {
    let flow = &flow.figures;
    let protocol = match flow.protocol {
        Protocol::Tcp => "tcp",
        Protocol::Udp => "udp",
        Protocol::Ping => "ping",
    };
    let streams = if flow.streams > 1 { format!(" ×{}", flow.streams) } else { String::new() };
    let way = match flow.direction {
        Direction::Forward => "→",
        Direction::Reverse => "←",
    };
    format!("{} {protocol}{streams} {way}", flow.flow)
}

fn ns(us: Option<u64>) -> Option<f64> {
    float(us).map(|us| us * 1e3)
}
