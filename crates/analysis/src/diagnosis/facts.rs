//! What is known of a run beside a stream's own samples: the path's rate and queue, its drops, the threads' CPU time.
//!
//! Never: a guess where nothing was recorded.

use crate::metrics::window::{self, Window, streams_of};
use crate::models::headers;
use crate::statistics::rounded;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::record::{PathSample, RunRecord, StreamEnd};
use pipefill_core::units::{Bytes, Rate};
use std::collections::BTreeMap;

/// The simulator's word for how fast its hosts send where the path has no rate.
const HOST_RATE_FACT: &str = "host rate where the path has none, bit/s";
/// From this share of the path's payload rate on, over a round trip, the path is full.
const FULL: f64 = 0.95;

/// Drops of the path in the direction of the data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Drops {
    pub(super) random: u64,
    pub(super) queue: u64,
    pub(super) delay_limit: u64,
    pub(super) exceeds_burst: u64,
}

impl Drops {
    /// Most of what was lost was lost by the instrument, not by the path that was asked for.
    pub(super) fn are_the_testbeds(self) -> bool {
        self.delay_limit + self.exceeds_burst > self.random + self.queue
    }
}

/// Cumulative payload acknowledged of one stream.
struct Acked {
    stream: u32,
    direction: Direction,
    points: Vec<(u64, u64)>,
}

/// One run's facts.
pub(super) struct Facts<'a> {
    record: &'a RunRecord,
    acked: Vec<Acked>,
    /// CPU time of each thread so far: (microsecond, microseconds).
    threads: BTreeMap<&'a str, Vec<(u64, u64)>>,
    direction: Direction,
    /// Payload that the path of the streams' direction lets through.
    pub(super) path_goodput_bps: Option<u64>,
    /// Payload acknowledged over that, in the measured time.
    pub(super) utilisation: Option<f64>,
    /// Segments retransmitted of those sent.
    pub(super) loss_share: Option<f64>,
    pub(super) drops: Drops,
    /// The round trip without a queue.
    pub(super) base_rtt_us: u64,
}

/// Whether the bottleneck of a direction was busy.
pub(super) struct Busy<'a> {
    facts: &'a Facts<'a>,
    direction: Direction,
    rate_bps: Option<f64>,
    is_the_hosts: bool,
    queue: Vec<&'a PathSample>,
}

impl<'a> Facts<'a> {
    pub(super) fn of(record: &'a RunRecord) -> Self {
        let spec = &record.manifest.run.cell.spec;
        let flows: Vec<_> = streams_of(spec, &record.manifest.streams, Protocol::Tcp).collect();
        let forward = flows.iter().any(|(flow, _)| flow.direction == Direction::Forward);
        let direction = if forward { Direction::Forward } else { Direction::Reverse };
        let acked = flows.iter().map(|(flow, one)| Acked::of(record, flow.direction, one.stream)).collect();
        let mut facts = Self {
            record,
            acked,
            threads: threads(record),
            direction,
            path_goodput_bps: payload_rate(record, direction).map(rounded),
            utilisation: None,
            loss_share: loss_share(record),
            drops: drops(record, direction),
            base_rtt_us: u64::try_from(spec.path.rtt().as_micros()).unwrap_or(u64::MAX),
        };
        facts.utilisation = facts.measure_utilisation();
        facts
    }

    pub(super) fn busy(&'a self, direction: Direction) -> Busy<'a> {
        let name = match direction {
            Direction::Forward => "forward",
            Direction::Reverse => "reverse",
        };
        let is_queue = |row: &&PathSample| row.element == "queue" && row.direction == name;
        let mut queue: Vec<&PathSample> = self.record.path.iter().filter(is_queue).collect();
        queue.sort_by_key(|row| row.t_us);
        let rate_bps = payload_rate(self.record, direction);
        let is_the_hosts = bottleneck_rate(self.record, direction).is_none();
        Busy { facts: self, direction, rate_bps, is_the_hosts, queue }
    }

    /// The largest share of one CPU that a thread whose name holds `word` took between the samples around `window`.
    pub(super) fn cpu_share(&self, word: &str, window: Window) -> Option<f64> {
        let named = self.threads.iter().filter(|(name, _)| name.contains(word));
        named.filter_map(|(_, points)| cpu_share(points, window)).reduce(f64::max)
    }

    /// What `stream` has got acknowledged by `t_us`.
    pub(super) fn acked_bytes(&self, stream: u32, t_us: u64) -> f64 {
        self.acked.iter().find(|one| one.stream == stream).map_or(0.0, |one| one.at(t_us))
    }

    fn acked_bps(&self, direction: Direction, window: Window) -> f64 {
        let streams = self.acked.iter().filter(|stream| stream.direction == direction);
        let bytes: f64 = streams.map(|stream| stream.at(window.to_us) - stream.at(window.from_us)).sum();
        bytes * 8e6 / window.length_us().max(1) as f64
    }

    fn measure_utilisation(&self) -> Option<f64> {
        let spec = &self.record.manifest.run.cell.spec;
        let streams = streams_of(spec, &self.record.manifest.streams, Protocol::Tcp);
        let of_direction = streams.filter(|(flow, _)| flow.direction == self.direction);
        let windows = of_direction.map(|(_, summary)| window::measured(spec, summary));
        let whole = windows
            .reduce(|a, b| Window { from_us: a.from_us.min(b.from_us), to_us: a.to_us.max(b.to_us) })?;
        let possible = payload_rate(self.record, self.direction)?;
        (whole.length_us() > 0).then(|| self.acked_bps(self.direction, whole) / possible)
    }
}

impl Busy<'_> {
    /// Where the path has no rate of its own, a simulated host's is the limit: no rate that was asked for.
    pub(super) fn is_the_hosts(&self) -> bool {
        self.is_the_hosts
    }

    /// Over the whole of `window`: at the rate, or with something in the queue at every look.
    pub(super) fn over(&self, window: Window) -> bool {
        let Some(rate) = self.rate_bps else { return false };
        if self.facts.acked_bps(self.direction, window) >= FULL * rate {
            return true;
        }
        let from = self.queue.partition_point(|row| row.t_us < window.from_us);
        let looks = self.queue[from..].iter().take_while(|row| row.t_us < window.to_us);
        let (mut count, mut waiting) = (0, true);
        for row in looks {
            count += 1;
            waiting &= row.backlog_packets > 0;
        }
        waiting && count >= 2
    }
}

impl Acked {
    fn of(record: &RunRecord, direction: Direction, stream: u32) -> Self {
        let rows = record.tcp.iter().filter(|row| row.stream == stream && row.end == StreamEnd::Sender);
        let mut points: Vec<(u64, u64)> = rows.map(|row| (row.t_us, row.info.bytes_acked)).collect();
        points.sort_unstable();
        Self { stream, direction, points }
    }

    /// Bytes acknowledged until `t_us`, between two samples in proportion.
    fn at(&self, t_us: u64) -> f64 {
        let next = self.points.partition_point(|&(t, _)| t < t_us);
        match (next.checked_sub(1).map(|at| self.points[at]), self.points.get(next)) {
            (Some((t0, b0)), Some(&(t1, b1))) => {
                b0 as f64 + (b1 as f64 - b0 as f64) * (t_us - t0) as f64 / (t1 - t0).max(1) as f64
            }
            (Some((_, bytes)), None) | (None, Some(&(_, bytes))) => bytes as f64,
            (None, None) => 0.0,
        }
    }
}

fn threads(record: &RunRecord) -> BTreeMap<&str, Vec<(u64, u64)>> {
    let mut threads: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for row in &record.cpu {
        threads.entry(&row.thread).or_default().push((row.t_us, row.cpu_us));
    }
    threads.values_mut().for_each(|points| points.sort_unstable());
    threads
}

/// CPU time over wall time between the last point before `window` and the first after it.
fn cpu_share(points: &[(u64, u64)], window: Window) -> Option<f64> {
    let begin = points.partition_point(|&(t, _)| t <= window.from_us).saturating_sub(1);
    let end = points.partition_point(|&(t, _)| t < window.to_us).min(points.len().checked_sub(1)?);
    let ((t0, cpu0), (t1, cpu1)) = (points[begin], points[end]);
    (t1 > t0).then(|| cpu1.saturating_sub(cpu0) as f64 / (t1 - t0) as f64)
}

/// What the path lets through as payload; where it has no rate, the simulated host's own.
fn payload_rate(record: &RunRecord, direction: Direction) -> Option<f64> {
    let rate = bottleneck_rate(record, direction).or_else(|| host_rate(record))?;
    Some(headers::goodput_at_rate(rate, Protocol::Tcp, Bytes::new(headers::DEFAULT_MSS)))
}

fn bottleneck_rate(record: &RunRecord, direction: Direction) -> Option<Rate> {
    let path = &record.manifest.run.cell.spec.path;
    let path = match direction {
        Direction::Forward => &path.forward,
        Direction::Reverse => &path.reverse,
    };
    path.bottleneck.as_ref().map(|one| one.rate)
}

fn host_rate(record: &RunRecord) -> Option<Rate> {
    record.manifest.environment.facts.get(HOST_RATE_FACT)?.parse().ok().map(Rate::from_bps)
}

fn loss_share(record: &RunRecord) -> Option<f64> {
    let infos: Vec<_> = record.manifest.streams.iter().filter_map(|stream| stream.tcp).collect();
    let sent: u64 = infos.iter().map(|info| u64::from(info.data_segs_out)).sum();
    let again: u64 = infos.iter().map(|info| u64::from(info.retransmits)).sum();
    (sent > 0).then(|| again as f64 / sent as f64)
}

pub(super) fn drops(record: &RunRecord, direction: Direction) -> Drops {
    let place = match direction {
        Direction::Forward => "path forward",
        Direction::Reverse => "path reverse",
    };
    let of = |name: &str| {
        let mut all = record.manifest.counters.iter();
        all.find(|one| one.place == place && one.name == name).map_or(0, |one| one.after - one.before)
    };
    Drops {
        random: of("dropped_random_loss_packets"),
        queue: of("dropped_queue_full_packets"),
        delay_limit: of("dropped_delay_limit_packets"),
        exceeds_burst: of("dropped_exceeds_burst_packets"),
    }
}
