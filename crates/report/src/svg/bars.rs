//! Pictures with a row for each cell: repetitions, and where datagrams went.

use super::legend::{Key, LegendEntry, legend};
use super::scale::Scale;
use super::{Frame, Picture, WIDTH, n, x_axis};
use crate::charts::{Losses, Repeats, Row};
use crate::quantity::{self, QuantityKind};
use maud::{Markup, html};

/// Height of a row with its name above it.
const ROW: f64 = 40.0;

/// The repetitions of each cell over their median, one dot a run, the middle half in a box.
pub(crate) fn repeats(repeats: &Repeats) -> Picture {
    let frame = frame(repeats.rows.len());
    let all = || repeats.rows.iter().flat_map(|row| row.bps.iter().map(|&bps| far_off(bps, row.median)));
    let far = all().map(f64::abs).fold(0.5, f64::max) * 1.1;
    let scale = Scale::linear([-far, far], [frame.left, frame.right]);
    let has_boxes = repeats.rows.iter().any(|row| row.quartiles.is_some());
    let name = if has_boxes {
        "from the cell's median; a dot each run, a box around the middle half"
    } else {
        "from the cell's median; a dot each run"
    };
    let content = html! {
        (x_axis(frame, &scale, &scale.ticks(QuantityKind::Percent, 5), name))
        @for (number, row) in repeats.rows.iter().enumerate() {
            (repeated(row, &scale, frame.left, frame.top + ROW * number as f64))
        }
    };
    Picture::new(frame.bottom + 44.0, &repeats.title, content)
}

fn repeated(row: &Row, scale: &Scale, left: f64, y: f64) -> Markup {
    let at = |bps: u64| scale.at(far_off(bps, row.median));
    let (low, high) = (row.bps[0], row.bps[row.bps.len() - 1]);
    html! {
        text class="tick" x=(n(left)) y=(n(y + 13.0)) { (row.label) " · " (quantity::rate(row.median)) }
        path class="line c0" d={ "M" (n(at(low))) " " (n(y + 27.0)) "H" (n(at(high))) } {}
        @if let Some([first, third]) = row.quartiles {
            rect class="box c0" x=(n(at(first))) y=(n(y + 19.0)) width=(n(at(third) - at(first))) height="16" {
                title { "middle half: " (quantity::rate(first)) " to " (quantity::rate(third)) }
            }
        }
        path class="line c0" d={ "M" (n(scale.at(0.0))) " " (n(y + 19.0)) "v16" } {}
        @for &bps in &row.bps {
            circle class="dot c0" cx=(n(at(bps))) cy=(n(y + 27.0)) r="4" { title { (quantity::rate(bps)) } }
        }
    }
}

/// What became of each cell's datagrams, as parts of a bar.
pub(crate) fn losses(losses: &Losses) -> Picture {
    let frame = frame(losses.bars.len());
    let scale = Scale::linear([0.0, 100.0], [frame.left, frame.right]);
    let shown = losses.places.iter().enumerate().filter(|(place, _)| losses.has(*place));
    let entry = |(place, name): (usize, &String)| LegendEntry {
        key: Key::Field(format!("place p{place}")),
        text: name.clone(),
    };
    let entries: Vec<LegendEntry> = shown.map(entry).collect();
    let (below, height) = legend(&entries, frame.left, frame.bottom + 40.0);
    let content = html! {
        (x_axis(frame, &scale, &scale.ticks(QuantityKind::Percent, 5), "of the datagrams sent"))
        @for (number, bar) in losses.bars.iter().enumerate() {
            @let y = frame.top + ROW * number as f64;
            text class="tick" x=(n(frame.left)) y=(n(y + 13.0)) { (bar.label) }
            @for (place, from, to) in parts(&bar.counts, bar.sent) {
                rect class={ "place p" (place) } x=(n(scale.at(from))) y=(n(y + 19.0)) width=(n(scale.at(to) - scale.at(from))) height="15" {
                    title { (losses.places[place]) ": " (QuantityKind::Percent.alone(to - from)) }
                }
            }
        }
        (below)
    };
    Picture::new(frame.bottom + 44.0 + height, &losses.title, content)
}

fn frame(rows: usize) -> Frame {
    Frame { left: 14.0, top: 14.0, right: WIDTH - 24.0, bottom: 14.0 + ROW * rows as f64 }
}

/// Per cent above the median.
fn far_off(bps: u64, median: u64) -> f64 {
    100.0 * (bps as f64 / median as f64 - 1.0)
}

/// Place, from, to, in per cent of what was sent, one behind the other.
fn parts(counts: &[Option<u64>], sent: u64) -> Vec<(usize, f64, f64)> {
    let mut from = 0.0;
    let mut parts = Vec::new();
    for (place, count) in counts.iter().enumerate() {
        let share = 100.0 * count.unwrap_or(0) as f64 / sent.max(1) as f64;
        let to = f64::min(from + share, 100.0);
        if to > from {
            parts.push((place, from, to));
        }
        from = to;
    }
    parts
}
