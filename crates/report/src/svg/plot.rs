//! Goodput against a quantity on two logarithmic axes: measured points, published ones, theory's lines, and below them how much
//! of the lowest line each point has.

use super::legend::{Key, LegendEntry, legend, marker};
use super::scale::Scale;
use super::{Frame, Picture, WIDTH, n, through, x_axis, y_axis};
use crate::charts::{INTERVAL, Line, Plot, Point, SERIES, Series};
use crate::quantity::QuantityKind;
use maud::{Markup, html};

/// The upper panel.
const UPPER: Frame = Frame { left: 78.0, top: 28.0, right: WIDTH - 14.0, bottom: 290.0 };
/// The lower one: what is left of theory.
const LOWER: Frame = Frame { top: UPPER.bottom + 34.0, bottom: UPPER.bottom + 114.0, ..UPPER };

/// The picture of `plot`.
pub(crate) fn plot(plot: &Plot) -> Picture {
    let x = Scale::logarithmic(plot.x_range, [UPPER.left, UPPER.right]);
    let shown: Vec<&Series> = plot.series.iter().filter(|series| series.tone < SERIES).collect();
    let shown = shown.as_slice();
    let bottom = if plot.ratio_range.is_some() { LOWER.bottom } else { UPPER.bottom };
    let all = Frame { bottom, ..UPPER };
    let (below, height) = legend(&entries(plot, shown), UPPER.left, bottom + 40.0);
    let content = html! {
        (x_axis(all, &x, &x.ticks(plot.x.kind(), 6), plot.x.name()))
        (upper(plot, shown, &x))
        @if let Some(range) = plot.ratio_range { (lower(range, shown, &x)) }
        (below)
    };
    Picture::new(bottom + 44.0 + height, &plot.title, content)
}

fn upper(plot: &Plot, shown: &[&Series], x: &Scale) -> Markup {
    let y = Scale::logarithmic(plot.y_range, [UPPER.bottom, UPPER.top]);
    let is_inside = |point: &&[f64; 2]| (plot.y_range[0]..=plot.y_range[1]).contains(&point[1]);
    let inside = |bps: u64| n(y.at((bps as f64).max(plot.y_range[0])));
    html! {
        (y_axis(UPPER, &y, &y.ticks(QuantityKind::Rate, 7), "goodput"))
        @for line in &plot.lines {
            @let points = line.points.iter().filter(is_inside).map(|point| (x.at(point[0]), y.at(point[1])));
            path class=(law(plot, line)) d=(through(points)) {}
        }
        @for series in shown {
            @let (number, class) = (series.tone, format!("c{}", series.tone));
            path class={ "line " (class) } d=(through(series.points.iter().map(|point| (x.at(point.x), y.at(point.y))))) {}
            @for point in &series.points {
                @if let (Some(low), Some(high), true) = (point.low, point.high, point.is_wide()) {
                    path class={ "line " (class) } d={ "M" (n(x.at(point.x))) " " (inside(low)) "V" (inside(high)) } {}
                }
                g {
                    title { (point.label) ": " (QuantityKind::Rate.alone(point.y)) }
                    (marker(number, &class, x.at(point.x), y.at(point.y)))
                }
            }
            @for point in &series.published {
                circle class={ "ring " (class) } cx=(n(x.at(point[0]))) cy=(n(y.at(point[1]))) r="6.5" {
                    title { "published: " (QuantityKind::Rate.alone(point[1])) }
                }
            }
        }
    }
}

/// Measured over the lowest bound; the line is where both are the same.
fn lower(range: [f64; 2], shown: &[&Series], x: &Scale) -> Markup {
    let y = Scale::logarithmic(range, [LOWER.bottom, LOWER.top]);
    html! {
        (y_axis(LOWER, &y, &y.ticks(QuantityKind::Ratio, 4), "measured / lowest line"))
        path class="theory law-0" d={ "M" (n(LOWER.left)) " " (n(y.at(1.0))) "H" (n(LOWER.right)) } {}
        @for series in shown {
            @for point in &series.points {
                @if let Some(ratio) = point.ratio() {
                    g {
                        title { (point.label) ": " (QuantityKind::Ratio.alone(ratio)) " of " (point.law.unwrap_or_default()) }
                        (marker(series.tone, &format!("c{}", series.tone), x.at(point.x), y.at(ratio)))
                    }
                }
            }
        }
    }
}

/// A line that is not that of all series has its series' colour.
fn law(plot: &Plot, line: &Line) -> String {
    match line.series {
        Some(number) => format!("theory law-{} own c{}", line.law, plot.series[number].tone),
        None => format!("theory law-{}", line.law),
    }
}

fn entries(plot: &Plot, shown: &[&Series]) -> Vec<LegendEntry> {
    let name = |name: &str| if name.is_empty() { "measured" } else { name }.to_owned();
    let entry = |key: Key, text: String| LegendEntry { key, text };
    let measured = shown.iter().map(|series| {
        entry(Key::Line(format!("line c{}", series.tone), Some(series.tone)), name(&series.name))
    });
    let mut entries: Vec<LegendEntry> = measured.collect();
    if shown.iter().flat_map(|series| &series.points).any(Point::is_wide) {
        entries.push(entry(Key::Interval { has_ends: false }, INTERVAL.to_owned()));
    }
    if shown.iter().any(|series| !series.published.is_empty()) {
        entries.push(entry(Key::Ring, "published".to_owned()));
    }
    let mut laws: Vec<&Line> = Vec::new();
    for line in &plot.lines {
        if !laws.iter().any(|known| known.law == line.law) {
            laws.push(line);
        }
    }
    let key = |line: &Line| Key::Line(format!("theory law-{}", line.law), None);
    entries.extend(laws.into_iter().map(|line| entry(key(line), line.name.to_owned())));
    let left = plot.series.len() - shown.len();
    if left > 0 {
        entries
            .push(entry(Key::Line("none".to_owned(), None), format!("and {left} more series, in the table")));
    }
    entries
}
