//! Who held a flow when, as a band over time, with the events below it.

use super::legend::{Key, LegendEntry, legend};
use super::scale::Scale;
use super::{Picture, WIDTH, n};
use crate::band::{BandAxis, event_mark, event_sentence};
use crate::cause::{Cause, letter, meaning};
use crate::quantity::QuantityKind;
use maud::html;
use pipefill_analysis::judge::Span;
use pipefill_core::flow_event::FlowEvent;
use std::collections::{BTreeMap, BTreeSet};

/// Where time begins and ends.
const SIDES: (f64, f64) = (14.0, WIDTH - 14.0);
/// Columns of a band: one for each two units.
const COLUMNS: usize = 216;
/// Height of a band, and of the gap above it.
const BAND: (f64, f64) = (18.0, 6.0);
/// Height of the row of marks.
const MARKS: f64 = 14.0;
/// Streams that are drawn.
const STREAMS: usize = 8;
/// A part of a band needs so much for its letter.
const LETTER: f64 = 9.0;

/// The picture called `name`; `None` where nothing was judged. Each part has its letter, and the legend what it means.
pub(crate) fn ledger(name: &str, spans: &[Span], events: &[FlowEvent]) -> Option<Picture> {
    let axis = BandAxis::of(spans.iter(), COLUMNS)?;
    let mut streams: BTreeMap<u32, Vec<&Span>> = BTreeMap::new();
    for span in spans {
        streams.entry(span.stream).or_default().push(span);
    }
    let bands: Vec<Vec<Option<Cause>>> =
        streams.values().take(STREAMS).map(|spans| axis.holders(spans)).collect();
    let end_ns = axis.to_us.saturating_sub(axis.from_us) as f64 * 1e3;
    let time = Scale::linear([0.0, end_ns], [SIDES.0, SIDES.1]);
    let ticks = time.ticks(QuantityKind::Time, 6);
    let marks = axis.marks(events);
    let marks_top = (BAND.0 + BAND.1) * bands.len() as f64;
    let axis_top = marks_top + if marks.is_empty() { 0.0 } else { MARKS };
    let held: BTreeSet<Cause> = bands.iter().flatten().flatten().copied().collect();
    let entries: Vec<LegendEntry> = held.iter().map(|&cause| entry(cause)).collect();
    let (below, height) = legend(&entries, SIDES.0, axis_top + 38.0);
    let column = |at: usize| SIDES.0 + (SIDES.1 - SIDES.0) * at as f64 / COLUMNS as f64;
    let content = html! {
        @for (number, band) in bands.iter().enumerate() {
            @let top = BAND.1 + (BAND.0 + BAND.1) * number as f64;
            @for (from, to, cause) in parts(band) {
                @let (x, width) = (column(from), column(to) - column(from));
                rect class={ "limit-" (cause.0.as_str()) } x=(n(x)) y=(n(top)) width=(n(width)) height=(n(BAND.0)) {}
                @if width >= LETTER {
                    text class={ "word middle on-limit-" (cause.0.as_str()) } x=(n(x + width / 2.0)) y=(n(top + 13.0)) { (letter(cause)) }
                }
            }
        }
        @for (at, mark) in marks.chars().enumerate().filter(|(_, mark)| *mark != ' ') {
            text class="tick middle" x=(n(column(at) + 1.0)) y=(n(marks_top + 15.0)) { (mark) }
        }
        @for tick in &ticks {
            path class="grid" d={ "M" (n(time.at(tick.value))) " " (n(axis_top + 8.0)) "v4" } {}
            text class="tick middle" x=(n(time.at(tick.value))) y=(n(axis_top + 24.0)) { (tick.text) }
        }
        (below)
    };
    Some(Picture::new(axis_top + 42.0 + height, name, content))
}

/// The events in words, as the text beside the picture; times are those of its axis.
pub(crate) fn ledger_events(spans: &[Span], events: &[FlowEvent]) -> Vec<String> {
    let from_us = spans.iter().map(|span| span.from_us).min().unwrap_or(0);
    let line = |event: &FlowEvent| format!("{} {}", event_mark(event.kind), event_sentence(event, from_us));
    events.iter().map(line).collect()
}

fn entry(cause: Cause) -> LegendEntry {
    let key = Key::Field(format!("limit-{}", cause.0.as_str()));
    LegendEntry { key, text: format!("{} {}", letter(cause), meaning(cause)) }
}

/// Columns of one holder in a row: from, to, and who.
fn parts(band: &[Option<Cause>]) -> Vec<(usize, usize, Cause)> {
    let mut parts: Vec<(usize, usize, Cause)> = Vec::new();
    for (at, cause) in band.iter().enumerate() {
        let Some(cause) = *cause else { continue };
        match parts.last_mut() {
            Some((_, to, last)) if *to == at && *last == cause => *to = at + 1,
            _ => parts.push((at, at + 1, cause)),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::flow_event::FlowEventKind;
    use pipefill_core::limit::{Cause as Refinement, LimitedBy};

    #[test]
    fn each_holder_has_its_part_and_its_letter_and_each_event_its_mark() {
        let span = |from_us, to_us, limited_by, cause| Span {
            stream: 0,
            from_us,
            to_us,
            limited_by,
            cause: Some(cause),
            cwnd_cause: None,
            rule: None,
        };
        let spans = [
            span(0, 600_000, LimitedBy::App, Refinement::Response),
            span(600_000, 1_000_000, LimitedBy::Cwnd, Refinement::Startup),
        ];
        let event = FlowEvent { kind: FlowEventKind::Timeout, from_us: 800_000, to_us: 800_000, count: 1 };
        let text = ledger("the flow", &spans, &[event]).unwrap().inline().into_string();
        for part in [
            "aria-label=\"the flow\"",
            "class=\"limit-app\"",
            "class=\"limit-cwnd\"",
            ">w</text>",
            ">s</text>",
            ">!</text>",
            "w app response",
            "s cwnd",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.matches("<rect").count(), 4, "two parts, and two keys: {text}");
        assert_eq!(ledger_events(&spans, &[event]), ["! the retransmission timer ran out, at 800 ms"]);
        assert!(ledger("nothing", &[], &[]).is_none());
    }
}
