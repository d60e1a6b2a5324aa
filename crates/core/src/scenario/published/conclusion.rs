//! `[[published.conclusion]]`: what a source concluded, and what would be true of our cells if it were right.

use super::Written;
use super::place::PublishedPoint;
use crate::parse::{ParseError, nearest};
use crate::plan::Cell;
use crate::plan::{Claim, Conclusion, Pair};
use crate::scenario::error::{Origin, ScenarioProblem};
use crate::scenario::expect;
use crate::scenario::toml::{TomlEntry, entries, in_file, scalar, tables};
use toml_edit::TableLike;

const HELP: &str = "the keys are: says, if_so, if_not, claim";

/// A conclusion as written.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    said: Conclusion,
    /// Where each of its claims holds, and what it is compared with.
    places: Vec<(PublishedPoint, Option<PublishedPoint>)>,
}

impl Statement {
    /// The conclusion with the cells of every claim. A claim loses the cells that `changed` made different.
    pub(super) fn resolved(&self, cells: &[Cell], written: &[Written], changed: &[String]) -> Conclusion {
        let mut conclusion = self.said.clone();
        for (claim, (place, than)) in conclusion.claims.iter_mut().zip(&self.places) {
            if place.names_all(changed) {
                let here = cells.iter().filter(|cell| place.matches(&written[cell.index]));
                claim.pairs = here.filter_map(|cell| pair(cell, than.as_ref(), cells, written)).collect();
            }
        }
        conclusion
    }

    pub(super) fn problems(&self, cells: &[Cell], written: &[Written]) -> Vec<ScenarioProblem> {
        let places = self.places.iter().flat_map(|(place, than)| std::iter::once(place).chain(than));
        places.filter_map(|place| place.problem(cells, written)).collect()
    }
}

/// `None` where the other cell is missing, or is this one.
fn pair(cell: &Cell, than: Option<&PublishedPoint>, cells: &[Cell], written: &[Written]) -> Option<Pair> {
    let Some(than) = than else { return Some(Pair { cell: cell.index, other: None }) };
    let other = than.beside(cell, cells, written).filter(|&other| other != cell.index)?;
    Some(Pair { cell: cell.index, other: Some(other) })
}

/// Reads one `[[published.conclusion]]`.
pub(super) fn read(
    table: &dyn TableLike,
    at: &Origin,
    problems: &mut Vec<ScenarioProblem>,
) -> Option<Statement> {
    let before = problems.len();
    let said = Conclusion { published: String::new(), if_so: None, if_not: None, claims: Vec::new() };
    let mut statement = Statement { said, places: Vec::new() };
    for entry in entries(table) {
        match (entry.name, tables(entry.item)) {
            ("says", _) => statement.said.published = line(&entry, problems).unwrap_or_default(),
            ("if_so", _) => statement.said.if_so = line(&entry, problems),
            ("if_not", _) => statement.said.if_not = line(&entry, problems),
            ("claim", Some(claims)) => {
                for (table, span) in claims {
                    let at = span.map_or_else(|| entry.at.clone(), in_file);
                    read_claim(table, &at, &mut statement, problems);
                }
            }
            _ => {
                let message = format!("unknown key \"{}\" in [[published.conclusion]]", entry.name);
                problems.push(ScenarioProblem::new(&entry.at, message, HELP));
            }
        }
    }
    if statement.said.published.is_empty() && problems.len() == before {
        let help = "write says = \"what the source concluded\"";
        problems.push(ScenarioProblem::new(at, "the conclusion does not say what was published", help));
    }
    (problems.len() == before).then_some(statement)
}

fn line(entry: &TomlEntry<'_>, problems: &mut Vec<ScenarioProblem>) -> Option<String> {
    let text = entry.item.as_value().filter(|value| value.is_str()).and_then(scalar);
    let text = text.map(|text| text.text).filter(|text| !text.chars().any(char::is_control));
    if text.is_none() {
        let help = format!("write {} = \"…\"", entry.name);
        problems.push(ScenarioProblem::new(
            &entry.value_at(),
            format!("\"{}\" must be one line of text", entry.name),
            help,
        ));
    }
    text
}

/// `{ where = { … }, goodput = ">= 95% of rate" }`, or with `than = { … }` and `goodput = ">= 95% of goodput"`.
fn read_claim(
    table: &dyn TableLike,
    at: &Origin,
    statement: &mut Statement,
    problems: &mut Vec<ScenarioProblem>,
) {
    let (mut place, mut than, mut claim) = (PublishedPoint::nowhere(at), None, None);
    let before = problems.len();
    for entry in entries(table) {
        match entry.name {
            "where" => place.read(&entry, problems),
            "than" => than.insert(PublishedPoint::nowhere(at)).read(&entry, problems),
            _ => match read_comparison(&entry) {
                Ok(read) => claim = Some(read),
                Err(error) => {
                    problems.push(ScenarioProblem::new(&entry.value_at(), error.message, error.help));
                }
            },
        }
    }
    match claim {
        Some(claim) if expect::compares_cells(&claim) == than.is_some() => {
            statement.said.claims.push(claim);
            statement.places.push((place, than));
        }
        _ if problems.len() > before => {}
        Some(_) => problems.push(ScenarioProblem::new(
            at,
            "\"than\" and a share of the other cell's metric must be used together",
            "write e.g. { where = { … }, than = { … }, goodput = \">= 95% of goodput\" }",
        )),
        None => problems.push(ScenarioProblem::new(
            at,
            "the claim names no metric",
            "write e.g. { where = { \"path.rtt\" = \"10ms\" }, limited_by = \"= cwnd\" }",
        )),
    }
}

fn read_comparison(entry: &TomlEntry<'_>) -> Result<Claim, ParseError> {
    let names: Vec<&str> = expect::METRICS.iter().map(|&metric| expect::name(metric)).collect();
    let metric = expect::METRICS.into_iter().find(|&metric| expect::name(metric) == entry.name);
    let metric = metric.ok_or_else(|| {
        let help = match nearest(entry.name, &names) {
            Some(name) => format!("did you mean \"{name}\"?"),
            None => format!("the metrics are: {}", names.join(", ")),
        };
        ParseError::new(format!("\"{}\" is not a metric", entry.name), help)
    })?;
    let text = entry.item.as_value().and_then(scalar).map(|text| text.text).unwrap_or_default();
    expect::parse_claim(metric, &text)
}
