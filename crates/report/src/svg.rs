//! Still pictures: what a page shows without its script, on paper, and until the script has drawn; and pictures in files.
//!
//! Colours are classes, so that the page's style decides what is dark; a file brings the light half of that style. Drawn by hand: the
//! crates that draw charts write colours into every element, and are larger than this.

mod along;
mod bars;
mod capture;
mod fix;
mod heat;
mod ledger;
mod legend;
mod plot;
mod scale;
mod style;
mod timeline;
mod trips;

pub(crate) use along::along;
pub(crate) use bars::{losses, repeats};
pub(crate) use capture::capture;
pub(crate) use fix::proof;
pub(crate) use heat::heat;
pub(crate) use ledger::{ledger, ledger_events};
pub(crate) use plot::plot;
pub(crate) use timeline::timeline;
pub(crate) use trips::trips;

use maud::{Markup, PreEscaped, html};
use scale::{Scale, Tick};

/// Width of every picture, in its own units: at 400 pixels text is still readable, and two stand beside each other at 1600.
const WIDTH: f64 = 460.0;
/// Columns and height of a line of the name above a picture in a file.
const TITLE_COLUMNS: usize = 60;
const TITLE_LINE: f64 = 18.0;
/// Room that a letter of a label takes at most on the average.
const LETTER: f64 = 7.0;
/// Columns of a warning.
const WARNING_COLUMNS: usize = 66;

/// The part of a picture that holds the data.
#[derive(Debug, Clone, Copy)]
struct Frame {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

/// What was drawn: `height` in the same units, a name for those who don't see it, and what has to be known of it before it is believed.
#[derive(Debug)]
pub(crate) struct Picture {
    height: f64,
    name: String,
    warning: Option<String>,
    content: Markup,
}

impl Picture {
    fn new(height: f64, name: &str, content: Markup) -> Self {
        Self { height, name: name.to_owned(), warning: None, content }
    }

    /// With `warning` above the picture.
    pub(crate) fn warned(self, warning: Option<String>) -> Self {
        Self { warning, ..self }
    }

    /// The lines of its warning.
    fn warnings(&self) -> Vec<String> {
        let lines = self.warning.as_deref().map(|text| textwrap::wrap(text, WARNING_COLUMNS));
        lines.unwrap_or_default().into_iter().map(std::borrow::Cow::into_owned).collect()
    }

    /// Its warning from `top` on, and the picture below it.
    fn drawn(&self, top: f64) -> Markup {
        let warnings = self.warnings();
        html! {
            @for (number, line) in warnings.iter().enumerate() {
                text class="warning" x="4" y=(n(top + TITLE_LINE * (number as f64 + 0.7))) { (line) }
            }
            g transform={ "translate(0 " (n(top + TITLE_LINE * warnings.len() as f64)) ")" } { (self.content) }
        }
    }

    /// With its warning.
    fn whole_height(&self) -> f64 {
        self.height + TITLE_LINE * self.warnings().len() as f64
    }

    /// Its name, as the figure that it stands in is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Within a page, whose style colours it.
    pub(crate) fn inline(&self) -> Markup {
        html! {
            svg class="picture" viewBox={ "0 0 " (WIDTH) " " (n(self.whole_height())) } role="img" aria-label=(self.name) {
                (self.drawn(0.0))
            }
        }
    }

    /// A file of its own: the name stands above it, the style is inside, the background is white.
    pub(crate) fn document(&self) -> String {
        let title = textwrap::wrap(&self.name, TITLE_COLUMNS);
        let above = 12.0 + TITLE_LINE * title.len() as f64;
        let height = n(above + self.whole_height());
        let markup = html! {
            svg xmlns="http://www.w3.org/2000/svg" class="picture" width=(WIDTH) height=(height) viewBox={ "0 0 " (WIDTH) " " (height) } {
                title { (self.name) }
                style { (PreEscaped(style::light())) }
                rect class="paper" width=(WIDTH) height=(height) {}
                @for (number, line) in title.iter().enumerate() {
                    text class="title" x="4" y=(n(TITLE_LINE * (number as f64 + 1.0))) { (line) }
                }
                (self.drawn(above))
            }
        };
        // What a document may hold (XML 1.0 section 2.2): a name of a scenario may hold more.
        let is_of_xml = |letter: &char| matches!(letter, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        markup.into_string().chars().filter(is_of_xml).collect::<String>() + "\n"
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

/// Vertical lines with their labels below the frame, as far as these do not overlap, and the axis' name below these.
fn x_axis(frame: Frame, scale: &Scale, ticks: &[Tick], name: &str) -> Markup {
    let mut labels = Vec::new();
    let mut free_from = f64::NEG_INFINITY;
    for tick in ticks {
        let x = scale.at(tick.value);
        let width = LETTER * tick.text.chars().count() as f64;
        let fits = x + width / 2.0 <= WIDTH;
        let (place, at) = if fits { ("tick middle", x) } else { ("tick end", WIDTH - 1.0) };
        let left = if fits { x - width / 2.0 } else { at - width };
        if left >= free_from {
            labels.push((place, at, &tick.text));
            free_from = left + width;
        }
    }
    html! {
        @for tick in ticks { path class="grid" d={ "M" (n(scale.at(tick.value))) " " (n(frame.top)) "V" (n(frame.bottom)) } {} }
        @for (place, at, text) in labels { text class=(place) x=(n(at)) y=(n(frame.bottom + 16.0)) { (text) } }
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
