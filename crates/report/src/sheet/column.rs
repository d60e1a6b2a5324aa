//! A column: a name, and where it takes its figures or words from.

use super::{Heading, SheetEntry, Tone};
use crate::cause::limit_to_ask_for;
use crate::quantity::{QuantityKind, Scale};
use pipefill_analysis::findings::experiment::CellResult;
use std::collections::BTreeMap;

/// A measured goodput that is this much off the published one deserves a look.
const AGREEMENT: f64 = 0.10;

/// A column of numbers, each of a row's own `Row`.
pub(super) struct Column<Row = CellResult> {
    pub(super) name: &'static str,
    /// Its name where all flows are UDP.
    pub(super) udp_name: &'static str,
    pub(super) kind: QuantityKind,
    pub(super) value: fn(&Row) -> Option<f64>,
}

/// A column of the same name for every protocol.
pub(super) const fn column<Row>(
    name: &'static str,
    kind: QuantityKind,
    value: fn(&Row) -> Option<f64>,
) -> Column<Row> {
    Column { name, udp_name: name, kind, value }
}

/// Those of `columns` that have a value for some row.
pub(super) fn of_numbers<Row>(
    columns: &[&Column<Row>],
    udp: bool,
    rows: &[&Row],
) -> Vec<(Heading, Vec<SheetEntry>)> {
    let scales = scales(columns, rows);
    columns.iter().filter_map(|column| numbers(column, udp, &scales, rows)).collect()
}

/// `None` where no row has a value.
fn numbers<Row>(
    column: &Column<Row>,
    udp: bool,
    scales: &BTreeMap<QuantityKind, Scale>,
    rows: &[&Row],
) -> Option<(Heading, Vec<SheetEntry>)> {
    let values: Vec<Option<f64>> = rows.iter().map(|row| (column.value)(row)).collect();
    values.iter().flatten().next()?;
    let scale = scales[&column.kind];
    let heading = Heading {
        name: if udp { column.udp_name } else { column.name }.to_owned(),
        unit: column.kind.heading_unit(scale),
        numeric: true,
    };
    let entry = |&value: &Option<f64>| SheetEntry {
        value,
        tone: tone(column.name, value),
        ..SheetEntry::or_missing(value.map(|value| column.kind.in_column(value, scale)))
    };
    Some((heading, values.iter().map(entry).collect()))
}

/// One scale for all columns of a kind, so that they compare at a glance.
fn scales<Row>(columns: &[&Column<Row>], rows: &[&Row]) -> BTreeMap<QuantityKind, Scale> {
    let mut values: BTreeMap<QuantityKind, Vec<f64>> = BTreeMap::new();
    for column in columns {
        let of_kind = values.entry(column.kind).or_default();
        of_kind.extend(rows.iter().filter_map(|row| (column.value)(row)));
    }
    values.into_iter().map(|(kind, values)| (kind, kind.scale(&values))).collect()
}

fn tone(name: &str, value: Option<f64>) -> Tone {
    match value.filter(|_| name == "ratio") {
        Some(ratio) if (ratio - 1.0).abs() <= AGREEMENT => Tone::Good,
        Some(_) => Tone::Warn,
        None => Tone::Plain,
    }
}

/// What limited each cell, where that is known of any.
pub(super) fn limited_by(cells: &[&CellResult]) -> Option<(Heading, Vec<SheetEntry>)> {
    let known = cells.iter().any(|cell| cell.verdict.limited_by.is_some());
    let word = |cell: &CellResult| limit_to_ask_for(&cell.verdict);
    known.then(|| words("limit", cells, word))
}

pub(super) fn words<Row>(
    name: &str,
    rows: &[&Row],
    word: impl Fn(&Row) -> Option<String>,
) -> (Heading, Vec<SheetEntry>) {
    (Heading::new(name, false), rows.iter().map(|row| SheetEntry::or_missing(word(row))).collect())
}

/// A field as a column takes it.
pub(super) fn float(value: Option<u64>) -> Option<f64> {
    value.map(|v| v as f64)
}
