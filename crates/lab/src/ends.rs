//! Where packets of the middle come from and leave: packet sockets, or queues of the kernel.

use crate::nfqueue::{Arrivals, Queue, Verdicts};
use crate::sys::packet::{Input, Outgoing, PacketSocket};
use crate::sys::received::Received;
use crate::topology::Middle;
use pipefill_core::cell::Direction;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// After a deep sleep the kernel takes more than this to carry a packet to the other end's stack: it is handed over as much earlier, so that it
/// arrives at its due time and not before. The lateness counts from the hand-over's end. A host that nobody else used took 5.5 µs: a round
/// trip of 1 s was 5 µs too short when this was 8.
const HAND_OVER: Duration = Duration::from_micros(3);
/// The same of a packet that it holds: it passes the bridge and its hooks first.
const HAND_OVER_OF_HELD: Duration = Duration::from_micros(12);

/// Where the packets of one direction come from, and leave.
#[derive(Clone, Copy)]
pub(crate) struct Ends<'a> {
    middle: &'a Middle,
    /// On the side that they come from: receives them where no queue holds them, and sends what the path reports to their senders.
    pub(crate) origin: &'a PacketSocket,
    onward: &'a PacketSocket,
    queue: Option<&'a Queue>,
}

/// Packets that come.
pub(crate) enum Arriving<'a> {
    Copied(Input<'a>),
    Held(Arrivals<'a>),
}

/// Packets that leave.
pub(crate) enum Leaving<'a> {
    Copied(&'a PacketSocket),
    Held(Verdicts<'a>),
}

impl<'a> Ends<'a> {
    /// Those of `direction` in `middle`.
    pub(crate) fn of(middle: &'a Middle, direction: Direction) -> Self {
        let (origin, onward, place) = match direction {
            Direction::Forward => (&middle.towards_a, &middle.towards_b, 0),
            Direction::Reverse => (&middle.towards_b, &middle.towards_a, 1),
        };
        Self { middle, origin, onward, queue: middle.queues.as_ref().map(|queues| &queues[place]) }
    }

    /// What arrives, in at most `memory` bytes of packets that are kept. Call once.
    pub(crate) fn arriving(&self, memory: usize) -> io::Result<Arriving<'a>> {
        Ok(match self.queue {
            Some(queue) => Arriving::Held(Arrivals::of(queue)),
            None => Arriving::Copied(self.origin.input(memory)?),
        })
    }

    /// Where it leaves.
    pub(crate) fn leaving(&self) -> Leaving<'a> {
        match self.queue {
            Some(queue) => Leaving::Held(Verdicts::new(queue, self.onward)),
            None => Leaving::Copied(self.onward),
        }
    }

    /// Whether each arrival has to be fetched at once, for want of room.
    pub(crate) fn is_narrow(&self) -> bool {
        self.queue.map_or_else(|| self.origin.is_narrow(), Queue::is_narrow)
    }

    /// The descriptor at which packets arrive, for `poll(2)`.
    pub(crate) fn fd(&self) -> BorrowedFd<'a> {
        self.queue.map_or_else(|| self.origin.fd(), Queue::fd)
    }

    /// How much earlier than due a packet is handed over after a deep sleep.
    pub(crate) const fn hand_over(&self) -> Duration {
        if self.queue.is_some() { HAND_OVER_OF_HELD } else { HAND_OVER }
    }

    /// Packets that arrived and were dropped for want of room.
    pub(crate) fn drops(&self) -> io::Result<u64> {
        match self.queue {
            Some(queue) => self.middle.namespace.enter(|| queue.drops()),
            None => self.origin.drops(),
        }
    }
}

impl Arriving<'_> {
    /// Hands the next packet to `take`, and says whether there was one.
    pub(crate) fn next(&mut self, take: impl FnOnce(Received<'_>)) -> io::Result<bool> {
        match self {
            Self::Copied(input) => input.next(take),
            Self::Held(arrivals) => arrivals.next(take),
        }
    }

    /// Packets that were dropped for want of memory of ours.
    pub(crate) fn drops(&self) -> u64 {
        match self {
            Self::Copied(input) => input.drops(),
            Self::Held(_) => 0,
        }
    }
}

impl Leaving<'_> {
    /// Sends `packets` in order; returns how many the kernel refused.
    pub(crate) fn send(&mut self, packets: &[Outgoing]) -> u64 {
        match self {
            Self::Copied(socket) => socket.send(packets),
            Self::Held(verdicts) => verdicts.send(packets),
        }
    }

    /// No more segments of the packets that were sent follow for now.
    pub(crate) fn finish(&mut self) -> u64 {
        match self {
            Self::Copied(_) => 0,
            Self::Held(verdicts) => verdicts.finish(),
        }
    }
}
