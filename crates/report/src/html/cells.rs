//! Each cell's verdict, its arithmetic, the advice, and the command that repeats it.
//!
//! A large page leaves out what its tables have. Never: a predicted effect that reads like a proven one.

use super::terms::term;
use super::{Page, capture, fix, later, tables};
use crate::explain;
use crate::quantity::{self, QuantityKind};
use crate::sheet::{anchor, ping_sentence, problems};
use crate::verdicts::{heading, in_a_sentence};
use crate::words::limit_name;
use maud::{Markup, html};
use pipefill_analysis::findings::experiment::CellResult;
use pipefill_analysis::findings::finding::Advice;
use pipefill_core::limit::LimitedBy;

/// With more cells than this each is closed until somebody asks.
const OPEN: usize = 12;

/// Cells of a large page that are read together.
const PART: usize = 50;

/// The section.
pub(super) fn section(page: &Page<'_>) -> Markup {
    let cells = &page.experiment.cells;
    let is_open = cells.len() <= OPEN;
    let is_large = cells.len() > super::LARGE;
    html! {
        section id="verdicts" aria-labelledby="verdicts-title" {
            h2 id="verdicts-title" { "Verdicts and advice" }
            @for cells in cells.chunks(PART) {
                (later(is_large, "verdicts", &html! { @for cell in cells { (cell_details(page, cell, is_open)) } }))
            }
        }
    }
}

fn cell_details(page: &Page<'_>, cell: &CellResult, is_open: bool) -> Markup {
    html! {
        details class="cell" open[is_open] {
            summary {
                strong { bdi { (cell.coordinates()) } }
                @if let Some(bps) = cell.goodput_bps { " · " (quantity::rate(bps)) }
                @if let Some(limit) = cell.verdict.limited_by {
                    " · " span class={ "swatch limit-" (limit.as_str()) } {} " " (limit_name(limit, None))
                }
            }
            div id=(anchor(cell)) {
                @match &cell.verdict.sentence {
                    Some(verdict) => { p { (verdict) } }
                    None => { p { (without_verdict(cell)) } }
                }
                @if let Some(confidence) = explain::confidence(cell) { p class="hint" { (confidence) } }
                @if let Some(rule) = explain::rule(cell) { p class="hint" { (rule) } }
                @let problems = problems(page.experiment, cell);
                @if !problems.is_empty() { ul class="problems" { @for line in problems { li { bdi { (line) } } } } }
                @if page.experiment.cells.len() <= super::LARGE { (figures(cell)) (shares(cell)) (ledger(cell)) }
                @let proof = fix::of(page.proofs, cell);
                (advice(page, cell, proof.is_some()))
                @if let Some(proof) = proof { (fix::proof_section(proof, cell)) }
                p { "Repeat it: " code class="command" { (cell.repeat_command) } }
            }
        }
    }
}

fn without_verdict(cell: &CellResult) -> String {
    let told = match (cell.runs, cell.valid, &cell.ping) {
        (0, ..) => "It was not run.",
        (_, 0, _) => "No run is valid.",
        (.., Some(ping)) => return ping_sentence(ping),
        _ => "Nothing was sampled, so nothing can be said of the cause.",
    };
    told.to_owned()
}

fn figures(cell: &CellResult) -> Markup {
    let rate = |bps: Option<u64>| bps.map(quantity::rate);
    let published =
        cell.published.and_then(|published| published.goodput_bps).map(|bps| QuantityKind::Rate.alone(bps));
    let rows = [
        (term("interval", "interval"), tables::covered_interval(cell)),
        (term("published", "published"), published),
        (html! { "theory gives" }, rate(cell.predicted_bps)),
        (term("rtt", "RTT"), cell.tcp.srtt_us_p50.map(quantity::duration)),
        (term("min-rtt", "least RTT"), cell.tcp.min_rtt_us.map(quantity::duration)),
        (term("retransmits", "retransmits"), cell.tcp.retransmits.map(|count| count.to_string())),
    ];
    html! {
        @if rows.iter().any(|(_, text)| text.is_some()) {
            dl class="figures-of-cell" {
                @for (name, text) in &rows { @if let Some(text) = text { div { dt { (name) } dd { (text) } } } }
            }
        }
    }
}

/// Below this a share of the time is nothing that anybody wants to read.
const NEGLIGIBLE: f64 = 0.005;

/// What share of the time each limit held, largest first.
fn shares(cell: &CellResult) -> Markup {
    let mut sorted: Vec<(LimitedBy, f64)> =
        cell.verdict.limited_fraction.iter().flatten().map(|(&limit, &share)| (limit, share)).collect();
    sorted.retain(|(_, share)| *share >= NEGLIGIBLE);
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    html! {
        @if sorted.len() > 1 {
            p class="legend" {
                "Of the time: "
                @for (limit, share) in sorted {
                    span { span class={ "swatch limit-" (limit.as_str()) } {} " " (limit.as_str()) " " (QuantityKind::Percent.alone(100.0 * share)) } " "
                }
            }
        }
    }
}

/// Who held each stream of its main flow when, in the run that the verdict is about.
fn ledger(cell: &CellResult) -> Markup {
    let name = format!("Where the time went: {}", cell.coordinates());
    let time = cell.verdict.time.as_deref().unwrap_or_default();
    html! {
        @if let Some(diagnosis) = explain::diagnosis(cell) && time.len() > 1 {
            (capture::held(&name, &diagnosis.timeline, &diagnosis.events, time))
        }
    }
}

fn advice(page: &Page<'_>, cell: &CellResult, is_proven: bool) -> Markup {
    let all: Vec<&Advice> = cell.verdict.advice.iter().flatten().collect();
    let can_be_tried = all.iter().any(|advice| !advice.set.is_empty());
    html! {
        @if !all.is_empty() {
            div class="advice" {
                h3 { (heading(all.iter().copied())) }
                ol {
                    @for advice in all {
                        li {
                            @if advice.set.is_empty() {
                                (in_a_sentence(advice))
                            } @else {
                                code { (advice.change) } " " (advice.why)
                                @if let Some(bps) = advice.predicted_bps { ". Predicted: " strong { (quantity::rate(bps)) } }
                            }
                            @if !advice.commands.is_empty() { pre dir="ltr" tabindex="0" { code { (advice.commands.join("\n")) } } }
                        }
                    }
                }
                @if can_be_tried && !is_proven { p class="hint" { "Predicted, not proven. To prove it, before and after in turn: " code { (page.fix) } } }
            }
        }
    }
}
