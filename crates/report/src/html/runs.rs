//! Runs over time: a choice and a chart for the script, and a picture of each cell's run that its verdict speaks of.
//!
//! Never: more pictures than somebody would print.

use super::{Page, RunPart, model, svg};
use crate::sheet::anchor;
use maud::{Markup, html};
use pipefill_analysis::experiment::CellResult;

/// Cells with a picture.
const PICTURES: usize = 12;

/// The section.
pub(super) fn section(page: &Page<'_>) -> Markup {
    let shown: Vec<(&CellResult, &RunPart)> =
        page.experiment.cells.iter().filter_map(|cell| Some((cell, picture_of(page, cell)?))).collect();
    html! {
        section id="runs" aria-labelledby="runs-title" {
            h2 id="runs-title" { "Runs over time" }
            @if page.runs.is_empty() { p { "No run was recorded." } }
            div id="run-tools" class="live" hidden {}
            div id="run-chart" class="live" hidden {}
            div class="figures still" {
                @for (cell, part) in shown.iter().take(PICTURES) {
                    (figure(page, cell, part))
                }
            }
            @if shown.len() > PICTURES {
                p class="still hint" { "Pictures of the first " (PICTURES) " cells; the page's script shows every run." }
            }
        }
    }
}

fn figure(page: &Page<'_>, cell: &CellResult, part: &RunPart) -> Markup {
    let name = cell.coordinates();
    let limits = page.metrics(part).map(|metrics| model::limits(metrics, &part.series)).unwrap_or_default();
    let mut words: Vec<&str> = Vec::new();
    for span in &limits {
        if !words.contains(&span.limited_by.as_str()) {
            words.push(span.limited_by.as_str());
        }
    }
    html! {
        figure {
            figcaption { a href={ "#" (anchor(cell)) } { bdi { (name) } } }
            (svg::timeline(&name, &part.series, &limits))
            p class="legend" {
                @for word in words { span { span class={ "swatch limit-" (word) } {} " " (word) } " " }
                @if !part.series.retransmitted.is_empty() { span { span class="swatch mark" {} " retransmits" } " " }
                @for (state, name) in [("disorder", "Disorder"), ("cwr", "CWR"), ("recovery", "Recovery"), ("loss", "Loss")] {
                    @if part.series.states.iter().flat_map(|(_, stays)| stays).any(|stay| model::state_word(stay.value) == state) {
                        span { span class={ "swatch state-" (state) } {} " " (name) } " "
                    }
                }
            }
        }
    }
}

/// The run that the cell's verdict is about; without one its first.
fn picture_of<'a>(page: &Page<'a>, cell: &CellResult) -> Option<&'a RunPart> {
    let repeat = cell.verdict_repeat;
    let run = cell.run_values.iter().find(|run| repeat.is_none_or(|repeat| run.repeat == repeat))?;
    page.runs.iter().find(|part| part.series.directory == run.directory)
}
