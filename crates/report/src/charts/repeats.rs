//! How far the repetitions of a cell lie apart.

use super::titled;
use crate::sheet::anchor;
use pipefill_analysis::findings::experiment::CellResult;
use pipefill_analysis::ground::statistics::{percentile, rounded};
use schemars::JsonSchema;
use serde::Serialize;

/// Cells of a chart; of more a chart is a wall.
const CELLS: usize = 40;
/// Runs from which on a cell has a box.
const BOX: usize = 3;

/// One chart.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Repeats {
    pub(crate) title: String,
    pub(crate) rows: Vec<Row>,
}

/// The valid runs of a cell, sorted.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Row {
    pub(crate) cell: String,
    pub(crate) label: String,
    pub(crate) median: u64,
    /// The box: between these the middle half lies.
    pub(crate) quartiles: Option<[u64; 2]>,
    pub(crate) bps: Vec<u64>,
}

/// Charts of at most [`CELLS`] cells each; none where every cell ran once, or each time the same, as without chance in the simulator.
pub(super) fn of(variant: Option<&str>, cells: &[&CellResult]) -> Vec<Repeats> {
    let rows: Vec<&&CellResult> = cells.iter().filter(|cell| values(cell).len() > 1).collect();
    let differ = |cell: &&&CellResult| values(cell).windows(2).any(|pair| pair[0] != pair[1]);
    if !rows.iter().any(differ) {
        return Vec::new();
    }
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
    let bps = values(cell);
    Some(Row {
        cell: anchor(cell),
        label: super::name_of(cell, without),
        median: cell.goodput_bps.filter(|&bps| bps > 0)?,
        quartiles: quartiles(&bps),
        bps,
    })
}

fn quartiles(bps: &[u64]) -> Option<[u64; 2]> {
    let values: Vec<f64> = bps.iter().map(|&bps| bps as f64).collect();
    if values.len() < BOX {
        return None;
    }
    Some([rounded(percentile(&values, 0.25)?), rounded(percentile(&values, 0.75)?)])
}

fn values(cell: &CellResult) -> Vec<u64> {
    let valid = cell.run_values.iter().filter(|run| run.is_valid());
    let mut values: Vec<u64> = valid.filter_map(|run| run.goodput_bps).collect();
    values.sort_unstable();
    values
}

#[cfg(test)]
mod tests {
    use super::quartiles;

    /// `numpy.percentile([10, 20, 40], [25, 75])` gives 15 and 30.
    #[test]
    fn a_box_needs_three_runs() {
        assert_eq!(quartiles(&[10, 20]), None);
        assert_eq!(quartiles(&[10, 20, 40]), Some([15, 30]));
    }
}
