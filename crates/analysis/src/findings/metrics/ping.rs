//! Round trips of several sizes, and what they say of the path: RTT = base + bytes forward / rate + bytes back / rate.
//!
//! Bytes are those that wait for the rate: a full token bucket lets its depth pass at once (`tbf_dequeue()`), so that they begin
//! beyond it. Counted from the first byte, the depth of both buckets would be taken off the base.
//! Never: a rate from one size, or from whole replies alone: those cost both directions, and half of the truth is twice the time.

use crate::ground::models::headers::{ETHERNET, Headers};
use crate::ground::models::line::{self, Coefficient};
use crate::ground::statistics::rounded;
use crate::ground::weighted_values::WeightedValues;
use pipefill_core::cell::{CellSpec, Direction, DirectionSpec, FlowSpec, Framing, PathSpec};
use pipefill_core::record::{Manifest, PingSample};
use pipefill_core::traffic::ping::{fragments, wire_bytes};
use pipefill_core::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

/// A slope that is less than this many standard errors above zero shows no limit.
const SEEN: f64 = 3.0;
/// Below a hundredth of a nanosecond a byte (800 Gbit/s) no limit is seen either.
const LEAST_SLOPE: f64 = 0.01;

/// On an unplanned path a token bucket is assumed where it lowers the sum of squared residuals by at least this factor.
const BETTER: f64 = 4.0;

/// Round trips are counted in nanoseconds: no base is surer than one.
const RESOLUTION_NS: f64 = 1.0;

/// What pings measured.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PingMetrics {
    /// Requests whose reply came or was given up.
    pub sent: u64,
    /// Of these, given up.
    pub lost: u64,
    /// Round trips of each pair of sizes, in the order of requests.
    pub sizes: Vec<PingSize>,
    /// The fitted round trip of what does not wait for a rate; null where the sizes do not fix it, or the pause between two
    /// requests does not fill the path's token buckets again.
    pub base_rtt_us: Option<f64>,
    /// Its standard error, at least a nanosecond.
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
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
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
    /// What 95 % of them did not exceed.
    #[serde(default)]
    pub rtt_us_p95: Option<f64>,
    /// What 99 % of them did not exceed.
    #[serde(default)]
    pub rtt_us_p99: Option<f64>,
}

/// Follows the pings of one direction: those that ask forward, or in reverse where none does.
pub(super) struct Following<'a> {
    manifest: &'a Manifest,
    direction: Direction,
    sent: u64,
    lost: u64,
    trips: BTreeMap<(u64, Reverse<u64>), Trips>,
}

/// Answered requests of one pair of sizes, in nanoseconds.
#[derive(Default)]
struct Trips {
    count: u64,
    shortest: Option<u64>,
    rtts: WeightedValues,
}

impl<'a> Following<'a> {
    pub(super) fn of(manifest: &'a Manifest) -> Self {
        let mut flows = manifest.run.cell.spec.flows.iter();
        let is_forward = |flow: &FlowSpec| flow.ping.is_some() && flow.direction == Direction::Forward;
        let direction = if flows.any(is_forward) { Direction::Forward } else { Direction::Reverse };
        Self { manifest, direction, sent: 0, lost: 0, trips: BTreeMap::new() }
    }

    /// Takes the next row; these come in any order.
    pub(super) fn push(&mut self, row: &PingSample) {
        if !self.is_of_direction(row.stream) {
            return;
        }
        self.sent += 1;
        match row.rtt_ns {
            Some(ns) => {
                let size = (row.payload_bytes, Reverse(row.reply_bytes));
                self.trips.entry(size).or_default().add(ns);
            }
            None => self.lost += 1,
        }
    }

    /// The figures; `None` without a ping.
    pub(super) fn metrics(&self) -> Option<PingMetrics> {
        let sizes: Vec<PingSize> = self.trips.iter().filter_map(|(&pair, trips)| trips.size(pair)).collect();
        let spec = &self.manifest.run.cell.spec;
        let is_planned = self.manifest.subject.observed().is_none();
        let beyond = match is_planned {
            true => Beyond::of(spec, self.direction),
            false => Some(Beyond::inferred(spec, &sizes)),
        };
        let fitted = beyond.map_or_else(PingMetrics::default, |beyond| beyond.fitted(&sizes));
        let mut metrics = PingMetrics { sent: self.sent, lost: self.lost, ..fitted };
        metrics.readings(&sizes, Headers::of(&spec.path));
        metrics.sizes = sizes;
        (self.sent > 0).then_some(metrics)
    }

    fn is_of_direction(&self, stream: u32) -> bool {
        let flows = &self.manifest.run.cell.spec.flows;
        let stream = self.manifest.streams.iter().find(|summary| summary.stream == stream);
        let flow = stream.and_then(|stream| flows.get(stream.flow as usize));
        flow.is_some_and(|flow| flow.direction == self.direction)
    }
}

impl Trips {
    fn add(&mut self, ns: u64) {
        self.count += 1;
        self.shortest = Some(self.shortest.map_or(ns, |shortest| shortest.min(ns)));
        self.rtts.add(ns, 1);
    }

    fn size(&self, (payload_bytes, Reverse(reply_bytes)): (u64, Reverse<u64>)) -> Option<PingSize> {
        let at = |percent| self.rtts.lower_percentile(percent).map(|ns| ns as f64 / 1e3);
        Some(PingSize {
            payload_bytes,
            reply_bytes,
            count: self.count,
            rtt_us_min: self.shortest? as f64 / 1e3,
            rtt_us_p50: self.rtts.median()? / 1e3,
            rtt_us_p95: at(95),
            rtt_us_p99: at(99),
        })
    }
}

/// The token buckets that requests and replies find full.
struct Beyond<'a> {
    path: &'a PathSpec,
    request: Bucket,
    reply: Bucket,
}

struct Bucket {
    depth: Bytes,
    /// What each frame costs.
    framing: Framing,
}

impl<'a> Beyond<'a> {
    /// The token buckets of the path; `None` where the pause between pings does not fill them.
    fn of(spec: &'a CellSpec, direction: Direction) -> Option<Self> {
        let is_it = |flow: &&FlowSpec| flow.direction == direction;
        let ping = spec.flows.iter().filter(is_it).find_map(|flow| flow.ping.as_ref())?;
        let (there, back) = match direction {
            Direction::Forward => (&spec.path.forward, &spec.path.reverse),
            Direction::Reverse => (&spec.path.reverse, &spec.path.forward),
        };
        let [request, reply] = [bucket(there, ping.interval)?, bucket(back, ping.interval)?];
        Some(Self { path: &spec.path, request, reply })
    }

    /// Token buckets of an unplanned path: the number of full frames, equal in both directions, that brings the points closest to a line.
    fn inferred(spec: &'a CellSpec, sizes: &[PingSize]) -> Self {
        let frame = Headers::of(&spec.path).full_frame().get();
        let path = &spec.path;
        let with = |frames: u64| {
            let bucket = || Bucket { depth: Bytes::new(frames * frame), framing: Framing::default() };
            Self { path, request: bucket(), reply: bucket() }
        };
        let longest = sizes.iter().map(|size| wire_bytes(Bytes::new(size.payload_bytes), path).get()).max();
        let frames = longest.unwrap_or(0) / frame;
        let wire = with(0);
        let beside = wire.squares(sizes).unwrap_or(0.0) / BETTER;
        let buckets = (1..=frames).filter_map(|frames| {
            let bucket = with(frames);
            Some((bucket.squares(sizes)?, bucket))
        });
        let nearest = buckets.min_by(|a, b| a.0.total_cmp(&b.0));
        nearest.filter(|(squares, _)| *squares < beside).map_or(wire, |(_, bucket)| bucket)
    }

    fn points(&self, sizes: &[PingSize]) -> Vec<(f64, f64, f64)> {
        let waiting = |payload: u64, bucket: &Bucket| {
            let payload = Bytes::new(payload);
            let beside = ETHERNET + u64::from(self.path.family.header());
            let frames = fragments(payload, self.path).map(|packet| u64::from(packet) + beside);
            let cost: u64 = frames.map(|frame| bucket.framing.cost(frame)).sum();
            cost.saturating_sub(bucket.depth.get()) as f64
        };
        let point = |size: &PingSize| {
            let request = waiting(size.payload_bytes, &self.request);
            (request, waiting(size.reply_bytes, &self.reply), size.rtt_us_p50 * 1e3)
        };
        sizes.iter().map(point).collect()
    }

    /// How far the points are from the line: the sum of the squares.
    fn squares(&self, sizes: &[PingSize]) -> Option<f64> {
        let points = self.points(sizes);
        let [base, forward, reverse] = line::fit(&points)?.map(|coefficient| coefficient.value);
        let off = |&(request, reply, rtt): &(f64, f64, f64)| rtt - base - forward * request - reverse * reply;
        Some(points.iter().map(|point| off(point).powi(2)).sum())
    }

    fn fitted(&self, sizes: &[PingSize]) -> PingMetrics {
        let Some([base, forward, reverse]) = line::fit(&self.points(sizes)) else {
            return PingMetrics::default();
        };
        let (forward_bps, forward_bps_error) = rate(forward);
        let (reverse_bps, reverse_bps_error) = rate(reverse);
        let base_us = base.value.max(0.0) / 1e3;
        PingMetrics {
            base_rtt_us: Some(base_us),
            base_rtt_us_error: base.error.map(|error| error.max(RESOLUTION_NS) / 1e3),
            forward_bps,
            forward_bps_error,
            reverse_bps,
            reverse_bps_error,
            bdp_bytes: forward_bps.map(|bps| rounded(bps as f64 * base_us / 8e6)),
            ..PingMetrics::default()
        }
    }
}

/// What passes at once: nothing of a rate's bytes where there is no rate; `None` where `pause` brings less than the bucket holds.
fn bucket(way: &DirectionSpec, pause: Duration) -> Option<Bucket> {
    let Some(bottleneck) = &way.bottleneck else {
        return Some(Bucket { depth: Bytes::new(0), framing: Framing::default() });
    };
    let earned = u128::from(bottleneck.rate.bps()) * pause.as_nanos() / 8_000_000_000;
    let is_full = earned >= u128::from(bottleneck.burst.get());
    is_full.then_some(Bucket { depth: bottleneck.burst, framing: way.framing() })
}

/// Nanoseconds per byte as bits per second; nothing where the slope does not differ from zero significantly.
fn rate(slope: Coefficient) -> (Option<u64>, Option<u64>) {
    let is_seen = slope.value > LEAST_SLOPE && slope.error.is_none_or(|error| slope.value > SEEN * error);
    if !is_seen {
        return (None, None);
    }
    let bps = 8e9 / slope.value;
    (Some(rounded(bps)), slope.error.map(|error| rounded(bps * error / slope.value)))
}

impl PingMetrics {
    /// The goodput of a window of the largest payload by three ways of reading.
    fn readings(&mut self, sizes: &[PingSize], headers: Headers) {
        let whole = sizes.iter().filter(|size| size.payload_bytes == size.reply_bytes);
        let Some(largest) = whole.max_by_key(|size| size.payload_bytes) else { return };
        let window_bits = largest.payload_bytes as f64 * 8.0;
        let over = |us: f64| (us > 0.0).then(|| window_bits * 1e6 / us);
        let naive = over(largest.rtt_us_p50);
        self.window_bytes = Some(largest.payload_bytes);
        self.naive_bps = naive.map(rounded);
        self.doubled_bps = naive.map(|bps| rounded(2.0 * bps));
        self.law_bps = self.base_rtt_us.and_then(|base_us| {
            let full = headers.full_frame().get() as f64;
            let frame_us = self.forward_bps.map_or(0.0, |bps| full * 8e6 / bps as f64);
            let by_window = over(base_us + frame_us)?;
            let by_rate = self.forward_bps.map(|bps| bps as f64 * headers.mss() as f64 / full);
            Some(rounded(by_rate.map_or(by_window, |rate| rate.min(by_window))))
        });
    }
}
