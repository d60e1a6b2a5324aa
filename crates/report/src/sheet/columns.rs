//! The columns beside the axes: where each takes its figure from, and when it is left out.

use super::column::{Column, column, float, limited_by, of_numbers, words};
use super::{Heading, SheetEntry, Tone, windows};
use crate::quantity::QuantityKind;
use pipefill_analysis::findings::experiment::{CellResult, Experiment, FlowResult};
use pipefill_core::cell::Protocol;

/// What stands for an interval without any width because nothing is left to chance.
pub(crate) const EXACT: &str = "exact";

/// In the order of the table.
const COLUMNS: [Column; 12] = [
    column("offered", QuantityKind::Rate, |c| float(c.offered_bps)),
    Column {
        name: "goodput",
        udp_name: "received",
        kind: QuantityKind::Rate,
        value: |c| float(c.goodput_bps),
    },
    column("±%", QuantityKind::Ratio, half_width_percent),
    column("publ.", QuantityKind::Rate, |c| c.published?.goodput_bps),
    column("ratio", QuantityKind::Ratio, published_ratio),
    column("lost", QuantityKind::Percent, |c| c.udp.lost_percent),
    column("publ. lost", QuantityKind::Percent, |c| c.published?.lost_percent),
    column("jitter", QuantityKind::Time, |c| float(c.udp.jitter_ns)),
    column("retr", QuantityKind::Count, |c| float(c.tcp.retransmits)),
    column("publ. retr", QuantityKind::Count, |c| c.published?.retransmits),
    column("RTT", QuantityKind::Time, |c| float(c.tcp.srtt_us_p50).map(|us| us * 1e3)),
    column("fairness", QuantityKind::Ratio, fairness),
];

/// Left to a table of their own where buffers are what is asked about.
const WINDOWS: [Column; 3] = [
    column("cwnd", QuantityKind::Bytes, |c| float(c.tcp.cwnd_bytes_p50)),
    column("rwnd", QuantityKind::Bytes, |c| float(c.tcp.rwnd_bytes_p50)),
    column("flight", QuantityKind::Bytes, |c| float(c.tcp.in_flight_bytes_p50)),
];

/// What goodput is called where it is of flows that go both ways, or of both protocols.
pub(crate) const SUM: &str = "sum";

/// Whether the cell's goodput is a sum of what does not belong together.
fn is_mixed(cell: &CellResult) -> bool {
    let kind = |flow: &FlowResult| (flow.figures.protocol, flow.figures.direction);
    cell.flows.windows(2).any(|pair| kind(&pair[0]) != kind(&pair[1]))
}

/// Jain's index, where all streams share a direction of the path.
fn fairness(cell: &CellResult) -> Option<f64> {
    let is_one_way = cell.flows.windows(2).all(|pair| pair[0].figures.direction == pair[1].figures.direction);
    cell.fairness_index.filter(|_| is_one_way)
}

/// All columns that have a value for some cell, with their entries.
pub(super) fn filled(experiment: &Experiment, cells: &[&CellResult]) -> Vec<(Heading, Vec<SheetEntry>)> {
    let flows = cells.iter().flat_map(|cell| &experiment.plan.cell(cell.index).spec.flows);
    let udp = flows.into_iter().all(|flow| flow.protocol == Protocol::Udp);
    let mut wanted: Vec<&Column> = COLUMNS.iter().collect();
    if !windows::are_asked_for(cells) {
        wanted.extend(&WINDOWS);
    }
    let mut columns: Vec<(Heading, Vec<SheetEntry>)> = Vec::new();
    columns.extend(backend(cells));
    let shown: Vec<&CellResult> =
        cells.iter().map(|cell| cell.invalid_figures.as_deref().unwrap_or(cell)).collect();
    columns.extend(of_numbers(&wanted, udp, &shown).into_iter().map(|(heading, mut entries)| {
        cells.iter().zip(&mut entries).for_each(|(cell, entry)| mark_invalid(cell, entry));
        let entries = if heading.name == "±%" { said_exact(cells, entries) } else { entries };
        let is_sum = heading.name == "goodput" && cells.iter().any(|cell| is_mixed(cell));
        (if is_sum { Heading { name: SUM.to_owned(), ..heading } } else { heading }, entries)
    }));
    columns.extend(limited_by(cells));
    columns.extend(validity(experiment, cells));
    columns
}

/// What was measured in invalid runs alone is told apart.
fn mark_invalid(cell: &CellResult, entry: &mut SheetEntry) {
    if cell.invalid_figures.is_some() && entry.value.is_some() {
        entry.text = format!("({})", entry.text);
        entry.tone = Tone::Faint;
    }
}

/// The interval's further end from the median, in per cent of it.
fn half_width_percent(cell: &CellResult) -> Option<f64> {
    let median = float(cell.goodput_bps).filter(|&v| v > 0.0)?;
    let (low, high) = (float(cell.goodput_bps_low)?, float(cell.goodput_bps_high)?);
    Some(100.0 * (median - low).max(high - median) / median)
}

/// `exact` for the interval of a cell whose every run would be the same.
fn said_exact(cells: &[&CellResult], entries: Vec<SheetEntry>) -> Vec<SheetEntry> {
    let exact = |(cell, entry): (&&CellResult, SheetEntry)| match (cell.deterministic, entry.value) {
        (true, Some(_)) => SheetEntry { text: EXACT.to_owned(), ..entry },
        _ => entry,
    };
    cells.iter().zip(entries).map(exact).collect()
}

fn published_ratio(cell: &CellResult) -> Option<f64> {
    let published = cell.published?.goodput_bps.filter(|&v| v > 0.0)?;
    Some(float(cell.goodput_bps)? / published)
}

/// Shown where cells ran on more than one.
fn backend(cells: &[&CellResult]) -> Option<(Heading, Vec<SheetEntry>)> {
    let first = cells.iter().find_map(|cell| cell.backend.as_ref())?;
    let several = cells.iter().any(|cell| cell.backend.as_ref().is_some_and(|b| b != first));
    several.then(|| words("on", cells, |cell| cell.backend.clone()))
}

/// Valid runs of those asked for; shown where any is missing.
fn validity(experiment: &Experiment, cells: &[&CellResult]) -> Option<(Heading, Vec<SheetEntry>)> {
    let asked = |cell: &CellResult| experiment.plan.cell(cell.index).spec.run.repeat as usize;
    let short = |cell: &CellResult| cell.valid < asked(cell);
    if !cells.iter().any(|cell| short(cell)) {
        return None;
    }
    let (heading, mut entries) = words("valid", cells, |cell| {
        let mark = if cell.invalid.is_empty() { "" } else { " !" };
        Some(format!("{}/{}{mark}", cell.valid, asked(cell)))
    });
    for (cell, entry) in cells.iter().zip(&mut entries) {
        entry.tone = match (cell.valid, short(cell)) {
            (0, _) => Tone::Bad,
            (_, true) => Tone::Warn,
            _ => Tone::Plain,
        };
    }
    Some((heading, entries))
}
