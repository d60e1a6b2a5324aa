//! Connections of captures: the page of a capture, and the section of a report whose runs were captured.

use super::document::{self, Blobs};
use super::model;
use super::{Page, tools, without_script};
use crate::captured::{HEADINGS, LIMIT, notes, packets_sentence, row, unknown};
use crate::captured_facts::remarks;
use crate::captured_udp::{self, in_place_of_tcp};
use crate::charts::RUNS;
use crate::quantity::{self, QuantityKind, counted};
use crate::segments::Segments;
use crate::sheet::{SheetEntry, anchor};
use crate::svg;
use crate::verdicts::{heading, in_a_sentence, wanted};
use crate::words::UNKNOWN;
use maud::{Markup, html};
use pipefill_analysis::findings::connections::{Captured, CapturedFlow};
use pipefill_analysis::findings::experiment::CellResult;
use pipefill_analysis::judge::{HeldTime, Span};
use pipefill_core::flow_event::FlowEvent;

/// Flows of the table and of the verdicts below it; more nobody reads.
const FLOWS: usize = 200;
/// With more flows than this each verdict is closed until somebody asks.
const OPEN: usize = 6;
/// Flows with a picture of who held them when.
const LEDGERS: usize = 40;
/// Events with a line.
const EVENTS: usize = 12;
/// A holder of a smaller part of the time is not named.
const LEAST_SHOWN: f64 = 0.005;

/// Everything that the page of a capture is made of.
#[derive(Debug, Clone, Copy)]
pub struct CapturePage<'a> {
    /// The capture's name.
    pub name: &'a str,
    /// Its flows.
    pub found: &'a Captured,
    /// What is drawn of those that are.
    pub drawn: &'a [Segments],
    /// Which they are, in a sentence.
    pub chosen: &'a str,
    /// The command that made the page.
    pub command: &'a str,
}

/// The capture of a run.
#[derive(Debug, Clone)]
pub struct RunCapture {
    /// Name of the run's directory.
    pub directory: String,
    /// What the sender of its largest flow sent, as captured at its end.
    pub segments: Segments,
}

/// The page of a capture, a whole HTML document.
///
/// # Errors
/// Those of serde_json; none for a value that came from a capture.
pub fn render(page: &CapturePage<'_>) -> serde_json::Result<String> {
    let blobs: Blobs = model::of_capture(page.drawn)?;
    Ok(document::whole(page.name, false, &body(page), &blobs))
}

fn body(page: &CapturePage<'_>) -> Markup {
    let shown = &page.found.flows[..page.found.flows.len().min(FLOWS)];
    let hidden = page.found.flows.len() - shown.len();
    let hidden = (hidden > 0).then(|| {
        let flows = counted(hidden as u64, "smaller flow(s)");
        format!("not shown here: {flows}; pipefill pcap --json has all")
    });
    html! {
        a class="skip" href="#main" { "Skip to the flows" }
        header {
            p class="brand" { "pipefill " span { "capture" } }
            div class="heading" {
                h1 { bdi { (page.name) } }
                p class="name" { (counted(page.found.packets, "packet(s)")) ", " (counted(page.found.flows.len() as u64, "flow(s)")) " with data" }
            }
            (tools())
        }
        nav aria-label="Sections" {
            ul {
                li { a href="#flows" { "Flows" } }
                @if !page.drawn.is_empty() { li { a href="#packets" { "Graphs" } } }
                li { a href="#verdicts" { "Verdicts" } }
            }
        }
        main id="main" {
            section id="flows" aria-labelledby="flows-title" {
                h2 id="flows-title" { "Flows" }
                (table(shown, page.found))
                p class="hint" { (notes(page.found, hidden.as_deref())) }
                (udp(page.found))
                @for sentence in captured_udp::groups(page.found) { p { (sentence) } }
                @for sentence in captured_udp::sentences(page.found, FLOWS) { p { (sentence) } }
            }
            @if !page.drawn.is_empty() {
                section id="packets" aria-labelledby="packets-title" {
                    h2 id="packets-title" { "Graphs" }
                    p class="hint" { (page.chosen) }
                    (chart_container())
                    @for segments in page.drawn { (pictures(&segments.label, segments, usize::MAX)) }
                }
            }
            section id="verdicts" aria-labelledby="verdicts-title" {
                h2 id="verdicts-title" { "Verdicts and advice" }
                @for (number, flow) in shown.iter().enumerate() { (verdict(number, flow, shown.len() <= OPEN)) }
            }
        }
        footer {
            p { "Made by " code { (page.command) } }
            (without_script())
        }
    }
}

/// The captures of an experiment's runs; nothing where there are none.
pub(super) fn of_runs(page: &Page<'_>) -> Markup {
    let cell_of = |directory: &str| -> Option<&CellResult> {
        let is_its = |cell: &&CellResult| cell.run_values.iter().any(|run| run.directory == directory);
        page.experiment.cells.iter().find(is_its)
    };
    html! {
        @if !page.captures.is_empty() {
            section id="packets" aria-labelledby="packets-title" {
                h2 id="packets-title" { "Packets" }
                p class="hint" {
                    "What the sender of the largest flow sent in the run that each cell's verdict is about, from the capture at its end."
                    @if page.captures.len() < page.experiment.cells.len() {
                        " " (page.captures.len()) " of " (page.experiment.cells.len()) " cells."
                    }
                }
                (chart_container())
                @for capture in page.captures.iter().take(RUNS) {
                    @if let Some(cell) = cell_of(&capture.directory) {
                        (pictures(&cell.coordinates(), &capture.segments, 2))
                        p class="still" { a href={ "#" (anchor(cell)) } { "Its verdict" } }
                    }
                }
                @if page.captures.len() > RUNS {
                    p class="still hint" { "Pictures of the first " (RUNS) " cells; the page's script shows the others." }
                }
            }
        }
    }
}

/// Where the script puts its chart.
fn chart_container() -> Markup {
    html! {
        div id="capture-tools" class="live" hidden {}
        div id="capture-chart" class="live" hidden {}
        div id="capture-figures" class="live" hidden {}
    }
}

/// The first `most` still pictures.
fn pictures(label: &str, segments: &Segments, most: usize) -> Markup {
    html! {
        div class="still" {
            h3 { bdi { (label) } }
            div class="figures" {
                @for graph in segments.pictures.iter().filter(|graph| graph.has_marks()).take(most) {
                    figure { figcaption { bdi { (graph.title) } } (svg::capture(graph).inline()) }
                }
            }
        }
    }
}

fn table(flows: &[CapturedFlow], found: &Captured) -> Markup {
    html! {
        @if flows.is_empty() { p { (in_place_of_tcp(found)) } }
        @else {
            div class="scroll" tabindex="0" role="region" aria-label="Table of flows" {
                table class="main" {
                    thead { tr {
                        th scope="col" { "from, to" }
                        th scope="col" { "limited by" }
                        @for (name, _) in HEADINGS.iter().filter(|(_, numeric)| *numeric) { th scope="col" class="number" { (name) } }
                    } }
                    tbody { @for (number, flow) in flows.iter().enumerate() { (line(number, flow)) } }
                }
            }
        }
    }
}

/// The UDP flows; nothing where there are none.
fn udp(found: &Captured) -> Markup {
    html! {
        @if !found.udp_flows.is_empty() {
            h3 { "UDP flows" }
            div class="scroll" tabindex="0" role="region" aria-label="Table of UDP flows" {
                table class="main" {
                    thead { tr { @for (name, is_number) in captured_udp::HEADINGS { th scope="col" class=[is_number.then_some("number")] { (name) } } } }
                    tbody {
                        @for row in captured_udp::rows(found, FLOWS) {
                            tr { @for (entry, (_, is_number)) in row.iter().zip(captured_udp::HEADINGS) {
                                td class=[is_number.then_some("number")] { bdi { (entry.text) } }
                            } }
                        }
                    }
                }
            }
        }
    }
}

/// A flow. Its limit stands beside its ends, so that it is seen on a narrow screen.
fn line(number: usize, flow: &CapturedFlow) -> Markup {
    let entries: Vec<((&str, bool), SheetEntry)> = HEADINGS.into_iter().zip(row(flow)).collect();
    html! {
        tr {
            td class="ends" { bdi { (flow.src) } br; bdi { (flow.dst) } }
            @for (_, entry) in entries.iter().filter(|((name, _), _)| *name == LIMIT) {
                td { a href={ "#flow-" (number) } { (entry.text) } }
            }
            @for (_, entry) in entries.iter().filter(|((_, numeric), _)| *numeric) { td class="number" { (entry.text) } }
        }
    }
}

fn verdict(number: usize, flow: &CapturedFlow, is_open: bool) -> Markup {
    let advice = wanted(&flow.verdict);
    html! {
        details class="cell" open[is_open] {
            summary {
                strong { bdi { (flow.src) } " → " bdi { (flow.dst) } }
                @if let Some(bps) = flow.goodput_bps { " · " (quantity::rate(bps)) }
                @if let Some(limit) = flow.verdict.limited_by {
                    " · " span class={ "swatch limit-" (limit.as_str()) } {} " " (limit.as_str())
                }
            }
            div id={ "flow-" (number) } {
                p { (flow.verdict.sentence.as_deref().unwrap_or(UNKNOWN)) }
                p { (packets_sentence(flow)) }
                @for sentence in remarks(flow) { p { (sentence) } }
                @if number < LEDGERS { (ledger(flow)) }
                h3 { "What can't be known from here" }
                ul { @for sentence in unknown(flow) { li { (sentence) } } }
                @if !advice.is_empty() {
                    h3 { (heading(advice.iter().copied())) }
                    ol {
                        @for change in advice {
                            li {
                                (in_a_sentence(change))
                                @if !change.commands.is_empty() { pre dir="ltr" tabindex="0" { code { (change.commands.join("\n")) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Who held it when: a picture, shares and events as text beside it.
fn ledger(flow: &CapturedFlow) -> Markup {
    let spans: Vec<Span> = flow.diagnosis().map(|diagnosis| diagnosis.timeline).unwrap_or_default();
    // One flow is one stream, whatever its number among those that were judged together.
    let spans: Vec<Span> = spans.into_iter().map(|span| Span { stream: 0, ..span }).collect();
    let name = format!("Where the time went: {} to {}", flow.src, flow.dst);
    html! { (held(&name, &spans, &flow.events, flow.verdict.time.as_deref().unwrap_or_default())) }
}

/// The picture called `name` of `spans`, with `time` and `events` in words; nothing where nothing was judged.
pub(super) fn held(name: &str, spans: &[Span], events: &[FlowEvent], time: &[HeldTime]) -> Markup {
    let picture = svg::ledger(name, spans, events);
    html! {
        @if let Some(picture) = picture {
            h3 { "Where the time went" }
            div class="figures" { figure class="ledger" { (picture.inline()) } }
            p class="hint" { (shares(time)) }
            @let events = svg::ledger_events(spans, events);
            @if !events.is_empty() { ul { @for event in events.iter().take(EVENTS) { li { (event) } } } }
            @if events.len() > EVENTS { p class="hint" { "and " (events.len() - EVENTS) " more events" } }
        }
    }
}

/// `app turns 62 %, cwnd startup 21 %`
fn shares(time: &[HeldTime]) -> String {
    let shown = time.iter().filter(|held| held.share >= LEAST_SHOWN);
    let part = |held: &HeldTime| {
        let cause = held.cause.map_or_else(String::new, |cause| format!(" {}", cause.as_str()));
        format!("{}{cause} {}", held.limited_by.as_str(), QuantityKind::Percent.alone(100.0 * held.share))
    };
    shown.map(part).collect::<Vec<_>>().join(", ")
}
