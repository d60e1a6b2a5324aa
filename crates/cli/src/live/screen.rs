//! The live view as lines of a terminal of any size. No information is in a colour alone.

use super::history::{COLUMNS, Column, RunHistory};
use super::state::{CurrentRun, Ended, LiveState, Snapshot};
use crate::progress::span;
use pipefill_analysis::diagnosis::Span as CauseSpan;
use pipefill_core::tcp_info::CaState;
use pipefill_report::cause::{self, Cause};
use pipefill_report::quantity::{Kind, MISSING};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Gauge, Paragraph, Sparkline, Wrap};
use std::time::Duration;

/// Columns of a row's name, and of its value now.
const NAME: u16 = 11;
const VALUE: u16 = 13;
/// Lines of the run's frame: two of border, ten rows.
const RUN_LINES: u16 = 12;
/// Where nothing is known.
const NOTHING: &str = "·";

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing.
    Watching,
    /// To stop, and must confirm it.
    Asking,
    /// The help.
    Help,
}

/// Draws `state` over the whole of `frame`.
pub(super) fn draw(frame: &mut Frame<'_>, state: &LiveState, mode: Mode, colour: bool) {
    let paint = Paint { colour };
    let lines = [1, 1, RUN_LINES].map(Constraint::Length);
    let [head, bar, run, ended, foot] =
        Layout::vertical([lines[0], lines[1], lines[2], Constraint::Min(0), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(header(state, head.width, &paint), head);
    frame.render_widget(progress(state, &paint), bar);
    if let Some((current, others)) = state.current() {
        draw_run(frame, run, current, others, &paint);
    }
    frame.render_widget(Paragraph::new(ended_lines(state, ended.height, &paint)), ended);
    frame.render_widget(footer(mode, &paint), foot);
    if mode == Mode::Help {
        draw_help(frame, state);
    }
}

/// Colours, if wanted.
struct Paint {
    colour: bool,
}

impl Paint {
    fn of(&self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    fn faint(&self) -> Style {
        if self.colour { Style::new().add_modifier(Modifier::DIM) } else { Style::new() }
    }
}

fn header<'a>(state: &LiveState, width: u16, paint: &Paint) -> Line<'a> {
    let left = format!(" {} on {}", state.experiment, state.backend);
    let estimate = &state.estimate;
    let passed = state.current().map_or(Duration::ZERO, |(current, _)| current.passed);
    let right = format!(
        "{} of {} runs, about {} left ",
        estimate.finished,
        estimate.total,
        span(estimate.left(passed))
    );
    let used = left.chars().count() + right.chars().count();
    let gap = " ".repeat(usize::from(width).saturating_sub(used).max(1));
    let bold = Style::new().add_modifier(Modifier::BOLD);
    Line::from(vec![Span::styled(left, bold), Span::raw(gap), Span::styled(right, paint.faint())])
}

/// Runs that ended, of all; how many are not valid beside.
fn progress(state: &LiveState, paint: &Paint) -> Gauge<'static> {
    let (done, total) = (state.estimate.finished, state.estimate.total.max(1));
    let invalid = state.marks.iter().filter(|is_valid| !**is_valid).count();
    let label = match invalid {
        0 => format!("{} %", 100 * done / total),
        count => format!("{} %, {count} invalid", 100 * done / total),
    };
    let colour = if invalid == 0 { Color::Green } else { Color::Yellow };
    Gauge::default()
        .ratio((done as f64 / total as f64).min(1.0))
        .label(label)
        .gauge_style(paint.of(colour))
        .use_unicode(true)
}

fn draw_run(frame: &mut Frame<'_>, area: Rect, current: &CurrentRun, others: usize, paint: &Paint) {
    let others = if others > 0 { format!(" (and {others} more)") } else { String::new() };
    let block = Block::bordered().title(format!(" {}{others} ", current.label)).border_style(paint.faint());
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let Some(snapshot) = &current.snapshot else {
        frame.render_widget(Paragraph::new("connecting"), inner);
        return;
    };
    for (number, row) in (0..inner.height).zip(rows(snapshot, current)) {
        let line = Rect { y: inner.y + number, height: 1, ..inner };
        draw_row(frame, line, row, paint);
    }
}

/// A line of the run's frame.
struct Row {
    name: &'static str,
    value: String,
    drawn: Drawn,
}

/// What stands to the right of a value.
enum Drawn {
    /// A curve over the run's time, up to this.
    Curve {
        points: Vec<Option<u64>>,
        most: u64,
        colour: Color,
    },
    /// A letter with its colour for each moment.
    Band(Vec<Option<(char, Color)>>),
    Words(String),
}

fn draw_row(frame: &mut Frame<'_>, area: Rect, row: Row, paint: &Paint) {
    let [name, value, _, rest] = Layout::horizontal([
        Constraint::Length(NAME),
        Constraint::Length(VALUE),
        Constraint::Length(2),
        Constraint::Min(0),
    ])
    .areas(area);
    frame.render_widget(Line::styled(row.name, paint.faint()), name);
    frame.render_widget(Line::from(row.value).right_aligned(), value);
    let width = usize::from(rest.width);
    match row.drawn {
        Drawn::Curve { points, most, colour } => {
            let points = thinned(&points, width, |of| of.iter().flatten().max().copied());
            let curve = Sparkline::default().data(points).max(most.max(1)).style(paint.of(colour));
            frame.render_widget(curve, rest);
        }
        Drawn::Band(letters) => {
            let letters = thinned(&letters, width, |of| of.iter().rev().flatten().next().copied());
            let span = |one: Option<(char, Color)>| match one {
                Some((letter, colour)) => Span::styled(letter.to_string(), paint.of(colour)),
                None => Span::styled(NOTHING, paint.faint()),
            };
            frame.render_widget(Line::from_iter(letters.into_iter().map(span)), rest);
        }
        Drawn::Words(words) => frame.render_widget(Line::styled(words, paint.faint()), rest),
    }
}

/// One for each of `width` columns, out of the points that fall into it.
fn thinned<T: Copy>(
    points: &[Option<T>],
    width: usize,
    one: impl Fn(&[Option<T>]) -> Option<T>,
) -> Vec<Option<T>> {
    let edge = |column: usize| column * points.len() / width.max(1);
    (0..width).map(|column| one(&points[edge(column)..edge(column + 1).max(edge(column) + 1)])).collect()
}

fn rows(snapshot: &Snapshot, current: &CurrentRun) -> Vec<Row> {
    let history = &snapshot.history;
    let mut rows = vec![received(history)];
    rows.extend(windows(history));
    rows.extend(round_trip(history));
    rows.extend(missing(history));
    rows.extend(states(history));
    rows.extend(causes(snapshot));
    let whole = Duration::from_micros(history.span_us());
    rows.extend(lateness(history, current.late_path));
    let value = format!("{:.1} of {:.1} s", current.passed.min(whole).as_secs_f64(), whole.as_secs_f64());
    rows.push(Row { name: "time", value, drawn: Drawn::Words(String::new()) });
    rows
}

fn received(history: &RunHistory) -> Row {
    let points = history.received_bps();
    let last = points.iter().rev().flatten().next().copied();
    let most = points.iter().flatten().max().copied().unwrap_or(0);
    Row {
        name: "received",
        value: alone(Kind::Rate, last.map(|bps| bps as f64)),
        drawn: Drawn::Curve { points, most, colour: Color::Green },
    }
}

/// In flight and both windows to one measure: what is full looks full. A larger window is as high as there is room.
fn windows(history: &RunHistory) -> Vec<Row> {
    let points = |value: fn(&Column) -> Option<u64>| -> Vec<Option<u64>> {
        history.columns().iter().map(value).collect()
    };
    let in_flight = points(|column| column.in_flight_bytes);
    let cwnd = points(|column| column.cwnd_bytes);
    let Some(most) = in_flight.iter().chain(&cwnd).flatten().max().copied() else { return Vec::new() };
    let row = |name, points: Vec<Option<u64>>, colour| {
        let last = points.iter().rev().flatten().next().map(|&bytes| bytes as f64);
        Row { name, value: alone(Kind::Bytes, last), drawn: Drawn::Curve { points, most, colour } }
    };
    vec![
        row("in flight", in_flight, Color::Cyan),
        row("cwnd", cwnd, Color::Yellow),
        row("rwnd", points(|column| column.rwnd_bytes), Color::Blue),
    ]
}

fn round_trip(history: &RunHistory) -> Option<Row> {
    let points: Vec<Option<u64>> = history.columns().iter().map(|column| column.rtt_us).collect();
    let last = points.iter().rev().flatten().next().copied()?;
    let most = points.iter().flatten().max().copied()?;
    let value = alone(Kind::Time, Some(last as f64 * 1e3));
    Some(Row { name: "RTT", value, drawn: Drawn::Curve { points, most, colour: Color::Magenta } })
}

fn missing(history: &RunHistory) -> Option<Row> {
    let percent = history.missing_percent()?;
    let words = "of the datagrams: lost, or still under way".to_owned();
    Some(Row { name: "missing", value: alone(Kind::Percent, Some(percent)), drawn: Drawn::Words(words) })
}

/// How late the measurement itself was at most; nothing in virtual time, where nothing is late.
fn lateness(history: &RunHistory, path: Option<Duration>) -> Option<Row> {
    let samples = history.late_samples();
    let worst = path.max(samples).filter(|late| !late.is_zero())?;
    let text = |late: Option<Duration>| alone(Kind::Time, late.map(|late| late.as_nanos() as f64));
    let words = match path {
        Some(_) => format!("at most so far: path {}, samples {}", text(path), text(samples)),
        None => format!("at most so far: samples {}", text(samples)),
    };
    Some(Row { name: "late", value: text(Some(worst)), drawn: Drawn::Words(words) })
}

fn states(history: &RunHistory) -> Option<Row> {
    let states: Vec<Option<CaState>> = history.columns().iter().map(|column| column.state).collect();
    let last = states.iter().rev().flatten().next().copied()?;
    let band = states.into_iter().map(|state| state.map(|state| (shown(state).1, shown(state).2)));
    Some(Row { name: "state", value: shown(last).0.to_owned(), drawn: Drawn::Band(band.collect()) })
}

/// The state's name, letter and colour.
const fn shown(state: CaState) -> (&'static str, char, Color) {
    match state {
        CaState::Open => ("Open", 'o', Color::Green),
        CaState::Disorder => ("Disorder", 'd', Color::Cyan),
        CaState::Cwr => ("CWR", 'w', Color::Blue),
        CaState::Recovery => ("Recovery", 'R', Color::Yellow),
        CaState::Loss => ("Loss", 'L', Color::Red),
    }
}

/// What limited the first stream in each column, and in words what does now.
fn causes(snapshot: &Snapshot) -> Vec<Row> {
    let Some(last) = snapshot.causes.last().map(cause_of) else { return Vec::new() };
    let band = (0..COLUMNS).map(|column| {
        let middle_us = snapshot.history.first_us()
            + snapshot.history.span_us() / COLUMNS as u64 * column as u64
            + snapshot.history.span_us() / COLUMNS as u64 / 2;
        let stands = |span: &&CauseSpan| (span.from_us..span.to_us).contains(&middle_us);
        let cause = snapshot.causes.iter().find(stands).map(cause_of);
        cause.map(|cause| (cause::letter(cause), ansi(cause::colour(cause.0))))
    });
    let words = Drawn::Words(format!("{} = {}", cause::letter(last), cause::meaning(last)));
    vec![
        Row { name: "limited by", value: last.0.as_str().to_owned(), drawn: Drawn::Band(band.collect()) },
        Row { name: "", value: String::new(), drawn: words },
    ]
}

fn cause_of(span: &CauseSpan) -> Cause {
    (span.limited_by, span.cwnd_cause)
}

/// The colour of an ANSI number from 30 to 37.
const fn ansi(number: u8) -> Color {
    match number {
        31 => Color::Red,
        32 => Color::Green,
        33 => Color::Yellow,
        34 => Color::Blue,
        35 => Color::Magenta,
        36 => Color::Cyan,
        _ => Color::Gray,
    }
}

/// The latest first, as many as fit.
fn ended_lines<'a>(state: &LiveState, height: u16, paint: &Paint) -> Vec<Line<'a>> {
    let latest = state.ended.iter().rev().take(usize::from(height));
    latest.map(|ended| ended_line(ended, paint)).collect()
}

fn ended_line<'a>(ended: &Ended, paint: &Paint) -> Line<'a> {
    let (mark, colour) = if ended.note.is_empty() { ("✓", Color::Green) } else { ("!", Color::Red) };
    let rate = alone(Kind::Rate, ended.mean_bps.map(|bps| bps as f64));
    let took = format!("{:.1} s", ended.took.as_secs_f64());
    Line::from(vec![
        Span::styled(format!(" {mark} "), paint.of(colour)),
        Span::raw(format!("{rate:>12}  {took:>8}  {}", ended.label)),
        Span::styled(
            if ended.note.is_empty() { String::new() } else { format!("  {}", ended.note) },
            paint.of(colour),
        ),
    ])
}

fn footer<'a>(mode: Mode, paint: &Paint) -> Line<'a> {
    match mode {
        Mode::Asking => Line::styled(
            " Stop the experiment? Finished runs are kept. y: stop, any other key: continue",
            paint.of(Color::Yellow),
        ),
        Mode::Watching | Mode::Help => Line::styled(" q stop   b leave the view   ? help", paint.faint()),
    }
}

fn draw_help(frame: &mut Frame<'_>, state: &LiveState) {
    let whole = frame.area();
    let area = Rect {
        x: 2.min(whole.width),
        y: 1.min(whole.height),
        width: whole.width.saturating_sub(4),
        height: whole.height.saturating_sub(2),
    };
    frame.render_widget(Clear, area);
    let text = HELP
        .replace("BACKEND", if state.backend == "sim" { "the simulator" } else { "this machine's kernel" });
    frame.render_widget(
        Paragraph::new(text).wrap(Wrap { trim: false }).block(Block::bordered().title(" help ")),
        area,
    );
}

fn alone(kind: Kind, value: Option<f64>) -> String {
    value.map_or_else(|| MISSING.to_owned(), |value| kind.alone(value))
}

const HELP: &str = "\
Top: finished runs of all runs. Frame: the current run on BACKEND; its whole time goes from left to right. Bottom: finished \
runs, with their average rate.

received    payload read by the receiving applications; full height is the largest value so far
in flight   sent but not acknowledged, all streams; same scale as cwnd and rwnd
cwnd, rwnd  congestion window of the sender, window advertised by the receiver
RTT         smoothed, the largest of all streams
state       o Open, d Disorder, w CWR, R Recovery, L Loss
limited by  of the first stream, about a second behind
late        how late packets left the path and samples were taken; too late makes a run invalid

The table at the end leaves slow start out and is the result.

q: stop (asks first). b: leave the view, the runs continue. Ctrl-C: stop now. Finished runs are kept; --resume continues. \
Any key closes this help.";

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
