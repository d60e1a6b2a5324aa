//! A queue of packets with the instants at which they came.

use crate::counters::Count;
use crate::packet::Packet;
use pipefill_core::units::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// A packet in a queue.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    /// When it came.
    pub(crate) since: Time,
    pub(crate) packet: Packet<T>,
}

impl<T> Waiting<T> {
    /// How long it has waited by `now`.
    pub(crate) fn sojourn(&self, now: Time) -> Duration {
        now.since(self.since)
    }
}

/// First in, first out.
#[derive(Debug)]
pub(crate) struct WaitingQueue<T> {
    packets: VecDeque<Waiting<T>>,
    held: Count,
}

impl<T> WaitingQueue<T> {
    pub(crate) const fn new() -> Self {
        Self { packets: VecDeque::new(), held: Count { packets: 0, bytes: 0 } }
    }

    pub(crate) fn push(&mut self, since: Time, packet: Packet<T>) {
        self.held += Count::packet(packet.bytes);
        self.packets.push_back(Waiting { since, packet });
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting<T>> {
        let first = self.packets.pop_front()?;
        self.held -= Count::packet(first.packet.bytes);
        Some(first)
    }

    /// How long its first packet has waited by `now`; nothing where there is none.
    pub(crate) fn head_sojourn(&self, now: Time) -> Duration {
        self.packets.front().map_or(Duration::ZERO, |first| first.sojourn(now))
    }

    pub(crate) const fn held(&self) -> Count {
        self.held
    }
}
