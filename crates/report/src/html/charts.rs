//! What the page's charts show, worked out once: the still pictures and the script draw the same.
//!
//! Never: a point without the cell that it comes from.

mod heats;
mod losses;
mod plots;
mod repeats;

pub(super) use heats::Heat;
pub(super) use losses::Losses;
pub(super) use plots::{Plot, Point};
pub(super) use repeats::Repeats;

use super::svg;
use super::terms::term;
use crate::quantity::{Kind, MISSING};
use crate::sheet::by_variant;
use maud::{Markup, html};
use pipefill_analysis::experiment::{CellResult, Experiment};
use serde::Serialize;

/// Pictures of a kind that stand in the markup; of more the script draws what is chosen.
const PICTURES: usize = 12;
/// Rows of a table of residuals; more nobody reads, and each is in the script's data.
const RESIDUALS: usize = 60;

/// All charts of an experiment.
#[derive(Debug, Serialize)]
pub(super) struct Charts {
    pub(super) plots: Vec<Plot>,
    pub(super) heats: Vec<Heat>,
    pub(super) repeats: Vec<Repeats>,
    pub(super) losses: Vec<Losses>,
}

/// Those of `experiment`, variant by variant.
pub(super) fn all(experiment: &Experiment) -> Charts {
    let mut charts = Charts { plots: Vec::new(), heats: Vec::new(), repeats: Vec::new(), losses: Vec::new() };
    for (variant, cells) in by_variant(experiment) {
        charts.plots.extend(plots::of(experiment, variant, &cells));
        charts.heats.extend(heats::of(variant, &cells));
        charts.repeats.extend(repeats::of(variant, &cells));
        charts.losses.extend(losses::of(experiment, variant, &cells));
    }
    charts
}

/// The charts with their still pictures and what can be read of them.
pub(super) fn section(charts: &Charts) -> Markup {
    html! {
        section id="charts" aria-labelledby="charts-title" {
            h2 id="charts-title" { "Charts" }
            @if charts.plots.is_empty() && charts.heats.is_empty() && charts.repeats.is_empty() && charts.losses.is_empty() {
                p { "No axis of this experiment is a round trip or a loss, and no cell was run twice: the tables say it all." }
            }
            div class="figures" {
                @for (number, plot) in charts.plots.iter().enumerate() {
                    (figure("plot", number, &plot.title, &svg::plot(plot), &residuals(plot)))
                }
                @for (number, heat) in charts.heats.iter().enumerate() {
                    @let picture = if number < PICTURES { svg::heat(heat) } else { html! {} };
                    (figure("heat", number, &heat.title, &picture, &html! {}))
                }
                @for (number, repeats) in charts.repeats.iter().enumerate() {
                    (figure("repeats", number, &repeats.title, &svg::repeats(repeats), &html! {}))
                }
                @for (number, losses) in charts.losses.iter().enumerate() {
                    (figure("losses", number, &losses.title, &svg::losses(losses), &places(losses)))
                }
            }
        }
    }
}

fn figure(kind: &str, number: usize, title: &str, picture: &Markup, below: &Markup) -> Markup {
    html! {
        figure data-chart=(kind) data-number=(number) {
            figcaption { bdi { (title) } }
            div class="still" { (picture) }
            (below)
        }
    }
}

/// What theory allows each point, and what is left of it.
fn residuals(plot: &Plot) -> Markup {
    let mut points: Vec<&Point> =
        plot.series.iter().flat_map(|series| &series.points).filter(|point| point.bound.is_some()).collect();
    let all = points.len();
    if all > RESIDUALS {
        let far = |point: &Point| point.bound.map_or(0.0, |bps| (point.y / bps).ln().abs());
        points.sort_by(|a, b| far(b).total_cmp(&far(a)));
        points.truncate(RESIDUALS);
    }
    html! {
        @for note in &plot.left_out { p class="hint" { (note) } }
        @if !points.is_empty() {
            details {
                summary {
                    "Measured beside theory"
                    @if all > points.len() { ": the " (points.len()) " of " (all) " cells that are furthest from it" }
                }
                div class="scroll" tabindex="0" role="region" aria-label={ "Residuals, " (plot.title) } {
                    table {
                        thead { tr {
                            th scope="col" { "cell" }
                            th scope="col" class="number" { (term("goodput", "goodput")) }
                            th scope="col" class="number" { "lowest bound" }
                            th scope="col" { "whose" }
                            th scope="col" class="number" { (term("residual", "measured / bound")) }
                        } }
                        tbody {
                            @for point in &points {
                                tr {
                                    th scope="row" { a href={ "#" (point.cell) } { (point.label) } }
                                    td class="number" { (Kind::Rate.alone(point.y)) }
                                    td class="number" { (point.bound.map_or_else(|| MISSING.to_owned(), |bps| Kind::Rate.alone(bps))) }
                                    td { (point.law.unwrap_or(MISSING)) }
                                    td class="number" {
                                        (point.bound.map_or_else(|| MISSING.to_owned(), |bps| Kind::Ratio.alone(point.y / bps)))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Where datagrams were lost, as a table.
fn places(losses: &Losses) -> Markup {
    html! {
        details {
            summary { "The same as a table" }
            div class="scroll" tabindex="0" role="region" aria-label={ "Table, " (losses.title) } {
                table {
                    thead { tr {
                        th scope="col" { "cell" }
                        th scope="col" class="number" { "sent" }
                        @for place in &losses.places { th scope="col" class="number" { (place) } }
                    } }
                    tbody {
                        @for bar in &losses.bars {
                            tr {
                                th scope="row" { a href={ "#" (bar.cell) } { bdi { (bar.label) } } }
                                td class="number" { (bar.sent) }
                                @for count in &bar.counts { td class="number" { (count.map_or_else(|| MISSING.to_owned(), |count| count.to_string())) } }
                            }
                        }
                    }
                }
            }
            p class="hint" { "Packets of all valid runs together. What the path drops of a fragmented datagram counts as often as it has fragments." }
        }
    }
}

/// `tcp: goodput …`, or without a variant the title alone, its first letter large.
fn titled(variant: Option<&str>, title: &str) -> String {
    match variant {
        Some(variant) => format!("{variant}: {title}"),
        None => title[..1].to_uppercase() + &title[1..],
    }
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
