//! Which part of a scenario is wanted, and with which values: `--set`, `--only`, `--repeat`, `--quick`.

use super::{Cell, Plan};
use crate::parse::nearest;
use crate::problem::Problem;

/// The part of a scenario to run, and the values that override its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Assignments `KEY=VALUE`, of which a later one replaces an earlier one.
    pub set: Vec<String>,
    /// Filters of cells, as [`Plan::select`] takes them.
    pub only: Vec<String>,
    /// Runs of each cell, instead of `run.repeat`.
    pub repeat: Option<u32>,
    /// Whether the scenario's `[quick]` values count.
    pub quick: bool,
}

impl Selection {
    /// With [`Self::repeat`] as what it stands for: the last assignment, of `run.repeat`.
    #[must_use]
    pub fn with_repeat_assigned(mut self) -> Self {
        self.set.extend(self.repeat.take().map(|repeat| format!("run.repeat={repeat}")));
        self
    }

    /// The variants that the filters name.
    pub fn variants(&self) -> Vec<String> {
        let terms = self.only.iter().flat_map(|filter| split(filter));
        terms.filter_map(|term| term.strip_prefix("variant=").map(str::to_owned)).collect()
    }
}

impl Plan {
    /// Keeps the cells that match `filters`, with their published figures. A filter is `AXIS=VALUE`, or several with commas between, values
    /// as the scenario writes them. Several values of one axis mean any of them, several axes all.
    ///
    /// # Errors
    /// [`Problem`] for text without `=`, an axis or a value that the plan does not have (with those that it has), or filters that no cell
    /// meets together.
    pub fn select(&mut self, filters: &[String]) -> Result<(), Problem> {
        let terms = filters
            .iter()
            .flat_map(|filter| split(filter))
            .map(|term| Term::parse(self, &term))
            .collect::<Result<Vec<_>, _>>()?;
        self.keep(|cell| is_wanted(&terms, cell));
        if self.cells.is_empty() {
            return Err(Problem::usage("no cell matches every --only", "`pipefill plan` lists the cells"));
        }
        Ok(())
    }
}

/// One `AXIS=VALUE`.
struct Term {
    axis: String,
    value: String,
}

impl Term {
    fn parse(plan: &Plan, text: &str) -> Result<Self, Problem> {
        let Some((axis, value)) = text.split_once('=') else {
            return Err(Problem::usage(
                format!("--only \"{text}\": \"=\" is missing"),
                "write AXIS=VALUE, e.g. --only path.rtt=10ms",
            ));
        };
        let values = values(plan, axis);
        if values.is_empty() {
            return Err(unknown_axis(plan, axis));
        }
        if !values.contains(&value) {
            return Err(Problem::usage(
                format!("--only: {axis} has no value \"{value}\""),
                format!("its values are: {}", values.join(", ")),
            ));
        }
        Ok(Self { axis: axis.to_owned(), value: value.to_owned() })
    }

    fn matches(&self, cell: &Cell) -> bool {
        cell.axes.iter().any(|(axis, value)| *axis == self.axis && *value == self.value)
    }
}

fn is_wanted(terms: &[Term], cell: &Cell) -> bool {
    terms.iter().all(|term| terms.iter().any(|other| other.axis == term.axis && other.matches(cell)))
}

/// Splits at commas that begin a new `AXIS=`; others belong to a value (`packets 3,7,9`).
fn split(filter: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    for piece in filter.split(',') {
        match terms.last_mut() {
            Some(term) if !begins_term(piece) => {
                term.push(',');
                term.push_str(piece);
            }
            _ => terms.push(piece.to_owned()),
        }
    }
    terms
}

fn begins_term(piece: &str) -> bool {
    let Some((axis, _)) = piece.split_once('=') else {
        return false;
    };
    let is_path = axis.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    axis == "variant" || (is_path && axis.contains('.'))
}

fn unknown_axis(plan: &Plan, axis: &str) -> Problem {
    let axes = axes(plan);
    if axes.is_empty() {
        return Problem::usage(
            format!("--only: \"{axis}\" is not an axis; the plan has a single cell"),
            "leave --only out",
        );
    }
    let list: Vec<String> =
        axes.iter().map(|axis| format!("{axis} ({})", values(plan, axis).join(", "))).collect();
    let near = nearest(axis, &axes).map_or_else(String::new, |near| format!("did you mean \"{near}\"? "));
    Problem::usage(
        format!("--only: \"{axis}\" is not an axis of the plan"),
        format!("{near}The axes are: {}", list.join("; ")),
    )
}

/// In order of appearance.
fn axes(plan: &Plan) -> Vec<&str> {
    distinct(plan.cells.iter().flat_map(|cell| &cell.axes).map(|(axis, _)| axis.as_str()))
}

/// In order of appearance.
fn values<'a>(plan: &'a Plan, axis: &str) -> Vec<&'a str> {
    let pairs = plan.cells.iter().flat_map(|cell| &cell.axes);
    distinct(pairs.filter(|(name, _)| name == axis).map(|(_, value)| value.as_str()))
}

fn distinct<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen: Vec<&str> = Vec::new();
    for word in words {
        if !seen.contains(&word) {
            seen.push(word);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    const STUDY: &str = include_str!("../../../../scenarios/studies/rtt.toml");

    fn study() -> Plan {
        Scenario::parse(STUDY, "rtt").unwrap().plan().clone()
    }

    fn selected(filters: &[&str]) -> Result<Plan, String> {
        let mut plan = study();
        let filters: Vec<String> = filters.iter().map(|&f| f.to_owned()).collect();
        plan.select(&filters).map_err(|Problem { what, remedy, .. }| format!("{what}; {remedy:?}"))?;
        Ok(plan)
    }

    #[test]
    fn a_point_keeps_its_id_and_its_published_figure() {
        let whole = study();
        let original = whole.cells.iter().find(|c| c.axes[0].1 == "tcp" && c.axes[1].1 == "10ms").unwrap();
        let plan = selected(&["variant=tcp,path.rtt=10ms"]).unwrap();
        assert_eq!(plan.cells.len(), 1);
        assert_eq!((plan.cells[0].index, &plan.cells[0].id), (original.index, &original.id));
        assert_eq!(plan.published.len(), 1);
        assert_eq!((plan.published[0].cell, plan.published[0].goodput_bps), (original.index, Some(2.33e9)));
    }

    #[test]
    fn values_of_one_axis_add_up_and_axes_narrow() {
        let plan = selected(&["variant=tcp", "path.rtt=10ms", "path.rtt=1s"]).unwrap();
        let rtts: Vec<&str> = plan.cells.iter().map(|cell| cell.axes[1].1.as_str()).collect();
        assert_eq!(rtts, ["10ms", "1s"]);
        assert_eq!(plan.published.iter().map(|p| p.cell).collect::<Vec<_>>(), [2, 4]);
    }

    #[test]
    fn what_matches_nothing_is_told_what_there_is() {
        let axis = selected(&["path.rt=10ms"]).unwrap_err();
        assert!(
            axis.contains("did you mean") && axis.contains("path.rtt") && axis.contains("0ms, 1ms"),
            "{axis}"
        );
        let value = selected(&["path.rtt=11ms"]).unwrap_err();
        assert!(value.contains("0ms, 1ms, 10ms, 100ms, 1s"), "{value}");
        assert!(selected(&["path.rtt"]).unwrap_err().contains("AXIS=VALUE"));
        let both = selected(&["variant=tcp,flow.bitrate=1mbit"]).unwrap_err();
        assert!(both.contains("no cell"), "{both}");
    }

    #[test]
    fn commas_inside_of_a_value_stay() {
        let got = split("path.loss=packets 3,7,9-12,path.rtt=1ms,variant=a");
        assert_eq!(got, ["path.loss=packets 3,7,9-12", "path.rtt=1ms", "variant=a"]);
    }
}
