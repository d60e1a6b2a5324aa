//! Goodput over two axes.
//!
//! Never: a cell of another facet in a map, or a colour where nothing was measured.

use super::titled;
use crate::sheet::anchor;
use indexmap::{IndexMap, IndexSet};
use pipefill_analysis::experiment::CellResult;
use serde::Serialize;

/// Fewer fields are better read in the table.
const FIELDS: usize = 4;

/// One map.
#[derive(Debug, Serialize)]
pub(in crate::html) struct Heat {
    pub(in crate::html) title: String,
    pub(in crate::html) x: Axis,
    pub(in crate::html) y: Axis,
    pub(in crate::html) fields: Vec<Field>,
}

/// An axis of the scenario with its values.
#[derive(Debug, Serialize)]
pub(in crate::html) struct Axis {
    pub(in crate::html) name: String,
    pub(in crate::html) values: Vec<String>,
}

/// One cell; its place by the indices of its values.
#[derive(Debug, Serialize)]
pub(in crate::html) struct Field {
    pub(in crate::html) cell: String,
    pub(in crate::html) x: usize,
    pub(in crate::html) y: usize,
    pub(in crate::html) bps: Option<u64>,
}

/// A map for each choice of values of the axes that are not on it; none with fewer than two axes.
pub(super) fn of(variant: Option<&str>, cells: &[&CellResult]) -> Vec<Heat> {
    let mut axes: IndexMap<&str, IndexSet<&str>> = IndexMap::new();
    for (path, value) in cells.iter().flat_map(|cell| &cell.axes).filter(|(path, _)| *path != "variant") {
        axes.entry(path).or_default().insert(value);
    }
    let complete = |path: &str| cells.iter().all(|cell| cell.axes.contains_key(path));
    let mut varied: Vec<(&str, IndexSet<&str>)> =
        axes.into_iter().filter(|(path, values)| values.len() > 1 && complete(path)).collect();
    if varied.len() < 2 || cells.iter().all(|cell| cell.goodput_bps.is_none()) {
        return Vec::new();
    }
    varied.truncate(2);
    let (y, x) = (&varied[1], &varied[0]);
    let mut facets: IndexMap<String, Vec<&CellResult>> = IndexMap::new();
    for cell in cells {
        facets.entry(super::name_of(cell, &[x.0, y.0])).or_default().push(cell);
    }
    let is_map = |cells: &&Vec<&CellResult>| cells.len() >= FIELDS;
    let maps = facets.iter().filter(|(_, cells)| is_map(cells));
    maps.map(|(facet, cells)| heat(variant, facet, x, y, cells)).collect()
}

fn heat(
    variant: Option<&str>,
    facet: &str,
    x: &(&str, IndexSet<&str>),
    y: &(&str, IndexSet<&str>),
    cells: &[&CellResult],
) -> Heat {
    let axis = |(path, values): &(&str, IndexSet<&str>)| Axis {
        name: path.rsplit('.').next().unwrap_or(path).to_owned(),
        values: told_apart(values),
    };
    let place = |cell: &CellResult, (path, values): &(&str, IndexSet<&str>)| {
        values.get_index_of(cell.axes[*path].as_str()).unwrap_or(0)
    };
    let field = |cell: &&CellResult| Field {
        cell: anchor(cell),
        x: place(cell, x),
        y: place(cell, y),
        bps: cell.goodput_bps,
    };
    let (x, y) = ((axis(x), x), (axis(y), y));
    let facet = if facet.is_empty() { String::new() } else { format!(" ({facet})") };
    let title = format!("goodput over {} and {}{facet}", x.0.name, y.0.name);
    Heat { title: titled(variant, &title), x: x.0, y: y.0, fields: cells.iter().map(field).collect() }
}

/// `values` without the words that all of them begin with: of three sizes of a sysctl the one that differs.
fn told_apart(values: &IndexSet<&str>) -> Vec<String> {
    let words: Vec<Vec<&str>> = values.iter().map(|value| value.split_whitespace().collect()).collect();
    let shortest = words.iter().map(Vec::len).min().unwrap_or(0);
    let is_shared = |place: &usize| words.iter().all(|one| one[*place] == words[0][*place]);
    let shared = (0..shortest.saturating_sub(1)).take_while(is_shared).count();
    words.iter().map(|one| one[shared..].join(" ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_values_begin_with_is_left_out() {
        let of = |values: &[&'static str]| told_apart(&values.iter().copied().collect());
        assert_eq!(of(&["4096 131072 512KiB", "4096 131072 32MiB"]), ["512KiB", "32MiB"]);
        assert_eq!(of(&["10ms", "20ms"]), ["10ms", "20ms"]);
        assert_eq!(of(&["4096 1 2", "4096 1"]), ["1 2", "1"]);
    }
}
