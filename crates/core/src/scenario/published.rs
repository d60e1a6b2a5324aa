//! What somebody else measured and concluded, and the cells that it belongs to.
//!
//! Never: a figure shown beside a cell that `--set` made different, or a conclusion judged by one.

mod conclusion;
mod place;

use super::bounds::PUBLISHED_MAX;
use super::error::{Origin, ScenarioProblem};
use super::toml::{Listed, TomlEntry, entries, in_file, scalar, tables};
use crate::parse::{ParseError, count, duration, rate, ratio};
use crate::plan::{Cell, Conclusion, Published, PublishedStates};
use conclusion::Statement;
use place::PublishedPoint;
use toml_edit::{Item, TableLike, Value};

/// `[published]`
#[derive(Debug, Clone)]
pub(super) struct PublishedTable {
    pub(super) source: Option<String>,
    rows: Vec<Row>,
    statements: Vec<Statement>,
}

/// `[[published.row]]`
#[derive(Debug, Clone)]
struct Row {
    place: PublishedPoint,
    figures: Published,
}

/// What a cell is called by: the path of each of its settings, and the value as written.
pub(super) type Written = Vec<(String, String)>;

impl PublishedTable {
    /// The figures of every cell. Rows that name a cell that isn't there (left out by `--quick` or `--set`) are skipped,
    /// and so are rows that say nothing of a path in `changed`: what was changed is not what was published.
    pub(super) fn figures(&self, written: &[Written], changed: &[String]) -> Vec<Published> {
        let rows = self.rows.iter().filter(|row| row.place.names_all(changed));
        rows.flat_map(|row| {
            let cells = (0..written.len()).filter(|&cell| row.place.matches(&written[cell]));
            cells.map(|cell| Published { cell, ..row.figures.clone() })
        })
        .collect()
    }

    /// The conclusions with their claims about `cells`.
    pub(super) fn conclusions(
        &self,
        cells: &[Cell],
        written: &[Written],
        changed: &[String],
    ) -> Vec<Conclusion> {
        self.statements.iter().map(|statement| statement.resolved(cells, written, changed)).collect()
    }

    /// Rows and claims that belong to no cell of the whole matrix.
    pub(super) fn problems(&self, cells: &[Cell], written: &[Written]) -> Vec<ScenarioProblem> {
        let rows = self.rows.iter().filter_map(|row| row.place.problem(cells, written));
        rows.chain(self.statements.iter().flat_map(|statement| statement.problems(cells, written))).collect()
    }
}

/// Reads `[published]`.
pub(super) fn read(entry: &TomlEntry<'_>, problems: &mut Vec<ScenarioProblem>) -> Option<PublishedTable> {
    const HELP: &str =
        "write [published] with source = \"…\", and [[published.row]] and [[published.conclusion]] below it";
    let Some(table) = entry.item.as_table_like() else {
        problems.push(ScenarioProblem::new(&entry.at, "\"published\" must be a table", HELP));
        return None;
    };
    let mut published = PublishedTable { source: None, rows: Vec::new(), statements: Vec::new() };
    for entry in entries(table) {
        match (entry.name, entry.item.as_str(), tables(entry.item)) {
            ("source", Some(source), _) if !source.chars().any(char::is_control) => {
                published.source = Some(source.to_owned());
            }
            ("source", ..) => {
                let help = "write source = \"who measured it, and where it was published\"";
                problems.push(ScenarioProblem::new(
                    &entry.value_at(),
                    "\"source\" must be one line of text",
                    help,
                ));
            }
            ("row", _, Some(rows)) if is_few(rows.len(), &entry, problems) => {
                for (table, span) in rows {
                    let at = span.map_or_else(|| entry.at.clone(), in_file);
                    published.rows.extend(read_row(table, &at, problems));
                }
            }
            ("conclusion", _, Some(statements)) if is_few(claims(&statements), &entry, problems) => {
                for (table, span) in statements {
                    let at = span.map_or_else(|| entry.at.clone(), in_file);
                    published.statements.extend(conclusion::read(table, &at, problems));
                }
            }
            ("row" | "conclusion", _, Some(_)) => {}
            _ => {
                let message = format!("unknown key \"{}\" in [published]", entry.name);
                problems.push(ScenarioProblem::new(&entry.at, message, HELP));
            }
        }
    }
    Some(published)
}

/// Whether there are no more of them than is allowed; a problem where there are.
fn is_few(count: usize, entry: &TomlEntry<'_>, problems: &mut Vec<ScenarioProblem>) -> bool {
    if count > PUBLISHED_MAX {
        let message = format!("\"{}\" has {count} entries, more than {PUBLISHED_MAX}", entry.name);
        problems.push(ScenarioProblem::new(
            &entry.at,
            message,
            "leave out those of cells that nobody compares",
        ));
    }
    count <= PUBLISHED_MAX
}

/// All claims of all conclusions, and the conclusions themselves.
fn claims(statements: &[Listed<'_>]) -> usize {
    let of_one =
        |(table, _): &Listed<'_>| table.get("claim").and_then(tables).map_or(0, |claims| claims.len());
    statements.iter().map(|statement| 1 + of_one(statement)).sum()
}

fn read_row(table: &dyn TableLike, at: &Origin, problems: &mut Vec<ScenarioProblem>) -> Option<Row> {
    let before = problems.len();
    let mut row = Row {
        place: PublishedPoint::nowhere(at),
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
            row.place.read(&entry, problems);
        } else if entry.name == "ca_state" {
            row.figures.ca_state_us = read_states(&entry, problems);
        } else if let Err(error) = read_figure(&entry, &mut row.figures) {
            problems.push(ScenarioProblem::new(&entry.value_at(), error.message, error.help));
        }
    }
    if row.place.is_nowhere() && problems.len() == before {
        let help = "write e.g. where = { \"path.rtt\" = \"10ms\" }";
        problems.push(ScenarioProblem::new(at, "the row does not say which cell it belongs to", help));
    }
    (problems.len() == before).then_some(row)
}

/// `ca_state = { open = "12736ms", recovery = "454ms" }`
fn read_states(entry: &TomlEntry<'_>, problems: &mut Vec<ScenarioProblem>) -> Option<PublishedStates> {
    const HELP: &str = "write e.g. ca_state = { open = \"12736ms\", recovery = \"454ms\" }";
    let Some(table) = entry.item.as_table_like() else {
        problems.push(ScenarioProblem::new(
            &entry.value_at(),
            "\"ca_state\" must be a table of states and times",
            HELP,
        ));
        return None;
    };
    let mut states = PublishedStates::default();
    for state in entries(table) {
        if let Err(error) = read_state(&state, &mut states) {
            problems.push(ScenarioProblem::new(&state.value_at(), error.message, error.help));
        }
    }
    Some(states)
}

fn read_state(entry: &TomlEntry<'_>, states: &mut PublishedStates) -> Result<(), ParseError> {
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
fn read_figure(entry: &TomlEntry<'_>, figures: &mut Published) -> Result<(), ParseError> {
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
