//! What the charts show, worked out once: the page's still pictures, its script, and the pictures in files draw the same.

mod along;
mod facets;
mod heats;
mod laws;
mod losses;
mod plots;
mod repeats;
mod trips;

/// As many series as there are colours: a chart of more comes in parts, and what is still more is shown when somebody asks.
pub(crate) const SERIES: usize = 8;
/// What the line through a point of goodput is.
pub(crate) const INTERVAL: &str = "interval of the median";
/// Cells whose runs have a picture: more nobody prints.
pub(crate) const RUNS: usize = 12;

/// Cells from which on maps come before lines and tables: of fewer a reader sees every row.
const MANY: usize = 200;

pub(crate) use along::{Along, Step, Steps, Upward};
pub(crate) use heats::{Field, Heat, Map};
pub(crate) use laws::Line;
pub(crate) use losses::Losses;
pub(crate) use plots::{Plot, Point, Series};
pub(crate) use repeats::{Repeats, Row};
pub(crate) use trips::{Trip, Trips};

use crate::sheet::by_variant;
use pipefill_analysis::findings::experiment::{CellResult, Experiment};
use schemars::JsonSchema;
use serde::Serialize;

/// All charts of an experiment.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub(crate) struct Charts {
    /// Whether maps come first, and before the tables.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) are_many: bool,
    pub(crate) plots: Vec<Plot>,
    pub(crate) along: Vec<Along>,
    pub(crate) heats: Vec<Heat>,
    pub(crate) repeats: Vec<Repeats>,
    pub(crate) losses: Vec<Losses>,
    pub(crate) trips: Vec<Trips>,
}

/// Those of `experiment`, variant by variant.
pub(crate) fn all(experiment: &Experiment) -> Charts {
    let mut charts = Charts { are_many: experiment.cells.len() >= MANY, ..Charts::default() };
    for (variant, cells) in by_variant(experiment) {
        charts.plots.extend(plots::of(experiment, variant, &cells));
        charts.along.extend(along::of(experiment, variant, &cells));
        charts.heats.extend(heats::of(variant, &cells));
        charts.repeats.extend(repeats::of(variant, &cells));
        charts.losses.extend(losses::of(experiment, variant, &cells));
        charts.trips.extend(trips::of(variant, &cells));
    }
    charts.trips.truncate(RUNS);
    charts
}

/// `tcp: goodput …`, or without a variant the title alone, its first letter large.
fn titled(variant: Option<&str>, title: &str) -> String {
    match variant {
        Some(variant) => format!("{variant}: {title}"),
        None => title[..1].to_uppercase() + &title[1..],
    }
}

/// `title`, of a part with what is the same in it.
fn in_part(title: String, part: &str) -> String {
    if part.is_empty() { title } else { format!("{title} ({part})") }
}

/// The coordinates of `cell` but those named in `without`; the variant stands in the title already.
fn name_of(cell: &CellResult, without: &[&str]) -> String {
    let is_shown = |path: &&String| *path != "variant" && !without.contains(&path.as_str());
    let part = |path: &String| format!("{} {}", path.rsplit('.').next().unwrap_or(path), cell.axes[path]);
    let parts: Vec<String> = cell.axes.keys().filter(is_shown).map(part).collect();
    parts.join(", ")
}

/// Axes that have the same value in all of several `cells`: in a name they would only take room.
fn constant<'a>(cells: &[&'a CellResult]) -> Vec<&'a str> {
    let [first, _, ..] = cells else { return Vec::new() };
    let is_constant = |path: &&String| cells.iter().all(|cell| cell.axes.get(*path) == first.axes.get(*path));
    first.axes.keys().filter(is_constant).map(String::as_str).collect()
}

/// To four digits: more nobody can see in a line.
fn short(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}
