//! Parts of a chart that would have more series than can be told apart: each has the cells that share the values of some axes.

use super::SERIES;
use super::heats::{self, BACKEND};
use indexmap::{IndexMap, IndexSet};
use pipefill_analysis::findings::experiment::CellResult;

/// Parts of a chart; more nobody compares.
const FACETS: usize = 6;

/// The parts of a chart that are shown.
#[derive(Debug)]
pub(super) struct Facets<'a> {
    /// In the scenario's order.
    pub(super) shown: Vec<Facet<'a>>,
    /// How many there are.
    pub(super) all: usize,
    /// Axes that tell them apart; none where there is one.
    pub(super) axes: Vec<&'a str>,
}

/// A part.
#[derive(Debug)]
pub(super) struct Facet<'a> {
    /// What its cells share: `loss 1%, rate 10mbit`; empty where there is one part.
    pub(super) name: String,
    pub(super) cells: Vec<&'a CellResult>,
}

/// A chart's cells in parts with at most [`SERIES`] combinations of values of the axes that are not `across`: one part where that is enough.
/// As many axes as fit tell the series of a part apart, those with the most values first.
pub(super) fn facets<'a>(cells: &[&'a CellResult], across: &[&str]) -> Facets<'a> {
    let mut axes = heats::varied(cells);
    axes.retain(|path, _| !across.contains(path));
    let combination = |cell: &'a CellResult, axes: &[&str]| -> Vec<&'a str> {
        axes.iter().filter_map(|path| heats::value(cell, path)).collect()
    };
    let paths: Vec<&str> = axes.keys().copied().collect();
    let combinations: IndexSet<Vec<&str>> = cells.iter().map(|cell| combination(cell, &paths)).collect();
    if combinations.len() <= SERIES {
        let whole = Facet { name: String::new(), cells: cells.to_vec() };
        return Facets { shown: vec![whole], all: 1, axes: Vec::new() };
    }
    let of_series = axes_of_series(&axes);
    let apart: Vec<&'a str> = axes.keys().copied().filter(|path| !of_series.contains(path)).collect();
    let drawn: IndexMap<&str, IndexSet<&str>> = of_series
        .iter()
        .map(|path| (*path, spread(axes[path].len(), SERIES).map(|at| axes[path][at]).collect()))
        .collect();
    let is_drawn = |cell: &CellResult| {
        drawn
            .iter()
            .all(|(path, values)| heats::value(cell, path).is_some_and(|value| values.contains(value)))
    };
    let mut parts: IndexMap<Vec<&str>, Vec<&'a CellResult>> = IndexMap::new();
    for &cell in cells.iter().filter(|cell| is_drawn(cell)) {
        parts.entry(combination(cell, &apart)).or_default().push(cell);
    }
    let name = |values: &[&str]| {
        let named = apart.iter().zip(values).map(|(path, value)| match *path {
            BACKEND => (*value).to_owned(),
            path => format!("{} {value}", path.rsplit('.').next().unwrap_or(path)),
        });
        named.collect::<Vec<_>>().join(", ")
    };
    let shown = spread(parts.len(), FACETS)
        .filter_map(|at| parts.get_index(at))
        .map(|(values, cells)| Facet { name: name(values), cells: cells.clone() })
        .collect();
    Facets { shown, all: parts.len(), axes: apart }
}

impl Facets<'_> {
    /// What is not drawn of the parts, in a sentence.
    pub(super) fn left_out(&self) -> Option<String> {
        let name = |path: &&str| path.rsplit('.').next().unwrap_or(path).to_owned();
        let names: Vec<String> = self.axes.iter().map(name).collect();
        let shown = self.shown.len();
        (shown < self.all).then(|| {
            format!(
                "{shown} of {} values of {} have a chart; the table has every cell.",
                self.all,
                names.join(" and ")
            )
        })
    }
}

/// The axes whose values are the series of a part: as many as fit, and at least one.
fn axes_of_series<'a>(axes: &IndexMap<&'a str, IndexSet<&str>>) -> Vec<&'a str> {
    let mut by_size: Vec<(&str, usize)> = axes.iter().map(|(path, values)| (*path, values.len())).collect();
    by_size.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let (mut chosen, mut series) = (Vec::new(), 1);
    for (path, count) in &by_size {
        if series * count <= SERIES {
            chosen.push(*path);
            series *= count;
        }
    }
    if chosen.is_empty() {
        chosen.extend(by_size.last().map(|(path, _)| *path));
    }
    chosen
}

/// At most `most` of the numbers below `count`, the first and the last among them, evenly.
fn spread(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let shown = count.min(most);
    (0..shown).map(move |number| number * (count - 1) / (shown - 1).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination of the given numbers of round trips, rates and losses.
    fn cells([rtts, rates, losses]: [usize; 3]) -> Vec<CellResult> {
        let mut cells = Vec::new();
        for rate in 0..rates {
            for loss in 0..losses {
                for rtt in 0..rtts {
                    let axes = [
                        ("path.rate", format!("{rate}mbit")),
                        ("path.loss", format!("{loss}%")),
                        ("path.rtt", format!("{rtt}ms")),
                    ];
                    cells.push(CellResult {
                        index: cells.len(),
                        axes: axes.into_iter().map(|(path, value)| (path.to_owned(), value)).collect(),
                        goodput_bps: Some(1),
                        ..CellResult::default()
                    });
                }
            }
        }
        cells
    }

    fn of(counts: [usize; 3]) -> (Vec<(String, usize)>, usize) {
        let cells = cells(counts);
        let cells: Vec<&CellResult> = cells.iter().collect();
        let facets = facets(&cells, &["path.rtt"]);
        let shown = facets.shown.iter().map(|facet| (facet.name.clone(), facet.cells.len()));
        (shown.collect(), facets.all)
    }

    #[test]
    fn few_series_are_one_part() {
        assert_eq!(of([5, 2, 4]), (vec![(String::new(), 40)], 1));
        assert_eq!(of([5, 1, 1]), (vec![(String::new(), 5)], 1));
    }

    #[test]
    fn the_longest_axis_that_fits_has_the_series_of_a_part() {
        let (shown, all) = of([5, 5, 8]);
        let names: Vec<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["rate 0mbit", "rate 1mbit", "rate 2mbit", "rate 3mbit", "rate 4mbit"]);
        assert!(all == 5 && shown.iter().all(|(_, cells)| *cells == 40), "{shown:?}");
    }

    #[test]
    fn of_many_parts_and_of_a_long_axis_some_are_shown_from_the_first_to_the_last() {
        let (shown, all) = of([2, 40, 1]);
        assert_eq!(
            (shown, all),
            (vec![(String::new(), 16)], 1),
            "eight of forty rates, two round trips each"
        );
        let (shown, all) = of([2, 5, 40]);
        let names: Vec<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(all, 40);
        assert_eq!(names, ["loss 0%", "loss 7%", "loss 15%", "loss 23%", "loss 31%", "loss 39%"]);
    }
}
