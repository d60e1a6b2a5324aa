//! Goodput over two axes; of more axes two are on the map, and the others stand at one of their values.

use super::titled;
use crate::quantity::QuantityKind;
use crate::sheet::anchor;
use indexmap::{IndexMap, IndexSet};
use pipefill_analysis::findings::experiment::CellResult;
use pipefill_core::scenario::axis_number;
use schemars::JsonSchema;
use serde::Serialize;

/// Fewer fields are better read in the table.
const FIELDS: usize = 4;
/// Stands for the axis that a scenario does not have: what carried out the runs.
pub(super) const BACKEND: &str = "backend";

/// All cells of a variant by the axes in which they differ.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Heat {
    pub(crate) title: String,
    pub(crate) axes: Vec<Axis>,
    pub(crate) fields: Vec<Field>,
}

/// An axis of the scenario with its values.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
}

/// One cell; its place by the indices of its values, in the order of the axes.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Field {
    pub(crate) cell: String,
    pub(crate) at: Vec<usize>,
    pub(crate) bps: Option<u64>,
}

/// A map as it stands still: the first axis across, the second down.
#[derive(Debug)]
pub(crate) struct Map<'a> {
    pub(crate) title: String,
    pub(crate) x: &'a Axis,
    pub(crate) y: &'a Axis,
    pub(crate) fields: Vec<&'a Field>,
    /// The least and the largest goodput of all maps, so that a colour means the same in each.
    pub(crate) range: (f64, f64),
}

impl Heat {
    /// A map for each choice of values of the axes that are not on it.
    pub(crate) fn maps(&self) -> Vec<Map<'_>> {
        let mut choices: IndexMap<&[usize], Vec<&Field>> = IndexMap::new();
        for field in &self.fields {
            choices.entry(&field.at[2..]).or_default().push(field);
        }
        let choices = choices.into_iter().filter(|(_, fields)| fields.len() >= FIELDS);
        choices.map(|(choice, fields)| self.map(choice, fields)).collect()
    }

    fn map<'a>(&'a self, choice: &[usize], fields: Vec<&'a Field>) -> Map<'a> {
        let standing = if choice.is_empty() { String::new() } else { format!(" ({})", self.named(choice)) };
        Map {
            title: format!("{}{standing}", self.title),
            x: &self.axes[0],
            y: &self.axes[1],
            range: self.range(),
            fields,
        }
    }

    /// `queue 1bdp, loss 0%`: of the axes from the third on, what they stand at.
    fn named(&self, choice: &[usize]) -> String {
        let axes = self.axes[2..].iter().zip(choice);
        axes.map(|(axis, &at)| format!("{} {}", axis.name, axis.values[at])).collect::<Vec<_>>().join(", ")
    }

    fn range(&self) -> (f64, f64) {
        let known = self.fields.iter().filter_map(|field| field.bps).filter(|&bps| bps > 0);
        known.fold((f64::INFINITY, 0.0), |(low, high), bps| (low.min(bps as f64), high.max(bps as f64)))
    }
}

/// `None` with fewer than two axes that differ, with fewer cells than [`FIELDS`], or where nothing was measured.
pub(super) fn of(variant: Option<&str>, cells: &[&CellResult]) -> Option<Heat> {
    let axes = varied(cells);
    if axes.len() < 2 || cells.len() < FIELDS || cells.iter().all(|cell| cell.goodput_bps.is_none()) {
        return None;
    }
    let at = |cell: &CellResult, (path, values): (&&str, &IndexSet<&str>)| {
        value(cell, path).and_then(|value| values.get_index_of(value)).unwrap_or(0)
    };
    let field = |cell: &&CellResult| Field {
        cell: anchor(cell),
        at: axes.iter().map(|axis| at(cell, axis)).collect(),
        bps: cell.goodput_bps,
    };
    let fields = cells.iter().map(field).collect();
    let axes: Vec<Axis> = axes
        .iter()
        .map(|(path, values)| Axis {
            name: path.rsplit('.').next().unwrap_or(path).to_owned(),
            values: labels(path, values),
        })
        .collect();
    let title = format!("goodput over {} and {}", axes[0].name, axes[1].name);
    Some(Heat { title: titled(variant, &title), axes, fields })
}

/// The axes that all of `cells` have, with more than one value.
pub(super) fn varied<'a>(cells: &[&'a CellResult]) -> IndexMap<&'a str, IndexSet<&'a str>> {
    let paths: IndexSet<&str> = cells.iter().flat_map(|cell| cell.axes.keys()).map(String::as_str).collect();
    let paths = paths.into_iter().filter(|path| *path != "variant").chain([BACKEND]);
    let values = |path: &'a str| -> Option<(&'a str, IndexSet<&'a str>)> {
        let values = cells.iter().map(|cell| value(cell, path)).collect::<Option<IndexSet<&str>>>()?;
        (values.len() > 1).then_some((path, values))
    };
    paths.filter_map(values).collect()
}

/// The value of `cell` at the axis `path`; `None` where it has no such axis.
pub(super) fn value<'a>(cell: &'a CellResult, path: &str) -> Option<&'a str> {
    if path == BACKEND { cell.backend.as_deref() } else { cell.axes.get(path).map(String::as_str) }
}

/// The values of the axis `path` as a chart labels them: told apart, and bytes without a unit with one.
pub(super) fn labels(path: &str, values: &IndexSet<&str>) -> Vec<String> {
    let apart = told_apart(values);
    let is_size = |value: &&str| axis_number(path, value).is_some_and(|(name, _)| name.ends_with("_bytes"));
    if !values.iter().all(is_size) {
        return apart;
    }
    let with_unit = |text: &String| {
        text.parse().map_or_else(|_| text.clone(), |bytes: u64| QuantityKind::Bytes.on_axis(bytes as f64))
    };
    let labels: IndexSet<String> = apart.iter().map(with_unit).collect();
    if labels.len() == apart.len() { labels.into_iter().collect() } else { apart }
}

/// `values` without the words that all of them begin with: of three sizes of a sysctl the one that differs.
fn told_apart(values: &IndexSet<&str>) -> Vec<String> {
    let words: Vec<Vec<&str>> = values.iter().map(|value| value.split_whitespace().collect()).collect();
    let shortest = words.iter().map(Vec::len).min().unwrap_or(0);
    let is_shared = |place: &usize| words.iter().all(|value_words| value_words[*place] == words[0][*place]);
    let shared = (0..shortest.saturating_sub(1)).take_while(is_shared).count();
    words.iter().map(|value_words| value_words[shared..].join(" ")).collect()
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

    #[test]
    fn sizes_without_a_unit_get_one() {
        let of = |path: &str, values: &[&'static str]| labels(path, &values.iter().copied().collect());
        assert_eq!(
            of("receiver.tcp_rmem", &["4096 131072 6000000", "4096 131072 200000"]),
            ["6 MB", "200 kB"]
        );
        assert_eq!(
            of("receiver.tcp_rmem", &["4096 131072 6000000", "4096 131072 6000001"]),
            ["6000000", "6000001"]
        );
        assert_eq!(of("path.queue", &["10p", "20p"]), ["10p", "20p"]);
    }

    fn cell(index: usize, axes: [(&str, &str); 3], backend: &str) -> CellResult {
        CellResult {
            index,
            axes: axes.iter().map(|(path, value)| (format!("path.{path}"), (*value).to_owned())).collect(),
            backend: Some(backend.to_owned()),
            goodput_bps: Some(1_000_000 * (index as u64 + 1)),
            ..CellResult::default()
        }
    }

    fn cube(backends: &[&str]) -> Vec<CellResult> {
        let mut cells = Vec::new();
        for backend in backends {
            for (number, queue) in ["1bdp", "2bdp"].into_iter().enumerate() {
                for place in 0..4 {
                    let (rtt, rate) = (["1ms", "2ms"][place / 2], ["1mbit", "2mbit"][place % 2]);
                    let axes = [("rtt", rtt), ("rate", rate), ("queue", queue)];
                    cells.push(cell(4 * number + place, axes, backend));
                }
            }
        }
        cells
    }

    #[test]
    fn each_choice_of_the_other_axes_is_a_map_of_its_own() {
        let cells = cube(&["sim"]);
        let heat = of(None, &cells.iter().collect::<Vec<_>>()).unwrap();
        let maps = heat.maps();
        let titles: Vec<&str> = maps.iter().map(|map| map.title.as_str()).collect();
        assert_eq!(
            titles,
            ["Goodput over rtt and rate (queue 1bdp)", "Goodput over rtt and rate (queue 2bdp)"]
        );
        assert!(maps.iter().all(|map| map.fields.len() == 4 && map.range == (1e6, 8e6)));
    }

    #[test]
    fn two_backends_are_an_axis() {
        let cells = cube(&["sim", "lab"]);
        let heat = of(None, &cells.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(
            heat.axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>(),
            ["rtt", "rate", "queue", "backend"]
        );
        assert_eq!(heat.maps().len(), 4);
        assert_eq!(heat.fields[8].at, [0, 0, 0, 1]);
    }
}
