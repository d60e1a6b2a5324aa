//! The live view as lines of a terminal of any size. No information is in a colour alone.

use super::rows::{Drawn, Row, rows};
use super::state::{CurrentRun, Ended, LiveState};
use pipefill_report::quantity::{MISSING, QuantityKind};
use pipefill_runs::duration_in_words;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Gauge, Paragraph, Sparkline, Wrap};
use std::time::Duration;

/// Columns of a row's name, and of its value now.
const NAME: u16 = 12;
const VALUE: u16 = 13;
/// Lines of the run's frame at least: two of border, ten rows.
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
    let rows = state.current().and_then(|(current, _)| Some(rows(current.snapshot.as_ref()?, current)));
    let needed = rows.as_ref().map_or(0, |rows| u16::try_from(rows.len() + 2).unwrap_or(u16::MAX));
    let lines = [1, 1, RUN_LINES.max(needed)].map(Constraint::Length);
    let [head, bar, run, ended, foot] =
        Layout::vertical([lines[0], lines[1], lines[2], Constraint::Min(0), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(header(state, head.width, &paint), head);
    frame.render_widget(progress(state, &paint), bar);
    if let Some((current, others)) = state.current() {
        draw_run(frame, run, current, others, rows, &paint);
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
        duration_in_words(estimate.left(passed))
    );
    let used = left.chars().count() + right.chars().count();
    let gap = " ".repeat(usize::from(width).saturating_sub(used).max(1));
    let bold = Style::new().add_modifier(Modifier::BOLD);
    Line::from(vec![Span::styled(left, bold), Span::raw(gap), Span::styled(right, paint.faint())])
}

/// How many of all runs have ended, and how many of those are invalid.
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

/// `rows` are `None` before the first row of the record.
fn draw_run(
    frame: &mut Frame<'_>,
    area: Rect,
    current: &CurrentRun,
    others: usize,
    rows: Option<Vec<Row>>,
    paint: &Paint,
) {
    let others = if others > 0 { format!(" (and {others} more)") } else { String::new() };
    let block = Block::bordered().title(format!(" {}{others} ", current.label)).border_style(paint.faint());
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let Some(rows) = rows else {
        frame.render_widget(Paragraph::new("connecting"), inner);
        return;
    };
    for (number, row) in (0..inner.height).zip(rows) {
        let line = Rect { y: inner.y + number, height: 1, ..inner };
        draw_row(frame, line, row, paint);
    }
}

fn draw_row(frame: &mut Frame<'_>, area: Rect, row: Row, paint: &Paint) {
    let beside_width = u16::try_from(row.beside.chars().count()).unwrap_or(u16::MAX);
    let [name, value, beside, _, rest] = Layout::horizontal([
        Constraint::Length(NAME),
        Constraint::Length(VALUE),
        Constraint::Length(beside_width),
        Constraint::Length(2),
        Constraint::Min(0),
    ])
    .areas(area);
    frame.render_widget(Line::styled(row.name, paint.faint()), name);
    frame.render_widget(Line::from(row.value).right_aligned(), value);
    frame.render_widget(Line::from(row.beside), beside);
    let width = usize::from(rest.width);
    match row.drawn {
        Drawn::Curve { points, most, colour } => {
            let points = thinned(&points, width, |of| of.iter().flatten().max().copied());
            let curve = Sparkline::default().data(points).max(most.max(1)).style(paint.of(colour));
            frame.render_widget(curve, rest);
        }
        Drawn::Band(letters) => {
            let letters = thinned(&letters, width, |of| of.iter().rev().flatten().next().copied());
            let span = |column: Option<(char, Color)>| match column {
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
    summary: impl Fn(&[Option<T>]) -> Option<T>,
) -> Vec<Option<T>> {
    let edge = |column: usize| column * points.len() / width.max(1);
    (0..width).map(|column| summary(&points[edge(column)..edge(column + 1).max(edge(column) + 1)])).collect()
}

/// The runs that ended, the latest first, as many as fit.
fn ended_lines<'a>(state: &LiveState, height: u16, paint: &Paint) -> Vec<Line<'a>> {
    let latest = state.ended.iter().rev().take(usize::from(height));
    latest.map(|ended| ended_line(ended, paint)).collect()
}

fn ended_line<'a>(ended: &Ended, paint: &Paint) -> Line<'a> {
    let (mark, colour) = if ended.note.is_empty() { ("✓", Color::Green) } else { ("!", Color::Red) };
    let rate = mean(ended.mean_bps);
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

/// Of both directions where data went both ways.
fn mean(mean_bps: [Option<u64>; 2]) -> String {
    let rate = |bps: u64| QuantityKind::Rate.alone(bps as f64);
    match mean_bps {
        [Some(forward), Some(reverse)] => format!("→ {}  ← {}", rate(forward), rate(reverse)),
        [forward, reverse] => forward.or(reverse).map_or_else(|| MISSING.to_owned(), rate),
    }
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
    let text = HELP.replace(
        "BACKEND",
        match state.backend.as_str() {
            "sim" => "the simulator",
            "hosts" => "the hosts",
            _ => "this machine's kernel",
        },
    );
    frame.render_widget(
        Paragraph::new(text).wrap(Wrap { trim: false }).block(Block::bordered().title(" help ")),
        area,
    );
}

const HELP: &str = "\
Top: finished runs of all runs. Frame: the current run on BACKEND; its whole time goes from left to right. Bottom: finished \
runs, with their average rate.

received    payload read by the receiving applications; full height is the largest value so far
→ ←         to the receiver, back to the sender; with several flows a line for each, and the sum of each direction; the \
lines below these are of one flow
retr        segments retransmitted; missing: datagrams lost or under way
in flight   sent but not acknowledged, all streams; same scale as cwnd and rwnd
cwnd, rwnd  congestion window of the sender, window advertised by the receiver
RTT         smoothed, the largest of all streams
state       o Open, d Disorder, w CWR, R Recovery, L Loss
limited by  of the flow's first stream, about a second behind
late        how late packets left the path and samples were taken; too late makes a run invalid

The table at the end leaves slow start out and is the result.

q: stop (asks first). b: leave the view, the runs continue. Ctrl-C: stop now. Finished runs are kept; --resume continues. \
Any key closes this help.";

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
