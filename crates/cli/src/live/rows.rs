//! The rows of the live view's frame: the name, the present value and the curve of each.

use super::flow::{COLUMNS, Column, FlowHistory};
use super::history::RunHistory;
use super::state::{CurrentRun, Snapshot};
use pipefill_analysis::judge::Span as CauseSpan;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::tcp_info::CaState;
use pipefill_report::cause::{self, Cause};
use pipefill_report::quantity::{MISSING, QuantityKind};
use ratatui::style::Color;
use std::time::Duration;

/// Flows that have a line; more leave no room on a terminal of 24 lines.
const FLOWS: usize = 6;

/// A line of the run's frame.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) value: String,
    /// What else stands there now.
    pub(super) beside: String,
    pub(super) drawn: Drawn,
}

/// What stands to the right of a value.
pub(super) enum Drawn {
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

impl Row {
    fn new(name: &str, value: String, drawn: Drawn) -> Self {
        Self { name: name.to_owned(), value, beside: String::new(), drawn }
    }
}

/// The rows of a run, from above: of its flows, then of one of these, then of the run.
pub(super) fn rows(snapshot: &Snapshot, current: &CurrentRun) -> Vec<Row> {
    let history = &snapshot.history;
    let Some(shown) = history.shown() else { return Vec::new() };
    let is_only = history.flows().len() == 1;
    let mut rows = if is_only { vec![received(shown)] } else { of_flows(history, shown) };
    rows.extend(windows(shown));
    rows.extend(round_trip(shown));
    rows.extend(missing(shown).filter(|_| is_only));
    rows.extend(states(shown));
    rows.extend(causes(snapshot));
    let whole = Duration::from_micros(history.span_us());
    rows.extend(lateness(history, current.late_path));
    let value = format!("{:.1} of {:.1} s", current.passed.min(whole).as_secs_f64(), whole.as_secs_f64());
    rows.push(Row::new("time", value, Drawn::Words(String::new())));
    rows
}

fn received(flow: &FlowHistory) -> Row {
    let points = flow.received_bps();
    let most = points.iter().flatten().max().copied().unwrap_or(0);
    rate("received", points, most)
}

fn rate(name: &str, points: Vec<Option<u64>>, most: u64) -> Row {
    let last = points.iter().rev().flatten().next().map(|&bps| bps as f64);
    Row::new(name, alone(QuantityKind::Rate, last), Drawn::Curve { points, most, colour: Color::Green })
}

/// A line for each flow, and the sum of each direction that several of them have; the rates to one scale.
fn of_flows(history: &RunHistory, shown: &FlowHistory) -> Vec<Row> {
    let several = |direction: &Direction| history.of_direction(*direction).count() > 1;
    let sums: Vec<_> = Direction::ALL
        .into_iter()
        .filter(several)
        .map(|direction| (direction, history.received_bps(direction)))
        .collect();
    let listed = &history.flows()[..history.flows().len().min(FLOWS)];
    let rates: Vec<Vec<Option<u64>>> = listed.iter().map(FlowHistory::received_bps).collect();
    let all = rates.iter().chain(sums.iter().map(|(_, points)| points));
    let most = all.flatten().flatten().max().copied().unwrap_or(0);
    let mut rows = vec![heading()];
    rows.extend(listed.iter().zip(rates).map(|(flow, points)| of_flow(flow, points, most)));
    if history.flows().len() > FLOWS {
        let words = format!("{} more flows", history.flows().len() - FLOWS);
        rows.push(Row::new("and", words, Drawn::Words(String::new())));
    }
    let sum = |(direction, points): (Direction, _)| Row {
        beside: beside("", ""),
        ..rate(&format!("all {}", direction.arrow()), points, most)
    };
    rows.extend(sums.into_iter().map(sum));
    rows.push(Row::new("", String::new(), Drawn::Words(format!("below: flow {}", shown.name))));
    rows
}

fn heading() -> Row {
    let words = Drawn::Words("over time".to_owned());
    Row { beside: beside("RTT", "retr, missing"), ..Row::new("flow", "received".to_owned(), words) }
}

/// A flow's rate, round trip, and what was retransmitted or did not arrive; of pings the curve is the round trip.
fn of_flow(flow: &FlowHistory, points: Vec<Option<u64>>, most: u64) -> Row {
    let rtt = flow.rtt_us().map_or_else(String::new, |us| alone(QuantityKind::Time, Some(us as f64 * 1e3)));
    let lost = match flow.protocol {
        Protocol::Tcp => flow.retransmits().map(|segments| format!("{segments} retr")),
        Protocol::Udp => {
            flow.missing_percent().map(|percent| format!("{} missing", QuantityKind::Percent.alone(percent)))
        }
        Protocol::Ping => Some(format!("{} lost", flow.lost_pings())),
    };
    let row = match flow.protocol {
        Protocol::Ping => Row { name: flow.name.clone(), value: MISSING.to_owned(), ..trips(flow) },
        Protocol::Tcp | Protocol::Udp => rate(&flow.name, points, most),
    };
    Row { beside: beside(&rtt, &lost.unwrap_or_default()), ..row }
}

fn beside(rtt: &str, lost: &str) -> String {
    format!("{rtt:>10}{lost:>15}")
}

/// In flight and both windows to one measure: what is full looks full. A larger window is as high as there is room.
fn windows(flow: &FlowHistory) -> Vec<Row> {
    let points = |value: fn(&Column) -> Option<u64>| -> Vec<Option<u64>> {
        flow.columns().iter().map(value).collect()
    };
    let in_flight = points(|column| column.in_flight_bytes);
    let cwnd = points(|column| column.cwnd_bytes);
    let Some(most) = in_flight.iter().chain(&cwnd).flatten().max().copied() else { return Vec::new() };
    let row = |name, points: Vec<Option<u64>>, colour| {
        let last = points.iter().rev().flatten().next().map(|&bytes| bytes as f64);
        Row::new(name, alone(QuantityKind::Bytes, last), Drawn::Curve { points, most, colour })
    };
    vec![
        row("in flight", in_flight, Color::Cyan),
        row("cwnd", cwnd, Color::Yellow),
        row("rwnd", points(|column| column.rwnd_bytes), Color::Blue),
    ]
}

fn round_trip(flow: &FlowHistory) -> Option<Row> {
    let last = flow.rtt_us()? as f64 * 1e3;
    Some(Row { name: "RTT".to_owned(), value: alone(QuantityKind::Time, Some(last)), ..trips(flow) })
}

/// The round trips over time, without a name.
fn trips(flow: &FlowHistory) -> Row {
    let points: Vec<Option<u64>> = flow.columns().iter().map(|column| column.rtt_us).collect();
    let most = points.iter().flatten().max().copied().unwrap_or(0);
    Row::new("", String::new(), Drawn::Curve { points, most, colour: Color::Magenta })
}

fn missing(flow: &FlowHistory) -> Option<Row> {
    let percent = flow.missing_percent()?;
    let words = "of the datagrams: lost, or still under way".to_owned();
    Some(Row::new("missing", alone(QuantityKind::Percent, Some(percent)), Drawn::Words(words)))
}

/// How late the measurement itself was at most; nothing in virtual time, where nothing is late.
fn lateness(history: &RunHistory, path: Option<Duration>) -> Option<Row> {
    let samples = history.late_samples();
    let worst = path.max(samples).filter(|late| !late.is_zero())?;
    let text = |late: Option<Duration>| alone(QuantityKind::Time, late.map(|late| late.as_nanos() as f64));
    let words = match path {
        Some(_) => format!("at most so far: path {}, samples {}", text(path), text(samples)),
        None => format!("at most so far: samples {}", text(samples)),
    };
    Some(Row::new("late", text(Some(worst)), Drawn::Words(words)))
}

fn states(flow: &FlowHistory) -> Option<Row> {
    let states: Vec<Option<CaState>> = flow.columns().iter().map(|column| column.state).collect();
    let last = states.iter().rev().flatten().next().copied()?;
    let band = states.into_iter().map(|state| state.map(|state| (shown(state).1, shown(state).2)));
    Some(Row::new("state", shown(last).0.to_owned(), Drawn::Band(band.collect())))
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

/// What limited the shown flow's first stream in each column, and in words what does now.
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
        Row::new("limited by", last.0.as_str().to_owned(), Drawn::Band(band.collect())),
        Row::new("", String::new(), words),
    ]
}

fn cause_of(span: &CauseSpan) -> Cause {
    (span.limited_by, span.cause.or(span.cwnd_cause.map(Into::into)))
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

fn alone(kind: QuantityKind, value: Option<f64>) -> String {
    value.map_or_else(|| MISSING.to_owned(), |value| kind.alone(value))
}
