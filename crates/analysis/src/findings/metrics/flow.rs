//! The figures of each flow of a run: its goodput, its losses, its round trips, and what limited it.

use super::capacity::CapacityUse;
use super::delivery::StreamGoodput;
use crate::findings::finding::Latency;
use crate::ground::interval::carrying;
use crate::infer::KnownRun;
use crate::judge::Diagnosis;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::limit::{Cause, LimitedBy};
use pipefill_core::record::StreamSummary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a flow is and what it got, in one run or as medians of several; the streams of a flow are one.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FlowFigures {
    /// Index of the flow in the cell, from 0.
    pub flow: u32,
    /// Its transport.
    pub protocol: Protocol,
    /// Which way its data goes.
    pub direction: Direction,
    /// Number of its streams.
    pub streams: u32,
    /// Payload bits/s that the receiving applications read in the measured windows, all its streams.
    pub goodput_bps: Option<u64>,
    /// TCP: segments retransmitted.
    pub retransmits: Option<u64>,
    /// UDP: `100 × (sent − received) / sent`.
    pub lost_percent: Option<f64>,
    /// What a path whose rate changes offered, and how it was used; left out where the rate does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityUse>,
}

/// One flow of a run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FlowMetrics {
    /// What it is and what it got.
    #[serde(flatten)]
    pub figures: FlowFigures,
    /// Its round trips.
    #[serde(flatten)]
    pub latency: Latency,
    /// What limited it; null where nothing was sampled.
    pub diagnosis: Option<Diagnosis>,
}

/// Every flow but pings, in the order of the cell.
pub(super) fn metrics(
    run: &KnownRun<'_>,
    goodputs: &[StreamGoodput],
    mut latencies: BTreeMap<u32, Latency>,
    mut capacities: BTreeMap<u32, CapacityUse>,
    mut diagnoses: Vec<Diagnosis>,
) -> Vec<FlowMetrics> {
    carrying(run.flows)
        .map(|(index, flow)| {
            let streams: Vec<&StreamSummary> = run.streams_of(index).collect();
            let at = diagnoses.iter().position(|diagnosis| diagnosis.flow == index);
            let figures = FlowFigures {
                flow: index,
                protocol: flow.protocol,
                direction: flow.direction,
                streams: flow.parallel,
                goodput_bps: goodput(goodputs, index),
                retransmits: retransmits(&streams),
                lost_percent: lost_percent(&streams),
                capacity: capacities.remove(&index),
            };
            let diagnosis = at.map(|at| diagnoses.swap_remove(at));
            let mut latency = latencies.remove(&index).unwrap_or_default();
            if diagnosis.as_ref().is_some_and(awaits_delayed_acks) {
                latency.bufferbloat = None;
            }
            FlowMetrics { figures, latency, diagnosis }
        })
        .collect()
}

/// Whether its round trips have the other end's delay of an ACK in them, which no queue adds (RFC 1122, 4.2.3.2).
fn awaits_delayed_acks(diagnosis: &Diagnosis) -> bool {
    diagnosis.limited_by == LimitedBy::App
        && matches!(diagnosis.cause, Some(Cause::Nagle | Cause::DelayedAck))
}

fn goodput(goodputs: &[StreamGoodput], index: u32) -> Option<u64> {
    let mut its = goodputs.iter().filter(|stream| stream.flow == index).peekable();
    its.peek()?;
    its.map(|stream| stream.goodput_bps).sum()
}

fn retransmits(streams: &[&StreamSummary]) -> Option<u64> {
    let mut counts = streams.iter().filter_map(|stream| stream.retransmits()).peekable();
    counts.peek()?;
    Some(counts.map(u64::from).sum())
}

fn lost_percent(streams: &[&StreamSummary]) -> Option<f64> {
    let totals = streams.iter().filter_map(|stream| stream.udp);
    let (sent, received) =
        totals.fold((0_u64, 0_u64), |sum, totals| (sum.0 + totals.sent, sum.1 + totals.received));
    (sent > 0).then(|| 100.0 * sent.saturating_sub(received) as f64 / sent as f64)
}
