//! The matrix as tables, with the figures that were published beside ours, and what was concluded.

use super::{later, terms};
use crate::conclusions;
use crate::quantity::{self, MISSING, share};
use crate::sheet::{EXACT, Heading, SUM, Sheet, SheetEntry, Tone, anchor, sheets};
use maud::{Markup, html};
use pipefill_analysis::findings::experiment::{CellResult, Experiment};
use pipefill_analysis::findings::experiment::{ConclusionResult, Opinion};
use std::collections::BTreeMap;

/// Rows of a table. A longer one comes in parts, each with its headings: a reader always sees what a column is, and a browser
/// lays out those parts only that are in sight.
const ROWS: usize = 50;

/// The tables.
pub(super) fn section(experiment: &Experiment) -> Markup {
    html! {
        section id="result" aria-labelledby="result-title" {
            h2 id="result-title" { "Result" }
            @for (number, sheet) in sheets(experiment).iter().enumerate() {
                (table(&limit_beside_goodput(with_interval(experiment, sheet)), number))
            }
            p class="hint" { "A dash is a value that was not measured. Every limit leads to its verdict." }
        }
    }
}

/// The published conclusions, judged.
pub(super) fn conclusions(experiment: &Experiment) -> Markup {
    let item = |result: &ConclusionResult| {
        let tone = match result.opinion {
            Opinion::Confirmed => "good",
            Opinion::Refuted => "bad",
            Opinion::NotTested => "plain",
        };
        html! {
            li {
                p { "Published: " q { bdi { (result.published) } } }
                p { strong class=(tone) { (conclusions::word(result.opinion)) ". " }
                    @if let Some(ours) = &result.ours { bdi { (ours) } } }
                @if !result.evidence.is_empty() {
                    details { summary { "Evidence" } ul { @for line in &result.evidence { li { bdi { (line) } } } } }
                }
            }
        }
    };
    html! {
        @if !experiment.conclusions.is_empty() {
            section aria-labelledby="conclusions-title" {
                h2 id="conclusions-title" { (conclusions::TITLE) }
                ol class="conclusions" { @for result in &experiment.conclusions { (item(result)) } }
            }
        }
    }
}

fn table(sheet: &Sheet, number: usize) -> Markup {
    let rows: Vec<(&String, &Vec<SheetEntry>)> = sheet.cells.iter().zip(&sheet.rows).collect();
    let parts = rows.chunks(ROWS).enumerate();
    let own: Vec<&String> =
        sheet.notes.iter().filter(|note| note.starts_with('!') || note.starts_with("FAILED")).collect();
    html! {
        @for (part, rows_of_part) in parts {
            @let id = format!("sheet-{number}-{part}");
            (later(part > 0, "rows", &part_of(sheet, &id, number, rows_of_part, &caption(sheet, part, rows.len()))))
        }
        @if !own.is_empty() { ul class="problems" { @for note in own { li { bdi { (note) } } } } }
    }
}

/// What the table is about; of a table in parts also which rows.
fn caption(sheet: &Sheet, part: usize, rows: usize) -> String {
    let title = title(sheet);
    if rows <= ROWS {
        return title.to_owned();
    }
    format!("{title}, {} to {} of {rows}", part * ROWS + 1, rows.min((part + 1) * ROWS))
}

fn title(sheet: &Sheet) -> &str {
    sheet.title.as_deref().unwrap_or("all cells")
}

fn part_of(
    sheet: &Sheet,
    id: &str,
    number: usize,
    rows: &[(&String, &Vec<SheetEntry>)],
    caption: &str,
) -> Markup {
    html! {
        div class="scroll sheet" tabindex="0" role="region" aria-labelledby=(id) {
            table class=[(number == 0).then_some("main")] data-sheet=(number) data-title=(title(sheet)) {
                caption id=(id) { bdi { (caption) } }
                thead { tr { @for name in &sheet.headings { (heading(name)) } } }
                tbody {
                    @for (cell, row) in rows {
                        tr data-cell=(cell) {
                            @for (place, (entry, heading)) in row.iter().zip(&sheet.headings).enumerate() {
                                @if place == 0 && !heading.numeric {
                                    th scope="row" data-order=[entry.value] { (content(entry, heading, cell)) }
                                } @else if heading.numeric {
                                    td class=[class(entry, heading)] data-value=[entry.value] { (content(entry, heading, cell)) }
                                } @else {
                                    td class=[class(entry, heading)] data-order=[entry.value] { (content(entry, heading, cell)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn heading(heading: &Heading) -> Markup {
    html! {
        th scope="col" class=[heading.numeric.then_some("number")] data-column=(heading.name) {
            (terms::of_column(&heading.name))
            @if !heading.unit.is_empty() { " " span class="unit" { (heading.unit) } }
        }
    }
}

fn class(entry: &SheetEntry, heading: &Heading) -> Option<String> {
    let tone = match entry.tone {
        Tone::Plain => "",
        Tone::Good => "good",
        Tone::Faint => "hint",
        Tone::Warn => "warn",
        Tone::Bad => "bad",
    };
    let place = if heading.name == INTERVAL { "interval" } else { "" };
    let words = [if heading.numeric { "number" } else { "" }, place, tone];
    let class = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    (!class.is_empty()).then_some(class)
}

fn content(entry: &SheetEntry, heading: &Heading, cell: &str) -> Markup {
    html! {
        @if heading.name == "limit" && entry.text != MISSING {
            span class={ "swatch limit-" (entry.text) } {} "\u{a0}" a href={ "#" (cell) } { (entry.text) }
        } @else if heading.name == "flow" {
            span class="unbroken" { (entry.text) }
        } @else { (entry.text) }
    }
}

/// The limit right behind goodput: on a narrow screen both are seen, and the rest can be scrolled to.
fn limit_beside_goodput(mut sheet: Sheet) -> Sheet {
    let place = |name: &str| sheet.headings.iter().position(|heading| heading.name == name);
    let goodput = ["goodput", "received", SUM].into_iter().find_map(place);
    let (Some(goodput), Some(limit)) = (goodput, place("limit")) else {
        return sheet;
    };
    let heading = sheet.headings.remove(limit);
    sheet.headings.insert(goodput + 1, heading);
    for row in &mut sheet.rows {
        let entry = row.remove(limit);
        row.insert(goodput + 1, entry);
    }
    sheet
}

const INTERVAL: &str = "interval";

/// With the ends of the interval behind its width. Its coverage is in the heading where all cells have the same, else in each.
fn with_interval(experiment: &Experiment, sheet: &Sheet) -> Sheet {
    let mut sheet = sheet.clone();
    let Some(place) = sheet.headings.iter().position(|heading| heading.name == "±%") else { return sheet };
    let by_anchor: BTreeMap<String, &CellResult> =
        experiment.cells.iter().map(|cell| (anchor(cell), cell)).collect();
    let cells: Vec<Option<&CellResult>> = sheet.cells.iter().map(|key| by_anchor.get(key).copied()).collect();
    let mut known = cells.iter().flatten().filter_map(|cell| coverage(cell));
    let common = known.next().filter(|first| known.all(|other| other == *first));
    let ends = |cell: &CellResult| match &common {
        Some(_) => interval(cell),
        None => covered_interval(cell),
    };
    for (cell, row) in cells.into_iter().zip(&mut sheet.rows) {
        row.insert(place + 1, SheetEntry::or_missing(cell.and_then(ends)));
    }
    let heading = Heading { name: INTERVAL.to_owned(), unit: common.unwrap_or_default(), numeric: true };
    sheet.headings.insert(place + 1, heading);
    sheet
}

/// `75 %`; `exact` where every run would be the same.
fn coverage(cell: &CellResult) -> Option<String> {
    let coverage = cell.goodput_coverage?;
    Some(if cell.deterministic { EXACT.to_owned() } else { share(coverage) })
}

/// `210 Mbit/s to 225 Mbit/s (75 %)`.
pub(super) fn covered_interval(cell: &CellResult) -> Option<String> {
    Some(format!("{} ({})", interval(cell)?, coverage(cell)?))
}

/// `210 Mbit/s to 225 Mbit/s`.
fn interval(cell: &CellResult) -> Option<String> {
    let (low, high) = (quantity::rate(cell.goodput_bps_low?), quantity::rate(cell.goodput_bps_high?));
    Some(if low == high { low } else { format!("{low} to {high}") })
}
