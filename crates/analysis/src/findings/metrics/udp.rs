//! What the receivers of UDP counted.
//!
//! Never: a loss taken from the path's counters; what the receiver misses is lost wherever it went.

use crate::ground::statistics::{median, rounded};
use pipefill_core::record::{StreamSummary, UdpTotals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// UDP figures over all streams; all `None` in a run without UDP.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct UdpMetrics {
    /// Datagrams that the sending sockets took.
    pub datagrams_sent: Option<u64>,
    /// Datagrams received, duplicates not counted.
    pub datagrams_received: Option<u64>,
    /// `100 × (sent − received) / sent`; contains `socket_drops`.
    pub lost_percent: Option<f64>,
    /// Dropped by the receivers' own socket buffers.
    pub socket_drops: Option<u64>,
    /// Received again.
    pub duplicates: Option<u64>,
    /// Arrived after a later one (RFC 4737).
    pub reordered: Option<u64>,
    /// RFC 3550 interarrival jitter at the end; the median of the streams.
    pub jitter_ns: Option<u64>,
    /// Smallest one-way delay of any stream.
    pub one_way_delay_min_ns: Option<i64>,
    /// Median of the streams' median one-way delays.
    pub one_way_delay_p50_ns: Option<i64>,
    /// The largest 99th percentile of a stream: an upper bound for all datagrams together.
    pub one_way_delay_p99_ns: Option<i64>,
}

/// The UDP figures of a run's `streams`.
pub(super) fn metrics(streams: &[StreamSummary]) -> UdpMetrics {
    let totals: Vec<UdpTotals> = streams.iter().filter_map(|stream| stream.udp).collect();
    if totals.is_empty() {
        return UdpMetrics::default();
    }
    let sum = |field: fn(&UdpTotals) -> u64| totals.iter().map(field).sum::<u64>();
    let (sent, received) = (sum(|t| t.sent), sum(|t| t.received));
    let jitters: Option<Vec<f64>> = totals.iter().map(|t| t.jitter_ns.map(|ns| ns as f64)).collect();
    let medians: Option<Vec<f64>> =
        totals.iter().map(|t| t.one_way_delay_p50_ns.map(|ns| ns as f64)).collect();
    UdpMetrics {
        datagrams_sent: Some(sent),
        datagrams_received: Some(received),
        lost_percent: (sent > 0).then(|| 100.0 * sent.saturating_sub(received) as f64 / sent as f64),
        socket_drops: totals.iter().map(|t| t.socket_drops).sum(),
        duplicates: Some(sum(|t| t.duplicates)),
        reordered: Some(sum(|t| t.reordered)),
        jitter_ns: jitters.and_then(|values| median(&values)).map(rounded),
        one_way_delay_min_ns: totals.iter().filter_map(|t| t.one_way_delay_min_ns).min(),
        one_way_delay_p50_ns: medians.and_then(|values| median(&values)).map(|ns| ns.round() as i64),
        one_way_delay_p99_ns: totals.iter().filter_map(|t| t.one_way_delay_p99_ns).max(),
    }
}
