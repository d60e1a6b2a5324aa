//! Packets that may overtake each other: they leave in order of due, and of arrival where the dues are equal.
//!
//! Costs a heap; [`crate::fifo`] serves where order is kept.

use crate::counters::Count;
use crate::packet::{Packet, Released};
use pipefill_core::units::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

/// A queue in order of due.
#[derive(Debug)]
pub(crate) struct Overtaking<T> {
    waiting: BinaryHeap<Reverse<OvertakingPacket<T>>>,
    /// Left, but not yet taken by the driver.
    left: VecDeque<Released<T>>,
    backlog: Count,
    arrivals: u64,
    /// The highest arrival number that has left.
    highest: u64,
    reordered: u64,
}

impl<T> Overtaking<T> {
    pub(crate) const fn new() -> Self {
        Self {
            waiting: BinaryHeap::new(),
            left: VecDeque::new(),
            backlog: Count { packets: 0, bytes: 0 },
            arrivals: 0,
            highest: 0,
            reordered: 0,
        }
    }

    /// Lets leave what is due at `now`: it no longer counts as backlog.
    pub(crate) fn settle(&mut self, now: Time) {
        while let Some(top) = self.waiting.peek_mut()
            && top.0.due <= now
        {
            let Reverse(entry) = PeekMut::pop(top);
            self.backlog -= Count::packet(entry.packet.bytes);
            self.reordered += u64::from(entry.arrival < self.highest);
            self.highest = self.highest.max(entry.arrival);
            self.left.push_back(Released { due: entry.due, packet: entry.packet });
        }
    }

    pub(crate) fn push(&mut self, due: Time, packet: Packet<T>) {
        self.arrivals += 1;
        self.backlog += Count::packet(packet.bytes);
        self.waiting.push(Reverse(OvertakingPacket { due, arrival: self.arrivals, packet }));
    }

    pub(crate) fn next_due(&self) -> Option<Time> {
        let left = self.left.front().map(|released| released.due);
        left.or_else(|| self.waiting.peek().map(|Reverse(entry)| entry.due))
    }

    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.next_due().is_some_and(|due| due <= now)
    }

    pub(crate) fn take_due(&mut self, now: Time) -> Option<Released<T>> {
        self.settle(now);
        self.left.pop_front_if(|released| released.due <= now)
    }

    pub(crate) const fn backlog(&self) -> Count {
        self.backlog
    }

    /// Packets that left after one that had arrived later.
    pub(crate) const fn reordered(&self) -> u64 {
        self.reordered
    }
}

#[derive(Debug)]
struct OvertakingPacket<T> {
    due: Time,
    /// Counted from 1.
    arrival: u64,
    packet: Packet<T>,
}

impl<T> OvertakingPacket<T> {
    const fn key(&self) -> (Time, u64) {
        (self.due, self.arrival)
    }
}

impl<T> Ord for OvertakingPacket<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl<T> PartialOrd for OvertakingPacket<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for OvertakingPacket<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for OvertakingPacket<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(dues: &[u64]) -> Overtaking<usize> {
        let mut queue = Overtaking::new();
        for (payload, &due) in dues.iter().enumerate() {
            let packet = Packet { gso_id: 0, bytes: 100, payload };
            queue.push(Time::from_nanos(due), packet);
        }
        queue
    }

    #[test]
    fn leaves_by_due_then_by_arrival_and_counts_the_overtaken() {
        let mut queue = queue(&[30, 10, 30, 20]);
        let order: Vec<usize> =
            std::iter::from_fn(|| queue.take_due(Time::MAX).map(|released| released.packet.payload))
                .collect();
        assert_eq!(order, [1, 3, 0, 2]);
        assert_eq!(queue.reordered(), 2);
    }

    #[test]
    fn what_has_left_is_no_backlog_even_before_it_is_taken() {
        let mut queue = queue(&[30, 10]);
        queue.settle(Time::from_nanos(10));
        assert_eq!(queue.backlog(), Count::packet(100));
        assert_eq!(queue.next_due(), Some(Time::from_nanos(10)));
        assert!(queue.take_due(Time::from_nanos(10)).is_some());
        assert_eq!(queue.take_due(Time::from_nanos(29)), None);
        assert_eq!(queue.next_due(), Some(Time::from_nanos(30)));
    }
}
