//! What is known of a run beside a stream's own samples: the path's rate and queue, its drops, the threads' CPU time.
//!
//! Never: a guess where nothing was recorded.

use super::history::History;
use crate::metrics::window::{self, Window, streams_of};
use crate::models::headers;
use crate::reading::Reading;
use crate::statistics::rounded;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::record::{AnyRow, Manifest, StreamEnd, TcpSample};
use pipefill_core::units::{Bytes, Rate};
use std::collections::BTreeMap;

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

/// One run's facts.
pub(super) struct Facts<'a> {
    manifest: &'a Manifest,
    /// What was seen last.
    pub(super) history: History,
    utilisation: Option<Utilisation>,
    /// Payload that the path of the streams' direction lets through.
    pub(super) path_goodput_bps: Option<u64>,
    /// Segments retransmitted of those sent.
    pub(super) loss_share: Option<f64>,
    /// Segments lost by chance of those sent, where the queue dropped others.
    pub(super) random_loss_share: Option<f64>,
    pub(super) drops: Drops,
    /// The round trip without a queue.
    pub(super) base_rtt_us: u64,
}

/// Payload acknowledged in the measured time of all streams of one direction, over what the path lets through.
struct Utilisation {
    whole: Window,
    /// Of each stream, at both ends of that time.
    acked: BTreeMap<u32, (Reading, Reading)>,
    possible_bps: f64,
}

/// Whether the bottleneck of a direction was busy.
pub(super) struct Busy<'a> {
    history: &'a History,
    direction: Direction,
    rate_bps: Option<f64>,
    is_the_hosts: bool,
}

impl<'a> Facts<'a> {
    pub(super) fn of(manifest: &'a Manifest) -> Self {
        let spec = &manifest.run.cell.spec;
        let flows = || streams_of(spec, &manifest.streams, Protocol::Tcp);
        let forward = flows().any(|(flow, _)| flow.direction == Direction::Forward);
        let direction = if forward { Direction::Forward } else { Direction::Reverse };
        let drops = drops(manifest, direction);
        let mixed = (drops.random > 0 && drops.queue > 0).then_some(drops.random);
        Self {
            manifest,
            history: History::of(flows().map(|(flow, one)| (one.stream, flow.direction))),
            utilisation: Utilisation::of(manifest, direction),
            path_goodput_bps: payload_rate(manifest, direction).map(rounded),
            loss_share: loss_share(manifest),
            random_loss_share: mixed.and_then(|random| share_of_sent(manifest, random)),
            drops,
            base_rtt_us: u64::try_from(spec.path.rtt().as_micros()).unwrap_or(u64::MAX),
        }
    }

    /// Takes the next row of any table, in order of time.
    pub(super) fn take(&mut self, row: &AnyRow) {
        self.history.take(row);
        if let (AnyRow::Tcp(row), Some(utilisation)) = (row, &mut self.utilisation)
            && row.end == StreamEnd::Sender
        {
            utilisation.see(row);
        }
    }

    pub(super) fn busy(&self, direction: Direction) -> Busy<'_> {
        let rate_bps = payload_rate(self.manifest, direction);
        let is_the_hosts = bottleneck_rate(self.manifest, direction).is_none();
        Busy { history: &self.history, direction, rate_bps, is_the_hosts }
    }

    /// Payload acknowledged over what the path lets through, in the measured time; after the last row.
    pub(super) fn utilisation(&self) -> Option<f64> {
        self.utilisation.as_ref().map(Utilisation::share)
    }
}

impl Utilisation {
    /// `None` where the path has no rate or the time is empty.
    fn of(manifest: &Manifest, direction: Direction) -> Option<Self> {
        let spec = &manifest.run.cell.spec;
        let streams = || {
            let all = streams_of(spec, &manifest.streams, Protocol::Tcp);
            all.filter(|(flow, _)| flow.direction == direction).map(|(_, summary)| summary)
        };
        let windows = streams().map(|summary| window::measured(spec, summary));
        let whole = windows
            .reduce(|a, b| Window { from_us: a.from_us.min(b.from_us), to_us: a.to_us.max(b.to_us) })
            .filter(|whole| whole.length_us() > 0)?;
        let readings = (Reading::at(whole.from_us), Reading::at(whole.to_us));
        let acked = streams().map(|summary| (summary.stream, readings)).collect();
        Some(Self { whole, acked, possible_bps: payload_rate(manifest, direction)? })
    }

    fn see(&mut self, row: &TcpSample) {
        if let Some((from, to)) = self.acked.get_mut(&row.stream) {
            from.see(row.t_us, row.info.bytes_acked);
            to.see(row.t_us, row.info.bytes_acked);
        }
    }

    /// One at most: what is acknowledged in a lump when a hole is filled, or out of a full bucket, arrived before.
    fn share(&self) -> f64 {
        let bytes: f64 =
            self.acked.values().map(|(from, to)| to.value_or_first() - from.value_or_first()).sum();
        (bytes * 8e6 / self.whole.length_us() as f64 / self.possible_bps).min(1.0)
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
        if self.history.acked_bps(self.direction, window) >= FULL * rate {
            return true;
        }
        let (mut count, mut waiting) = (0, true);
        for is_waiting in self.history.queue_looks(self.direction, window) {
            count += 1;
            waiting &= is_waiting;
        }
        waiting && count >= 2
    }
}

/// What the path lets through as payload; where it has no rate, the simulated host's own.
fn payload_rate(manifest: &Manifest, direction: Direction) -> Option<f64> {
    let rate = bottleneck_rate(manifest, direction).or_else(|| manifest.environment.host_rate())?;
    Some(headers::goodput_at_rate(rate, Protocol::Tcp, Bytes::new(headers::DEFAULT_MSS)))
}

fn bottleneck_rate(manifest: &Manifest, direction: Direction) -> Option<Rate> {
    let path = &manifest.run.cell.spec.path;
    let path = match direction {
        Direction::Forward => &path.forward,
        Direction::Reverse => &path.reverse,
    };
    path.bottleneck.as_ref().map(|one| one.rate)
}

fn loss_share(manifest: &Manifest) -> Option<f64> {
    let infos = manifest.streams.iter().filter_map(|stream| stream.tcp);
    share_of_sent(manifest, infos.map(|info| u64::from(info.retransmits)).sum())
}

fn share_of_sent(manifest: &Manifest, segments: u64) -> Option<f64> {
    let infos = manifest.streams.iter().filter_map(|stream| stream.tcp);
    let sent: u64 = infos.map(|info| u64::from(info.data_segs_out)).sum();
    (sent > 0).then(|| segments as f64 / sent as f64)
}

pub(super) fn drops(manifest: &Manifest, direction: Direction) -> Drops {
    let place = match direction {
        Direction::Forward => "path forward",
        Direction::Reverse => "path reverse",
    };
    let of = |name: &str| {
        let mut all = manifest.counters.iter();
        all.find(|one| one.place == place && one.name == name).map_or(0, |one| one.after - one.before)
    };
    Drops {
        random: of("dropped_random_loss_packets"),
        queue: of("dropped_queue_full_packets"),
        delay_limit: of("dropped_delay_limit_packets"),
        exceeds_burst: of("dropped_exceeds_burst_packets"),
    }
}
