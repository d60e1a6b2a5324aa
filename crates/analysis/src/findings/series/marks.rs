//! Retransmissions and drops, counted bucket by bucket.
//!
//! Never: a guessed kind of retransmission; those that were only sampled have none.

use crate::ground::interval::TimeInterval;
use pipefill_core::cell::Direction;
use pipefill_core::record::{
    CaStateSource, Element, Manifest, PathSample, Retransmit, RetransmitKind, TcpSample,
};
use std::collections::BTreeMap;

/// Segments retransmitted in a bucket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retransmitted {
    /// Where the bucket begins.
    pub t_us: u64,
    /// In fast recovery, after a time-out, as a probe, needlessly: in that order.
    pub by_kind: [u64; 4],
    /// Of a kind that was not watched.
    pub sampled: u64,
}

/// Packets that the path dropped in a bucket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drops {
    /// Where the bucket begins.
    pub t_us: u64,
    /// Packets.
    pub packets: u64,
}

/// The counts so far.
#[derive(Debug)]
pub(super) struct Marks {
    from_us: u64,
    width_us: u64,
    /// Number of the last bucket: what comes after the run's end falls into it.
    last: u64,
    is_watched: bool,
    watched: BTreeMap<u64, Retransmitted>,
    sampled: BTreeMap<u64, u64>,
    /// What each stream had sent again by its last sample.
    before: BTreeMap<u32, u64>,
    drops: BTreeMap<u64, u64>,
    /// What each element had dropped by its last sample: direction and name.
    dropped: BTreeMap<(Direction, Element), u64>,
}

impl Marks {
    /// Of the run that `manifest` is about, in buckets of `width_us`.
    pub(super) fn of(manifest: &Manifest, span: TimeInterval, width_us: u64) -> Self {
        let is_sampled = |source| matches!(source, None | Some(CaStateSource::Sampled));
        let is_watched =
            !manifest.streams.iter().any(|stream| stream.tcp.is_some() && is_sampled(stream.ca_state_source));
        Self {
            from_us: span.from_us,
            width_us,
            last: span.length_us() / width_us.max(1),
            is_watched,
            watched: BTreeMap::new(),
            sampled: BTreeMap::new(),
            before: BTreeMap::new(),
            drops: BTreeMap::new(),
            dropped: BTreeMap::new(),
        }
    }

    /// Counts a retransmission of a known kind.
    pub(super) fn retransmitted(&mut self, row: &Retransmit) {
        let t_us = self.bucket(row.t_us);
        let mark = self.watched.entry(t_us).or_insert(Retransmitted { t_us, ..Retransmitted::default() });
        let place = match row.kind {
            RetransmitKind::Fast => 0,
            RetransmitKind::Rto => 1,
            RetransmitKind::Tlp => 2,
            RetransmitKind::Spurious => 3,
        };
        mark.by_kind[place] += u64::from(row.segments);
    }

    /// Takes the next sample of a sender.
    pub(super) fn sampled(&mut self, row: &TcpSample) {
        let count = u64::from(row.info.retransmits);
        let before = self.before.insert(row.stream, count).unwrap_or(0);
        if count > before && !self.is_watched {
            *self.sampled.entry(self.bucket(row.t_us)).or_default() += count - before;
        }
    }

    /// Takes the next state of one of the path's elements.
    pub(super) fn dropped(&mut self, row: &PathSample) {
        let element = (row.direction, row.element);
        let before = self.dropped.insert(element, row.dropped_packets).unwrap_or(0);
        if row.dropped_packets > before {
            *self.drops.entry(self.bucket(row.t_us)).or_default() += row.dropped_packets - before;
        }
    }

    /// All marks, in order of time.
    pub(super) fn finish(self) -> (Vec<Retransmitted>, Vec<Drops>) {
        let sampled = self.sampled.into_iter();
        let sampled =
            sampled.map(|(t_us, sampled)| Retransmitted { t_us, sampled, ..Retransmitted::default() });
        let retransmitted =
            if self.is_watched { self.watched.into_values().collect() } else { sampled.collect() };
        (retransmitted, self.drops.into_iter().map(|(t_us, packets)| Drops { t_us, packets }).collect())
    }

    fn bucket(&self, t_us: u64) -> u64 {
        self.from_us + (t_us.saturating_sub(self.from_us) / self.width_us).min(self.last) * self.width_us
    }
}
