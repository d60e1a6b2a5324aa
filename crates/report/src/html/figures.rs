//! The charts as figures of the page: a still picture, where the script lays its chart over it, and what can be read below.

use super::terms::term;
use crate::charts::RUNS;
use crate::charts::{Charts, Heat, Losses, Plot, Point};
use crate::quantity::{MISSING, QuantityKind};
use crate::svg;
use maud::{Markup, html};

/// Maps of an experiment that stand still.
const PICTURES: usize = 12;
/// Rows of a table of residuals; more nobody reads, and each is in the script's data.
const RESIDUALS: usize = 60;

/// The charts with their still pictures and what can be read of them; of many cells the maps come first, which have every cell.
pub(super) fn section(charts: &Charts) -> Markup {
    let lines = html! {
        @for (number, plot) in charts.plots.iter().enumerate() {
            (figure("plot", number, &plot.title, &svg::plot(plot).inline(), &residuals(plot)))
        }
        @for (number, along) in charts.along.iter().enumerate() {
            @let below = html! { @if let Some(note) = &along.left_out { p class="hint" { (note) } } };
            (figure("along", number, &along.title, &svg::along(along).inline(), &below))
        }
    };
    let heats = html! {
        @for (number, heat) in charts.heats.iter().enumerate() {
            (figure("heat", number, &heat.title, &maps(heat), &html! {}))
        }
    };
    html! {
        section id="charts" aria-labelledby="charts-title" {
            h2 id="charts-title" { "Charts" }
            @if charts.plots.is_empty() && charts.along.is_empty() && charts.heats.is_empty() && charts.repeats.is_empty() && charts.losses.is_empty() {
                p { "No axis of this experiment has two values that were measured, and no cell was run twice: the tables say it all." }
            }
            div class="figures" {
                @if charts.are_many { (heats) (lines) } @else { (lines) (heats) }
                @for (number, repeats) in charts.repeats.iter().enumerate() {
                    (figure("repeats", number, &repeats.title, &svg::repeats(repeats).inline(), &html! {}))
                }
                @for (number, losses) in charts.losses.iter().enumerate() {
                    (figure("losses", number, &losses.title, &svg::losses(losses).inline(), &places(losses)))
                }
            }
        }
    }
}

/// How round trips are distributed; nothing where none was measured.
pub(super) fn round_trips(charts: &Charts) -> Markup {
    html! {
        @if !charts.trips.is_empty() {
            section id="round-trips" aria-labelledby="round-trips-title" {
                h2 id="round-trips-title" { "Round trips" }
                p class="hint" {
                    "How many per cent took no longer, medians over the runs. The steeper a curve, the steadier the round trip; what lies \
                     right of the idle RTT has waited in a queue. A smoothed RTT hides single long trips, pings do not."
                    @if charts.trips.len() == RUNS { " Of the first " (RUNS) " cells; the JSON has every one." }
                }
                div class="figures" {
                    @for (number, trips) in charts.trips.iter().enumerate() {
                        (figure("trips", number, &trips.title, &svg::trips(trips).inline(), &html! {}))
                    }
                }
            }
        }
    }
}

/// Two axes at a time; of more maps than somebody would print the first.
fn maps(heat: &Heat) -> Markup {
    let maps = heat.maps();
    html! {
        @for map in maps.iter().take(PICTURES) {
            @if maps.len() > 1 { p class="hint" { bdi { (map.title) } } }
            (svg::heat(map).inline())
        }
        @if maps.len() > PICTURES {
            p class="hint" { "The first " (PICTURES) " of " (maps.len()) " maps; the table has every cell." }
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
                                    td class="number" { (QuantityKind::Rate.alone(point.y)) }
                                    td class="number" { (point.bound.map_or_else(|| MISSING.to_owned(), |bps| QuantityKind::Rate.alone(bps))) }
                                    td { (point.law.unwrap_or(MISSING)) }
                                    td class="number" {
                                        (point.bound.map_or_else(|| MISSING.to_owned(), |bps| QuantityKind::Ratio.alone(point.y / bps)))
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
