//! Packets that leave in the order in which they came, each at a due instant known on arrival.

use crate::counters::Count;
use crate::packet::{Packet, Released};
use pipefill_core::units::Time;
use std::collections::VecDeque;

/// A queue with non-decreasing dues.
#[derive(Debug)]
pub(crate) struct Fifo<T> {
    entries: VecDeque<Released<T>>,
    /// When the first entry is due; [`Time::MAX`] where there is none.
    first: Time,
    /// How many entries at the front have left but were not yet taken by the driver.
    left: usize,
    /// The other entries.
    backlog: Count,
    /// Whether only packets of one super-packet leave together.
    by_super_packet: bool,
    /// The latest instant at which something left, and its super-packet where these count apart; what left together then.
    latest: (Time, u64),
    leaving: Count,
}

impl<T> Fifo<T> {
    pub(crate) const fn new() -> Self {
        let none = Count { packets: 0, bytes: 0 };
        Self {
            entries: VecDeque::new(),
            first: Time::MAX,
            left: 0,
            backlog: none,
            by_super_packet: false,
            latest: (Time::ZERO, 0),
            leaving: none,
        }
    }

    /// Makes packets of different super-packets leave apart, also at one instant.
    pub(crate) fn count_by_super_packet(&mut self) {
        self.by_super_packet = true;
    }

    /// Lets leave what is due at `now`: it no longer counts as backlog.
    #[inline]
    pub(crate) fn settle(&mut self, now: Time) {
        while let Some(entry) = self.entries.get(self.left)
            && entry.due <= now
        {
            let (due, bytes, gso_id) = (entry.due, entry.packet.bytes, entry.packet.gso_id);
            self.leave(due, bytes, gso_id);
            self.left += 1;
        }
    }

    /// Adds a packet; raises a due that is before the last one's.
    #[inline]
    pub(crate) fn push(&mut self, due: Time, packet: Packet<T>) {
        let due = match self.entries.back() {
            Some(last) => last.due.max(due),
            None => {
                self.first = due;
                due
            }
        };
        self.backlog += Count::packet(packet.bytes);
        self.entries.push_back(Released { due, packet });
    }

    #[inline]
    pub(crate) fn next_due(&self) -> Option<Time> {
        (!self.entries.is_empty()).then_some(self.first)
    }

    /// Whether there may be something to take at `now`.
    #[inline]
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.first <= now
    }

    #[inline]
    pub(crate) fn take_due(&mut self, now: Time) -> Option<Released<T>> {
        if !self.is_due(now) {
            return None;
        }
        let front = &self.entries.front()?.packet;
        let (bytes, gso_id) = (front.bytes, front.gso_id);
        if self.left > 0 {
            self.left -= 1;
        } else {
            self.leave(self.first, bytes, gso_id);
        }
        self.first = self.entries.get(1).map_or(Time::MAX, |entry| entry.due);
        self.entries.pop_front()
    }

    pub(crate) const fn backlog(&self) -> Count {
        self.backlog
    }

    /// What left at `now` itself together with the super-packet `gso_id`, taken by the driver or not; nothing where something left later.
    pub(crate) fn leaving(&self, now: Time, gso_id: u64) -> Count {
        if self.together(now, gso_id) == self.latest { self.leaving } else { Count::default() }
    }

    #[inline]
    fn leave(&mut self, due: Time, bytes: u32, gso_id: u64) {
        let together = self.together(due, gso_id);
        if together != self.latest {
            (self.latest, self.leaving) = (together, Count::default());
        }
        self.backlog -= Count::packet(bytes);
        self.leaving += Count::packet(bytes);
    }

    #[inline]
    fn together(&self, at: Time, gso_id: u64) -> (Time, u64) {
        (at, if self.by_super_packet { gso_id } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(payload: u32) -> Packet<u32> {
        Packet { gso_id: 0, bytes: 100, payload }
    }

    #[test]
    fn what_has_left_is_no_backlog_even_before_it_is_taken() {
        let mut fifo = Fifo::new();
        fifo.push(Time::from_nanos(10), packet(1));
        fifo.push(Time::from_nanos(20), packet(2));
        fifo.settle(Time::from_nanos(10));
        assert_eq!(fifo.backlog(), Count::packet(100));
        assert_eq!(fifo.next_due(), Some(Time::from_nanos(10)));
        let first = fifo.take_due(Time::from_nanos(15)).expect("due");
        assert_eq!((first.due, first.packet.payload), (Time::from_nanos(10), 1));
        assert_eq!(fifo.backlog(), Count::packet(100));
        assert_eq!(fifo.take_due(Time::from_nanos(19)), None);
        assert!(fifo.take_due(Time::from_nanos(20)).is_some());
        assert_eq!(fifo.backlog(), Count::default());
    }

    #[test]
    fn what_leaves_at_this_instant_is_counted_until_the_next() {
        let mut fifo = Fifo::new();
        fifo.push(Time::from_nanos(9), packet(1));
        fifo.push(Time::from_nanos(10), packet(2));
        fifo.push(Time::from_nanos(10), packet(3));
        fifo.settle(Time::from_nanos(10));
        let both = Count { packets: 2, bytes: 200 };
        assert_eq!(fifo.leaving(Time::from_nanos(10), 0), both);
        assert_eq!(std::iter::from_fn(|| fifo.take_due(Time::from_nanos(10))).count(), 3);
        assert_eq!(fifo.leaving(Time::from_nanos(10), 0), both, "the driver's taking does not matter");
        fifo.settle(Time::from_nanos(11));
        assert_eq!(fifo.leaving(Time::from_nanos(11), 0), Count::default());
        fifo.push(Time::from_nanos(12), packet(4));
        assert!(fifo.take_due(Time::from_nanos(12)).is_some());
        assert_eq!(fifo.leaving(Time::from_nanos(12), 0), Count::packet(100));
        assert_eq!(fifo.leaving(Time::from_nanos(10), 0), Count::default());
    }

    #[test]
    fn an_earlier_due_waits_for_the_one_before() {
        let mut fifo = Fifo::new();
        fifo.push(Time::from_nanos(10), packet(1));
        fifo.push(Time::from_nanos(5), packet(2));
        let dues: Vec<u64> =
            std::iter::from_fn(|| fifo.take_due(Time::MAX).map(|released| released.due.nanos())).collect();
        assert_eq!(dues, [10, 10]);
    }
}
