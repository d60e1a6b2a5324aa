//! Goodput or round trip along an axis whose values stand side by side.
//!
//! Never: more series than can be told apart; what is left out is said.

use super::legend::{Key, LegendEntry, legend, marker};
use super::scale::Scale;
use super::{Frame, Picture, WIDTH, n, through, y_axis};
use crate::charts::{Along, SERIES, Step, Steps, Upward};
use maud::{Markup, html};

const FRAME: Frame = Frame { left: 78.0, top: 28.0, right: WIDTH - 14.0, bottom: 230.0 };
/// Room of a letter of a value's name.
const LETTER: f64 = 6.6;

/// The picture of `along`.
pub(crate) fn along(along: &Along) -> Picture {
    let ends = [FRAME.bottom, FRAME.top];
    let y = match along.upward {
        Upward::Goodput => Scale::linear(along.y_range, ends),
        Upward::Rtt => Scale::logarithmic(along.y_range, ends),
    };
    let shown: Vec<&Steps> = along.series.iter().filter(|series| series.tone < SERIES).collect();
    let (below, height) = legend(&entries(along, &shown), FRAME.left, FRAME.bottom + 40.0);
    let content = html! {
        (y_axis(FRAME, &y, &y.ticks(along.upward.kind(), 5), along.upward.name()))
        (values(along))
        @if let Some(bps) = along.path_bps {
            path class="line rate" d={ "M" (n(FRAME.left)) " " (n(y.at(bps))) "H" (n(FRAME.right)) } {}
        }
        @for (place, series) in shown.iter().enumerate() { (steps(along, series, &y, aside(place, shown.len()))) }
        (below)
    };
    Picture::new(FRAME.bottom + 44.0 + height, &along.title, content)
}

/// Where the value of that index stands.
fn x(along: &Along, at: usize) -> f64 {
    FRAME.left + (FRAME.right - FRAME.left) * (at as f64 + 0.5) / along.values.len().max(1) as f64
}

/// Lines of several series over one value stand beside each other.
fn aside(place: usize, all: usize) -> f64 {
    4.0 * (place as f64 - (all.saturating_sub(1)) as f64 / 2.0)
}

/// The names of the values, as many as there is room for.
fn values(along: &Along) -> Markup {
    let room = (FRAME.right - FRAME.left) / along.values.len().max(1) as f64;
    let longest = along.values.iter().map(|value| value.chars().count()).max().unwrap_or(0);
    let need = (LETTER * longest as f64 + 8.0).min(110.0);
    let every = ((need / room).ceil() as usize).max(1);
    let letters = ((room * every as f64 - 8.0) / LETTER).max(3.0) as usize;
    html! {
        @for (at, value) in along.values.iter().enumerate().step_by(every) {
            text class="value middle" x=(n(x(along, at))) y=(n(FRAME.bottom + 16.0)) { (clipped(value, letters)) }
        }
        text class="name end" x=(n(FRAME.right)) y=(n(FRAME.bottom + 32.0)) { (along.axis) }
    }
}

fn clipped(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

fn steps(along: &Along, series: &Steps, y: &Scale, aside: f64) -> Markup {
    let class = format!("c{}", series.tone);
    let place = |step: &Step| (x(along, step.at) + aside, y.at(step.y));
    html! {
        path class={ "line " (class) } d=(through(series.points.iter().map(place))) {}
        @for step in &series.points {
            @let (x, middle) = place(step);
            @if let (Some(low), Some(high), true) = (step.low, step.high, step.is_wide()) {
                path class={ "line " (class) } d={ "M" (n(x)) " " (n(y.at(low))) "V" (n(y.at(high))) } {}
                path class={ "line " (class) } d={ "M" (n(x - 3.0)) " " (n(y.at(low))) "h6" } {}
            }
            @if let Some(p95) = step.p95 {
                path class={ "line " (class) } d={ "M" (n(x - 3.0)) " " (n(y.at(p95))) "h6" } {}
            }
            g {
                title { (step.label) ": " (along.upward.kind().alone(step.y)) }
                (marker(series.tone, &class, x, middle))
            }
        }
    }
}

fn entries(along: &Along, shown: &[&Steps]) -> Vec<LegendEntry> {
    let name = |name: &str| if name.is_empty() { "median" } else { name }.to_owned();
    let entry = |series: &&Steps| LegendEntry {
        key: Key::Line(format!("line c{}", series.tone), Some(series.tone)),
        text: name(&series.name),
    };
    let line = |class: &str, text: String| LegendEntry { key: Key::Line(class.to_owned(), None), text };
    let mut entries: Vec<LegendEntry> = shown.iter().map(entry).collect();
    if shown.iter().flat_map(|series| &series.points).any(Step::is_wide) {
        entries.push(LegendEntry {
            key: Key::Interval { has_ends: true },
            text: along.upward.ends().to_owned(),
        });
    }
    if along.path_bps.is_some() {
        entries.push(line("line rate", "path rate".to_owned()));
    }
    let left = along.series.len() - shown.len();
    if left > 0 {
        entries.push(line("none", format!("and {left} more series, in the table")));
    }
    entries
}
