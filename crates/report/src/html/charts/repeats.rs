//! How far the repetitions of a cell lie apart.
//!
//! Never: a box without its points; of three runs a box says little.

use super::titled;
use crate::sheet::anchor;
use pipefill_analysis::experiment::CellResult;
use serde::Serialize;

/// Cells of a chart; of more a chart is a wall.
const CELLS: usize = 40;

/// One chart.
#[derive(Debug, Serialize)]
pub(in crate::html) struct Repeats {
    pub(in crate::html) title: String,
    pub(in crate::html) rows: Vec<Row>,
}

/// The valid runs of a cell, sorted.
#[derive(Debug, Serialize)]
pub(in crate::html) struct Row {
    pub(in crate::html) cell: String,
    pub(in crate::html) label: String,
    pub(in crate::html) median: u64,
    pub(in crate::html) bps: Vec<u64>,
}

/// Charts of at most [`CELLS`] cells each; none where every cell ran once.
pub(super) fn of(variant: Option<&str>, cells: &[&CellResult]) -> Vec<Repeats> {
    let rows: Vec<&&CellResult> = cells.iter().filter(|cell| values(cell).len() > 1).collect();
    let chunks = rows.chunks(CELLS).enumerate();
    let several = rows.len() > CELLS;
    let constant = super::constant(cells);
    let chart = |(number, rows): (usize, &[&&CellResult])| {
        let part = if several { format!(", part {}", number + 1) } else { String::new() };
        Repeats {
            title: titled(variant, &format!("how far repetitions lie from their median{part}")),
            rows: rows.iter().filter_map(|cell| row(cell, &constant)).collect(),
        }
    };
    chunks.map(chart).collect()
}

fn row(cell: &CellResult, without: &[&str]) -> Option<Row> {
    Some(Row {
        cell: anchor(cell),
        label: super::name_of(cell, without),
        median: cell.goodput_bps.filter(|&bps| bps > 0)?,
        bps: values(cell),
    })
}

fn values(cell: &CellResult) -> Vec<u64> {
    let valid = cell.run_values.iter().filter(|run| run.is_valid());
    let mut values: Vec<u64> = valid.filter_map(|run| run.goodput_bps).collect();
    values.sort_unstable();
    values
}
