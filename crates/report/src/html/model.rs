//! The data of the page as its script reads it: `web/src/model.ts` has the same names.
//!
//! Never: a figure that the markup or the report's JSON does not have too, but for the curves.

use super::charts::Charts;
use super::{Page, RunPart};
use pipefill_analysis::band::{Band, Stay};
use pipefill_analysis::diagnosis::{CwndCause, Span};
use pipefill_analysis::metrics::RunMetrics;
use pipefill_analysis::series::{Quantity, RunSeries};
use pipefill_core::tcp_info::CaState;
use serde::Serialize;

/// Everything.
#[derive(Debug, Serialize)]
pub(super) struct Data<'a> {
    charts: &'a Charts,
    runs: Vec<Run>,
}

/// One run. Times are microseconds since its first byte.
#[derive(Debug, Serialize)]
struct Run {
    cell: String,
    label: String,
    repeat: u32,
    valid: bool,
    goodput_bps: Option<u64>,
    length_us: u64,
    /// Of each bucket a curve has its least and its largest value.
    bucket_us: u64,
    curves: Vec<Curve>,
    /// Time, then segments: fast, after a time-out, probes, needless, of no known kind.
    retransmits: Vec<[u64; 6]>,
    /// Time and packets.
    drops: Vec<[u64; 2]>,
    /// Stream, from, to, state.
    states: Vec<(u32, u64, u64, &'static str)>,
    /// Stream, from, to, limit, and why where that is the congestion window.
    limits: Vec<(u32, u64, u64, &'static str, Option<&'static str>)>,
}

/// Points as differences: each time since the one before, each value as it is.
#[derive(Debug, Serialize)]
struct Curve {
    quantity: String,
    times: Vec<u64>,
    values: Vec<u64>,
}

/// The data of `page`.
pub(super) fn of<'a>(page: &Page<'_>, charts: &'a Charts) -> Data<'a> {
    let several = page.experiment.cells.iter().any(|cell| cell.runs > 1);
    let run = |part: &RunPart| {
        let metrics = page.metrics(part)?;
        let is_its = |cell: &&pipefill_analysis::experiment::CellResult| {
            cell.run_values.iter().any(|run| run.directory == metrics.directory)
        };
        let cell = page.experiment.cells.iter().find(is_its)?;
        let repeat = if several { format!(", run {}", metrics.repeat) } else { String::new() };
        let label = format!("{}{repeat}", cell.coordinates());
        Some(Run::of(crate::sheet::anchor(cell), label, metrics, &part.series))
    };
    Data { charts, runs: page.runs.iter().filter_map(run).collect() }
}

impl Run {
    fn of(cell: String, label: String, metrics: &RunMetrics, series: &RunSeries) -> Self {
        let since = |us: u64| us.saturating_sub(series.span.from_us);
        let states = series.states.iter().flat_map(|(stream, stays)| {
            stays.iter().map(|stay| (*stream, since(stay.from_us), since(stay.to_us), state_word(stay.value)))
        });
        let retransmit = |mark: &pipefill_analysis::series::Retransmitted| {
            let [fast, rto, tlp, spurious] = mark.by_kind;
            [since(mark.t_us), fast, rto, tlp, spurious, mark.sampled]
        };
        Self {
            cell,
            label,
            repeat: metrics.repeat,
            valid: metrics.is_valid(),
            goodput_bps: metrics.goodput_bps,
            length_us: series.span.length_us(),
            bucket_us: series.bucket_us,
            curves: series.curves.iter().map(|curve| Curve::of(curve, since)).collect(),
            retransmits: series.retransmitted.iter().map(retransmit).collect(),
            drops: series.drops.iter().map(|drop| [since(drop.t_us), drop.packets]).collect(),
            states: states.collect(),
            limits: limits(metrics, series)
                .into_iter()
                .map(|span| {
                    let why = span.cwnd_cause.map(CwndCause::as_str);
                    (span.stream, since(span.from_us), since(span.to_us), span.limited_by.as_str(), why)
                })
                .collect(),
        }
    }
}

impl Curve {
    fn of(curve: &pipefill_analysis::series::Curve, since: impl Fn(u64) -> u64) -> Self {
        let mut before = 0;
        let mut step = |t_us: u64| {
            let t_us = since(t_us);
            t_us - std::mem::replace(&mut before, t_us)
        };
        Self {
            quantity: word(curve.quantity),
            times: curve.points.iter().map(|point| step(point.t_us)).collect(),
            values: curve.points.iter().map(|point| point.value).collect(),
        }
    }
}

/// What limited the run when, in as many spans as its curves have buckets: a run of many has few.
pub(super) fn limits(metrics: &RunMetrics, series: &RunSeries) -> Vec<Span> {
    let most =
        usize::try_from(series.span.length_us() / series.bucket_us.max(1)).unwrap_or(usize::MAX).max(8);
    let spans = metrics.diagnosis.iter().flat_map(|diagnosis| &diagnosis.timeline);
    let mut streams: Vec<(u32, Band<(_, _)>)> = Vec::new();
    for span in spans {
        let stay =
            Stay { from_us: span.from_us, to_us: span.to_us, value: (span.limited_by, span.cwnd_cause) };
        match streams.last_mut().filter(|(stream, _)| *stream == span.stream) {
            Some((_, band)) => band.push(stay),
            None => {
                let mut band = Band::of(most);
                band.push(stay);
                streams.push((span.stream, band));
            }
        }
    }
    let of_stream = |(stream, band): (u32, Band<(_, _)>)| {
        band.into_stays().into_iter().map(move |stay| Span {
            stream,
            from_us: stay.from_us,
            to_us: stay.to_us,
            limited_by: stay.value.0,
            cwnd_cause: stay.value.1,
        })
    };
    streams.into_iter().flat_map(of_stream).collect()
}

/// The word of the JSON.
pub(super) const fn state_word(state: CaState) -> &'static str {
    match state {
        CaState::Open => "open",
        CaState::Disorder => "disorder",
        CaState::Cwr => "cwr",
        CaState::Recovery => "recovery",
        CaState::Loss => "loss",
    }
}

fn word(quantity: Quantity) -> String {
    match quantity {
        Quantity::Goodput => "goodput".to_owned(),
        Quantity::Sent => "sent".to_owned(),
        Quantity::InFlight => "in_flight".to_owned(),
        Quantity::Cwnd => "cwnd".to_owned(),
        Quantity::Rwnd => "rwnd".to_owned(),
        Quantity::Queued => "queued".to_owned(),
        Quantity::Sndbuf => "sndbuf".to_owned(),
        Quantity::Srtt => "srtt".to_owned(),
        Quantity::Backlog => "backlog".to_owned(),
        Quantity::Ping { payload, reply } => format!("ping {payload}→{reply} B"),
    }
}
