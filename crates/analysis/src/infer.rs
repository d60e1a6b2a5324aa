//! What sockets alone tell of a path that nobody planned: base round trip, bottleneck rate, queue, and what losses look like.
//!
//! A first pass over the samples gives the facts ([`Inference`]), a second one judges with them. [`KnownRun`] is what is known before rows are
//! read, by a scenario or by such facts: nothing else of the judge knows which.
//! What no flow has tried stays absent.

mod arrival_timers;
pub(crate) mod arrivals;
mod base_rtt;
mod blindfold;
mod bottleneck;
mod bucket;
pub(crate) mod buffer_track;
pub(crate) mod datagrams;
mod detour;
pub(crate) mod drops;
pub(crate) mod epochs;
mod first_flights;
mod history;
mod idle_restart;
mod known_path;
mod known_run;
mod loss_events;
pub(crate) mod losses;
mod open_window;
mod overflows;
pub(crate) mod packets;
pub(crate) mod queue;
mod rate_over_time;
mod rises;
mod rounds;
pub(crate) mod run;
pub(crate) mod samples;
mod sender_sample;
mod sharing;
pub(crate) mod slow_start;
pub(crate) mod socket_events;
mod stall;
#[cfg(test)]
pub(crate) mod synthetic;
mod timer_waits;
mod track;
pub(crate) mod turns;
pub(crate) mod utilisation;
pub(crate) mod waits;
pub(crate) mod way;

pub use blindfold::{View, blindfolded, forget_the_plan};
pub use known_path::{KnownPath, KnownWay, Policer};
pub use known_run::KnownRun;
pub(crate) use rate_over_time::asked_rate;

use crate::ground::models::headers::Headers;
use crate::ground::thresholds::{SAMPLES_MAX, SAMPLES_OF_A_STREAM, Thresholds};
use bottleneck::DirectionRounds;
use drops::Drops;
use packets::{PacketTrack, StreamPackets};
use pipefill_core::cell::Direction;
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::{
    AnyRow, DeliverySample, Fact, Manifest, Observed, PathFacts, StreamEnd, StreamSummary, Subject, WayFacts,
};
use rounds::Round;
use std::collections::BTreeMap;
use track::Track;

/// Collects samples of sockets and finds what they tell of the path.
#[derive(Debug)]
pub struct Inference<'a> {
    thresholds: &'a Thresholds,
    tracks: BTreeMap<u32, Track>,
    packets: BTreeMap<u32, PacketTrack>,
    headers: Headers,
    /// Samples that a round has at least.
    round_samples: usize,
    /// Rounds of a plateau that have to agree.
    plateau_rounds: usize,
    /// Whether segments were sent again before the first sample.
    has_lost_before: bool,
    /// What an emulated path dropped: forward, reverse.
    drops: [Drops; 2],
}

impl<'a> Inference<'a> {
    /// Of the connections of `run`; no sample was seen yet.
    pub fn new(run: &KnownRun<'_>, thresholds: &'a Thresholds) -> Self {
        let most = (SAMPLES_MAX / run.streams.len().max(1)).max(SAMPLES_OF_A_STREAM);
        let track = |stream: &StreamSummary| {
            let track = Track::new(run.flow_of(stream)?.direction, most);
            Some((stream.stream, track.with_bucket(stream.bucket)))
        };
        Self {
            thresholds,
            tracks: run.streams.iter().filter_map(track).collect(),
            packets: BTreeMap::new(),
            headers: run.path.headers,
            round_samples: run.round_samples(thresholds),
            plateau_rounds: run.plateau_rounds(thresholds),
            has_lost_before: run.before.retransmits > 0,
            drops: run.drops,
        }
    }

    /// Takes the next row, in order of time.
    pub fn push(&mut self, row: &AnyRow) {
        match row {
            AnyRow::Tcp(row) if row.end == StreamEnd::Sender => {
                if let Some(track) = self.tracks.get_mut(&row.stream) {
                    track.observe(row, self.thresholds);
                }
            }
            AnyRow::Packets(row) if row.end == StreamEnd::Sender && self.tracks.contains_key(&row.stream) => {
                self.packets.entry(row.stream).or_default().push(row);
            }
            _ => {}
        }
    }

    /// The facts, after the last sample.
    pub fn facts(mut self) -> PathFacts {
        let (thresholds, fewest) = (self.thresholds, self.round_samples);
        for (stream, samples) in std::mem::take(&mut self.packets) {
            if let Some(track) = self.tracks.get_mut(&stream) {
                let evidence = StreamPackets::of(samples.as_slice(), thresholds);
                let of_packets = Track::of_packets(track.direction, &evidence, thresholds);
                *track = of_packets.with_bucket(track.bucket);
            }
        }
        let mut facts = PathFacts {
            base_rtt_us: base_rtt::find(self.tracks.values(), thresholds),
            ..PathFacts::default()
        };
        for direction in Direction::ALL {
            let its = self.of_direction(direction);
            let way = facts.way_mut(direction);
            way.policer = bucket::policer(&its, self.headers, thresholds);
            way.rate_bps = bucket::rate(&its, self.headers, thresholds);
        }
        let Some(base) = facts.base_rtt_us else { return facts };
        let (mut found, mut shared, mut has_lost) = ([None; 2], [None; 2], [false; 2]);
        for direction in Direction::ALL {
            let its = self.of_direction(direction);
            let rounds: Vec<Vec<Round>> =
                its.iter().map(|track| rounds::of(track, fewest, thresholds)).collect();
            let of_way = DirectionRounds {
                tracks: &its,
                rounds: &rounds,
                base_rtt_us: base,
                plateau_rounds: self.plateau_rounds,
                thresholds,
            };
            found[direction.index()] = of_way.bottleneck(self.headers);
            shared[direction.index()] = of_way.shared();
            let counted = [direction, direction.opposite()].map(|direction| self.drops[direction.index()]);
            let losses = losses::find(&its, base.value, self.has_lost_before, counted, thresholds);
            has_lost[direction.index()] = losses.is_some();
            if let Some(losses) = losses {
                let way = facts.way_mut(direction);
                way.loss = losses.kind;
                way.overflow_rtt_us = losses.rtt_us.filter(|_| way.has_full_queue()).map(Fact::inferred);
            } else if self.has_lost_before {
                facts.way_mut(direction).overflow_rtt_us = losses::longest(&its).map(Fact::inferred);
            }
        }
        for (direction, bottleneck) in Direction::ALL.into_iter().zip(&mut found) {
            *bottleneck = bottleneck
                .filter(|bottleneck| !bottleneck.is_by_sharing || facts.way(direction).has_full_queue());
        }
        // Both directions share the round trip: where one of them has tried its bottleneck, the queue is its own.
        let is_tried = found.iter().flatten().any(|bottleneck| bottleneck.is_tried);
        for (direction, bottleneck) in Direction::ALL.into_iter().zip(found) {
            if let Some(WayFacts { rate_bps, rate_since_us, queue_us, .. }) = bottleneck
                .filter(|bottleneck| bottleneck.is_tried || !is_tried)
                .map(|bottleneck| bottleneck.way)
            {
                let way = facts.way_mut(direction);
                // What leaves a queue shows its rate closer than what comes through it in a round trip.
                way.rate_bps = way.rate_bps.or(rate_bps);
                (way.rate_since_us, way.queue_us) = (rate_since_us, queue_us);
            }
            let way = facts.way_mut(direction);
            // ACKs that wait on their way back make a round trip long too, and drop no data: losses have to be this direction's queue's.
            if way.rate_bps.is_some() || !has_lost[direction.index()] || way.has_full_queue() {
                way.shared_bps = shared[direction.index()];
            }
        }
        facts
    }

    fn of_direction(&self, direction: Direction) -> Vec<&Track> {
        self.tracks.values().filter(|track| track.direction == direction).collect()
    }
}

/// `manifest` with what the samples among `rows` tell of its path.
///
/// # Errors
/// The first row that could not be read.
pub fn inferred<E>(
    manifest: &Manifest,
    rows: impl Iterator<Item = Result<AnyRow, E>>,
    thresholds: &Thresholds,
) -> Result<Manifest, E> {
    let mut inference = Inference::new(&KnownRun::of(manifest), thresholds);
    for row in rows {
        inference.push(&row?);
    }
    Ok(with_facts(manifest, inference.facts()))
}

/// The rows that a sample of a socket, or of packets, stands for: itself, and [`delivery`].
pub fn rows(sample: AnyRow) -> impl Iterator<Item = AnyRow> {
    let delivery = delivery(&sample);
    std::iter::once(sample).chain(delivery)
}

/// The application's byte counts as far as a sample shows them: what was acknowledged, or what came in.
pub fn delivery(sample: &AnyRow) -> Option<AnyRow> {
    let (stream, bytes) = match sample {
        AnyRow::Tcp(row) => match row.end {
            StreamEnd::Sender => (row.stream, row.info.bytes_acked?),
            StreamEnd::Receiver => (row.stream, row.info.bytes_received?),
        },
        AnyRow::Packets(row) => (row.stream, row.acked_bytes),
        _ => return None,
    };
    let t_us = sample.t_us();
    Some(AnyRow::Delivery(DeliverySample { t_us, stream, sent_bytes: bytes, received_bytes: bytes }))
}

/// `manifest` with `facts` as what is known of its path.
pub fn with_facts(manifest: &Manifest, facts: PathFacts) -> Manifest {
    let observed = manifest.subject.observed().cloned().unwrap_or_default();
    Manifest { subject: Subject::Observed(Observed { path: facts, ..observed }), ..manifest.clone() }
}

/// What a flow shows of others at its bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedBottleneck {
    /// What got through at times although the round trip stayed up, bits per second; `None` where the path's rate is unknown.
    pub slow_bps: Option<u64>,
    /// Whether it may as well be ACKs that wait on their way back.
    pub may_be_acks: bool,
}

/// What `way` shows of others at the bottleneck of a flow in its direction; `None` where none were seen.
pub fn of_others(way: &WayFacts, limited_by: LimitedBy) -> Option<SharedBottleneck> {
    let is_without_a_rate =
        limited_by == LimitedBy::Path && way.rate_bps.is_none() && way.overflow_rtt_us.is_some();
    let slow_bps = way.shared_bps.map(|slow| slow.value);
    (slow_bps.is_some() || is_without_a_rate).then(|| SharedBottleneck {
        slow_bps,
        may_be_acks: way.rate_bps.is_none() && way.overflow_rtt_us.is_none(),
    })
}

#[cfg(test)]
mod tests;
