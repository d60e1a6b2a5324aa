//! The round trip of each flow without load and under it, and the queue that makes it longer.

use crate::findings::finding::{Bufferbloat, Latency, RttSource};
use crate::ground::interval::{TimeInterval, carrying};
use crate::ground::thresholds::STANDARD;
use crate::ground::weighted_values::WeightedValues;
use crate::infer::{KnownPath, KnownRun, queue};
use pipefill_core::cell::Direction;
use pipefill_core::record::{AnyRow, Element, PingSample, StreamEnd, StreamSummary};
use std::collections::BTreeMap;
use std::time::Duration;

/// A round trip that is this many times the idle one …
const BLOATED: u64 = 2;
/// … and whose median is longer by at least this, has a queue that is seldom empty.
const BLOATED_US: u64 = 5_000;

/// Follows all flows but pings.
pub(super) struct Following {
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
    path: KnownPath,
    /// Else round trips show what the queues hold.
    is_queue_sampled: bool,
}

/// One TCP stream.
struct OfStream {
    /// Its flow's place.
    place: usize,
    direction: Direction,
    measured: TimeInterval,
    /// The last smoothed round trip, and when it was read.
    last: Option<(u64, (u64, u64))>,
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

impl Following {
    pub(super) fn of(run: &KnownRun<'_>) -> Self {
        let flows: Vec<OfFlow> = carrying(run.flows).map(|(index, _)| OfFlow::new(run, index)).collect();
        let of_stream = |stream: &StreamSummary| {
            let place = flows.iter().position(|flow| flow.index == stream.flow)?;
            let direction = run.flow_of(stream)?.direction;
            Some((stream.stream, OfStream { place, direction, measured: run.measured(stream), last: None }))
        };
        let smallest = |stream: &StreamSummary| {
            let ping = run.flow_of(stream)?.ping.as_ref()?;
            Some((stream.stream, ping.payloads.iter().map(|size| size.get()).min()?))
        };
        Self {
            streams: run.streams.iter().filter_map(of_stream).collect(),
            pings: run.streams.iter().filter_map(smallest).collect(),
            busy: run
                .streams
                .iter()
                .filter(|stream| flows.iter().any(|flow| flow.index == stream.flow))
                .map(whole)
                .collect(),
            idle_pings: WeightedValues::default(),
            flows,
            looks: [None; 2],
            least_us: None,
            path: run.path,
            is_queue_sampled: run.plan.is_some(),
        }
    }

    /// Takes the next row, in order of time.
    pub(super) fn push(&mut self, row: &AnyRow) {
        match row {
            AnyRow::Tcp(row) if row.end == StreamEnd::Sender => {
                let rtt_us = row.info.srtt_us.map(u64::from);
                self.round_trip(row.stream, row.t_us, rtt_us.map(|us| (us, us)), row.info.min_rtt_us);
            }
            AnyRow::Packets(row) if row.end == StreamEnd::Sender => {
                let rtts_us = row.srtt_us.map(u64::from).zip(queue::data_rtt_of(row, &STANDARD));
                self.round_trip(row.stream, row.t_us, rtts_us, row.min_rtt_us.map(Into::into));
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

    /// A smoothed round trip, the same of the data alone, and the least one.
    fn round_trip(&mut self, stream: u32, t_us: u64, rtts_us: Option<(u64, u64)>, min_rtt_us: Option<u32>) {
        self.least_us = self.least_us.into_iter().chain(min_rtt_us.map(u64::from)).min();
        let Some(stream) = self.streams.get_mut(&stream) else { return };
        let now = rtts_us.map(|rtts_us| (t_us, rtts_us));
        if let Some((from_us, (srtt_us, data_us))) = std::mem::replace(&mut stream.last, now) {
            let span = TimeInterval { from_us, to_us: t_us }.within(stream.measured);
            let flow = &mut self.flows[stream.place];
            flow.srtt.add(srtt_us, span.length_us());
            if !self.is_queue_sampled
                && let Some(bytes) = queue::bytes_of(&self.path, stream.direction, data_us, &STANDARD)
            {
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
        let idle_us = idle(self.path.base_rtt_us(), self.least_us);
        let idle_pings = self.idle_pings.distribution();
        let latency = |flow: &OfFlow| Latency {
            idle_ping_distribution: idle_pings.clone(),
            ..flow.latency(&self.path, idle_us)
        };
        self.flows.iter().map(|flow| (flow.index, latency(flow))).collect()
    }
}

/// From the first byte that `stream` offered until the last one was there.
fn whole(stream: &StreamSummary) -> TimeInterval {
    TimeInterval { from_us: stream.start_us, to_us: stream.end_us.max(stream.stop_us) }
}

/// The path's round trip without load, or the least one where that is a little longer: it has the time on the wire too. One that is much longer
/// was never without a queue, and one that is shorter is the work of jitter or reordering.
fn idle(base_us: Option<u64>, least_us: Option<u64>) -> Option<u64> {
    let Some(base_us) = base_us else { return least_us };
    let with_the_wire = base_us..=base_us + base_us / 4 + 1_000;
    Some(least_us.filter(|least| with_the_wire.contains(least)).unwrap_or(base_us))
}

impl OfFlow {
    fn new(run: &KnownRun<'_>, index: u32) -> Self {
        Self {
            index,
            window: run.measured_of_flow(index).unwrap_or_default(),
            srtt: WeightedValues::default(),
            ping: WeightedValues::default(),
            queues: Default::default(),
        }
    }

    fn latency(&self, path: &KnownPath, idle_us: Option<u64>) -> Latency {
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
            bufferbloat: idle_us.and_then(|idle_us| self.bufferbloat(path, idle_us, at(50))),
            srtt_distribution: self.srtt.distribution(),
            ping_distribution: self.ping.distribution(),
            idle_ping_distribution: None,
        }
    }

    /// The queue that is never empty for long, where the round trip shows it.
    fn bufferbloat(&self, path: &KnownPath, idle_us: u64, loaded_us: Option<u64>) -> Option<Bufferbloat> {
        let waits = Direction::ALL.map(|direction| self.standing(path, direction));
        let (direction, standing, wait_us) =
            waits.into_iter().flatten().max_by_key(|&(.., wait_us)| wait_us)?;
        let added_us = loaded_us.map_or(wait_us, |loaded| loaded.saturating_sub(idle_us));
        let is_bloated = added_us >= BLOATED_US && added_us >= idle_us.saturating_mul(BLOATED - 1);
        // Half of what was added, at least, has to be in that queue.
        (is_bloated && wait_us.saturating_mul(2) >= added_us).then(|| {
            let bdp =
                path.way(direction).rate.map(|rate| rate.value.bdp(Duration::from_micros(idle_us)).get());
            Bufferbloat {
                direction,
                standing_bytes: Some(standing),
                standing_bdp: bdp.filter(|&bdp| bdp > 0).map(|bdp| standing as f64 / bdp as f64),
                added_us,
            }
        })
    }

    /// What the queue of `direction` holds in the median, and how long that takes to leave it.
    fn standing(&self, path: &KnownPath, direction: Direction) -> Option<(Direction, u64, u64)> {
        let rate = path.way(direction).rate?.value.bps().max(1);
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
        let base = Some(20_000);
        assert_eq!(idle(base, Some(20_130)), Some(20_130), "time on the wire");
        assert_eq!(idle(base, Some(1)), base, "reordering");
        assert_eq!(idle(base, Some(80_000)), base, "never without a queue");
        assert_eq!([idle(None, Some(40)), idle(None, None), idle(base, None)], [Some(40), None, base]);
    }
}
