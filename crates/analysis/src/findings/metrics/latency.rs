//! The round trip of each flow without load and under it, and the queue that makes it longer.

use crate::findings::finding::{Bufferbloat, Latency, RttSource};
use crate::ground::interval::{self, TimeInterval, flow_of};
use crate::ground::thresholds::STANDARD;
use crate::ground::weighted_values::WeightedValues;
use crate::infer::queue;
use pipefill_core::cell::{CellSpec, Direction, Protocol};
use pipefill_core::record::{AnyRow, Element, Manifest, PathFacts, PingSample, StreamEnd, StreamSummary};
use std::collections::BTreeMap;
use std::time::Duration;

/// A round trip that is this many times the idle one …
const BLOATED: u64 = 2;
/// … and by so much longer, as the median, has a queue that is never empty for long.
const BLOATED_US: u64 = 5_000;

/// Follows all flows but pings.
pub(super) struct Following<'a> {
    spec: &'a CellSpec,
    flows: Vec<OfFlow>,
    /// Of TCP.
    streams: BTreeMap<u32, OfStream>,
    /// The last look at each direction's queue.
    looks: [Option<(u64, u64)>; 2],
    /// Streams of pings, and the payload of their smallest request.
    pings: BTreeMap<u32, u64>,
    /// When streams of these flows have data under way.
    busy: Vec<TimeInterval>,
    idle_pings: WeightedValues,
    least_us: Option<u64>,
    /// What is known of the path, where nobody looked into its queues.
    path: Option<&'a PathFacts>,
}

/// One TCP stream.
struct OfStream {
    /// Its flow's place.
    place: usize,
    direction: Direction,
    measured: TimeInterval,
    /// The last smoothed round trip, and when it was read.
    last: Option<(u64, u64)>,
}

/// One flow's distributions over its measured time.
struct OfFlow {
    index: u32,
    window: TimeInterval,
    srtt: WeightedValues,
    ping: WeightedValues,
    /// Bytes in the queue: forward, reverse.
    queues: [WeightedValues; 2],
}

impl<'a> Following<'a> {
    pub(super) fn of(manifest: &'a Manifest) -> Self {
        let spec = &manifest.run.cell.spec;
        let flows = (0_u32..).zip(&spec.flows).filter(|(_, flow)| flow.protocol != Protocol::Ping);
        let flows: Vec<OfFlow> = flows.map(|(index, _)| OfFlow::new(manifest, index)).collect();
        let of_stream = |one: &StreamSummary| {
            let place = flows.iter().position(|flow| flow.index == one.flow)?;
            let direction = flow_of(spec, one)?.direction;
            let measured = interval::measured(spec, one);
            Some((one.stream, OfStream { place, direction, measured, last: None }))
        };
        let smallest = |one: &StreamSummary| {
            let ping = flow_of(spec, one)?.ping.as_ref()?;
            Some((one.stream, ping.payloads.iter().map(|size| size.get()).min()?))
        };
        Self {
            spec,
            streams: manifest.streams.iter().filter_map(of_stream).collect(),
            pings: manifest.streams.iter().filter_map(smallest).collect(),
            busy: manifest.streams.iter().filter(|one| is_of(one, &flows)).map(whole).collect(),
            idle_pings: WeightedValues::default(),
            flows,
            looks: [None; 2],
            least_us: None,
            path: manifest.subject.observed().map(|observed| &observed.path),
        }
    }

    /// Takes the next row, in order of time.
    pub(super) fn take(&mut self, row: &AnyRow) {
        match row {
            AnyRow::Tcp(row) if row.end == StreamEnd::Sender => {
                self.round_trip(row.stream, row.t_us, row.info.srtt_us, row.info.min_rtt_us);
            }
            AnyRow::Packets(row) if row.end == StreamEnd::Sender => {
                self.round_trip(row.stream, row.t_us, row.srtt_us, row.min_rtt_us);
            }
            AnyRow::Path(row) if row.element == Element::Queue => {
                let place = row.direction.index();
                let Some((from_us, bytes)) = self.looks[place].replace((row.t_us, row.backlog_bytes)) else {
                    return;
                };
                for flow in &mut self.flows {
                    let span = TimeInterval { from_us, to_us: row.t_us }.within(flow.window);
                    flow.queues[place].add(bytes, span.length_us());
                }
            }
            _ => {}
        }
    }

    fn round_trip(&mut self, stream: u32, t_us: u64, srtt_us: Option<u32>, min_rtt_us: Option<u32>) {
        self.least_us = self.least_us.into_iter().chain(min_rtt_us.map(u64::from)).min();
        let Some(stream) = self.streams.get_mut(&stream) else { return };
        let now = srtt_us.map(|srtt_us| (t_us, u64::from(srtt_us)));
        if let Some((from_us, srtt_us)) = std::mem::replace(&mut stream.last, now) {
            let span = TimeInterval { from_us, to_us: t_us }.within(stream.measured);
            let flow = &mut self.flows[stream.place];
            flow.srtt.add(srtt_us, span.length_us());
            let queued =
                self.path.and_then(|path| queue::bytes_of(path, stream.direction, srtt_us, &STANDARD));
            if let Some(bytes) = queued {
                flow.queues[stream.direction.index()].add(bytes, span.length_us());
            }
        }
    }

    /// Takes the answer to a ping; these come in any order.
    pub(super) fn answer(&mut self, row: &PingSample) {
        let is_smallest = self.pings.get(&row.stream) == Some(&row.payload_bytes);
        let Some(rtt_ns) = row.rtt_ns.filter(|_| is_smallest) else { return };
        for flow in &mut self.flows {
            if (flow.window.from_us..flow.window.to_us).contains(&row.t_us) {
                flow.ping.add(rtt_ns / 1_000, 1);
            }
        }
        let trip = TimeInterval { from_us: row.t_us, to_us: row.t_us.saturating_add(rtt_ns / 1_000) };
        if self.busy.iter().all(|busy| trip.to_us < busy.from_us || busy.to_us < trip.from_us) {
            self.idle_pings.add(rtt_ns / 1_000, 1);
        }
    }

    /// Each flow's index in the cell with its round trips, after the last row.
    pub(super) fn latencies(self) -> BTreeMap<u32, Latency> {
        let idle_us = idle(self.spec.path.rtt(), self.least_us);
        let idle_pings = self.idle_pings.distribution();
        let latency = |flow: &OfFlow| Latency {
            idle_ping_distribution: idle_pings.clone(),
            ..flow.latency(self.spec, idle_us)
        };
        self.flows.iter().map(|flow| (flow.index, latency(flow))).collect()
    }
}

/// Whether `stream` belongs to one of `flows`.
fn is_of(stream: &StreamSummary, flows: &[OfFlow]) -> bool {
    flows.iter().any(|flow| flow.index == stream.flow)
}

/// From the first byte that `stream` offered until the last one was there.
fn whole(stream: &StreamSummary) -> TimeInterval {
    TimeInterval { from_us: stream.start_us, to_us: stream.end_us.max(stream.stop_us) }
}

/// The path's fixed delay, or the least round trip where that is a little longer: it has the time on the wire too. One that is much longer
/// was never without a queue, and one that is shorter is the work of jitter or reordering.
fn idle(asked: Duration, least_us: Option<u64>) -> Option<u64> {
    let asked_us = u64::try_from(asked.as_micros()).unwrap_or(u64::MAX);
    match least_us {
        Some(least) if asked_us == 0 || (asked_us..=asked_us + asked_us / 4 + 1_000).contains(&least) => {
            Some(least)
        }
        _ => Some(asked_us).filter(|&us| us > 0),
    }
}

impl OfFlow {
    fn new(manifest: &Manifest, index: u32) -> Self {
        let spec = &manifest.run.cell.spec;
        let its = manifest.streams.iter().filter(|one| one.flow == index);
        let window = its.map(|one| interval::measured(spec, one)).reduce(TimeInterval::around);
        Self {
            index,
            window: window.unwrap_or(TimeInterval { from_us: 0, to_us: 0 }),
            srtt: WeightedValues::default(),
            ping: WeightedValues::default(),
            queues: Default::default(),
        }
    }

    fn latency(&self, spec: &CellSpec, idle_us: Option<u64>) -> Latency {
        let (rtts, source) = match (self.ping.lower_median(), self.srtt.lower_median()) {
            (Some(_), _) => (&self.ping, Some(RttSource::Ping)),
            (None, Some(_)) => (&self.srtt, Some(RttSource::Srtt)),
            (None, None) => (&self.srtt, None),
        };
        let at = |percent| rtts.lower_percentile(percent);
        Latency {
            idle_rtt_us: idle_us,
            loaded_rtt_us_p50: at(50),
            loaded_rtt_us_p95: at(95),
            loaded_rtt_us_p99: at(99),
            loaded_rtt_source: source,
            bufferbloat: idle_us.and_then(|idle_us| self.bufferbloat(spec, idle_us, at(50))),
            srtt_distribution: self.srtt.distribution(),
            ping_distribution: self.ping.distribution(),
            idle_ping_distribution: None,
        }
    }

    /// The queue that is never empty for long, where the round trip shows it.
    fn bufferbloat(&self, spec: &CellSpec, idle_us: u64, loaded_us: Option<u64>) -> Option<Bufferbloat> {
        let waits = Direction::ALL.map(|direction| self.standing(spec, direction));
        let (direction, standing, wait_us) =
            waits.into_iter().flatten().max_by_key(|&(.., wait_us)| wait_us)?;
        let added_us = loaded_us.map_or(wait_us, |loaded| loaded.saturating_sub(idle_us));
        let is_bloated = added_us >= BLOATED_US && added_us >= idle_us.saturating_mul(BLOATED - 1);
        // Half of what was added, at least, has to be in that queue.
        (is_bloated && wait_us.saturating_mul(2) >= added_us).then(|| {
            let bdp = spec
                .path
                .way(direction)
                .bottleneck
                .as_ref()
                .map(|one| one.rate.bdp(Duration::from_micros(idle_us)).get());
            Bufferbloat {
                direction,
                standing_bytes: Some(standing),
                standing_bdp: bdp.filter(|&bdp| bdp > 0).map(|bdp| standing as f64 / bdp as f64),
                added_us,
            }
        })
    }

    /// What the queue of `direction` holds in the median, and how long that takes to leave it.
    fn standing(&self, spec: &CellSpec, direction: Direction) -> Option<(Direction, u64, u64)> {
        let rate = spec.path.way(direction).bottleneck.as_ref()?.rate.bps().max(1);
        let standing = self.queues[direction.index()].lower_median()?;
        let wait_us = u64::try_from(u128::from(standing) * 8_000_000 / u128::from(rate)).ok()?;
        Some((direction, standing, wait_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_round_trip_is_no_outlier_and_no_queue() {
        let of = |asked_ms, least| idle(Duration::from_millis(asked_ms), least);
        assert_eq!(of(20, Some(20_130)), Some(20_130), "time on the wire");
        assert_eq!(of(20, Some(1)), Some(20_000), "reordering");
        assert_eq!(of(20, Some(80_000)), Some(20_000), "never without a queue");
        assert_eq!([of(0, Some(40)), of(0, None), of(20, None)], [Some(40), None, Some(20_000)]);
    }
}
