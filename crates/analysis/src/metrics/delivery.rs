//! Rates from the applications' cumulative byte counts.
//!
//! Never: a rate over a window that the counts do not cover, or a total where one stream is missing.

use super::window::{self, Window};
use crate::statistics::{jain_fairness, rounded};
use pipefill_core::record::{DeliverySample, RunRecord, StreamSummary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Goodput of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamGoodput {
    /// Number of the stream in the run.
    pub stream: u32,
    /// Index of its flow in the cell.
    pub flow: u32,
    /// Payload bits/s that its receiving application read in its measured window.
    pub goodput_bps: Option<u64>,
}

/// All rates of a run.
pub(super) struct Rates {
    pub(super) goodput_bps: Option<u64>,
    pub(super) goodput_whole_bps: Option<u64>,
    pub(super) sender_bps: Option<u64>,
    pub(super) fairness_index: Option<f64>,
    pub(super) streams: Vec<StreamGoodput>,
}

/// Sums over all streams of the run; `None` where there is no stream or one of them has no rate.
pub(super) fn rates(record: &RunRecord) -> Rates {
    let spec = &record.manifest.run.cell.spec;
    let tables = by_stream(&record.delivery);
    let mut goodputs = Vec::new();
    let (mut wholes, mut senders, mut streams) = (Vec::new(), Vec::new(), Vec::new());
    for stream in &record.manifest.streams {
        let rows = tables.get(&stream.stream).map_or(&[][..], Vec::as_slice);
        let shift = window::receiver_shift_us(spec, stream);
        let (sent, received) = (sent_curve(stream, rows), received_curve(stream, shift, rows));
        let window = window::measured(spec, stream);
        let goodput = received.rate(window.shifted(shift));
        wholes.push(received.rate(window::life(stream).shifted(shift)));
        senders.push(sent.rate(window));
        goodputs.push(goodput);
        streams.push(StreamGoodput {
            stream: stream.stream,
            flow: stream.flow,
            goodput_bps: goodput.map(rounded),
        });
    }
    Rates {
        goodput_bps: total(&goodputs),
        goodput_whole_bps: total(&wholes),
        sender_bps: total(&senders),
        fairness_index: all(&goodputs).and_then(|values| jain_fairness(&values)),
        streams,
    }
}

/// A cumulative count as points in time order; linear between them.
struct Curve(Vec<(u64, u64)>);

impl Curve {
    /// Bits per second in `window`. `None` for an empty window or a curve without samples.
    fn rate(&self, window: Window) -> Option<f64> {
        let length = window.length_us();
        if length == 0 || self.0.is_empty() {
            return None;
        }
        let bytes = self.at(window.to_us) - self.at(window.from_us);
        Some(bytes * 8.0 * 1e6 / length as f64)
    }

    /// The count at `t_us`: 0 before the first point, constant after the last.
    fn at(&self, t_us: u64) -> f64 {
        let after = self.0.partition_point(|&(t, _)| t <= t_us);
        let Some(&(t0, y0)) = after.checked_sub(1).and_then(|i| self.0.get(i)) else {
            return 0.0;
        };
        let Some(&(t1, y1)) = self.0.get(after) else {
            return y0 as f64;
        };
        y0 as f64 + (y1.saturating_sub(y0)) as f64 * (t_us - t0) as f64 / (t1 - t0) as f64
    }
}

fn sent_curve(stream: &StreamSummary, rows: &[&DeliverySample]) -> Curve {
    let points = rows.iter().map(|row| (row.t_us, row.sent_bytes)).collect();
    anchored(stream.start_us, points, (stream.stop_us, stream.sent_bytes))
}

/// Nothing can have arrived within the one-way delay, `shift_us`.
fn received_curve(stream: &StreamSummary, shift_us: u64, rows: &[&DeliverySample]) -> Curve {
    let points = rows.iter().map(|row| (row.t_us, row.received_bytes)).collect();
    let first_us = stream.start_us.saturating_add(shift_us);
    anchored(first_us, points, (stream.end_us, stream.received_bytes))
}

/// Adds what the samples miss: nothing up to `first_us` (unless they saw something), the total at the end. Without a
/// single sample there is no curve.
fn anchored(first_us: u64, mut points: Vec<(u64, u64)>, end: (u64, u64)) -> Curve {
    let Some(&last) = points.last() else {
        return Curve(points);
    };
    if end.0 > last.0 && end.1 >= last.1 {
        points.push(end);
    }
    let before = points.partition_point(|&(t, _)| t < first_us);
    let nothing_yet = before == 0 || points[before - 1].1 == 0;
    if nothing_yet && points.get(before).is_none_or(|&(t, _)| t > first_us) {
        points.insert(before, (first_us, 0));
    }
    Curve(points)
}

fn by_stream(rows: &[DeliverySample]) -> BTreeMap<u32, Vec<&DeliverySample>> {
    let mut tables: BTreeMap<u32, Vec<&DeliverySample>> = BTreeMap::new();
    for row in rows {
        tables.entry(row.stream).or_default().push(row);
    }
    for table in tables.values_mut() {
        table.sort_by_key(|row| row.t_us);
    }
    tables
}

fn total(values: &[Option<f64>]) -> Option<u64> {
    let values = all(values)?;
    (!values.is_empty()).then(|| rounded(values.iter().sum()))
}

fn all(values: &[Option<f64>]) -> Option<Vec<f64>> {
    values.iter().copied().collect()
}
