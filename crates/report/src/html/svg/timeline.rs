//! One run over time: goodput, windows, round trip, queue, and what limited it when, below one another.
//!
//! Never: a panel without data, or a curve drawn through a time in which nothing was measured by another scale than its panel's.

use super::scale::{Scale, Tick};
use super::{Frame, WIDTH, n, picture, through, y_axis};
use crate::quantity::Kind;
use maud::{Markup, html};
use pipefill_analysis::diagnosis::Span;
use pipefill_analysis::series::{Quantity, RunSeries};
use pipefill_analysis::thinning::{Point, Thinning};

/// Points of a curve: a picture has no more columns.
const BUCKETS: usize = 130;
/// Height of a panel, and of the gap above it.
const PANEL: (f64, f64) = (86.0, 34.0);
/// Height of a band, and of its name.
const BAND: (f64, f64) = (14.0, 20.0);
/// Streams whose bands are drawn.
const STREAMS: u32 = 4;

/// What a panel shows: its name, unit, and the quantities with their names.
type Panel = (&'static str, Kind, &'static [(Quantity, &'static str)]);

const PANELS: [Panel; 4] = [
    ("goodput", Kind::Rate, &[(Quantity::Goodput, "received"), (Quantity::Sent, "sent")]),
    (
        "windows",
        Kind::Bytes,
        &[(Quantity::InFlight, "in flight"), (Quantity::Cwnd, "cwnd"), (Quantity::Rwnd, "rwnd")],
    ),
    ("RTT", Kind::Time, &[(Quantity::Srtt, "smoothed RTT")]),
    ("queue", Kind::Bytes, &[(Quantity::Backlog, "bytes waiting at the bottleneck")]),
];

/// A curve: its colour, name and points.
type Drawn = (usize, &'static str, Vec<Point>);

/// A band: its name, and from, to and class of its parts.
type Band = (String, Vec<(u64, u64, String)>);

/// The picture of a run called `name`, with what limited it.
pub(in crate::html) fn timeline(name: &str, series: &RunSeries, causes: &[Span]) -> Markup {
    let bands = bands(series, causes);
    let panels: Vec<(&Panel, Vec<Drawn>)> = PANELS
        .iter()
        .map(|panel| (panel, curves(series, panel)))
        .filter(|(_, curves)| !curves.is_empty())
        .collect();
    let (left, right) = (78.0, WIDTH - 14.0);
    let panels_end = (PANEL.0 + PANEL.1) * panels.len() as f64;
    let bottom = panels_end + 6.0 + (BAND.0 + BAND.1) * bands.len() as f64;
    let seconds = |us: u64| us.saturating_sub(series.span.from_us) as f64 * 1e3;
    let time = Scale::linear([0.0, seconds(series.span.to_us)], [left, right]);
    let ticks: Vec<Tick> = time.ticks(Kind::Time, 6);
    let at = |us: u64| time.at(seconds(us)).min(right);
    let content = html! {
        @for tick in &ticks {
            path class="grid" d={ "M" (n(time.at(tick.value))) " " (n(PANEL.1)) "V" (n(panels_end)) } {}
        }
        @for (number, (panel, curves)) in panels.iter().enumerate() {
            @let top = PANEL.1 + (PANEL.0 + PANEL.1) * number as f64;
            @let frame = Frame { left, top, right, bottom: top + PANEL.0 };
            @let most = curves.iter().flat_map(|(_, _, points)| points).map(|point| point.value).max().unwrap_or(0);
            @let scale = Scale::linear([0.0, factor(panel.1) * most.max(1) as f64 * 1.05], [frame.bottom, frame.top]);
            (y_axis(frame, &scale, &scale.ticks(panel.1, 3), panel.0))
            @for (colour, _, points) in curves.iter().rev() {
                path class={ "line c" (colour) } d=(through(points.iter().map(|point| (at(point.t_us), scale.at(factor(panel.1) * point.value as f64))))) {}
            }
            @for (place, (colour, text, _)) in curves.iter().enumerate() {
                @let x = left + 92.0 * place as f64 + 60.0;
                path class={ "line thick c" (colour) } d={ "M" (n(x)) " " (n(top - 12.0)) "h14" } {}
                text class="tick" x=(n(x + 19.0)) y=(n(top - 8.0)) { (text) }
            }
            @if number == 0 {
                @for mark in &series.retransmitted {
                    path class="mark" d={ "M" (n(at(mark.t_us))) " " (n(frame.bottom)) "v-7" } {}
                }
            }
        }
        @for (number, (name, parts)) in bands.iter().enumerate() {
            @let top = panels_end + BAND.1 + (BAND.0 + BAND.1) * number as f64;
            text class="name" x="4" y=(n(top - 4.0)) { (name) }
            @for (from, to, class) in parts {
                rect class=(class) x=(n(at(*from))) y=(n(top)) width=(n((at(*to) - at(*from)).max(0.3))) height=(n(BAND.0)) {}
            }
        }
        (time_labels(Frame { left, top: PANEL.1, right, bottom }, &time, &ticks))
    };
    picture(bottom + 40.0, name, &content)
}

/// The axis of time, without lines: these would cross the bands.
fn time_labels(frame: Frame, time: &Scale, ticks: &[Tick]) -> Markup {
    html! {
        @for tick in ticks {
            text class="tick middle" x=(n(time.at(tick.value))) y=(n(frame.bottom + 16.0)) { (tick.text) }
        }
        text class="name end" x=(n(frame.right)) y=(n(frame.bottom + 32.0)) { "since the first byte" }
    }
}

/// Values are in microseconds, [`Kind::Time`] counts nanoseconds.
fn factor(kind: Kind) -> f64 {
    if kind == Kind::Time { 1e3 } else { 1.0 }
}

/// What was measured of a panel.
fn curves(series: &RunSeries, panel: &Panel) -> Vec<Drawn> {
    let curve = |(colour, &(quantity, name)): (usize, &(Quantity, &'static str))| {
        let curve = series.curves.iter().find(|curve| curve.quantity == quantity)?;
        let mut thinning = Thinning::of(series.span, BUCKETS);
        curve.points.iter().for_each(|&point| thinning.see(point));
        Some((colour, name, thinning.finish()))
    };
    panel.2.iter().enumerate().filter_map(curve).collect()
}

fn bands(series: &RunSeries, causes: &[Span]) -> Vec<Band> {
    let several = causes.iter().any(|span| span.stream > 0);
    let of =
        |what: &str, stream: u32| if several { format!("{what}, stream {stream}") } else { what.to_owned() };
    let mut bands: Vec<Band> = Vec::new();
    for stream in 0..STREAMS {
        let parts: Vec<_> = causes
            .iter()
            .filter(|span| span.stream == stream)
            .map(|span| (span.from_us, span.to_us, format!("limit-{}", span.limited_by.as_str())))
            .collect();
        if !parts.is_empty() {
            bands.push((of("limited by", stream), parts));
        }
        for (_, stays) in series.states.iter().filter(|(of, _)| *of == stream) {
            let part = |stay: &pipefill_analysis::band::Stay<_>| {
                (stay.from_us, stay.to_us, format!("state-{}", crate::html::model::state_word(stay.value)))
            };
            bands.push((of("congestion state", stream), stays.iter().map(part).collect()));
        }
    }
    bands
}
