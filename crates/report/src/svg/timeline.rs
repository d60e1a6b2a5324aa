//! One run over time: goodput of each flow, windows, send buffer, round trip, queue, and what limited it when, below one another.

use super::legend::{Key, LegendEntry, legend};
use super::scale::{Scale, Tick};
use super::{Frame, Picture, WIDTH, n, through, y_axis};
use crate::curves::{self, PathRate};
use crate::quantity::QuantityKind;
use maud::{Markup, html};
use pipefill_analysis::findings::series::{DrawnFlow, Quantity, RunSeries};
use pipefill_analysis::ground::downsampling::{Downsampler, Point};
use pipefill_analysis::ground::step_function::Step;
use pipefill_analysis::judge::Span;
use pipefill_core::cell::Protocol;
use pipefill_core::tcp_info::CaState;

/// Points of a curve: a picture has no more columns.
const BUCKETS: usize = 130;
/// Height of a panel, and of the gap above it.
const PANEL: (f64, f64) = (86.0, 34.0);
/// Height of a row of names above a panel.
const NAMES: f64 = 15.0;
/// Height of a band, and of its name.
const BAND: (f64, f64) = (14.0, 20.0);
/// Where time begins and ends.
const SIDES: (f64, f64) = (78.0, WIDTH - 14.0);
/// A part of a band needs so much for its word: for each letter, and at its sides.
const WORD: (f64, f64) = (7.2, 8.0);

/// Goodput that is more than this many times the path's rate is explained: an interval's edge may cut a packet off.
const ABOVE: f64 = 1.05;

/// A quantity, its name, and its class; the script has the same colours. A later one is drawn over an earlier one; what is filled has its
/// limits on its edge, and both are to be seen.
type Curve = (Quantity, &'static str, &'static str);

/// Panels of the bottleneck's queue.
const QUEUES: [&str; 4] = ["queue", "sojourn time", "probability", "marks, drops"];
/// The panel of round trips, those of pings too.
const ROUND_TRIPS: &str = "RTT";

/// What is drawn below goodput: a panel's name, its unit, and its curves.
const PANELS: [(&str, QuantityKind, &[Curve]); 7] = [
    (
        "windows",
        QuantityKind::Bytes,
        &[
            (Quantity::InFlight, "in flight", "c0 filled"),
            (Quantity::Cwnd, "cwnd", "c1"),
            (Quantity::Rwnd, "rwnd", "c3 dashed"),
        ],
    ),
    (
        "send buffer",
        QuantityKind::Bytes,
        &[(Quantity::Queued, "memory in use", "c4"), (Quantity::Sndbuf, "its limit", "c7 dashed")],
    ),
    (ROUND_TRIPS, QuantityKind::Time, &[(Quantity::Srtt, "smoothed RTT", "c2")]),
    ("queue", QuantityKind::Bytes, &[(Quantity::Backlog, "bytes waiting at the bottleneck", "c5")]),
    ("sojourn time", QuantityKind::Time, &[(Quantity::Sojourn, "mean wait in the queue", "c5")]),
    (
        "probability",
        QuantityKind::Percent,
        &[(Quantity::Probability, "drop or mark probability of the AQM", "c5")],
    ),
    (
        "marks, drops",
        QuantityKind::Count,
        &[(Quantity::AqmMarks, "marked so far", "c2"), (Quantity::AqmDrops, "dropped so far", "c1")],
    ),
];

/// A panel with what was measured for it.
struct Panel {
    name: String,
    kind: QuantityKind,
    curves: Vec<Drawn>,
}

/// A curve of a run.
struct Drawn {
    class: String,
    name: String,
    /// A limit of what another curve shows.
    is_limit: bool,
    points: Vec<Point>,
}

/// A band: its name, and from, to, class and word of its parts.
type Band = (String, Vec<(u64, u64, String, &'static str)>);

/// The picture of a run called `name`, with what limited it.
pub(crate) fn timeline(name: &str, series: &RunSeries, causes: &[Span], rates: &[PathRate]) -> Picture {
    let bands = bands(series, causes);
    let panels = panels(series, rates);
    let tops = tops(&panels);
    let panels_end = tops.last().map_or(0.0, |top| top + PANEL.0);
    let bottom = panels_end + 6.0 + (BAND.0 + BAND.1) * bands.len() as f64;
    let time = Time::of(series);
    let ticks: Vec<Tick> = time.scale.ticks(QuantityKind::Time, 6);
    let (below, height) = legend(&entries(series, &bands, is_above(series, rates)), SIDES.0, bottom + 36.0);
    let content = html! {
        @for (number, (panel, &top)) in panels.iter().zip(&tops).enumerate() {
            @for tick in &ticks {
                path class="grid" d={ "M" (n(time.scale.at(tick.value))) " " (n(top)) "v" (n(PANEL.0)) } {}
            }
            (drawn(panel, top, &time))
            @if number == 0 {
                @for mark in &series.retransmitted {
                    path class="mark" d={ "M" (n(time.at(mark.t_us))) " " (n(top + PANEL.0)) "v-7" } {}
                }
            }
        }
        @for (number, of_stream) in bands.iter().enumerate() {
            (band(of_stream, panels_end + BAND.1 + (BAND.0 + BAND.1) * number as f64, &time))
        }
        (time_labels(bottom, &time.scale, &ticks))
        (below)
    };
    Picture::new(bottom + 40.0 + height, name, content)
}

/// Where each panel begins: below the names of its curves.
fn tops(panels: &[Panel]) -> Vec<f64> {
    let step = |end: &mut f64, panel: &Panel| {
        let rows = names(panel).last().map_or(0, |(_, row)| *row);
        let top = *end + PANEL.1 + NAMES * rows as f64;
        *end = top + PANEL.0;
        Some(top)
    };
    panels.iter().scan(0.0, step).collect()
}

/// From microseconds to places.
struct Time {
    from_us: u64,
    scale: Scale,
}

impl Time {
    fn of(series: &RunSeries) -> Self {
        let end = series.span.length_us() as f64 * factor(QuantityKind::Time);
        Self { from_us: series.span.from_us, scale: Scale::linear([0.0, end], [SIDES.0, SIDES.1]) }
    }

    fn at(&self, us: u64) -> f64 {
        self.scale.at(us.saturating_sub(self.from_us) as f64 * factor(QuantityKind::Time)).min(SIDES.1)
    }
}

/// One panel with its curves and their names above it.
fn drawn(panel: &Panel, top: f64, time: &Time) -> Markup {
    let kind = panel.kind;
    let frame = Frame { left: SIDES.0, top, right: SIDES.1, bottom: top + PANEL.0 };
    let most = highest(&panel.curves);
    let scale = Scale::linear([0.0, factor(kind) * most.max(1) as f64 * 1.05], [frame.bottom, frame.top]);
    let place =
        |point: &Point| (time.at(point.t_us), scale.at(factor(kind) * point.value as f64).max(frame.top));
    let places = names(panel);
    let lowest = places.last().map_or(0, |(_, row)| *row);
    html! {
        (y_axis(frame, &scale, &scale.ticks(kind, 3), &panel.name))
        @for Drawn { class, points, .. } in &panel.curves {
            @if let Some(tone) = class.strip_suffix(" filled").filter(|_| !points.is_empty()) {
                path class={ "area " (tone) } d={
                    (through(points.iter().map(place)))
                    "V" (n(frame.bottom)) "H" (n(time.at(points[0].t_us))) "Z"
                } {}
            }
            @if kind == QuantityKind::Rate {
                path class={ "line " (class) } d=(through(stairs(points).map(|point| place(&point)))) {}
            } @else {
                path class={ "line " (class) } d=(through(points.iter().map(place))) {}
            }
        }
        @for (Drawn { class, name, points, .. }, (x, row)) in panel.curves.iter().zip(places) {
            @let is_cut = points.iter().any(|point| point.value > most);
            @let y = top - NAMES * (lowest - row) as f64;
            path class={ "line thick " (class) } d={ "M" (n(x)) " " (n(y - 12.0)) "h18" } {}
            text class="tick" x=(n(x + 23.0)) y=(n(y - 8.0)) { (name) @if is_cut { ", cut off" } }
        }
    }
}

/// How often a limit may be as high as what it limits, until it is drawn at the panel's upper edge.
const CUT: u64 = 2;

/// The most that a panel shows: a limit far above everything else does not press that flat.
fn highest(curves: &[Drawn]) -> u64 {
    let most = |limits: bool| {
        let of_kind = curves.iter().filter(|curve| curve.is_limit == limits);
        of_kind.flat_map(|curve| &curve.points).map(|point| point.value).max().unwrap_or(0)
    };
    match most(false) {
        0 => most(true),
        most_shown => most_shown.max(most(true).min(most_shown.saturating_mul(CUT))),
    }
}

/// A line for what the path lets through, where it is not far above what was measured.
fn rate_lines(rates: &[PathRate], series: &RunSeries, most: u64) -> Vec<Drawn> {
    let is_near = |rate: &&PathRate| rate.bps as u64 <= most.saturating_mul(2 * CUT);
    let line = |rate: &PathRate| Drawn {
        class: if rate.is_dashed { "rate dashed" } else { "rate" }.to_owned(),
        name: rate.name.clone(),
        is_limit: false,
        points: [series.span.from_us, series.span.to_us]
            .map(|t_us| Point { t_us, value: rate.bps as u64 })
            .to_vec(),
    };
    let mut lines: Vec<Drawn> = rates.iter().filter(is_near).map(line).collect();
    lines.dedup_by(|later, earlier| later.name == earlier.name);
    lines
}

/// Whether goodput was above the path's rate for a moment.
fn is_above(series: &RunSeries, rates: &[PathRate]) -> bool {
    rates.iter().any(|rate| {
        let goodput = series.curves.iter().filter(|curve| curve.quantity == rate.quantity);
        goodput.flat_map(|curve| &curve.points).any(|point| point.value as f64 > rate.bps * ABOVE)
    })
}

/// A rate is a mean from its point to the next.
fn stairs(points: &[Point]) -> impl Iterator<Item = Point> {
    let ends = points.windows(2).map(|pair| Point { t_us: pair[1].t_us, value: pair[0].value });
    points.iter().zip(ends.map(Some).chain([None])).flat_map(|(&point, end)| [Some(point), end]).flatten()
}

/// Where the names of curves begin, one behind the other, and in which row above the panel.
fn names(panel: &Panel) -> Vec<(f64, usize)> {
    let left = f64::max(SIDES.0 + 60.0, 12.0 + WORD.0 * panel.name.chars().count() as f64);
    let step = |(x, row): &mut (f64, usize), curve: &Drawn| {
        let width = 40.0 + WORD.0 * curve.name.chars().count() as f64;
        if *x > left && *x + width > WIDTH {
            (*x, *row) = (left, *row + 1);
        }
        let here = (*x, *row);
        *x += width;
        Some(here)
    };
    panel.curves.iter().scan((left, 0), step).collect()
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

/// Values are in microseconds and parts per billion; [`QuantityKind::Time`] counts nanoseconds.
fn factor(kind: QuantityKind) -> f64 {
    match kind {
        QuantityKind::Time => 1e3,
        QuantityKind::Percent => 1e-7,
        QuantityKind::Rate | QuantityKind::Bytes | QuantityKind::Count | QuantityKind::Ratio => 1.0,
    }
}

/// The panels for which something was measured.
fn panels(series: &RunSeries, rates: &[PathRate]) -> Vec<Panel> {
    let below = PANELS.iter().map(|&(name, kind, curves)| {
        let mut drawn: Vec<Drawn> = curves.iter().filter_map(|curve| drawn_of(series, curve)).collect();
        if name == ROUND_TRIPS {
            drawn.extend(pings(series));
        }
        Panel { name: format!("{name}{}", whose(series, name)), kind, curves: drawn }
    });
    let all = [goodput(series, rates)].into_iter().chain(below);
    all.filter(|panel| !panel.curves.is_empty()).collect()
}

/// The rates of all flows, of each where there are several, and the path's.
fn goodput(series: &RunSeries, rates: &[PathRate]) -> Panel {
    let only = [(Quantity::Sent, "sent", "c6"), (Quantity::Goodput, "received", "c0")];
    let mut measured: Vec<Drawn> = if series.flows.len() > 1 {
        let named = |quantity| Some((quantity, curves::named(series, quantity)?));
        let known = series.curves.iter().filter_map(|curve| named(curve.quantity));
        known.filter_map(|(quantity, (name, class))| drawn_of(series, &(quantity, &*name, &*class))).collect()
    } else {
        only.iter().filter_map(|curve| drawn_of(series, curve)).collect()
    };
    let most = highest(&measured);
    let mut curves = if measured.is_empty() { Vec::new() } else { rate_lines(rates, series, most) };
    curves.append(&mut measured);
    Panel { name: "goodput".to_owned(), kind: QuantityKind::Rate, curves }
}

/// Of how many flows the figures of a panel are, where the run has several: windows and buffers are sums, round trips are means.
fn whose(series: &RunSeries, panel: &str) -> String {
    let shown = series.flows.iter().map(|flow| flow.direction).min();
    let is_shown = |flow: &&DrawnFlow| flow.protocol == Protocol::Tcp && Some(flow.direction) == shown;
    let flows: Vec<_> = series.flows.iter().filter(is_shown).collect();
    match (shown, flows.as_slice()) {
        _ if series.flows.len() < 2 => String::new(),
        (Some(direction), _) if QUEUES.contains(&panel) => format!(" {}", direction.arrow()),
        (_, [only]) => format!(", {}", only.name),
        (Some(direction), _) => format!(", all {}", direction.arrow()),
        (None, _) => String::new(),
    }
}

/// `None` where it was not measured.
fn drawn_of(series: &RunSeries, &(quantity, name, class): &(Quantity, &str, &str)) -> Option<Drawn> {
    let is_tcp = series.curves.iter().any(|curve| curve.quantity == Quantity::Cwnd);
    // What a TCP application writes at once, gigabits a second, would leave nothing to see of what arrives.
    if quantity == Quantity::Sent && is_tcp {
        return None;
    }
    let curve = series.curves.iter().find(|curve| curve.quantity == quantity)?;
    let mut thinning = Downsampler::of(series.span, BUCKETS);
    curve.points.iter().for_each(|&point| thinning.observe(point));
    let is_limit = matches!(quantity, Quantity::Rwnd | Quantity::Sndbuf);
    Some(Drawn { class: class.to_owned(), name: name.to_owned(), is_limit, points: thinning.finish() })
}

/// The pings of the smallest sizes.
fn pings(series: &RunSeries) -> Option<Drawn> {
    let is_ping = |quantity: &Quantity| matches!(quantity, Quantity::Ping { .. });
    let least = series.curves.iter().map(|curve| curve.quantity).filter(is_ping).min()?;
    drawn_of(series, &(least, "ping", "c4"))
}

fn bands(series: &RunSeries, causes: &[Span]) -> Vec<Band> {
    let mut bands: Vec<Band> = Vec::new();
    for (stream, name) in curves::bands(series) {
        let of = |what: &str| if name.is_empty() { what.to_owned() } else { format!("{what}, {name}") };
        let limit = |span: &Span| {
            let word = span.limited_by.as_str();
            (span.from_us, span.to_us, format!("limit-{word}"), word)
        };
        let parts: Vec<_> = causes.iter().filter(|span| span.stream == stream).map(limit).collect();
        if !parts.is_empty() {
            bands.push((of("limited by"), parts));
        }
        for (_, steps) in series.states.iter().filter(|(of, _)| *of == stream) {
            let part = |step: &Step<CaState>| {
                let word = step.value.as_str();
                (step.from_us, step.to_us, format!("state-{word}"), word)
            };
            bands.push((of("congestion state"), steps.iter().map(part).collect()));
        }
    }
    bands
}

/// Every colour of the bands once, and the marks.
fn entries(series: &RunSeries, bands: &[Band], is_above: bool) -> Vec<LegendEntry> {
    let mut entries: Vec<LegendEntry> = Vec::new();
    for (_, _, class, word) in bands.iter().flat_map(|(_, parts)| parts) {
        if !entries.iter().any(|entry| matches!(&entry.key, Key::Field(known) if known == class)) {
            entries.push(LegendEntry { key: Key::Field(class.clone()), text: (*word).to_owned() });
        }
    }
    if !series.retransmitted.is_empty() {
        entries.push(LegendEntry { key: Key::Field("mark".to_owned()), text: "retransmits".to_owned() });
    }
    if is_above {
        let key = Key::Line("line rate".to_owned(), None);
        entries.push(LegendEntry { key, text: "above the path rate: data that had waited".to_owned() });
    }
    entries
}
