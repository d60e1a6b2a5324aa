//! The live view as lines of a terminal of any size: the table of connections, and one of them. No information is in a colour alone.

use super::state::{CURVE, Mode, Sort};
use crate::terminal::visible;
use pipefill_analysis::findings::connections::{ConnectionFinding, Connections};
use pipefill_core::cell::Direction;
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::TcpSample;
use pipefill_observe::carried;
use pipefill_report::band::{BandAxis, event_mark, event_sentence};
use pipefill_report::cause;
use pipefill_report::connections::{exact, limit, notes};
use pipefill_report::quantity::{MISSING, QuantityKind};
use pipefill_report::verdicts::{in_a_sentence, wanted};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Sparkline, Table, TableState, Wrap};
use std::collections::HashMap;

/// The width from which on there is room for the curve, and the width of an IPv4 address with its port.
const WITH_CURVE: u16 = 92;
const PEER: u16 = 21;
/// Blocks of rising height.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns of a name in the view of one connection.
const NAME: u16 = 14;
const VALUE: u16 = 14;
/// Columns of a holder with its cause.
const WORDS: u16 = 22;
/// Events with a line.
const EVENTS: usize = 4;

/// All that is drawn.
#[derive(Debug)]
pub(super) struct Screen {
    pub(super) found: Connections,
    /// By both ends.
    pub(super) curves: HashMap<(String, String), Vec<u64>>,
    /// Of the connection that is open.
    pub(super) samples: Vec<TcpSample>,
    pub(super) selected: usize,
    pub(super) sort: Sort,
    pub(super) filter: String,
    pub(super) is_paused: bool,
    pub(super) mode: Mode,
    has_colour: bool,
}

impl Screen {
    pub(super) fn new(has_colour: bool) -> Self {
        Self {
            found: Connections::new(),
            curves: HashMap::new(),
            samples: Vec::new(),
            selected: 0,
            sort: Sort::Rate,
            filter: String::new(),
            is_paused: false,
            mode: Mode::Table,
            has_colour,
        }
    }

    fn paint(&self, connection: &ConnectionFinding) -> Style {
        style(connection.verdict.limited_by.unwrap_or(LimitedBy::Unknown), self.has_colour)
    }

    fn opened(&self) -> Option<&ConnectionFinding> {
        let Mode::Connection(local, remote) = &self.mode else { return None };
        self.found
            .connections
            .iter()
            .find(|connection| connection.local == *local && connection.remote == *remote)
    }
}

/// Draws `screen` over the whole of `frame`.
pub(super) fn draw(frame: &mut Frame<'_>, screen: &Screen) {
    let [head, body, note, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Line::styled(heading(screen), bold), head);
    match &screen.mode {
        Mode::Connection(..) => draw_connection(frame, body, screen),
        _ => draw_table(frame, body, screen),
    }
    frame.render_widget(Line::raw(notes(&screen.found)), note);
    frame.render_widget(Line::raw(footer(screen)), foot);
    if screen.mode == Mode::Help {
        draw_help(frame);
    }
}

fn heading(screen: &Screen) -> String {
    let filter = if screen.filter.is_empty() { "all connections" } else { &screen.filter };
    let paused = if screen.is_paused { ", paused" } else { "" };
    format!("pipefill watch: {filter}, by {}{paused}", screen.sort.name())
}

fn footer(screen: &Screen) -> String {
    match &screen.mode {
        Mode::Table => "Enter open  s sort  / filter  p pause  ? help  q quit".to_owned(),
        Mode::Connection(..) => "Esc back  p pause  q back".to_owned(),
        Mode::Filter(text, None) => format!("filter: {text}_"),
        Mode::Filter(text, Some(wrong)) => format!("filter: {text}_   {wrong}"),
        Mode::Help => "Esc back".to_owned(),
    }
}

fn draw_table(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let rows = screen.found.connections.iter().map(|connection| row(connection, screen));
    let curve = if area.width < WITH_CURVE { 0 } else { CURVE as u16 };
    let widths = [
        Constraint::Min(PEER),
        Constraint::Length(3),
        Constraint::Max(16),
        Constraint::Length(11),
        Constraint::Length(curve),
        Constraint::Length(7),
        Constraint::Length(5),
        Constraint::Length(17),
    ];
    let names = ["peer", "", "process", "       rate", "", "    rtt", " retr", "limited by"];
    let head = Row::new(names.map(Cell::from)).style(Style::new().add_modifier(Modifier::BOLD));
    let table = Table::new(rows, widths)
        .header(head)
        .column_spacing(1)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::default().with_selected(Some(screen.selected));
    frame.render_stateful_widget(table, area, &mut state);
}

fn row<'a>(connection: &ConnectionFinding, screen: &Screen) -> Row<'a> {
    let way = match connection.direction {
        Some(Direction::Forward) => "out",
        Some(Direction::Reverse) => "in",
        None => "",
    };
    let curve = screen.curves.get(&(connection.local.clone(), connection.remote.clone()));
    let now = curve.and_then(|curve| curve.last().copied()).or(connection.rate_bps);
    let process = connection.process.as_deref().unwrap_or(MISSING);
    // A UDP socket may have no peer, and has no rate: its own address and its drops stand there.
    let (ends, amount) = match &connection.udp_socket {
        Some(report) => (format!("udp {}", connection.local), format!("{} drops", report.socket_drops)),
        None => (connection.remote.clone(), figure(QuantityKind::Rate, now, 1)),
    };
    Row::new([
        Cell::from(visible(&ends, false).into_owned()),
        Cell::from(way),
        Cell::from(visible(process, false).into_owned()),
        Cell::from(format!("{amount:>11}")),
        Cell::from(curve.map(|curve| blocks(curve)).unwrap_or_default()),
        Cell::from(format!("{:>7}", figure(QuantityKind::Time, connection.rtt_us, 1_000))),
        Cell::from(format!(
            "{:>5}",
            connection.retransmits.map_or_else(|| MISSING.to_owned(), |count| count.to_string())
        )),
        Cell::from(Span::styled(limit(connection), screen.paint(connection))),
    ])
}

fn figure(kind: QuantityKind, value: Option<u64>, factor: u64) -> String {
    value.map_or_else(|| MISSING.to_owned(), |value| kind.alone(value.saturating_mul(factor) as f64))
}

/// A curve in blocks, the largest value as the highest.
fn blocks(values: &[u64]) -> String {
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    let block = |&value: &u64| BLOCKS[((value as f64 / most as f64 * 7.0).round() as usize).min(7)];
    values.iter().map(block).collect()
}

fn draw_connection(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let Some(connection) = screen.opened() else {
        frame.render_widget(Paragraph::new("This connection has closed."), area);
        return;
    };
    let process = match (&connection.process, connection.pid) {
        (Some(name), Some(pid)) => format!("  {name} ({pid})"),
        _ => String::new(),
    };
    let title =
        visible(&format!(" {} to {}{process} ", connection.local, connection.remote), false).into_owned();
    let block = Block::bordered().title(title);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let held =
        held_when(connection, usize::from(inner.width.saturating_sub(NAME + VALUE + 2)), screen.has_colour);
    let shares = connection.verdict.time.as_ref().map_or(0, Vec::len) as u16;
    let [curves, band, limits, words] = Layout::vertical([
        Constraint::Length(7),
        Constraint::Length(held.len() as u16),
        Constraint::Length(shares + 1),
        Constraint::Min(0),
    ])
    .areas(inner);
    draw_curves(frame, curves, screen, connection);
    frame.render_widget(Paragraph::new(held), band);
    draw_shares(frame, limits, screen, connection);
    frame.render_widget(Paragraph::new(in_words(connection)).wrap(Wrap { trim: false }), words);
}

/// A line for each: its name, its value now, and its curve; windows and what is in flight have one scale.
fn draw_curves(frame: &mut Frame<'_>, area: Rect, screen: &Screen, connection: &ConnectionFinding) {
    let samples = &screen.samples;
    let sends = connection.direction != Some(Direction::Reverse);
    let of =
        |field: fn(&TcpSample) -> Option<u64>| -> Vec<Option<u64>> { samples.iter().map(field).collect() };
    let rates: Vec<Option<u64>> = rates(samples).into_iter().map(Some).collect();
    let curves: Vec<(&str, QuantityKind, u64, Vec<Option<u64>>)> = if sends {
        vec![
            ("rate", QuantityKind::Rate, 1, rates),
            ("in flight", QuantityKind::Bytes, 1, of(|sample| Some(sample.info.unacked_bytes))),
            ("cwnd", QuantityKind::Bytes, 1, of(|sample| sample.info.cwnd_bytes)),
            ("peer's window", QuantityKind::Bytes, 1, of(|sample| sample.info.rwnd_bytes.map(u64::from))),
            ("not sent", QuantityKind::Bytes, 1, of(|sample| sample.info.notsent_bytes.map(u64::from))),
            ("round trip", QuantityKind::Time, 1_000, of(|sample| sample.info.srtt_us.map(u64::from))),
            ("retransmits", QuantityKind::Count, 1, of(|sample| Some(u64::from(sample.info.retransmits)))),
        ]
    } else {
        vec![
            ("rate", QuantityKind::Rate, 1, rates),
            ("window", QuantityKind::Bytes, 1, of(|sample| sample.info.local_rwnd_bytes.map(u64::from))),
            ("not read", QuantityKind::Bytes, 1, of(|sample| sample.rmem_alloc_bytes)),
            ("round trip", QuantityKind::Time, 1_000, of(|sample| sample.info.rcv_rtt_us.map(u64::from))),
            (
                "out of order",
                QuantityKind::Count,
                1,
                of(|sample| sample.info.rcv_ooo_segments.map(u64::from)),
            ),
        ]
    };
    // In flight is compared with the windows.
    let windows = curves.iter().filter(|(name, ..)| ["in flight", "cwnd", "peer's window"].contains(name));
    let scale = windows.flat_map(|(.., values)| values.iter().flatten()).max().copied();
    for (line, (name, kind, factor, values)) in (area.y..area.bottom()).zip(&curves) {
        let line = Rect { y: line, height: 1, ..area };
        let [label, value, curve] =
            Layout::horizontal([Constraint::Length(NAME), Constraint::Length(VALUE), Constraint::Min(0)])
                .areas(line);
        let last = values.last().copied().flatten();
        frame.render_widget(Line::raw(*name), label);
        frame.render_widget(Line::raw(format!("{:>12}", figure(*kind, last, *factor))), value);
        let shown = values.iter().rev().take(usize::from(curve.width)).rev().map(|value| value.unwrap_or(0));
        let mut drawn = Sparkline::default().data(shown);
        if ["in flight", "cwnd", "peer's window"].contains(name) {
            drawn = drawn.max(scale.unwrap_or(1).max(1));
        }
        frame.render_widget(drawn, curve);
    }
}

/// Payload since the previous sample in both directions, bits per second.
fn rates(samples: &[TcpSample]) -> Vec<u64> {
    let rate = |pair: &[TcpSample]| {
        let [from, to] = pair else { return 0 };
        let bytes = carried(to).saturating_sub(carried(from));
        bytes.saturating_mul(8_000_000) / to.t_us.saturating_sub(from.t_us).max(1)
    };
    samples.windows(2).map(rate).collect()
}

/// Who held the connection when, a letter a column, the marks of events below it, and the events in words.
fn held_when<'a>(connection: &ConnectionFinding, columns: usize, has_colour: bool) -> Vec<Line<'a>> {
    let Some(axis) = BandAxis::of(connection.timeline.iter(), columns) else { return Vec::new() };
    let holders = axis.holders(&connection.timeline.iter().collect::<Vec<_>>());
    let letter = |holder: &Option<cause::Cause>| match *holder {
        Some(holder) => Span::styled(cause::letter(holder).to_string(), style(holder.0, has_colour)),
        None => Span::raw("·"),
    };
    let name = |name: &str| format!("{name:<width$}", width = usize::from(NAME + VALUE));
    let span = figure(QuantityKind::Time, Some(axis.to_us.saturating_sub(axis.from_us)), 1_000);
    let band = [Span::raw(name(&format!("held by, {span}")))].into_iter().chain(holders.iter().map(letter));
    let mut lines = vec![Line::from_iter(band)];
    let marks = axis.marks(&connection.times.events);
    lines.extend((!marks.is_empty()).then(|| Line::raw(format!("{}{marks}", name("events")))));
    lines.extend(connection.times.events.iter().take(EVENTS).map(|event| {
        Line::raw(format!("  {}  {}", event_mark(event.kind), event_sentence(event, axis.from_us)))
    }));
    lines
}

/// A line for each holder of the time, the longest first, with the letter that it has in the band.
fn draw_shares(frame: &mut Frame<'_>, area: Rect, screen: &Screen, connection: &ConnectionFinding) {
    let time = connection.verdict.time.iter().flatten();
    for (line, held) in (area.y..area.bottom()).zip(time) {
        let width = f64::from(area.width.saturating_sub(WORDS + VALUE)) * held.share;
        let cause = held.cause.map_or_else(String::new, |cause| format!(" {}", cause.as_str()));
        let text = format!(
            "{} {:<words$}{:>12}  {}",
            cause::letter((held.limited_by, held.cause)),
            format!("{}{cause}", held.limited_by.as_str()),
            QuantityKind::Percent.alone(held.share * 100.0),
            "█".repeat(width.round() as usize),
            words = usize::from(WORDS) - 2
        );
        let style = style(held.limited_by, screen.has_colour);
        frame.render_widget(Line::styled(text, style), Rect { y: line, height: 1, ..area });
    }
}

fn style(limit: LimitedBy, has_colour: bool) -> Style {
    let number = cause::colour(limit);
    let colour = Color::Indexed(if number >= 90 { 8 } else { number - 30 });
    if has_colour { Style::new().fg(colour) } else { Style::new() }
}

fn in_words(connection: &ConnectionFinding) -> String {
    let mut text = connection.verdict.sentence.clone().unwrap_or_default();
    text.extend(exact(connection).map(|exact| format!("\n\n{exact}")));
    for advice in wanted(&connection.verdict) {
        text.push_str(&format!("\n\n{}", in_a_sentence(advice)));
        for command in &advice.commands {
            text.push_str(&format!("\n  {command}"));
        }
    }
    visible(&text, false).into_owned()
}

fn draw_help(frame: &mut Frame<'_>) {
    let lines = [
        "Enter      one connection: windows, round trip, limits, advice",
        "s          sort by rate, round trip, retransmits, limit",
        "/          filter, as ss: dst 10.0.0.0/8 and dport = :443",
        "p, space   pause",
        "Up, Down   select; j and k too",
        "q          quit",
        "",
        "out, in    this host sends most of the data, or receives it",
        "retr       segments sent again over the connection's life",
    ];
    let area = frame.area();
    let (width, height) = (area.width.min(68), area.height.min(lines.len() as u16 + 2));
    let place =
        Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    frame.render_widget(Clear, place);
    let text: Vec<Line<'_>> = lines.into_iter().map(Line::raw).collect();
    frame.render_widget(Paragraph::new(text).block(Block::bordered().title(" Keys ")), place);
}
