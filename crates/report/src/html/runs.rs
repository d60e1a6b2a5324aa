//! Runs over time: a choice and a chart for the script, and a picture of each cell's run that its verdict speaks of.

use super::Page;
use crate::charts::RUNS;
use crate::pictures::timelines;
use crate::sheet::anchor;
use crate::svg::Picture;
use maud::{Markup, html};
use pipefill_analysis::findings::experiment::CellResult;

/// The section.
pub(super) fn section(page: &Page<'_>) -> Markup {
    let mut pictures = timelines(page.experiment, page.runs);
    let shown: Vec<(&CellResult, Picture)> = pictures.by_ref().take(RUNS).collect();
    html! {
        section id="runs" aria-labelledby="runs-title" {
            h2 id="runs-title" { "Runs over time" }
            @if page.runs.is_empty() { p { "No run was recorded." } }
            div id="run-tools" class="live" hidden {}
            div id="run-chart" class="live" hidden {}
            div class="figures still" {
                @for (cell, picture) in &shown { (figure(cell, picture)) }
            }
            @if pictures.next().is_some() {
                p class="still hint" { "Pictures of the first " (RUNS) " cells; the page's script shows every run." }
            }
        }
    }
}

fn figure(cell: &CellResult, picture: &Picture) -> Markup {
    html! {
        figure {
            figcaption { a href={ "#" (anchor(cell)) } { bdi { (cell.coordinates()) } } }
            (picture.inline())
        }
    }
}
