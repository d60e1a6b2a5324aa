//! Figures that somebody else measured, and the cells that they belong to.
//!
//! A row names its cells by the values of axes, as written; it belongs to every cell that has them all. Never: a figure
//! shown beside a cell that `--set` made different.

use super::error::{Origin, Problem};
use super::layer::Text;
use super::toml::{Entry, entries, in_file, scalar, tables};
use crate::parse::{ParseError, count, duration, nearest, rate, ratio};
use crate::plan::{Cell, Published, PublishedStates};
use toml_edit::{Item, TableLike, Value};

/// `[published]`
#[derive(Debug, Clone)]
pub(super) struct PublishedTable {
    pub(super) source: Option<String>,
    pub(super) rows: Vec<Row>,
}

/// `[[published.row]]`
#[derive(Debug, Clone)]
pub(super) struct Row {
    at: Origin,
    /// Path of an axis, and the value that a cell has there.
    place: Vec<(Text, Text)>,
    figures: Published,
}

/// What a cell is called by: the path of each of its settings, and the value as written.
pub(super) type Written = Vec<(String, String)>;

impl PublishedTable {
    /// The figures of every cell. Rows that name a cell that isn't there (left out by `--quick` or `--set`) are skipped,
    /// and so are rows that say nothing of a path in `changed`: what was changed is not what was published.
    pub(super) fn figures(&self, written: &[Written], changed: &[String]) -> Vec<Published> {
        let rows = self.rows.iter().filter(|row| row.names_all(changed));
        rows.flat_map(|row| {
            let cells = (0..written.len()).filter(|&cell| row.matches(&written[cell]));
            cells.map(|cell| Published { cell, ..row.figures.clone() })
        })
        .collect()
    }

    /// Rows that belong to no cell of the whole matrix.
    pub(super) fn problems(&self, cells: &[Cell], written: &[Written]) -> Vec<Problem> {
        self.rows.iter().filter_map(|row| row.problem(cells, written)).collect()
    }
}

impl Row {
    fn names_all(&self, paths: &[String]) -> bool {
        paths.iter().all(|path| self.place.iter().any(|(name, _)| name.text == *path))
    }

    fn matches(&self, written: &Written) -> bool {
        self.place.iter().all(|(path, value)| {
            written.iter().any(|(other, text)| *other == path.text && *text == value.text)
        })
    }

    fn problem(&self, cells: &[Cell], written: &[Written]) -> Option<Problem> {
        self.place.iter().find_map(|(path, value)| axis_problem(path, value, cells)).or_else(|| {
            let is_lost = !written.iter().any(|cell| self.matches(cell));
            is_lost.then(|| {
                Problem::new(
                    &self.at,
                    "no cell of the matrix has all of these values",
                    "compare with the cells that `pipefill plan` prints",
                )
            })
        })
    }
}

fn axis_problem(path: &Text, value: &Text, cells: &[Cell]) -> Option<Problem> {
    let axes = || cells.iter().flat_map(|cell| &cell.axes);
    let values = sorted(axes().filter(|(name, _)| *name == path.text).map(|(_, value)| value.as_str()));
    if values.is_empty() {
        let names = sorted(axes().map(|(name, _)| name.as_str()));
        let help = match nearest(&path.text, &names) {
            Some(name) => format!("did you mean \"{name}\"?"),
            None => format!("the axes are: {}", names.join(", ")),
        };
        let message = format!("\"{}\" is not an axis of this scenario", path.text);
        return Some(Problem::new(&path.origin, message, help));
    }
    (!values.contains(&value.text.as_str())).then(|| {
        Problem::new(
            &value.origin,
            format!("{} is never \"{}\"", path.text, value.text),
            format!("its values are: {}", values.join(", ")),
        )
    })
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let set: std::collections::BTreeSet<&str> = names.collect();
    set.into_iter().collect()
}

/// Reads `[published]`.
pub(super) fn read(entry: &Entry<'_>, problems: &mut Vec<Problem>) -> Option<PublishedTable> {
    const HELP: &str = "write [published] with source = \"…\" and [[published.row]] below it";
    let Some(table) = entry.item.as_table_like() else {
        problems.push(Problem::new(&entry.at, "\"published\" is a table", HELP));
        return None;
    };
    let mut published = PublishedTable { source: None, rows: Vec::new() };
    for entry in entries(table) {
        match (entry.name, entry.item.as_str(), tables(entry.item)) {
            ("source", Some(source), _) if !source.contains('\n') => {
                published.source = Some(source.to_owned());
            }
            ("source", ..) => {
                let help = "write source = \"who measured it, and where it stands\"";
                problems.push(Problem::new(&entry.value_at(), "\"source\" is one line of text", help));
            }
            ("row", _, Some(rows)) => {
                for (table, span) in rows {
                    let at = span.map_or_else(|| entry.at.clone(), in_file);
                    published.rows.extend(read_row(table, &at, problems));
                }
            }
            _ => {
                let message = format!("unknown key \"{}\" in [published]", entry.name);
                problems.push(Problem::new(&entry.at, message, HELP));
            }
        }
    }
    Some(published)
}

fn read_row(table: &dyn TableLike, at: &Origin, problems: &mut Vec<Problem>) -> Option<Row> {
    let before = problems.len();
    let mut row = Row {
        at: at.clone(),
        place: Vec::new(),
        figures: Published {
            cell: 0,
            goodput_bps: None,
            lost_percent: None,
            retransmits: None,
            ca_state_us: None,
        },
    };
    for entry in entries(table) {
        if entry.name == "where" {
            row.at = entry.value_at();
            read_place(&entry, "", &mut row.place, problems);
        } else if entry.name == "ca_state" {
            row.figures.ca_state_us = read_states(&entry, problems);
        } else if let Err(error) = read_figure(&entry, &mut row.figures) {
            problems.push(Problem::new(&entry.value_at(), error.message, error.help));
        }
    }
    if row.place.is_empty() && problems.len() == before {
        let help = "write e.g. where = { \"path.rtt\" = \"10ms\" }";
        problems.push(Problem::new(at, "the row does not say which cell it belongs to", help));
    }
    (problems.len() == before).then_some(row)
}

/// `where = { variant = "tcp", "path.rtt" = "10ms" }`; dotted keys too, which TOML reads as tables in tables.
fn read_place(entry: &Entry<'_>, prefix: &str, place: &mut Vec<(Text, Text)>, problems: &mut Vec<Problem>) {
    let Some(table) = entry.item.as_table_like() else {
        let help = "write e.g. where = { \"path.rtt\" = \"10ms\" }";
        problems.push(Problem::new(&entry.value_at(), "\"where\" is a table of axes and values", help));
        return;
    };
    for entry in entries(table) {
        let path = format!("{prefix}{}", entry.name);
        match entry.item.as_value().and_then(scalar) {
            Some(value) => {
                let origin = entry.at.clone();
                place.push((Text { text: path, origin }, value));
            }
            None => read_place(&entry, &format!("{path}."), place, problems),
        }
    }
}

/// `ca_state = { open = "12736ms", recovery = "454ms" }`
fn read_states(entry: &Entry<'_>, problems: &mut Vec<Problem>) -> Option<PublishedStates> {
    const HELP: &str = "write e.g. ca_state = { open = \"12736ms\", recovery = \"454ms\" }";
    let Some(table) = entry.item.as_table_like() else {
        problems.push(Problem::new(&entry.value_at(), "\"ca_state\" is a table of states and times", HELP));
        return None;
    };
    let mut states = PublishedStates::default();
    for state in entries(table) {
        if let Err(error) = read_state(&state, &mut states) {
            problems.push(Problem::new(&state.value_at(), error.message, error.help));
        }
    }
    Some(states)
}

fn read_state(entry: &Entry<'_>, states: &mut PublishedStates) -> Result<(), ParseError> {
    let state = match entry.name {
        "open" => &mut states.open,
        "disorder" => &mut states.disorder,
        "cwr" => &mut states.cwr,
        "recovery" => &mut states.recovery,
        "loss" => &mut states.loss,
        other => {
            return Err(ParseError::new(
                format!("\"{other}\" is not a congestion state"),
                "the states are: open, disorder, cwr, recovery, loss",
            ));
        }
    };
    let text = entry.item.as_value().and_then(scalar).map(|text| text.text).unwrap_or_default();
    let time = duration(&text)?;
    *state = Some(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "published figures are far below 2^53")]
fn read_figure(entry: &Entry<'_>, figures: &mut Published) -> Result<(), ParseError> {
    let text = match entry.item {
        Item::Value(value @ (Value::String(_) | Value::Integer(_))) => scalar(value).map(|text| text.text),
        _ => None,
    };
    let text = text.unwrap_or_default();
    match entry.name {
        "goodput" => figures.goodput_bps = Some(rate(&text)?.bps() as f64),
        "lost" => figures.lost_percent = Some(ratio(&text)?.percent()),
        "retransmits" => figures.retransmits = Some(count(&text)? as f64),
        other => {
            return Err(ParseError::new(
                format!("unknown key \"{other}\" in [[published.row]]"),
                "the keys are: where, goodput, lost, retransmits, ca_state",
            ));
        }
    }
    Ok(())
}
