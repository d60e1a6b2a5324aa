//! What a table says, before anybody decides how it looks: headings, cells, foot notes.
//!
//! The terminal and Markdown draw the same sheets. Never: a column that is empty for all cells, or an invalid run that is
//! not explained.

mod column;
mod columns;
mod disciplines;
mod flows;
mod notes;
mod pings;
mod states;
mod windows;

use crate::quantity::MISSING;
use indexmap::IndexMap;
use pipefill_analysis::findings::experiment::{CellResult, Experiment, FlowResult};
use pipefill_analysis::findings::metrics::AqmMetrics;
use pipefill_core::scenario::axis_number;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) use columns::{EXACT, SUM};
pub(crate) use notes::{environment_line, interval_line, problems, source_line};
pub(crate) use pings::ping_sentence;

/// One table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sheet {
    /// The variant's name, where the plan has variants; what the table is about, where it is not the main one.
    pub(crate) title: Option<String>,
    pub(crate) headings: Vec<Heading>,
    /// Each row's cell, as [`anchor`] names it.
    pub(crate) cells: Vec<String>,
    pub(crate) rows: Vec<Vec<SheetEntry>>,
    pub(crate) notes: Vec<String>,
}

/// The head of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) name: String,
    /// Empty where there is none.
    pub(crate) unit: String,
    /// Numbers are aligned right.
    pub(crate) numeric: bool,
}

/// One field of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SheetEntry {
    pub(crate) text: String,
    /// The number behind the text, in the unit of the JSON, of an axis in SI base units; none where there is none.
    pub(crate) value: Option<f64>,
    pub(crate) tone: Tone,
}

impl Heading {
    pub(crate) fn new(name: &str, numeric: bool) -> Self {
        Self { name: name.to_owned(), unit: String::new(), numeric }
    }
}

impl SheetEntry {
    pub(crate) fn plain(text: String) -> Self {
        Self { text, value: None, tone: Tone::Plain }
    }

    /// A dash for what was not measured.
    pub(crate) fn or_missing(text: Option<String>) -> Self {
        Self::plain(text.unwrap_or_else(|| MISSING.to_owned()))
    }
}

/// A heading with an entry for each cell.
pub(crate) type Column = (Heading, Vec<SheetEntry>);

/// How a field should strike the eye, where there is colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    /// Agrees with what was published.
    Good,
    /// Of runs that are invalid.
    Faint,
    /// Deserves a look.
    Warn,
    /// Can't be believed.
    Bad,
}

/// For each group of [`groups`] the main sheet, that of what was in use where a buffer is an axis, and that of the congestion states where
/// somebody published those.
pub(crate) fn sheets(experiment: &Experiment) -> Vec<Sheet> {
    let groups = groups(experiment).into_iter();
    groups.flat_map(|(variant, cells)| of_variant(experiment, variant, &cells)).collect()
}

/// Each variant with its cells, in plan order; neighbours of one cell each that are alike are the rows of one table, without a name.
fn groups(experiment: &Experiment) -> Vec<(Option<&str>, Vec<&CellResult>)> {
    let mut groups: Vec<(Option<&str>, Vec<&CellResult>)> = Vec::new();
    let mut is_alone = false;
    for (variant, cells) in by_variant(experiment) {
        let is_like = |rows: &[&CellResult]| cells.len() == 1 && are_alike(experiment, rows[0], cells[0]);
        match groups.last_mut().filter(|(_, rows)| is_alone && is_like(rows)) {
            Some((name, rows)) => {
                *name = None;
                rows.extend(cells);
            }
            None => {
                is_alone = cells.len() == 1;
                groups.push((variant, cells));
            }
        }
    }
    groups
}

/// Whether two cells have the same axes and protocols, and so the same columns.
fn are_alike(experiment: &Experiment, a: &CellResult, b: &CellResult) -> bool {
    let protocols = |cell: &CellResult| {
        let flows = experiment.plan.cell(cell.index).spec.flows.iter();
        flows.map(|flow| flow.protocol).collect::<Vec<_>>()
    };
    a.axes.keys().eq(b.axes.keys()) && protocols(a) == protocols(b)
}

/// The cells of each variant, in plan order; all under no name where the plan has none.
pub(crate) fn by_variant(experiment: &Experiment) -> IndexMap<Option<&str>, Vec<&CellResult>> {
    let mut groups: IndexMap<Option<&str>, Vec<&CellResult>> = IndexMap::new();
    for cell in &experiment.cells {
        let variant = cell.axes.get("variant").map(String::as_str);
        groups.entry(variant).or_default().push(cell);
    }
    groups
}

fn of_variant(experiment: &Experiment, variant: Option<&str>, cells: &[&CellResult]) -> Vec<Sheet> {
    let mut sheets = vec![sheet(variant.map(str::to_owned), cells, columns::filled(experiment, cells))];
    if pings::are_there(cells) {
        let pinged: Vec<&CellResult> = cells.iter().copied().filter(|cell| cell.ping.is_some()).collect();
        let name = variant.map_or_else(String::new, |variant| format!("{variant}: "));
        let is_alone = pinged.len() == cells.len() && cells.iter().all(|cell| cell.goodput_bps.is_none());
        if is_alone {
            sheets.clear();
        }
        if is_alone || pings::have_sizes(&pinged) {
            let fits = format!("{name}fitted: RTT = base + bytes forward / rate + bytes back / rate");
            sheets.push(sheet(Some(fits), &pinged, pings::fits(&pinged)));
            let trips = format!("{name}median round trips, payload of request→reply in bytes");
            sheets.push(sheet(Some(trips), &pinged, pings::round_trips(&pinged)));
        }
    }
    let flows = flows::rows(cells);
    if !flows.is_empty() {
        let name = variant.map_or_else(String::new, |variant| format!("{variant}: "));
        let (of_cells, flows): (Vec<&CellResult>, Vec<&FlowResult>) = flows.into_iter().unzip();
        sheets.push(sheet(Some(format!("{name}each flow (medians)")), &of_cells, flows::columns(&flows)));
    }
    let disciplines = disciplines::rows(cells);
    if !disciplines.is_empty() {
        let name = variant.map_or_else(String::new, |variant| format!("{variant}: "));
        let (of_cells, aqm): (Vec<&CellResult>, Vec<&AqmMetrics>) = disciplines.into_iter().unzip();
        let title = format!("{name}each queue's discipline (medians)");
        sheets.push(sheet(Some(title), &of_cells, disciplines::columns(&aqm)));
    }
    if windows::are_asked_for(cells) {
        let name = variant.map_or_else(String::new, |variant| format!("{variant}: "));
        let title = format!("{name}what was in use (medians)");
        sheets.push(sheet(Some(title), cells, windows::columns(cells)));
    }
    if let Some(last) = sheets.last_mut() {
        last.notes = notes::notes(experiment, cells);
    }
    sheets.extend(states::sheet(variant, cells));
    sheets
}

/// The axes and `columns`, without notes.
fn sheet(title: Option<String>, cells: &[&CellResult], columns: Vec<Column>) -> Sheet {
    let axes: Vec<_> = cells.iter().map(|cell| &cell.axes).collect();
    let (headings, rows) = beside_axes(&axes, columns);
    let cells = cells.iter().map(|cell| anchor(cell)).collect();
    Sheet { title, headings, cells, rows, notes: Vec::new() }
}

/// A name for `cell` that no other cell of its experiment has: letters, digits and hyphens.
pub(crate) fn anchor(cell: &CellResult) -> String {
    match &cell.backend {
        Some(backend) => format!("cell-{}-{backend}", cell.index),
        None => format!("cell-{}", cell.index),
    }
}

/// Rows from columns, one for each of `axes`, which come first.
pub(crate) fn beside_axes(
    axes: &[&IndexMap<String, String>],
    columns: impl IntoIterator<Item = Column>,
) -> (Vec<Heading>, Vec<Vec<SheetEntry>>) {
    let mut headings = Vec::new();
    let mut rows: Vec<Vec<SheetEntry>> = vec![Vec::new(); axes.len()];
    for (heading, entries) in axis_columns(axes).into_iter().chain(columns) {
        headings.push(heading);
        rows.iter_mut().zip(entries).for_each(|(row, entry)| row.push(entry));
    }
    (headings, rows)
}

/// One column for each axis of the rows' coordinates, named by the last part of its path; by all of it where two axes would look
/// the same.
fn axis_columns(rows: &[&IndexMap<String, String>]) -> Vec<Column> {
    let paths = axis_paths(rows);
    let name = |path: &str| {
        let short = last_part(path);
        let alike = paths.iter().filter(|other| last_part(other) == short).count();
        if alike > 1 { path } else { short }.to_owned()
    };
    let column = |path: &String| {
        let heading = Heading { name: name(path), unit: String::new(), numeric: false };
        let numbers = axis_numbers(path, rows);
        let entry = |axes: &&IndexMap<String, String>| {
            let text = axes.get(path).map_or(MISSING, String::as_str);
            SheetEntry { value: numbers.get(text).copied(), ..SheetEntry::plain(text.to_owned()) }
        };
        (heading, rows.iter().map(entry).collect())
    };
    paths.iter().map(column).collect()
}

/// The number behind each value of the axis `path`; none where not all values are numbers of one unit.
fn axis_numbers<'a>(path: &str, rows: &[&'a IndexMap<String, String>]) -> BTreeMap<&'a str, f64> {
    let values: BTreeSet<&str> = rows.iter().filter_map(|axes| axes.get(path)).map(String::as_str).collect();
    let named: Option<Vec<(String, f64)>> = values.iter().map(|value| axis_number(path, value)).collect();
    let named = named.filter(|all| all.windows(2).all(|pair| pair[0].0 == pair[1].0)).unwrap_or_default();
    values.into_iter().zip(named).map(|(value, (_, number))| (value, number)).collect()
}

/// All axes in order of appearance, without the variant where that is the same in all rows: it is the table's name.
fn axis_paths(rows: &[&IndexMap<String, String>]) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    let is_named = rows.windows(2).all(|pair| pair[0].get("variant") == pair[1].get("variant"));
    let is_shown = |path: &&String| !is_named || *path != "variant";
    for path in rows.iter().flat_map(|axes| axes.keys()).filter(is_shown) {
        if !paths.contains(path) {
            paths.push(path.clone());
        }
    }
    paths
}

fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}
