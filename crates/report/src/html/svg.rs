//! Still pictures: what a page shows without its script, on paper, and until the script has drawn.
//!
//! Colours are classes, so that the page's style decides what is dark. Drawn by hand: the crates that draw charts write colours
//! into every element, and are larger than this. Never: a shape without its unit, or text that is not text.

mod bars;
mod heat;
mod plot;
mod scale;
mod timeline;

pub(super) use bars::{losses, repeats};
pub(super) use heat::heat;
pub(super) use plot::plot;
pub(super) use timeline::timeline;

use maud::{Markup, html};
use scale::{Scale, Tick};

/// Width of every picture, in its own units: at 400 pixels text is still readable, and two stand beside each other at 1600.
const WIDTH: f64 = 520.0;

/// The part of a picture that holds the data.
#[derive(Debug, Clone, Copy)]
struct Frame {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

/// A picture of `height` with a name for those who don't see it.
fn picture(height: f64, name: &str, content: &Markup) -> Markup {
    html! {
        svg class="picture" viewBox={ "0 0 " (WIDTH) " " (n(height)) } role="img" aria-label=(name) { (content) }
    }
}

/// Horizontal lines with their labels left of the frame, and the axis' name above it.
fn y_axis(frame: Frame, scale: &Scale, ticks: &[Tick], name: &str) -> Markup {
    html! {
        @for tick in ticks {
            @let y = n(scale.at(tick.value));
            path class="grid" d={ "M" (n(frame.left)) " " (y) "H" (n(frame.right)) } {}
            text class="tick end" x=(n(frame.left - 6.0)) y=(n(scale.at(tick.value) + 4.0)) { (tick.text) }
        }
        text class="name" x="4" y=(n(frame.top - 8.0)) { (name) }
    }
}

/// Vertical lines with their labels below the frame, and the axis' name below these.
fn x_axis(frame: Frame, scale: &Scale, ticks: &[Tick], name: &str) -> Markup {
    html! {
        @for tick in ticks {
            @let x = n(scale.at(tick.value));
            path class="grid" d={ "M" (x) " " (n(frame.top)) "V" (n(frame.bottom)) } {}
            text class="tick middle" x=(x) y=(n(frame.bottom + 16.0)) { (tick.text) }
        }
        text class="name end" x=(n(frame.right)) y=(n(frame.bottom + 32.0)) { (name) }
    }
}

/// A coordinate: a tenth of a unit is enough.
fn n(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A path through `points`, in the picture's units.
fn through(points: impl Iterator<Item = (f64, f64)>) -> String {
    points
        .enumerate()
        .map(|(number, (x, y))| format!("{}{} {}", if number == 0 { 'M' } else { 'L' }, n(x), n(y)))
        .collect()
}
