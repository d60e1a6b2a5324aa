//! One run over time: goodput, windows, send buffer, round trip, queue, and what limited it when, below one another.

use super::legend::{Entry, Key, legend};
use super::scale::{Scale, Tick};
use super::{Frame, Picture, WIDTH, n, through, y_axis};
use crate::quantity::Kind;
use maud::{Markup, html};
use pipefill_analysis::diagnosis::Span;
use pipefill_analysis::downsampling::{Downsampler, Point};
use pipefill_analysis::series::{Quantity, RunSeries};
use pipefill_analysis::step_function::Step;
use pipefill_core::tcp_info::CaState;

/// Points of a curve: a picture has no more columns.
const BUCKETS: usize = 130;
/// Height of a panel, and of the gap above it.
const PANEL: (f64, f64) = (86.0, 34.0);
/// Height of a band, and of its name.
const BAND: (f64, f64) = (14.0, 20.0);
/// Where time begins and ends.
const SIDES: (f64, f64) = (78.0, WIDTH - 14.0);
/// Streams whose bands are drawn.
const STREAMS: u32 = 4;
/// A part of a band needs so much for its word: for each letter, and at its sides.
const WORD: (f64, f64) = (6.6, 8.0);

/// Goodput that is more than this many times the path's rate is explained: an interval's edge may cut a packet off.
const ABOVE: f64 = 1.05;

/// What a panel shows: its name, its unit, and its curves.
type Panel = (&'static str, Kind, &'static [Curve]);
/// A quantity, its name, and its class; the script has the same colours. A later one is drawn over an earlier one; what is filled has its
/// limits on its edge, and both are to be seen.
type Curve = (Quantity, &'static str, &'static str);

const PANELS: [Panel; 5] = [
    ("goodput", Kind::Rate, &[(Quantity::Sent, "sent", "c6"), (Quantity::Goodput, "received", "c0")]),
    (
        "windows",
        Kind::Bytes,
        &[
            (Quantity::InFlight, "in flight", "c0 filled"),
            (Quantity::Cwnd, "cwnd", "c1"),
            (Quantity::Rwnd, "rwnd", "c3 dashed"),
        ],
    ),
    (
        "send buffer",
        Kind::Bytes,
        &[(Quantity::Queued, "memory in use", "c4"), (Quantity::Sndbuf, "its limit", "c7 dashed")],
    ),
    ("RTT", Kind::Time, &[(Quantity::Srtt, "smoothed RTT", "c2")]),
    ("queue", Kind::Bytes, &[(Quantity::Backlog, "bytes waiting at the bottleneck", "c5")]),
];

/// A curve of a run: its class, name and points.
type Drawn = (&'static str, &'static str, Vec<Point>);

/// A band: its name, and from, to, class and word of its parts.
type Band = (String, Vec<(u64, u64, String, &'static str)>);

/// The picture of a run called `name`, with what limited it.
pub(crate) fn timeline(name: &str, series: &RunSeries, causes: &[Span], path_bps: Option<f64>) -> Picture {
    let bands = bands(series, causes);
    let panels: Vec<(&Panel, Vec<Drawn>)> = PANELS
        .iter()
        .map(|panel| (panel, with_rate(curves(series, panel), panel, series, path_bps)))
        .filter(|(_, curves)| !curves.is_empty())
        .collect();
    let panels_end = (PANEL.0 + PANEL.1) * panels.len() as f64;
    let bottom = panels_end + 6.0 + (BAND.0 + BAND.1) * bands.len() as f64;
    let time = Time::of(series);
    let ticks: Vec<Tick> = time.scale.ticks(Kind::Time, 6);
    let (below, height) =
        legend(&entries(series, &bands, is_above(series, path_bps)), SIDES.0, bottom + 36.0);
    let content = html! {
        @for tick in &ticks {
            path class="grid" d={ "M" (n(time.scale.at(tick.value))) " " (n(PANEL.1)) "V" (n(panels_end)) } {}
        }
        @for (number, (panel, curves)) in panels.iter().enumerate() {
            @let top = PANEL.1 + (PANEL.0 + PANEL.1) * number as f64;
            (drawn(panel, curves, top, &time))
            @if number == 0 {
                @for mark in &series.retransmitted {
                    path class="mark" d={ "M" (n(time.at(mark.t_us))) " " (n(top + PANEL.0)) "v-7" } {}
                }
            }
        }
        @for (number, one) in bands.iter().enumerate() {
            (band(one, panels_end + BAND.1 + (BAND.0 + BAND.1) * number as f64, &time))
        }
        (time_labels(bottom, &time.scale, &ticks))
        (below)
    };
    Picture::new(bottom + 40.0 + height, name, content)
}

/// From microseconds to places.
struct Time {
    from_us: u64,
    scale: Scale,
}

impl Time {
    fn of(series: &RunSeries) -> Self {
        let end = series.span.length_us() as f64 * factor(Kind::Time);
        Self { from_us: series.span.from_us, scale: Scale::linear([0.0, end], [SIDES.0, SIDES.1]) }
    }

    fn at(&self, us: u64) -> f64 {
        self.scale.at(us.saturating_sub(self.from_us) as f64 * factor(Kind::Time)).min(SIDES.1)
    }
}

/// One panel with its curves and their names above it.
fn drawn(panel: &Panel, curves: &[Drawn], top: f64, time: &Time) -> Markup {
    let (name, kind, _) = *panel;
    let frame = Frame { left: SIDES.0, top, right: SIDES.1, bottom: top + PANEL.0 };
    let most = highest(curves);
    let scale = Scale::linear([0.0, factor(kind) * most.max(1) as f64 * 1.05], [frame.bottom, frame.top]);
    let place =
        |point: &Point| (time.at(point.t_us), scale.at(factor(kind) * point.value as f64).max(frame.top));
    html! {
        (y_axis(frame, &scale, &scale.ticks(kind, 3), name))
        @for (class, _, points) in curves {
            @if let Some(tone) = class.strip_suffix(" filled").filter(|_| !points.is_empty()) {
                path class={ "area " (tone) } d={
                    (through(points.iter().map(place)))
                    "V" (n(frame.bottom)) "H" (n(time.at(points[0].t_us))) "Z"
                } {}
            }
            @if kind == Kind::Rate {
                path class={ "line " (class) } d=(through(stairs(points).map(|point| place(&point)))) {}
            } @else {
                path class={ "line " (class) } d=(through(points.iter().map(place))) {}
            }
        }
        @for ((class, text, points), x) in curves.iter().zip(beginnings(curves)) {
            @let is_cut = points.iter().any(|point| point.value > most);
            path class={ "line thick " (class) } d={ "M" (n(x)) " " (n(top - 12.0)) "h18" } {}
            text class="tick" x=(n(x + 23.0)) y=(n(top - 8.0)) { (text) @if is_cut { ", cut off" } }
        }
    }
}

/// How often a limit may be as high as what it limits, until it is drawn at the panel's upper edge.
const CUT: u64 = 2;

/// The most that a panel shows: a limit far above everything else does not press that flat.
fn highest(curves: &[Drawn]) -> u64 {
    let most = |limits: bool| {
        let of_kind = curves.iter().filter(|(class, ..)| class.contains("dashed") == limits);
        of_kind.flat_map(|(_, _, points)| points).map(|point| point.value).max().unwrap_or(0)
    };
    match most(false) {
        0 => most(true),
        most_shown => most_shown.max(most(true).min(most_shown.saturating_mul(CUT))),
    }
}

/// A line for what the path lets through, where it is not far above what was measured.
fn with_rate(curves: Vec<Drawn>, panel: &Panel, series: &RunSeries, path_bps: Option<f64>) -> Vec<Drawn> {
    let Some(bps) = path_bps.map(|bps| bps as u64).filter(|_| panel.0 == "goodput") else { return curves };
    if bps > highest(&curves).saturating_mul(2 * CUT) || curves.is_empty() {
        return curves;
    }
    let ends = [series.span.from_us, series.span.to_us].map(|t_us| Point { t_us, value: bps });
    [("rate", "path rate", ends.to_vec())].into_iter().chain(curves).collect()
}

/// Whether goodput was above the path's rate for a moment.
fn is_above(series: &RunSeries, path_bps: Option<f64>) -> bool {
    let goodput = series.curves.iter().filter(|curve| curve.quantity == Quantity::Goodput);
    let mut points = goodput.flat_map(|curve| &curve.points);
    path_bps.is_some_and(|bps| points.any(|point| point.value as f64 > bps * ABOVE))
}

/// A rate is a mean from its point to the next.
fn stairs(points: &[Point]) -> impl Iterator<Item = Point> {
    let ends = points.windows(2).map(|pair| Point { t_us: pair[1].t_us, value: pair[0].value });
    points.iter().zip(ends.map(Some).chain([None])).flat_map(|(&point, end)| [Some(point), end]).flatten()
}

/// Where the names of curves begin, one behind the other.
fn beginnings(curves: &[Drawn]) -> Vec<f64> {
    let widths = curves.iter().map(|(_, text, _)| 40.0 + WORD.0 * text.len() as f64);
    let step = |x: &mut f64, width: f64| {
        let here = *x;
        *x += width;
        Some(here)
    };
    widths.scan(SIDES.0 + 60.0, step).collect()
}

/// One band; a part that has room says what it is.
fn band((name, parts): &Band, top: f64, time: &Time) -> Markup {
    html! {
        text class="name" x="4" y=(n(top - 4.0)) { (name) }
        @for (from, to, class, word) in parts {
            @let (x, end) = (time.at(*from), time.at(*to));
            rect class=(class) x=(n(x)) y=(n(top)) width=(n((end - x).max(0.3))) height=(n(BAND.0)) {}
            @if end - x >= WORD.0 * word.len() as f64 + WORD.1 {
                text class={ "word on-" (class) } x=(n(x + 4.0)) y=(n(top + 11.0)) { (word) }
            }
        }
    }
}

/// The axis of time, without lines: these would cross the bands.
fn time_labels(bottom: f64, time: &Scale, ticks: &[Tick]) -> Markup {
    html! {
        @for tick in ticks {
            text class="tick middle" x=(n(time.at(tick.value))) y=(n(bottom + 16.0)) { (tick.text) }
        }
        text class="name end" x=(n(SIDES.1)) y=(n(bottom + 32.0)) { "since the first byte" }
    }
}

/// Values are in microseconds, [`Kind::Time`] counts nanoseconds.
fn factor(kind: Kind) -> f64 {
    if kind == Kind::Time { 1e3 } else { 1.0 }
}

/// What was measured of a panel.
fn curves(series: &RunSeries, panel: &Panel) -> Vec<Drawn> {
    let is_tcp = series.curves.iter().any(|curve| curve.quantity == Quantity::Cwnd);
    let curve = |&(quantity, name, class): &Curve| {
        // What a TCP application writes at once, gigabits a second, would leave nothing to see of what arrives.
        if quantity == Quantity::Sent && is_tcp {
            return None;
        }
        let curve = series.curves.iter().find(|curve| curve.quantity == quantity)?;
        let mut downsampler = Downsampler::of(series.span, BUCKETS);
        curve.points.iter().for_each(|&point| downsampler.see(point));
        Some((class, name, downsampler.finish()))
    };
    panel.2.iter().filter_map(curve).collect()
}

fn bands(series: &RunSeries, causes: &[Span]) -> Vec<Band> {
    let several = causes.iter().any(|span| span.stream > 0);
    let of =
        |what: &str, stream: u32| if several { format!("{what}, stream {stream}") } else { what.to_owned() };
    let mut bands: Vec<Band> = Vec::new();
    for stream in 0..STREAMS {
        let limit = |span: &Span| {
            let word = span.limited_by.as_str();
            (span.from_us, span.to_us, format!("limit-{word}"), word)
        };
        let parts: Vec<_> = causes.iter().filter(|span| span.stream == stream).map(limit).collect();
        if !parts.is_empty() {
            bands.push((of("limited by", stream), parts));
        }
        for (_, steps) in series.states.iter().filter(|(of, _)| *of == stream) {
            let part = |step: &Step<CaState>| {
                let word = step.value.as_str();
                (step.from_us, step.to_us, format!("state-{word}"), word)
            };
            bands.push((of("congestion state", stream), steps.iter().map(part).collect()));
        }
    }
    bands
}

/// Every colour of the bands once, and the marks.
fn entries(series: &RunSeries, bands: &[Band], is_above: bool) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for (_, _, class, word) in bands.iter().flat_map(|(_, parts)| parts) {
        if !entries.iter().any(|entry| matches!(&entry.key, Key::Field(known) if known == class)) {
            entries.push(Entry { key: Key::Field(class.clone()), text: (*word).to_owned() });
        }
    }
    if !series.retransmitted.is_empty() {
        entries.push(Entry { key: Key::Field("mark".to_owned()), text: "retransmits".to_owned() });
    }
    if is_above {
        let key = Key::Line("line rate".to_owned(), None);
        entries.push(Entry { key, text: "above the path rate: data that had waited".to_owned() });
    }
    entries
}
