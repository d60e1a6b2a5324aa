//! The table of what the disciplines of the queues did: drops, marks, and the time that packets waited beside its target.

use super::column::{self, Column, column, float};
use super::{Heading, SheetEntry};
use crate::quantity::QuantityKind;
use pipefill_analysis::findings::experiment::CellResult;
use pipefill_analysis::findings::metrics::AqmMetrics;

const COLUMNS: [Column<AqmMetrics>; 6] = [
    column("drops", QuantityKind::Count, |aqm| float(aqm.dropped_packets)),
    column("overflow", QuantityKind::Count, |aqm| float(aqm.overflow_packets)),
    column("marks", QuantityKind::Count, |aqm| float(aqm.marked_packets)),
    column("target", QuantityKind::Time, |aqm| ns(aqm.target_us)),
    column("sojourn", QuantityKind::Time, |aqm| ns(aqm.sojourn_us_p50)),
    column("p95", QuantityKind::Time, |aqm| ns(aqm.sojourn_us_p95)),
];

/// The disciplines of `cells`, each with its cell.
pub(super) fn rows<'a>(cells: &[&'a CellResult]) -> Vec<(&'a CellResult, &'a AqmMetrics)> {
    cells.iter().copied().flat_map(|cell| cell.aqm.iter().map(move |aqm| (cell, aqm))).collect()
}

/// The columns beside the axes.
pub(super) fn columns(disciplines: &[&AqmMetrics]) -> Vec<(Heading, Vec<SheetEntry>)> {
    let name = |aqm: &AqmMetrics| Some(format!("{}, {}", aqm.kind, aqm.direction.as_str()));
    let mut columns = vec![column::words("queue", disciplines, name)];
    columns.extend(column::of_numbers(&COLUMNS.iter().collect::<Vec<_>>(), false, disciplines));
    columns
}

fn ns(us: Option<u64>) -> Option<f64> {
    float(us).map(|us| us * 1e3)
}
