//! Goodput against a quantity on two logarithmic axes: measured points, published ones, and theory's lines.
//!
//! Never: more series than can be told apart; what is left out is said.

use super::scale::Scale;
use super::{Frame, WIDTH, n, picture, through, x_axis, y_axis};
use crate::html::charts::Plot;
use crate::quantity::Kind;
use maud::{Markup, html};

/// Series of a still picture, as many as there are colours.
const SERIES: usize = 8;
/// Height of a legend's line.
const LINE: f64 = 17.0;

/// The picture of `plot`.
pub(in crate::html) fn plot(plot: &Plot) -> Markup {
    let frame = Frame { left: 78.0, top: 28.0, right: WIDTH - 14.0, bottom: 300.0 };
    let x = Scale::logarithmic(plot.x_range, [frame.left, frame.right]);
    let y = Scale::logarithmic(plot.y_range, [frame.bottom, frame.top]);
    let shown = plot.series.len().min(SERIES);
    let clip = |point: &&[f64; 2]| (plot.y_range[0]..=plot.y_range[1]).contains(&point[1]);
    let entries = legend(plot, shown);
    let height = frame.bottom + 44.0 + LINE * entries.len() as f64;
    let content = html! {
        (y_axis(frame, &y, &y.ticks(Kind::Rate, 7), "goodput"))
        (x_axis(frame, &x, &x.ticks(plot.x.kind(), 6), plot.x.name()))
        @for line in &plot.lines {
            @let inside = line.points.iter().filter(clip).map(|point| (x.at(point[0]), y.at(point[1])));
            path class={ "theory law-" (line.law) } d=(through(inside)) {}
        }
        @for (number, series) in plot.series.iter().take(SERIES).enumerate() {
            path class={ "line c" (number) } d=(through(series.points.iter().map(|point| (x.at(point.x), y.at(point.y))))) {}
            @for point in &series.points {
                @if let (Some(low), Some(high)) = (point.low, point.high) {
                    path class={ "line c" (number) } d={ "M" (n(x.at(point.x))) " " (n(y.at((low as f64).max(plot.y_range[0])))) "V" (n(y.at((high as f64).max(plot.y_range[0])))) } {}
                }
                circle class={ "dot c" (number) } cx=(n(x.at(point.x))) cy=(n(y.at(point.y))) r="4" {
                    title { (point.label) ": " (Kind::Rate.alone(point.y)) }
                }
            }
            @for point in &series.published {
                circle class={ "ring c" (number) } cx=(n(x.at(point[0]))) cy=(n(y.at(point[1]))) r="5.5" {
                    title { "published: " (Kind::Rate.alone(point[1])) }
                }
            }
        }
        @for (number, (class, text)) in entries.iter().enumerate() {
            @let at = frame.bottom + 48.0 + LINE * number as f64;
            path class=(class) d={ "M" (n(frame.left)) " " (n(at)) "h22" } {}
            text class="tick" x=(n(frame.left + 30.0)) y=(n(at + 4.0)) { (text) }
        }
    };
    picture(height, &plot.title, &content)
}

/// Class and text of each line.
fn legend(plot: &Plot, shown: usize) -> Vec<(String, String)> {
    let name = |name: &str| if name.is_empty() { "measured" } else { name }.to_owned();
    let mut entries: Vec<(String, String)> = plot.series[..shown]
        .iter()
        .enumerate()
        .map(|(number, series)| (format!("line thick c{number}"), name(&series.name)))
        .collect();
    if plot.series.iter().any(|series| !series.published.is_empty()) {
        entries.push(("none".to_owned(), "○ published".to_owned()));
    }
    entries.extend(plot.lines.iter().map(|line| (format!("theory law-{}", line.law), line.name.clone())));
    if plot.series.len() > shown {
        entries.push((
            "none".to_owned(),
            format!("and {} more series, in the table", plot.series.len() - shown),
        ));
    }
    entries
}
