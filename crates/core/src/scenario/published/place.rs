//! Cells named by the values of axes, as written: a place is every cell that has them all.

use super::Written;
use crate::parse::nearest;
use crate::plan::Cell;
use crate::scenario::error::{Origin, ScenarioProblem};
use crate::scenario::layer::Text;
use crate::scenario::toml::{TomlEntry, entries, scalar};

/// Paths of axes, and the values that a cell has there.
#[derive(Debug, Clone)]
pub(super) struct PublishedPoint {
    at: Origin,
    values: Vec<(Text, Text)>,
}

impl PublishedPoint {
    /// A place that is yet to be read.
    pub(super) fn nowhere(at: &Origin) -> Self {
        Self { at: at.clone(), values: Vec::new() }
    }

    pub(super) fn is_nowhere(&self) -> bool {
        self.values.is_empty()
    }

    /// Reads `{ variant = "tcp", "path.rtt" = "10ms" }`.
    pub(super) fn read(&mut self, entry: &TomlEntry<'_>, problems: &mut Vec<ScenarioProblem>) {
        self.at = entry.value_at();
        self.read_below(entry, "", problems);
    }

    /// Dotted keys too, which TOML reads as tables in tables.
    fn read_below(&mut self, entry: &TomlEntry<'_>, prefix: &str, problems: &mut Vec<ScenarioProblem>) {
        let Some(table) = entry.item.as_table_like() else {
            let help = "write e.g. { \"path.rtt\" = \"10ms\" }";
            problems.push(ScenarioProblem::new(
                &entry.value_at(),
                "it must be a table of axes and values",
                help,
            ));
            return;
        };
        for entry in entries(table) {
            let path = format!("{prefix}{}", entry.name);
            match entry.item.as_value().and_then(scalar) {
                Some(value) => {
                    let origin = entry.at.clone();
                    self.values.push((Text { text: path, origin }, value));
                }
                None => self.read_below(&entry, &format!("{path}."), problems),
            }
        }
    }

    /// Whether it says something of every path in `paths`.
    pub(super) fn names_all(&self, paths: &[String]) -> bool {
        paths.iter().all(|path| self.names(path))
    }

    pub(super) fn matches(&self, written: &Written) -> bool {
        self.values.iter().all(|(path, value)| {
            written.iter().any(|(other, text)| *other == path.text && *text == value.text)
        })
    }

    /// The first cell here that has `cell`'s values on all axes that this place says nothing of.
    pub(super) fn beside(&self, cell: &Cell, cells: &[Cell], written: &[Written]) -> Option<usize> {
        let is_free = |path: &str| !self.names(path) && path != "variant";
        let agrees = |(path, value): &(String, String)| {
            !is_free(path) || cell.axes.iter().all(|(other, text)| other != path || text == value)
        };
        let is_here = |other: &&Cell| self.matches(&written[other.index]) && other.axes.iter().all(agrees);
        cells.iter().find(is_here).map(|other| other.index)
    }

    /// What is wrong where no cell of the whole matrix is here.
    pub(super) fn problem(&self, cells: &[Cell], written: &[Written]) -> Option<ScenarioProblem> {
        self.values.iter().find_map(|(path, value)| axis_problem(path, value, cells)).or_else(|| {
            let is_lost = !written.iter().any(|cell| self.matches(cell));
            is_lost.then(|| {
                ScenarioProblem::new(
                    &self.at,
                    "no cell of the matrix has all of these values",
                    "compare with the cells that `pipefill plan` prints",
                )
            })
        })
    }

    fn names(&self, path: &str) -> bool {
        self.values.iter().any(|(name, _)| name.text == path)
    }
}

fn axis_problem(path: &Text, value: &Text, cells: &[Cell]) -> Option<ScenarioProblem> {
    let axes = || cells.iter().flat_map(|cell| &cell.axes);
    let values = sorted(axes().filter(|(name, _)| *name == path.text).map(|(_, value)| value.as_str()));
    if values.is_empty() {
        let names = sorted(axes().map(|(name, _)| name.as_str()));
        let help = match nearest(&path.text, &names) {
            Some(name) => format!("did you mean \"{name}\"?"),
            None => format!("the axes are: {}", names.join(", ")),
        };
        let message = format!("\"{}\" is not an axis of this scenario", path.text);
        return Some(ScenarioProblem::new(&path.origin, message, help));
    }
    (!values.contains(&value.text.as_str())).then(|| {
        ScenarioProblem::new(
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
