//! The report as one page: tables, pictures, verdicts, and the data behind them, in one file that asks nobody for anything.
//!
//! Tables and still pictures are in the markup, so that the page can be read, printed and searched without its script; the script
//! lays interactive charts over the pictures. Never: text that was not escaped, a request, a figure that is not in the JSON.

mod answer;
mod capture;
mod cells;
mod document;
mod figures;
mod fix;
mod machine;
mod model;
mod runs;
mod tables;
mod terms;

pub use crate::runs::{RunIndex, RunPart};
pub use capture::{CapturePage, RunCapture, render as render_capture};
pub use model::data_schema;

use crate::charts;
use crate::sheet::{environment_line, source_line};
use maud::{Markup, html};
use pipefill_analysis::findings::experiment::Experiment;
use pipefill_analysis::findings::fix::Proof;

/// With more cells than this a page is large.
const LARGE: usize = 60;

/// Everything that a page is made of.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The figures.
    pub experiment: &'a Experiment,
    /// The runs, as far as they were recorded.
    pub runs: &'a [RunPart],
    /// The captures of runs, one for each cell at most, where there are any.
    pub captures: &'a [RunCapture],
    /// What came of trying the advice, as far as somebody did.
    pub proofs: &'a [Proof],
    /// The scenario's text, where it was kept.
    pub scenario: Option<&'a str>,
    /// The command that tries the advice.
    pub fix: &'a str,
}

/// Markup that the script of a large page reads once it is needed: until then it is text, which a browser lays nothing out of. `class` says how much
/// room it takes. Without a script it is read as it stands.
fn later(is_large: bool, class: &str, markup: &Markup) -> Markup {
    html! {
        @if is_large && is_interactive() { div class={ "later " (class) } { noscript { (markup) } } } @else { (markup) }
    }
}

/// Whether pages have their script: it was built before this program was.
pub fn is_interactive() -> bool {
    !crate::carried::SCRIPT.is_empty()
}

/// The page, a whole HTML document.
///
/// # Errors
/// Those of serde_json; none for a value that came from records.
pub fn render(page: &Page<'_>) -> serde_json::Result<String> {
    let charts = charts::all(page.experiment);
    let blobs = model::of(page, &charts)?;
    let title = page.experiment.plan.title.as_ref().unwrap_or(&page.experiment.experiment);
    let is_large = page.experiment.cells.len() > LARGE;
    Ok(document::whole(title, is_large, &body(page, &charts), &blobs))
}

fn body(page: &Page<'_>, charts: &charts::Charts) -> Markup {
    let experiment = page.experiment;
    html! {
        (header(page, charts))
        main id="main" {
            (answer::section(experiment))
            @if charts.are_many { (figures::section(charts)) }
            (tables::section(experiment))
            (tables::conclusions(experiment))
            @if !charts.are_many { (figures::section(charts)) }
            (runs::section(page))
            (capture::of_runs(page))
            (figures::round_trips(charts))
            (cells::section(page))
            (machine::section(page))
            (source(page))
            (terms::section())
        }
        footer {
            @if let Some(line) = source_line(experiment) { p { bdi { (line) } } }
            @if let Some(line) = environment_line(experiment) { p { (line) } }
            (without_script())
        }
    }
}

fn header(page: &Page<'_>, charts: &charts::Charts) -> Markup {
    let experiment = page.experiment;
    let title = experiment.plan.title.as_ref().unwrap_or(&experiment.experiment);
    html! {
        a class="skip" href="#main" { "Skip to the result" }
        header {
            p class="brand" { "pipefill " span { "report" } }
            div class="heading" {
                h1 { bdi { (title) } }
                p class="name" { "experiment " bdi { code { (experiment.experiment) } } }
            }
            (tools())
        }
        nav aria-label="Sections" {
            ul {
                @if charts.are_many { li { a href="#charts" { "Charts" } } }
                li { a href="#result" { "Result" } }
                @if !charts.are_many { li { a href="#charts" { "Charts" } } }
                li { a href="#runs" { "Runs" } }
                @if !page.captures.is_empty() { li { a href="#packets" { "Packets" } } }
                @if !charts.trips.is_empty() { li { a href="#round-trips" { "Round trips" } } }
                li { a href="#verdicts" { "Verdicts" } }
                li { a href="#machine" { "Machine" } }
                li { a href="#scenario" { "Scenario" } }
                li { a href="#terms" { "Terms" } }
            }
        }
    }
}

fn without_script() -> Markup {
    html! {
        @if !is_interactive() {
            p { "This page was made without its script: pictures and tables are all there, but nothing can be zoomed." }
        }
    }
}

/// The choice of colours, which works with the script alone.
fn tools() -> Markup {
    html! {
        div id="tools" hidden {
            label for="theme" { "Colours" }
            select id="theme" {
                option value="auto" { "as the system" }
                option value="light" { "light" }
                option value="dark" { "dark" }
            }
        }
    }
}

fn source(page: &Page<'_>) -> Markup {
    html! {
        section id="scenario" aria-labelledby="scenario-title" {
            h2 id="scenario-title" { "The scenario" }
            @match page.scenario {
                Some(text) => {
                    details { summary { "The file as it was run" } pre dir="ltr" tabindex="0" { code { (text) } } }
                }
                None => { p { "The scenario's file is not beside the records." } }
            }
        }
    }
}
