//! A graph of a capture: bars for sequence numbers, stairs for what holds until the next value, marks for single events.

use super::legend::{Key, LegendEntry, legend};
use super::scale::Scale;
use super::{Frame, Picture, WIDTH, n, x_axis, y_axis};
use crate::capture_graphs::{Graph, Layer, Mark, Shows, Subject};
use crate::quantity::QuantityKind;
use maud::{Markup, html};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write;

const LEFT: f64 = 78.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 28.0;
/// Height of the part that holds the data; time-sequence needs more.
const HEIGHT: (f64, f64) = (190.0, 300.0);
/// A bar is at least so high, so that a segment shows in a transfer of any size.
const BAR: f64 = 1.0;
/// Half of a mark's width.
const MARK: f64 = 2.2;
/// A limit may stand above what it limits by one of so many parts of the height of that.
const ABOVE: u64 = 4;
/// Columns and height of a line of a note.
const NOTE: (usize, f64) = (72, 15.0);

/// How a layer is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A vertical line from low to high.
    Bars,
    /// The same, and a marker of this shape at its middle.
    Marked(usize),
    /// A ring.
    Rings,
    /// A cross.
    Crosses,
    /// A short line below the value.
    Ticks,
    /// A line at its time, with a word beside the first.
    Words(&'static str),
    /// Lines that hold until the next value.
    Stairs,
    /// The same, filled.
    Area,
    /// A dot.
    Dots,
}

/// Class, form and name of what is shown.
fn mark_style(shows: Shows) -> (&'static str, Form, &'static str) {
    match shows {
        Shows::Data => ("fine c0", Form::Bars, "data"),
        Shows::FastRetransmit => ("c1", Form::Marked(0), "fast retransmit"),
        Shows::RtoRetransmit => ("c7", Form::Marked(1), "RTO retransmit"),
        Shows::TlpRetransmit => ("c5", Form::Marked(3), "TLP probe"),
        Shows::Spurious => ("ring", Form::Rings, "spurious retransmit"),
        Shows::OutOfOrder => ("c4", Form::Marked(2), "out of order"),
        Shows::Sack => ("fine c6", Form::Bars, "SACK"),
        Shows::Dsack => ("c4", Form::Bars, "D-SACK"),
        Shows::DuplicateAck => ("fine c2", Form::Ticks, "duplicate ACK"),
        Shows::ZeroWindow => ("line mark", Form::Crosses, "zero window"),
        Shows::ZeroWindowProbe => ("c3", Form::Marked(2), "window probe"),
        Shows::Syn => ("", Form::Words("SYN"), "SYN"),
        Shows::Fin => ("", Form::Words("FIN"), "FIN"),
        Shows::Reset => ("", Form::Words("RST"), "RST"),
        Shows::Ack => ("fine c2", Form::Stairs, "ACK"),
        Shows::WindowEdge => ("fine c3", Form::Stairs, "ACK + window"),
        Shows::Outstanding => ("fine c0", Form::Area, "outstanding"),
        Shows::InFlight => ("fine c1", Form::Stairs, "in flight (without SACKed and lost)"),
        Shows::Window => ("fine c3", Form::Stairs, "advertised window"),
        Shows::RttSample => ("c0", Form::Dots, "RTT sample"),
        Shows::SmoothedRtt => ("fine c1", Form::Stairs, "smoothed RTT"),
        Shows::Throughput => ("fine c6", Form::Stairs, "sent, with retransmits"),
        Shows::Goodput => ("c0", Form::Area, "acknowledged (goodput)"),
    }
}

/// Whether it limits what else is shown: far above that it is cut off.
fn is_limit(shows: Shows) -> bool {
    matches!(shows, Shows::WindowEdge | Shows::Window)
}

/// Where values stand.
struct Places {
    frame: Frame,
    x: Scale,
    y: Scale,
    shown_ns: [u64; 2],
    low: u64,
}

impl Places {
    fn x(&self, ns: u64) -> f64 {
        let [from_ns, to_ns] = self.shown_ns;
        self.x.at((ns.clamp(from_ns, to_ns) - from_ns) as f64)
    }

    fn y(&self, value: u64) -> f64 {
        self.y.at(value.saturating_sub(self.low) as f64).clamp(self.frame.top, self.frame.bottom)
    }

    fn middle(&self, mark: &Mark) -> (f64, f64) {
        let x = (self.x(mark.from_ns) + self.x(mark.to_ns)) / 2.0;
        (x, (self.y(mark.low) + self.y(mark.high)) / 2.0)
    }
}

/// The picture of `graph`.
pub(crate) fn capture(graph: &Graph) -> Picture {
    let (kind, name) = axis(graph.subject);
    let height = if graph.subject == Subject::TimeSequence { HEIGHT.1 } else { HEIGHT.0 };
    let frame = Frame { left: LEFT, top: TOP, right: RIGHT, bottom: TOP + height };
    let [from_ns, to_ns] = graph.shown_ns;
    let shown_ns = [from_ns, to_ns.max(from_ns + 1)];
    let layers: Vec<Shown<'_>> = graph.layers.iter().map(|layer| Shown::of(layer, shown_ns)).collect();
    let [low, high] = range(&layers, from_ns > 0);
    let places = Places {
        frame,
        x: Scale::linear([0.0, (shown_ns[1] - from_ns) as f64], [frame.left, frame.right]),
        y: Scale::linear([0.0, (high - low) as f64 * 1.05], [frame.bottom, frame.top]),
        shown_ns,
        low,
    };
    let [x_name, y_name] = names((kind, name), from_ns, low);
    let (below, legend_height) = legend(&entries(&layers, high), LEFT, frame.bottom + 40.0);
    let notes: Vec<String> =
        graph.notes.iter().flat_map(|note| textwrap::wrap(note, NOTE.0)).map(Cow::into_owned).collect();
    let notes_top = frame.bottom + 46.0 + legend_height;
    let content = html! {
        (y_axis(frame, &places.y, &places.y.ticks(kind, 6), &y_name))
        (x_axis(frame, &places.x, &places.x.ticks(QuantityKind::Time, 6), &x_name))
        @for layer in &layers { (drawn(layer, &places)) }
        (below)
        @for (number, line) in notes.iter().enumerate() {
            text class="name" x="4" y=(n(notes_top + NOTE.1 * (number as f64 + 0.8))) { (line) }
        }
    };
    Picture::new(notes_top + NOTE.1 * notes.len() as f64 + 4.0, &graph.title, content)
}

/// The part of a layer that is shown.
struct Shown<'a> {
    shows: Shows,
    marks: Vec<&'a Mark>,
}

impl<'a> Shown<'a> {
    fn of(layer: &'a Layer, [from_ns, to_ns]: [u64; 2]) -> Self {
        let is_shown = |mark: &&Mark| mark.from_ns <= to_ns && mark.to_ns >= from_ns;
        let mut marks: Vec<&Mark> = layer.marks.iter().filter(is_shown).collect();
        // What holds until the next value holds at the begin.
        let holding = layer.marks.iter().take_while(|mark| mark.to_ns < from_ns).last();
        if let Some(mark) = holding.filter(|_| holds(layer.shows)) {
            marks.insert(0, mark);
        }
        Self { shows: layer.shows, marks }
    }
}

fn holds(shows: Shows) -> bool {
    matches!(mark_style(shows).1, Form::Stairs | Form::Area)
}

const fn axis(subject: Subject) -> (QuantityKind, &'static str) {
    match subject {
        Subject::TimeSequence => (QuantityKind::Bytes, "relative sequence number"),
        Subject::Windows => (QuantityKind::Bytes, "window"),
        Subject::Rtt => (QuantityKind::Time, "RTT"),
        Subject::Throughput => (QuantityKind::Rate, "rate"),
    }
}

/// The names of both axes. Those of a part count from where it begins: far into a transfer all values look the same.
fn names((kind, upward): (QuantityKind, &str), from_ns: u64, low: u64) -> [String; 2] {
    let x = match from_ns {
        0 => "time since the first packet".to_owned(),
        _ => format!(
            "time from {}.{:06} s after the first packet",
            from_ns / 1_000_000_000,
            from_ns / 1000 % 1_000_000
        ),
    };
    let from = if kind == QuantityKind::Bytes { format!("{low} B") } else { kind.alone(low as f64) };
    let y = if low == 0 { upward.to_owned() } else { format!("{upward}, from {from} on") };
    [x, y]
}

/// The least and the largest value that are shown; the least is 0 where not only a part is.
fn range(layers: &[Shown<'_>], is_part: bool) -> [u64; 2] {
    let of_kind = |limits: bool| {
        let layers = layers.iter().filter(move |layer| is_limit(layer.shows) == limits);
        layers.flat_map(|layer| &layer.marks)
    };
    let most = |limits: bool| of_kind(limits).map(|mark| mark.high).max().unwrap_or(0);
    let low = of_kind(false).map(|mark| mark.low).min().filter(|_| is_part).unwrap_or(0);
    let (shown, limit) = (most(false), most(true));
    let cut = shown.saturating_add(shown.saturating_sub(low) / ABOVE);
    let high = if shown > low { shown.max(limit.min(cut)) } else { limit };
    [low, high.max(low.saturating_add(1))]
}

fn entries(layers: &[Shown<'_>], most: u64) -> Vec<LegendEntry> {
    let entry = |layer: &Shown<'_>| {
        let (class, form, name) = mark_style(layer.shows);
        let key = match form {
            Form::Bars => Key::Path(format!("line {class}"), bars_of_key),
            Form::Marked(shape) => Key::Bar(format!("line {class}"), shape),
            Form::Area => Key::Area(class.to_owned()),
            Form::Rings => Key::Ring,
            Form::Crosses => Key::Path(class.to_owned(), cross),
            Form::Ticks => Key::Path(format!("line {class}"), tick),
            Form::Dots => Key::Path(format!("solid {class}"), dots_of_key),
            Form::Stairs | Form::Words(_) => Key::Line(format!("line {class}"), None),
        };
        let is_cut = is_limit(layer.shows) && layer.marks.iter().any(|mark| mark.high > most);
        LegendEntry { key, text: format!("{name}{}", if is_cut { ", cut off" } else { "" }) }
    };
    let is_named =
        |layer: &&Shown<'_>| !layer.marks.is_empty() && !matches!(mark_style(layer.shows).1, Form::Words(_));
    layers.iter().filter(is_named).map(entry).collect()
}

fn drawn(layer: &Shown<'_>, places: &Places) -> Markup {
    let (class, form, _) = mark_style(layer.shows);
    let marks = &layer.marks;
    if marks.is_empty() {
        return html! {};
    }
    let is_rate = matches!(layer.shows, Shows::Throughput | Shows::Goodput);
    let last_ns = marks.last().filter(|_| is_rate).map(|mark| mark.to_ns);
    let end_ns = last_ns.unwrap_or(places.shown_ns[1]);
    match form {
        Form::Bars => html! { path class={ "line " (class) } d=(bars(marks, places)) {} },
        Form::Marked(shape) => html! {
            path class={ "line " (class) } d=(bars(marks, places)) {}
            path class={ "solid " (class) } d=(each(marks, places, |x, y| pointed(shape, x, y))) {}
        },
        Form::Rings => html! {
            path class=(class) d=(each(marks, places, ring)) {}
        },
        Form::Crosses => html! { path class=(class) d=(each(marks, places, cross)) {} },
        Form::Ticks => html! {
            path class={ "line " (class) } d=(each(marks, places, tick)) {}
        },
        Form::Words(word) => words(word, marks, places),
        Form::Stairs => html! { path class={ "line " (class) } d=(stairs(marks, places, end_ns)) {} },
        Form::Area => {
            let line = stairs(marks, places, end_ns);
            html! {
                path class={ "area " (class) } d={
                    (line) "V" (n(places.frame.bottom)) "H" (n(places.x(marks[0].from_ns))) "Z"
                } {}
                path class={ "line " (class) } d=(line) {}
            }
        }
        Form::Dots => html! {
            path class={ "solid " (class) } d=(each(marks, places, dot)) {}
            path class={ "line fine " (class) } d=(ranges(marks, places)) {}
        },
    }
}

/// Vertical lines, each place once. Hundredths of a unit stay, so that a part can be enlarged.
fn bars(marks: &[&Mark], places: &Places) -> String {
    let mut path = String::new();
    let mut last = String::new();
    for mark in marks {
        let (x, middle) = places.middle(mark);
        let half = ((places.y(mark.low) - places.y(mark.high)) / 2.0).max(BAR / 2.0);
        let bar = format!("M{x:.2} {:.2}V{:.2}", middle + half, middle - half);
        if bar != last {
            path.push_str(&bar);
            last = bar;
        }
    }
    path
}

/// The same for those that are ranges.
fn ranges(marks: &[&Mark], places: &Places) -> String {
    let of_several: Vec<&Mark> = marks.iter().filter(|mark| mark.low < mark.high).copied().collect();
    bars(&of_several, places)
}

/// From each value to the next, the last to `end_ns`.
fn stairs(marks: &[&Mark], places: &Places, end_ns: u64) -> String {
    let mut path = String::new();
    for (number, mark) in marks.iter().enumerate() {
        let (x, low) = (places.x(mark.from_ns), n(places.y(mark.low)));
        let first = if number == 0 { format!("M{x:.2} {low}") } else { format!("H{x:.2}V{low}") };
        path.push_str(&first);
        if mark.low < mark.high {
            // Writing into a string can't fail.
            let _ok = write!(path, "V{}", n(places.y(mark.high)));
        }
    }
    let _ok = write!(path, "H{:.2}", places.x(end_ns));
    path
}

/// A shape at the middle of each mark; of those that would cover one another one.
fn each(marks: &[&Mark], places: &Places, shape: impl Fn(f64, f64) -> String) -> String {
    let mut seen = BTreeSet::new();
    let middles = marks.iter().map(|mark| places.middle(mark));
    middles.filter(|&(x, y)| seen.insert((n(x), n(y)))).map(|(x, y)| shape(x, y)).collect()
}

fn pointed(shape: usize, x: f64, y: f64) -> String {
    let corners: &[(f64, f64)] = match shape {
        0 => return circle(x, y, MARK),
        1 => &[(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)],
        2 => &[(0.0, -1.2), (1.2, 1.0), (-1.2, 1.0)],
        _ => &[(0.0, -1.4), (1.4, 0.0), (0.0, 1.4), (-1.4, 0.0)],
    };
    super::through(corners.iter().map(|(right, down)| (x + right * MARK, y + down * MARK))) + "Z"
}

fn circle(x: f64, y: f64, radius: f64) -> String {
    let half = |right: f64| format!("a{radius} {radius} 0 0 1 {} 0", n(right));
    format!("M{} {}{}{}Z", n(x - radius), n(y), half(2.0 * radius), half(-2.0 * radius))
}

fn ring(x: f64, y: f64) -> String {
    circle(x, y, 2.0 * MARK)
}

fn dot(x: f64, y: f64) -> String {
    circle(x, y, 0.8)
}

/// Bars as a transfer draws them, for the legend.
fn bars_of_key(x: f64, y: f64) -> String {
    let bar = |right: f64, down: f64| format!("M{} {}v-5", n(x + right), n(y + down));
    [bar(-8.0, 5.0), bar(0.0, 2.5), bar(8.0, 0.0)].concat()
}

/// The same of dots.
fn dots_of_key(x: f64, y: f64) -> String {
    [(-8.0, 2.0), (0.0, -2.0), (8.0, 1.0)].map(|(right, down)| circle(x + right, y + down, 1.3)).concat()
}

fn cross(x: f64, y: f64) -> String {
    let half = 1.4 * MARK;
    let (from, to) = (n(x - half), n(x + half));
    let (above, below) = (n(y - half), n(y + half));
    format!("M{from} {above}L{to} {below}M{from} {below}L{to} {above}")
}

fn tick(x: f64, y: f64) -> String {
    format!("M{} {}v4", n(x), n(y))
}

/// Lines across the picture's height, with the word where a transfer leaves room: a begin at the top, an end at the bottom.
fn words(word: &str, marks: &[&Mark], places: &Places) -> Markup {
    let Frame { left, top, right, bottom } = places.frame;
    let line = each(marks, places, |x, _| format!("M{} {}V{}", n(x), n(top), n(bottom)));
    let (x, _) = places.middle(marks[0]);
    let is_right = x > (left + right) / 2.0;
    let (place, to) = if is_right { ("tick end", x - 4.0) } else { ("tick", x + 4.0) };
    let y = match word {
        "SYN" => top + 12.0,
        "FIN" => bottom - 5.0,
        _ => bottom - 20.0,
    };
    html! {
        path class="line fine dashed" d=(line) {}
        text class=(place) x=(n(to)) y=(n(y)) { (word) }
    }
}
