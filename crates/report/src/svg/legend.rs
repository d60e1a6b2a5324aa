//! What the colours, dashes and shapes of a picture mean, in rows below it.

use super::{LETTER, WIDTH, n};
use maud::{Markup, html};

/// Height of a row.
pub(super) const ROW: f64 = 17.0;
/// Room of the key with its gaps.
const KEY: f64 = 44.0;

/// An entry: how it is drawn, and what it means.
#[derive(Debug)]
pub(super) struct LegendEntry {
    pub(super) key: Key,
    pub(super) text: String,
}

/// What stands before an entry's text; the text in it is a class.
#[derive(Debug)]
pub(super) enum Key {
    /// A line, and the shape of its points where it has some.
    Line(String, Option<usize>),
    /// A bar with the shape at its middle.
    Bar(String, usize),
    /// A field.
    Field(String),
    /// A line with what is below it.
    Area(String),
    /// A ring.
    Ring,
    /// What lies between two values: a line with a stroke across its ends, or without.
    Interval { has_ends: bool },
    /// A path, and what draws it around a place.
    Path(String, fn(f64, f64) -> String),
}

impl LegendEntry {
    fn width(&self) -> f64 {
        KEY + LETTER * self.text.chars().count() as f64
    }
}

/// `entries` in as few rows as they need, from `left` and `top` on, and the height of these.
pub(super) fn legend(entries: &[LegendEntry], left: f64, top: f64) -> (Markup, f64) {
    let places = places(entries, left);
    let rows = places.last().map_or(0, |(_, row)| row + 1);
    let markup = html! {
        @for (entry, (x, row)) in entries.iter().zip(&places) {
            @let y = top + ROW * (*row as f64 + 0.5);
            @match &entry.key {
                Key::Line(class, shape) => {
                    path class=(class) d={ "M" (n(*x)) " " (n(y)) "h22" } {}
                    @if let Some(shape) = shape { (marker(*shape, class, x + 11.0, y)) }
                }
                Key::Bar(class, shape) => {
                    path class=(class) d={ "M" (n(x + 11.0)) " " (n(y - 6.0)) "v12" } {}
                    (marker(*shape, class, x + 11.0, y))
                }
                Key::Area(class) => {
                    path class={ "area " (class) } d={ "M" (n(*x)) " " (n(y - 4.0)) "h22v9h-22Z" } {}
                    path class={ "line " (class) } d={ "M" (n(*x)) " " (n(y - 4.0)) "h22" } {}
                }
                Key::Field(class) => { rect class=(class) x=(n(*x)) y=(n(y - 5.5)) width="14" height="11" {} }
                Key::Path(class, shape) => { path class=(class) d=(shape(x + 11.0, y)) {} }
                Key::Interval { has_ends } => {
                    @let ends = if *has_ends { format!("M{} {}h6m-6 12h6", n(x + 8.0), n(y - 6.0)) } else { String::new() };
                    path class="whisker" d={ "M" (n(x + 11.0)) " " (n(y - 6.0)) "v12" (ends) } {}
                }
                Key::Ring => { circle class="ring" cx=(n(x + 11.0)) cy=(n(y)) r="5.5" {} }
            }
            text class="tick" x=(n(x + 29.0)) y=(n(y + 4.0)) { (entry.text) }
        }
    };
    (markup, ROW * rows as f64)
}

/// A point: circle, square, triangle or diamond, in the colour of `class`; the script has the same.
pub(super) fn marker(shape: usize, class: &str, x: f64, y: f64) -> Markup {
    let corners: &[(f64, f64)] = match shape % 4 {
        0 => return html! { circle class={ "dot " (class) } cx=(n(x)) cy=(n(y)) r="4" {} },
        1 => &[(-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6)],
        2 => &[(0.0, -4.8), (4.6, 3.6), (-4.6, 3.6)],
        _ => &[(0.0, -5.2), (4.6, 0.0), (0.0, 5.2), (-4.6, 0.0)],
    };
    html! {
        path class={ "dot " (class) } d={ (super::through(corners.iter().map(|(right, down)| (x + right, y + down)))) "Z" } {}
    }
}

/// Where each entry begins, and in which row.
fn places(entries: &[LegendEntry], left: f64) -> Vec<(f64, usize)> {
    let (mut x, mut row) = (left, 0);
    let mut places = Vec::new();
    for entry in entries {
        if x > left && x + entry.width() > WIDTH {
            (x, row) = (left, row + 1);
        }
        places.push((x, row));
        x += entry.width();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_fill_rows_and_never_leave_the_picture() {
        let entry = |text: &str| LegendEntry { key: Key::Ring, text: text.to_owned() };
        let entries: Vec<LegendEntry> =
            ["path rate", "receive window / RTT", "send buffer / RTT", "CUBIC", "a"].map(entry).into();
        let places = places(&entries, 78.0);
        assert_eq!(places.iter().map(|(_, row)| *row).collect::<Vec<_>>(), [0, 0, 1, 1, 1]);
        for (entry, (x, _)) in entries.iter().zip(&places) {
            assert!(x + entry.width() <= WIDTH);
        }
    }
}
