//! Round trips of several sizes, and what they say of the path: RTT = base + bytes forward / rate + bytes back / rate.
//!
//! Never: a rate from one size, or from whole replies alone: those cost both directions, and half of the truth is twice the time.

use crate::models::headers::{DEFAULT_MSS, frame};
use crate::models::line::{self, Coefficient};
use crate::statistics::{median, rounded};
use pipefill_core::cell::Protocol;
use pipefill_core::ping::wire_bytes;
use pipefill_core::record::RunRecord;
use pipefill_core::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A slope that is less than this many standard errors above zero shows no limit.
const SEEN: f64 = 3.0;
/// Below a hundredth of a nanosecond a byte (800 Gbit/s) no limit is seen either.
const LEAST_SLOPE: f64 = 0.01;

/// What pings measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PingMetrics {
    /// Requests whose reply came or was given up.
    pub sent: u64,
    /// Of these, given up.
    pub lost: u64,
    /// Round trips of each pair of sizes, in the order of requests.
    pub sizes: Vec<PingSize>,
    /// The fitted round trip of no bytes; null where the sizes do not fix it.
    pub base_rtt_us: Option<f64>,
    /// Its standard error.
    pub base_rtt_us_error: Option<f64>,
    /// The fitted rate in the direction of requests, counting IP + 14 bytes; null where no limit was seen.
    pub forward_bps: Option<u64>,
    /// Its standard error.
    pub forward_bps_error: Option<u64>,
    /// The same in the direction of replies.
    pub reverse_bps: Option<u64>,
    /// Its standard error.
    pub reverse_bps_error: Option<u64>,
    /// `forward_bps × base_rtt_us`.
    pub bdp_bytes: Option<u64>,
    /// The largest payload, taken for a window in the three figures below.
    pub window_bytes: Option<u64>,
    /// That window over the round trip of a ping of that payload with its whole reply: what a reader of `ping -l` computes.
    pub naive_bps: Option<u64>,
    /// Twice that: "an echo carries its payload both ways".
    pub doubled_bps: Option<u64>,
    /// What a window of that size carries by the fit: the window over base RTT and one full frame, at most the payload's share of
    /// the rate.
    pub law_bps: Option<u64>,
}

/// Round trips of one pair of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PingSize {
    /// Payload of the request.
    pub payload_bytes: u64,
    /// Payload of the reply.
    pub reply_bytes: u64,
    /// Replies that came.
    pub count: u64,
    /// The shortest round trip.
    pub rtt_us_min: f64,
    /// The median one: the point that the fit uses.
    pub rtt_us_p50: f64,
}

/// The figures of a run's pings; `None` where it has none.
pub(super) fn metrics(record: &RunRecord) -> Option<PingMetrics> {
    if record.ping.is_empty() {
        return None;
    }
    let mut trips: BTreeMap<(u64, std::cmp::Reverse<u64>), Vec<f64>> = BTreeMap::new();
    for row in &record.ping {
        let of_size = trips.entry((row.payload_bytes, std::cmp::Reverse(row.reply_bytes))).or_default();
        of_size.extend(row.rtt_ns.map(|ns| ns as f64));
    }
    let size = |(&(payload_bytes, reply), values): (&(u64, std::cmp::Reverse<u64>), &Vec<f64>)| {
        Some(PingSize {
            payload_bytes,
            reply_bytes: reply.0,
            count: values.len() as u64,
            rtt_us_min: values.iter().copied().reduce(f64::min)? / 1e3,
            rtt_us_p50: median(values)? / 1e3,
        })
    };
    let sizes: Vec<PingSize> = trips.iter().filter_map(size).collect();
    let mut metrics = PingMetrics {
        sent: record.ping.len() as u64,
        lost: record.ping.iter().filter(|row| row.rtt_ns.is_none()).count() as u64,
        ..fitted(&sizes)
    };
    metrics.readings(&sizes);
    metrics.sizes = sizes;
    Some(metrics)
}

fn fitted(sizes: &[PingSize]) -> PingMetrics {
    let wire = |payload: u64| wire_bytes(Bytes::new(payload)).get() as f64;
    let point = |size: &PingSize| (wire(size.payload_bytes), wire(size.reply_bytes), size.rtt_us_p50 * 1e3);
    let points: Vec<(f64, f64, f64)> = sizes.iter().map(point).collect();
    let Some([base, forward, reverse]) = line::fit(&points) else { return PingMetrics::default() };
    let (forward_bps, forward_bps_error) = rate(forward);
    let (reverse_bps, reverse_bps_error) = rate(reverse);
    let base_us = base.value.max(0.0) / 1e3;
    PingMetrics {
        base_rtt_us: Some(base_us),
        base_rtt_us_error: base.error.map(|error| error / 1e3),
        forward_bps,
        forward_bps_error,
        reverse_bps,
        reverse_bps_error,
        bdp_bytes: forward_bps.map(|bps| rounded(bps as f64 * base_us / 8e6)),
        ..PingMetrics::default()
    }
}

/// Nanoseconds a byte as bits a second; nothing where the slope can't be told from zero.
fn rate(slope: Coefficient) -> (Option<u64>, Option<u64>) {
    let is_seen = slope.value > LEAST_SLOPE && slope.error.is_none_or(|error| slope.value > SEEN * error);
    if !is_seen {
        return (None, None);
    }
    let bps = 8e9 / slope.value;
    (Some(rounded(bps)), slope.error.map(|error| rounded(bps * error / slope.value)))
}

impl PingMetrics {
    /// What three ways of reading say a window of the largest payload carries.
    fn readings(&mut self, sizes: &[PingSize]) {
        let whole = sizes.iter().filter(|size| size.payload_bytes == size.reply_bytes);
        let Some(largest) = whole.max_by_key(|size| size.payload_bytes) else { return };
        let window_bits = largest.payload_bytes as f64 * 8.0;
        let naive = window_bits * 1e6 / largest.rtt_us_p50;
        self.window_bytes = Some(largest.payload_bytes);
        self.naive_bps = Some(rounded(naive));
        self.doubled_bps = Some(rounded(2.0 * naive));
        self.law_bps = self.base_rtt_us.map(|base_us| {
            let full = frame(Protocol::Tcp, Bytes::new(DEFAULT_MSS)).get() as f64;
            let frame_us = self.forward_bps.map_or(0.0, |bps| full * 8e6 / bps as f64);
            let by_window = window_bits * 1e6 / (base_us + frame_us);
            let by_rate = self.forward_bps.map(|bps| bps as f64 * DEFAULT_MSS as f64 / full);
            rounded(by_rate.map_or(by_window, |rate| rate.min(by_window)))
        });
    }
}
