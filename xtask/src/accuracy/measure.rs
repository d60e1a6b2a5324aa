//! A record's figures, taken as the oracle's script took Linux's: until the end of the traffic, without the drain.
//!
//! Never: a figure that `tg` and `grid.py` don't have.

use super::golden::{AqmOutcome, Golden, Outcome, Series, StateShares};
use pipefill_core::cell::Direction;
use pipefill_core::record::{Element, PathCount, PathSample, RunRecord, StreamEnd, StreamSummary, TcpSample};
use pipefill_core::tcp_info::CaState;

/// The stream whose `TCP_INFO` the oracle sampled.
const FIRST: u32 = 0;

/// What the simulated run came to.
pub(crate) fn outcome(golden: &Golden, record: &RunRecord) -> Outcome {
    let end_us = end_us(golden, record);
    let samples = samples(record, FIRST, end_us);
    let streams = &record.manifest.streams;
    let received: f64 = streams.iter().map(|stream| received_by(record, stream.stream, end_us)).sum();
    let retransmits = streams.iter().map(|stream| retransmits_by(record, stream, end_us)).sum();
    Outcome {
        goodput_bps: received * 8.0 / golden.duration_s,
        retransmits,
        min_rtt_us: samples.last().and_then(|row| row.info.min_rtt_us).map_or(0.0, f64::from),
        ca_state_fraction: StateShares {
            recovery: share(&samples, CaState::Recovery),
            loss: share(&samples, CaState::Loss),
        },
        tbf_dropped: queue_drops(record, end_us),
        aqm: aqm(record, end_us),
    }
}

/// Drops until the end of the traffic; marks and sojourn times of the whole run, whose drain is at most a queue longer.
fn aqm(record: &RunRecord, end_us: u64) -> Option<AqmOutcome> {
    let summary = record.manifest.aqm.iter().find(|aqm| aqm.direction == Direction::Forward)?;
    let marked = record.manifest.path_count(Direction::Forward, PathCount::MarkedByAqm).unwrap_or(0);
    Some(AqmOutcome {
        dropped: queue_drops(record, end_us)?,
        marked: marked as f64,
        sojourn_us_p50: summary.sojourn_us_p50? as f64,
        sojourn_us_p95: summary.sojourn_us_p95? as f64,
    })
}

/// The simulated run at the golden's own instants.
pub(crate) fn series(golden: &Golden, record: &RunRecord) -> Series {
    let start_us = record.manifest.streams.first().map_or(0, |stream| stream.start_us);
    let samples = samples(record, FIRST, u64::MAX);
    let row = |t_ms: u64| {
        let at_us = start_us + t_ms * 1000;
        let after = samples.partition_point(|row| row.t_us <= at_us);
        let info = samples.get(after.checked_sub(1)?)?.info;
        let streams = &record.manifest.streams;
        let received: f64 = streams.iter().map(|stream| received_by(record, stream.stream, at_us)).sum();
        let cwnd = info.cwnd_bytes.unwrap_or(0) / u64::from(info.mss_bytes.max(1));
        let srtt_us = u64::from(info.srtt_us.unwrap_or(0));
        Some([t_ms, received as u64, cwnd, srtt_us, u64::from(info.rwnd_bytes.unwrap_or(0))])
    };
    Series { rows: golden.series().rows.iter().filter_map(|real| row(real[0])).collect() }
}

/// `tg` counts from the moment at which every stream is connected.
fn end_us(golden: &Golden, record: &RunRecord) -> u64 {
    let start_us = record.manifest.streams.iter().map(|stream| stream.start_us).max().unwrap_or(0);
    start_us + (golden.duration_s * 1e6) as u64
}

fn samples(record: &RunRecord, stream: u32, end_us: u64) -> Vec<&TcpSample> {
    let is_wanted =
        |row: &&TcpSample| row.stream == stream && row.end == StreamEnd::Sender && row.t_us <= end_us;
    record.tcp.iter().filter(is_wanted).collect()
}

/// Bytes that the stream's receiver had read at `end_us`, between two samples by a straight line.
fn received_by(record: &RunRecord, stream: u32, end_us: u64) -> f64 {
    let mut before = (0_u64, 0_u64);
    for row in record.delivery.iter().filter(|row| row.stream == stream) {
        if row.t_us > end_us {
            let (t_us, bytes) = before;
            let share = (end_us - t_us) as f64 / (row.t_us - t_us) as f64;
            return bytes as f64 + share * (row.received_bytes - bytes) as f64;
        }
        before = (row.t_us, row.received_bytes);
    }
    before.1 as f64
}

fn retransmits_by(record: &RunRecord, stream: &StreamSummary, end_us: u64) -> f64 {
    let last = samples(record, stream.stream, end_us).last().map(|row| row.info.retransmits);
    f64::from(last.unwrap_or(0))
}

fn share(samples: &[&TcpSample], state: CaState) -> f64 {
    let matching = samples.iter().filter(|row| row.info.ca_state == Some(state)).count();
    matching as f64 / samples.len().max(1) as f64
}

fn queue_drops(record: &RunRecord, end_us: u64) -> Option<f64> {
    let is_queue = |row: &&PathSample| {
        row.direction == Direction::Forward && row.element == Element::Queue && row.t_us <= end_us
    };
    record.path.iter().rfind(is_queue).map(|row| row.dropped_packets as f64)
}
