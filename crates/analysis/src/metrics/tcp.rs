//! What the senders' `tcp_info` samples say about a run.
//!
//! Never: a sample from outside of its stream's life, or forward and reverse windows added up.

use super::retransmits::{self, RetransmitCounts};
use super::steps::{Step, median_of_sum, steps};
use super::window::{self, Window, streams_of};
use crate::statistics::{median, rounded, weighted_median};
use pipefill_core::cell::{CellSpec, Direction, Protocol};
use pipefill_core::record::{CaStateSource, CaStateTimes, RunRecord, StreamEnd, StreamSummary, TcpSample};
use pipefill_core::tcp_info::CaState;
use serde::{Deserialize, Serialize};

/// TCP figures; all `None` in a run without TCP. Windows and buffers are medians over time of the sum over the streams of
/// one direction: forward where any stream goes forward, else reverse.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpMetrics {
    /// Segments retransmitted over the lives of all streams.
    pub retransmits: Option<u64>,
    /// The same by kind; `None` where not every one was seen.
    pub retransmits_by_kind: Option<RetransmitCounts>,
    /// The smallest RTT that any sender saw.
    pub min_rtt_us: Option<u64>,
    /// Median smoothed RTT, over time and streams.
    pub srtt_us_p50: Option<u64>,
    /// Congestion window.
    pub cwnd_bytes_p50: Option<u64>,
    /// Window that the receiver advertised, as the sender knew it.
    pub rwnd_bytes_p50: Option<u64>,
    /// In flight as the kernel counts it (`tcp_packets_in_flight()`).
    pub in_flight_bytes_p50: Option<u64>,
    /// Send queue, truesize (`sk_wmem_queued`).
    pub wmem_queued_bytes_p50: Option<u64>,
    /// Limit of the send queue (`sk_sndbuf`).
    pub sndbuf_bytes_p50: Option<u64>,
    /// Time in each congestion state, all streams, from start to stop: exact where the record has it, else sampled.
    pub ca_state_us: Option<CaStateTimes>,
    /// Where they come from: `sampled` as soon as one stream's are.
    pub ca_state_source: Option<CaStateSource>,
    /// Samples of senders between start and stop.
    pub tcp_samples: Option<u64>,
    /// Median span between two of them: the resolution of `ca_state_us` where that is sampled.
    pub sample_interval_us_p50: Option<u64>,
    /// The longest such span.
    pub sample_interval_us_max: Option<u64>,
}

/// One stream and its sender's samples, in time order.
struct Sender<'a> {
    summary: &'a StreamSummary,
    direction: Direction,
    measured: Window,
    samples: Vec<&'a TcpSample>,
}

/// The TCP figures of `record`.
pub(super) fn metrics(record: &RunRecord) -> TcpMetrics {
    let all = senders(record);
    if all.is_empty() {
        return TcpMetrics::default();
    }
    let forward = all.iter().any(|s| s.direction == Direction::Forward);
    let shown: Vec<&Sender<'_>> =
        all.iter().filter(|s| (s.direction == Direction::Forward) == forward).collect();
    let of = |field: fn(&TcpSample) -> Option<u64>| median_of_sum(&steps_of(&shown, field));
    let intervals = intervals(&all);
    let (ca_state_us, ca_state_source) = ca_states(&all).unzip();
    TcpMetrics {
        retransmits: all.iter().map(|s| s.summary.tcp.map(|i| u64::from(i.retransmits))).sum(),
        retransmits_by_kind: retransmits::by_kind(record),
        min_rtt_us: min_rtt(&all),
        srtt_us_p50: srtt(&shown),
        cwnd_bytes_p50: of(|s| Some(s.info.cwnd_bytes)),
        rwnd_bytes_p50: of(|s| s.info.rwnd_bytes.map(u64::from)),
        in_flight_bytes_p50: of(|s| Some(s.info.in_flight_bytes)),
        wmem_queued_bytes_p50: of(|s| s.wmem_queued_bytes),
        sndbuf_bytes_p50: of(|s| s.sndbuf_bytes),
        ca_state_us,
        ca_state_source,
        tcp_samples: Some(all.iter().map(|s| alive(s).count() as u64).sum()),
        sample_interval_us_p50: median(&intervals).map(rounded),
        sample_interval_us_max: intervals.iter().copied().reduce(f64::max).map(rounded),
    }
}

fn senders(record: &RunRecord) -> Vec<Sender<'_>> {
    let spec: &CellSpec = &record.manifest.run.cell.spec;
    streams_of(spec, &record.manifest.streams, Protocol::Tcp)
        .map(|(flow, summary)| Sender {
            summary,
            direction: flow.direction,
            measured: window::measured(spec, summary),
            samples: sender_samples(&record.tcp, summary.stream),
        })
        .collect()
}

fn sender_samples(rows: &[TcpSample], stream: u32) -> Vec<&TcpSample> {
    let mut samples: Vec<&TcpSample> =
        rows.iter().filter(|row| row.stream == stream && row.end == StreamEnd::Sender).collect();
    samples.sort_by_key(|row| row.t_us);
    samples
}

/// The samples between start and stop.
fn alive<'a>(sender: &'a Sender<'_>) -> impl Iterator<Item = &'a TcpSample> {
    let life = window::life(sender.summary);
    let inside = move |row: &&&TcpSample| (life.from_us..life.to_us).contains(&row.t_us);
    sender.samples.iter().filter(inside).copied()
}

fn steps_of<T: Copy>(senders: &[&Sender<'_>], field: impl Fn(&TcpSample) -> T) -> Vec<Vec<Step<T>>> {
    let of = |sender: &&Sender<'_>| {
        let values: Vec<(u64, T)> = alive(sender).map(|row| (row.t_us, field(row))).collect();
        steps(&values, sender.measured)
    };
    senders.iter().map(of).collect()
}

fn srtt(senders: &[&Sender<'_>]) -> Option<u64> {
    let weighted: Vec<(u64, u64)> = steps_of(senders, |row| row.info.srtt_us)
        .iter()
        .flatten()
        .filter_map(|step| Some((u64::from(step.value?), step.length_us())))
        .collect();
    weighted_median(&weighted)
}

/// The kernel keeps a minimum over 300 s, so the final value would do but for longer runs: the minimum of all samples does.
fn min_rtt(senders: &[Sender<'_>]) -> Option<u64> {
    let finals = senders.iter().filter_map(|s| s.summary.tcp?.min_rtt_us);
    let sampled = senders.iter().flat_map(|s| s.samples.iter().filter_map(|row| row.info.min_rtt_us));
    finals.chain(sampled).min().map(u64::from)
}

/// Exact times only where every stream has them: a sum of exact and sampled ones is no better than sampled.
fn ca_states(senders: &[Sender<'_>]) -> Option<(CaStateTimes, CaStateSource)> {
    let exact: Option<Vec<_>> =
        senders.iter().map(|s| s.summary.ca_state_us.zip(s.summary.ca_state_source)).collect();
    match exact {
        Some(exact) => {
            let total = exact.iter().fold(CaStateTimes::default(), |sum, (times, _)| sum.plus(times));
            exact.first().map(|&(_, source)| (total, source))
        }
        None => sampled_ca_states(senders).map(|times| (times, CaStateSource::Sampled)),
    }
}

fn sampled_ca_states(senders: &[Sender<'_>]) -> Option<CaStateTimes> {
    let mut times = CaStateTimes::default();
    let mut known = false;
    for sender in senders {
        let states: Vec<(u64, Option<CaState>)> =
            alive(sender).map(|row| (row.t_us, row.info.ca_state)).collect();
        for step in steps(&states, window::life(sender.summary)) {
            if let Some(state) = step.value {
                known = true;
                times.add(state, step.length_us());
            }
        }
    }
    known.then_some(times)
}

fn intervals(senders: &[Sender<'_>]) -> Vec<f64> {
    let of = |sender: &Sender<'_>| -> Vec<f64> {
        let times: Vec<u64> = alive(sender).map(|row| row.t_us).collect();
        times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect()
    };
    senders.iter().flat_map(of).collect()
}
