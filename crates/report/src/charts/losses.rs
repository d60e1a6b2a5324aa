//! Where datagrams of UDP were lost: by the path, for each of its reasons, by the receiver's socket, or nobody knows.

use super::titled;
use crate::sheet::anchor;
use pipefill_analysis::findings::experiment::{CellResult, Experiment};
use pipefill_analysis::findings::metrics::RunMetrics;
use pipefill_core::cell::Protocol;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// One chart.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Losses {
    pub(crate) title: String,
    pub(crate) places: Vec<String>,
    pub(crate) bars: Vec<Bar>,
}

/// One cell: counts in the order of the places.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Bar {
    pub(crate) cell: String,
    pub(crate) label: String,
    pub(crate) sent: u64,
    pub(crate) counts: Vec<Option<u64>>,
}

const SOCKET: &str = "receiver's socket";
const RECEIVED: &str = "received";
const UNKNOWN: &str = "unaccounted for";

impl Losses {
    /// Whether any cell lost or received something there.
    pub(crate) fn has(&self, place: usize) -> bool {
        self.bars.iter().any(|bar| bar.counts[place].is_some_and(|count| count > 0))
    }
}

impl Bar {
    /// Whether not all that was sent was received.
    fn has_losses(&self) -> bool {
        self.counts.iter().skip(1).flatten().any(|&count| count > 0)
    }
}

/// The chart of the cells whose flows are all UDP and which lost datagrams; `None` without one.
pub(super) fn of(experiment: &Experiment, variant: Option<&str>, cells: &[&CellResult]) -> Option<Losses> {
    let constant = super::constant(cells);
    let is_udp = |cell: &&&CellResult| {
        let flows = &experiment.plan.cell(cell.index).spec.flows;
        !flows.is_empty() && flows.iter().all(|flow| flow.protocol == Protocol::Udp)
    };
    let cells: Vec<&&CellResult> = cells
        .iter()
        .filter(is_udp)
        .filter(|cell| cell.udp.datagrams_sent.is_some_and(|sent| sent > 0))
        .collect();
    let runs = || cells.iter().flat_map(|cell| valid(cell));
    let reasons: BTreeSet<&str> = runs()
        .flat_map(|run| &run.instrument.path_drops)
        .filter(|(_, packets)| **packets > 0)
        .map(|(reason, _)| reason.as_str())
        .collect();
    let known = reasons.iter().map(|reason| format!("path {}", reason.replace('_', " ")));
    let mut places = vec![RECEIVED.to_owned()];
    places.extend(known);
    places.extend([SOCKET, UNKNOWN].map(str::to_owned));
    let bars: Vec<Bar> =
        cells.iter().map(|cell| bar(cell, &reasons, &constant)).filter(Bar::has_losses).collect();
    let title = titled(variant, "where datagrams were lost");
    (!bars.is_empty()).then_some(Losses { title, places, bars })
}

fn bar(cell: &CellResult, reasons: &BTreeSet<&str>, without: &[&str]) -> Bar {
    let sum = |field: &dyn Fn(&RunMetrics) -> Option<u64>| valid(cell).map(field).sum::<Option<u64>>();
    let sent = sum(&|run| run.udp.datagrams_sent).unwrap_or(0);
    let received = sum(&|run| run.udp.datagrams_received);
    let socket = sum(&|run| run.udp.socket_drops);
    let path: Vec<u64> = reasons
        .iter()
        .map(|reason| {
            valid(cell).map(|run| run.instrument.path_drops.get(*reason).copied().unwrap_or(0)).sum()
        })
        .collect();
    let told = received.unwrap_or(0) + socket.unwrap_or(0) + path.iter().sum::<u64>();
    let mut counts = vec![received];
    counts.extend(path.into_iter().map(Some));
    counts.extend([socket, sent.checked_sub(told)]);
    Bar { cell: anchor(cell), label: super::name_of(cell, without), sent, counts }
}

fn valid(cell: &CellResult) -> impl Iterator<Item = &RunMetrics> {
    cell.run_values.iter().filter(|run| run.is_valid())
}
