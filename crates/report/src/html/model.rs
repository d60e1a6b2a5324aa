//! The data of the page as its script reads it; the script's types are made from `schemas/page.json`.
//!
//! Most of it are the runs' curves, of which a reader looks at a few: each is a document of its own, read when it is drawn.

use super::Page;
use super::document::Blobs;
use crate::charts::Charts;
use crate::curves::{self, PathRate};
use crate::limiters;
use crate::runs::{RunIndex, RunPart};
use crate::segments::{self, Segments};
use pipefill_analysis::findings::metrics::RunMetrics;
use pipefill_analysis::findings::series::{Quantity, RunSeries};
use pipefill_core::cell::CellSpec;
use pipefill_core::limit::Cause;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

/// What the script reads when it begins.
#[derive(Debug, JsonSchema, Serialize)]
struct Data<'a> {
    charts: &'a Charts,
    runs: Vec<Head>,
    /// Connections of captures.
    captures: Vec<segments::CaptureHead>,
}

/// What is said of every run.
#[derive(Debug, JsonSchema, Serialize)]
struct Head {
    cell: String,
    label: String,
    valid: bool,
    goodput_bps: Option<u64>,
    path_rates: Vec<Rate>,
}

/// What the path lets through of payload in a direction.
#[derive(Debug, JsonSchema, Serialize)]
struct Rate {
    name: String,
    bps: f64,
    dashed: bool,
    /// The quantity that is no more than this, but for data that had waited.
    of: String,
}

/// What is drawn of one that was chosen. Times are microseconds since its first byte.
#[derive(Debug, JsonSchema, Serialize)]
struct Run {
    length_us: u64,
    /// Of each bucket a curve has its least and its largest value.
    bucket_us: u64,
    curves: Vec<Curve>,
    /// Time, then segments: fast, after a time-out, probes, needless, of no known kind.
    retransmits: Vec<[u64; 6]>,
    /// Time and packets.
    drops: Vec<[u64; 2]>,
    /// The streams that have bands, with what tells them apart.
    bands: Vec<(u32, String)>,
    /// Stream, from, to, state.
    states: Vec<(u32, u64, u64, &'static str)>,
    /// Stream, from, to, limit, and why where that is the congestion window.
    limits: Vec<(u32, u64, u64, &'static str, Option<&'static str>)>,
}

/// Points as differences: each time since the one before, each value as it is.
#[derive(Debug, JsonSchema, Serialize)]
struct Curve {
    quantity: String,
    /// Its name and its colour's class where the run's flows decide these.
    named: Option<(String, String)>,
    times: Vec<u64>,
    values: Vec<u64>,
}

/// The JSON Schema of three: the element `#data` of the page, a line of its element `#curves`, and what a line of its element `#segments`
/// is once it is unpacked. In draft 7, whose tuples the generator of the script's types knows.
pub fn data_schema() -> Schema {
    SchemaSettings::draft07()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<(Data<'_>, Run, segments::Packed)>()
}

/// What the script of a capture's page reads.
///
/// # Errors
/// Those of serde_json.
pub(super) fn of_capture(flows: &[Segments]) -> serde_json::Result<Blobs> {
    let captures = flows.iter().map(Segments::head).collect();
    let data = Data { charts: &Charts::default(), runs: Vec::new(), captures };
    let segments = segments::lines(flows.iter())?;
    Ok(Blobs { data: serde_json::to_string(&data)?, segments, ..Blobs::default() })
}

/// What the script reads when it begins, and a line for each run and for each capture, which it reads when that is chosen.
///
/// # Errors
/// Those of serde_json.
pub(super) fn of(page: &Page<'_>, charts: &Charts) -> serde_json::Result<Blobs> {
    let several = page.experiment.cells.iter().any(|cell| cell.runs > 1);
    let index = RunIndex::of(page.experiment, page.runs);
    let known = |part: &RunPart| {
        let (cell, metrics) = index.figures(&part.series.directory)?;
        let repeat = if several { format!(", run {}", metrics.repeat) } else { String::new() };
        let head = Head {
            cell: crate::sheet::anchor(cell),
            label: format!("{}{repeat}", cell.coordinates()),
            valid: metrics.is_valid(),
            goodput_bps: metrics.goodput_bps,
            path_rates: rates(&page.experiment.plan.cell(cell.index).spec, &part.series),
        };
        Some((head, Run::of(metrics, &part.series)))
    };
    let (runs, curves): (Vec<Head>, Vec<Run>) = page.runs.iter().filter_map(known).unzip();
    let lines = curves.iter().map(serde_json::to_string).collect::<serde_json::Result<Vec<_>>>()?;
    let captures = page.captures.iter().map(|capture| capture.segments.head()).collect();
    Ok(Blobs {
        data: serde_json::to_string(&Data { charts, runs, captures })?,
        curves: lines.join("\n"),
        segments: segments::lines(page.captures.iter().map(|capture| &capture.segments))?,
    })
}

impl Run {
    fn of(metrics: &RunMetrics, series: &RunSeries) -> Self {
        let since = |us: u64| us.saturating_sub(series.span.from_us);
        let states = series.states.iter().flat_map(|(stream, steps)| {
            steps.iter().map(|step| (*stream, since(step.from_us), since(step.to_us), step.value.as_str()))
        });
        let retransmit = |mark: &pipefill_analysis::findings::series::Retransmitted| {
            let [fast, rto, tlp, spurious] = mark.by_kind;
            [since(mark.t_us), fast, rto, tlp, spurious, mark.sampled]
        };
        Self {
            length_us: series.span.length_us(),
            bucket_us: series.bucket_us,
            curves: series.curves.iter().map(|curve| Curve::of(series, curve, since)).collect(),
            retransmits: series.retransmitted.iter().map(retransmit).collect(),
            drops: series.drops.iter().map(|drop| [since(drop.t_us), drop.packets]).collect(),
            bands: curves::bands(series),
            states: states.collect(),
            limits: limiters::over_time(metrics, series)
                .into_iter()
                .map(|span| {
                    let why = span.cause.or(span.cwnd_cause.map(Cause::from)).map(Cause::as_str);
                    (span.stream, since(span.from_us), since(span.to_us), span.limited_by.as_str(), why)
                })
                .collect(),
        }
    }
}

impl Curve {
    fn of(
        series: &RunSeries,
        curve: &pipefill_analysis::findings::series::Curve,
        since: impl Fn(u64) -> u64,
    ) -> Self {
        let mut before = 0;
        let mut step = |t_us: u64| {
            let t_us = since(t_us);
            t_us.saturating_sub(std::mem::replace(&mut before, t_us))
        };
        Self {
            quantity: word(curve.quantity),
            named: curves::named(series, curve.quantity),
            times: curve.points.iter().map(|point| step(point.t_us)).collect(),
            values: curve.points.iter().map(|point| point.value).collect(),
        }
    }
}

fn rates(spec: &CellSpec, series: &RunSeries) -> Vec<Rate> {
    let rates = curves::path_rates(spec, series).into_iter();
    rates
        .map(|PathRate { name, bps, is_dashed, quantity }| Rate {
            name,
            bps,
            dashed: is_dashed,
            of: word(quantity),
        })
        .collect()
}

fn word(quantity: Quantity) -> String {
    match quantity {
        Quantity::Goodput => "goodput".to_owned(),
        Quantity::DirectionGoodput(direction) => format!("goodput {}", direction.as_str()),
        Quantity::FlowGoodput(flow) => format!("goodput of flow {flow}"),
        Quantity::Sent => "sent".to_owned(),
        Quantity::InFlight => "in_flight".to_owned(),
        Quantity::Cwnd => "cwnd".to_owned(),
        Quantity::Rwnd => "rwnd".to_owned(),
        Quantity::Queued => "queued".to_owned(),
        Quantity::Sndbuf => "sndbuf".to_owned(),
        Quantity::Srtt => "srtt".to_owned(),
        Quantity::Backlog => "backlog".to_owned(),
        Quantity::Sojourn => "sojourn".to_owned(),
        Quantity::Probability => "probability".to_owned(),
        Quantity::AqmMarks => "aqm_marks".to_owned(),
        Quantity::AqmDrops => "aqm_drops".to_owned(),
        Quantity::Ping { payload, reply } => format!("ping {payload}→{reply} B"),
    }
}
