//! Pictures with a row for each cell: repetitions, and where datagrams went.
//!
//! Never: rows without their names.

use super::scale::Scale;
use super::{Frame, WIDTH, n, picture, x_axis};
use crate::html::charts::{Losses, Repeats};
use crate::quantity::Kind;
use maud::{Markup, html};

/// Height of a row with its name above it.
const ROW: f64 = 40.0;

/// The repetitions of each cell over their median, one dot a run.
pub(in crate::html) fn repeats(repeats: &Repeats) -> Markup {
    let bottom = 14.0 + ROW * repeats.rows.len() as f64;
    let frame = Frame { left: 14.0, top: 14.0, right: WIDTH - 24.0, bottom };
    let far_off = |bps: u64, median: u64| 100.0 * (bps as f64 / median as f64 - 1.0);
    let all = || repeats.rows.iter().flat_map(|row| row.bps.iter().map(|&bps| far_off(bps, row.median)));
    let far = all().map(f64::abs).fold(0.5, f64::max) * 1.1;
    let scale = Scale::linear([-far, far], [frame.left, frame.right]);
    let content = html! {
        (x_axis(frame, &scale, &scale.ticks(Kind::Percent, 5), "from the cell's median"))
        @for (number, row) in repeats.rows.iter().enumerate() {
            @let y = frame.top + ROW * number as f64;
            text class="tick" x=(n(frame.left)) y=(n(y + 13.0)) { (row.label) " · " (Kind::Rate.alone(row.median as f64)) }
            @let (low, high) = (row.bps[0], row.bps[row.bps.len() - 1]);
            @let at = |bps: u64| scale.at(far_off(bps, row.median));
            path class="line c0" d={ "M" (n(at(low))) " " (n(y + 27.0)) "H" (n(at(high))) } {}
            @for &bps in &row.bps {
                circle class="dot c0" cx=(n(at(bps))) cy=(n(y + 27.0)) r="4" { title { (Kind::Rate.alone(bps as f64)) } }
            }
        }
    };
    picture(bottom + 44.0, &repeats.title, &content)
}

/// What became of each cell's datagrams, as parts of a bar.
pub(in crate::html) fn losses(losses: &Losses) -> Markup {
    let bottom = 14.0 + ROW * losses.bars.len() as f64;
    let frame = Frame { left: 14.0, top: 14.0, right: WIDTH - 24.0, bottom };
    let scale = Scale::linear([0.0, 100.0], [frame.left, frame.right]);
    let shown: Vec<(usize, &String)> =
        losses.places.iter().enumerate().filter(|(place, _)| losses.has(*place)).collect();
    let height = bottom + 48.0 + 17.0 * shown.len() as f64;
    let content = html! {
        (x_axis(frame, &scale, &scale.ticks(Kind::Percent, 5), "of the datagrams sent"))
        @for (number, bar) in losses.bars.iter().enumerate() {
            @let y = frame.top + ROW * number as f64;
            text class="tick" x=(n(frame.left)) y=(n(y + 13.0)) { (bar.label) }
            @for (place, from, to) in parts(&bar.counts, bar.sent) {
                rect class={ "place p" (place) } x=(n(scale.at(from))) y=(n(y + 19.0)) width=(n(scale.at(to) - scale.at(from))) height="15" {
                    title { (losses.places[place]) ": " (Kind::Percent.alone(to - from)) }
                }
            }
        }
        @for (line, (place, name)) in shown.iter().enumerate() {
            @let y = bottom + 44.0 + 17.0 * line as f64;
            rect class={ "place p" (place) } x=(n(frame.left)) y=(n(y)) width="14" height="11" {}
            text class="tick" x=(n(frame.left + 21.0)) y=(n(y + 10.0)) { (name) }
        }
    };
    picture(height, &losses.title, &content)
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
