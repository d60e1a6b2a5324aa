//! One direction of a path: loss, duplication, delay, bottleneck, in that order (netem with a tbf child).
//!
//! Never: a decision that depends on how often or how late the driver calls.

use crate::counters::{Backlog, Count, Counters};
use crate::duplicate::Duplicate;
use crate::loss::Loss;
use crate::packet::{DropReason, Dropped, Packet, Released};
use crate::stages::Stages;
use pipefill_core::cell::DirectionSpec;
use pipefill_core::prng::Prng;
use pipefill_core::units::{Seed, Time};
use std::time::Duration;

/// One direction of a path.
///
/// Everything inside happens at its exact instant: a driver that calls late gets the same packets with the same dues as a
/// punctual one. `now` should not decrease; where a packet is offered at an instant before the latest (a driver that stamps
/// packets on reception), its delay counts from that instant, and order and rate are still kept.
#[derive(Debug)]
pub struct OneWay<T: Clone> {
    loss: Option<Loss>,
    duplicate: Option<Duplicate>,
    stages: Stages<T>,
    counters: Counters,
}

impl<T: Clone> OneWay<T> {
    /// The direction `name` (`forward` or `reverse`) of a path with the base round trip `rtt`, which limits in BDPs refer
    /// to. Each element draws from its own stream of `seed`: `{name}/loss`, `/duplicate`, `/jitter`, `/reorder`.
    pub fn new(spec: &DirectionSpec, rtt: Duration, name: &str, seed: Seed) -> Self {
        let stream = |part: &str| Prng::stream(seed, &format!("{name}/{part}"));
        Self {
            loss: Loss::new(&spec.loss, spec.loss_unit, stream("loss")),
            duplicate: Duplicate::new(spec.duplicate, stream("duplicate")),
            stages: Stages::new(spec, rtt, name, seed),
            counters: Counters::default(),
        }
    }

    /// Offers a packet at `now`. A drop is counted, see [`Self::counters`].
    pub fn offer(&mut self, now: Time, packet: Packet<T>) {
        self.counters.offered += Count::one(packet.bytes);
        self.stages.advance(now, &mut self.counters);
        if self.loss.as_mut().is_some_and(|loss| loss.drops(packet.train)) {
            self.counters.drop_one(DropReason::RandomLoss, packet.bytes);
            return;
        }
        if self.duplicate.as_mut().is_some_and(Duplicate::copies) {
            self.counters.duplicated += Count::one(packet.bytes);
            self.admit(now, packet.clone());
        }
        self.admit(now, packet);
    }

    /// When to ask again: not later than the next packet leaves; `None` where nothing is inside. While the next packet is
    /// still on its way to the bottleneck this is the instant at which it gets there, and [`Self::take_due`] may then have
    /// nothing yet.
    pub fn next_due(&self) -> Option<Time> {
        self.stages.next_due()
    }

    /// The next packet whose due is at `now` or before, in order of due. Call it until it returns `None`.
    pub fn take_due(&mut self, now: Time) -> Option<Released<T>> {
        self.stages.advance(now, &mut self.counters);
        let released = self.stages.take_due(now)?;
        self.counters.delivered += Count::one(released.packet.bytes);
        Some(released)
    }

    /// What it did so far.
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        counters.reordered = self.stages.reordered();
        counters
    }

    /// What each element that the path has (`delay`, `queue`, in this order) holds and has dropped. As of `now` after
    /// [`Self::take_due`] returned `None` for it.
    pub fn backlog(&self) -> Vec<Backlog> {
        self.stages.backlog(&self.counters)
    }

    fn admit(&mut self, now: Time, packet: Packet<T>) {
        if let Err(Dropped { reason, packet }) = self.stages.offer(now, packet) {
            self.counters.drop_one(reason, packet.bytes);
        }
    }
}
