//! The elements that hold packets, in the order of the path: delay, then bottleneck, or one of the two.
//!
//! A part that the scenario does not ask for does not exist. Never: a hand-over at any other instant than the due one.

use crate::bottleneck::{Bottleneck, FedBy};
use crate::counters::{Backlog, Count, Counters};
use crate::delay::Delay;
use crate::element::{Element, hand_over};
use crate::ip_packet::IpPacket;
use crate::packet::{Dropped, Packet, Released};
use pipefill_core::cell::DirectionSpec;
use pipefill_core::record::{self, DropReason};
use pipefill_core::units::{Seed, Time};
use std::time::Duration;

/// What holds the packets of one direction.
#[derive(Debug)]
#[repr(u8)]
// Asked several times an instant: a tag of its own is read at once, one within a field of an element is computed.
pub(crate) enum Stages<T> {
    Delay(Delay<T>),
    Bottleneck(Bottleneck<T>),
    DelayThenBottleneck(Delay<T>, Bottleneck<T>),
}

impl<T: IpPacket> Stages<T> {
    /// Behind a delay the bottleneck is fed by `fed_by`. A direction without delay and rate has a delay element of zero, which holds a packet
    /// until the driver takes it.
    pub(crate) fn new(spec: &DirectionSpec, rtt: Duration, name: &str, seed: Seed, fed_by: FedBy) -> Self {
        let delay = || Delay::new(spec, rtt, name, seed);
        match &spec.bottleneck {
            None => Self::Delay(delay()),
            Some(bottleneck) if Delay::<T>::is_needed(spec) => {
                let bottleneck = Bottleneck::new(bottleneck, rtt).fed_by(fed_by).of_direction(spec);
                Self::DelayThenBottleneck(delay(), bottleneck)
            }
            Some(bottleneck) => Self::Bottleneck(Bottleneck::new(bottleneck, rtt).of_direction(spec)),
        }
    }

    /// The traffic begins at `now`: changes of the rate count from here.
    pub(crate) fn begin(&mut self, now: Time) {
        match self {
            Self::Delay(_) => {}
            Self::Bottleneck(bottleneck) | Self::DelayThenBottleneck(_, bottleneck) => bottleneck.begin(now),
        }
    }

    /// Packets that come from now on are delayed for so long.
    pub(crate) fn set_delay(&mut self, fixed: Duration) {
        match self {
            Self::Delay(delay) | Self::DelayThenBottleneck(delay, _) => delay.set_delay(fixed),
            // Where a change has a delay, there is a delay element.
            Self::Bottleneck(_) => {}
        }
    }

    /// Lets every hand-over up to `now` happen.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time, counters: &mut Counters) {
        if let Self::DelayThenBottleneck(delay, bottleneck) = self
            && delay.is_due(now)
        {
            hand_over(delay, bottleneck, now, |Dropped { reason, packet }| {
                counters.drop_packet(reason, &packet);
            });
        }
    }

    /// Offers a packet to the first element. The caller has advanced to `now`.
    #[inline]
    pub(crate) fn offer(&mut self, now: Time, packet: Packet<T>) -> Result<(), Dropped<T>> {
        match self {
            Self::Delay(delay) | Self::DelayThenBottleneck(delay, _) => delay.offer(now, packet),
            Self::Bottleneck(bottleneck) => bottleneck.offer(now, packet),
        }
    }

    /// Not later than the next packet leaves the last element. The bottleneck keeps order, so that while it holds a packet
    /// nothing behind can be due before.
    #[inline]
    pub(crate) fn next_due(&self) -> Option<Time> {
        match self {
            Self::Delay(delay) => delay.next_due(),
            Self::Bottleneck(bottleneck) => bottleneck.next_due(),
            Self::DelayThenBottleneck(delay, bottleneck) => {
                bottleneck.next_due().or_else(|| delay.next_due())
            }
        }
    }

    /// Whether anything moves by `now`, from one element to the next or out of the last.
    #[inline]
    pub(crate) fn moves_by(&self, now: Time) -> bool {
        match self {
            Self::Delay(delay) => delay.is_due(now),
            Self::Bottleneck(bottleneck) => bottleneck.is_due(now),
            Self::DelayThenBottleneck(delay, bottleneck) => bottleneck.is_due(now) || delay.is_due(now),
        }
    }

    /// Takes from the last element. The caller has advanced to `now`.
    #[inline]
    pub(crate) fn take_due(&mut self, now: Time) -> Option<Released<T>> {
        match self {
            Self::Delay(delay) => delay.take_due(now),
            Self::Bottleneck(bottleneck) | Self::DelayThenBottleneck(_, bottleneck) => {
                bottleneck.take_due(now)
            }
        }
    }

    pub(crate) fn reordered(&self) -> u64 {
        match self {
            Self::Delay(delay) | Self::DelayThenBottleneck(delay, _) => delay.reordered(),
            Self::Bottleneck(_) => 0,
        }
    }

    pub(crate) fn backlog(&self, counters: &Counters) -> Vec<Backlog> {
        let in_delay = |delay: &Delay<T>| {
            let dropped = counters.dropped(DropReason::DelayLimit);
            row(record::Element::Delay, delay.backlog(), dropped.packets)
        };
        let in_queue = |bottleneck: &Bottleneck<T>| {
            let full = counters.dropped(DropReason::QueueFull);
            let oversized = counters.dropped(DropReason::ExceedsBurst);
            row(record::Element::Queue, bottleneck.backlog(), full.packets + oversized.packets)
        };
        match self {
            Self::Delay(delay) => vec![in_delay(delay)],
            Self::Bottleneck(bottleneck) => vec![in_queue(bottleneck)],
            Self::DelayThenBottleneck(delay, bottleneck) => vec![in_delay(delay), in_queue(bottleneck)],
        }
    }
}

const fn row(element: record::Element, held: Count, dropped_packets: u64) -> Backlog {
    Backlog { element, packets: held.packets, bytes: held.bytes, dropped_packets }
}
