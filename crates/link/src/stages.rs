//! The elements that hold packets, in the order of the path: delay, then bottleneck, or one of the two.
//!
//! A part that the scenario does not ask for does not exist. Never: a hand-over at any other instant than the due one.

use crate::bottleneck::{Bottleneck, FedBy};
use crate::counters::{Backlog, Count, Counters};
use crate::delay::Delay;
use crate::element::{Element, hand_over};
use crate::ip_packet::IpPacket;
use crate::managed::ManagedBottleneck;
use crate::packet::{Dropped, Packet, Released};
use pipefill_core::cell::DirectionSpec;
use pipefill_core::prng::Prng;
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
    Managed(Box<ManagedBottleneck<T>>),
    DelayThenManaged(Delay<T>, Box<ManagedBottleneck<T>>),
}

impl<T: IpPacket> Stages<T> {
    /// Behind a delay the bottleneck is fed by `fed_by`. A direction without delay and rate has a delay element of zero, which holds a packet
    /// until the driver takes it.
    pub(crate) fn new(spec: &DirectionSpec, rtt: Duration, name: &str, seed: Seed, fed_by: FedBy) -> Self {
        let delay = || Delay::new(spec, rtt, name, seed);
        let Some(bottleneck) = &spec.bottleneck else { return Self::Delay(delay()) };
        let has_delay = Delay::<T>::is_needed(spec);
        let fed_by = if has_delay { fed_by } else { FedBy::Device };
        if let Some(aqm) = &spec.aqm {
            let prng = Prng::stream(seed, &format!("{name}/aqm"));
            let managed = ManagedBottleneck::new(bottleneck, aqm, rtt, fed_by, prng).of_direction(spec);
            let managed = Box::new(managed);
            return if has_delay { Self::DelayThenManaged(delay(), managed) } else { Self::Managed(managed) };
        }
        let bottleneck = Bottleneck::new(bottleneck, rtt).fed_by(fed_by).of_direction(spec);
        if has_delay { Self::DelayThenBottleneck(delay(), bottleneck) } else { Self::Bottleneck(bottleneck) }
    }

    /// The traffic begins at `now`: changes of the rate count from here.
    pub(crate) fn begin(&mut self, now: Time) {
        match self {
            Self::Delay(_) => {}
            Self::Bottleneck(bottleneck) | Self::DelayThenBottleneck(_, bottleneck) => bottleneck.begin(now),
            Self::Managed(managed) | Self::DelayThenManaged(_, managed) => managed.begin(now),
        }
    }

    /// Packets that come from now on are delayed for so long.
    pub(crate) fn set_delay(&mut self, fixed: Duration) {
        match self {
            Self::Delay(delay) | Self::DelayThenBottleneck(delay, _) | Self::DelayThenManaged(delay, _) => {
                delay.set_delay(fixed);
            }
            // Where a change has a delay, there is a delay element.
            Self::Bottleneck(_) | Self::Managed(_) => {}
        }
    }

    /// Lets every hand-over up to `now` happen.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time, counters: &mut Counters) {
        match self {
            Self::DelayThenBottleneck(delay, bottleneck) if delay.is_due(now) => {
                hand_over(delay, bottleneck, now, |Dropped { reason, packet }| {
                    counters.drop_packet(reason, &packet);
                });
            }
            Self::DelayThenManaged(delay, managed) if delay.is_due(now) => {
                while let Some(Released { due, packet }) = delay.take_due(now) {
                    managed.offer(due, packet, counters);
                }
            }
            _ => {}
        }
    }

    /// Offers a packet to the first element, and counts it where that drops it. The caller has advanced to `now`.
    #[inline]
    pub(crate) fn offer(&mut self, now: Time, packet: Packet<T>, counters: &mut Counters) {
        let offered = match self {
            Self::Delay(delay) | Self::DelayThenBottleneck(delay, _) | Self::DelayThenManaged(delay, _) => {
                delay.offer(now, packet)
            }
            Self::Bottleneck(bottleneck) => bottleneck.offer(now, packet),
            Self::Managed(managed) => {
                managed.offer(now, packet, counters);
                Ok(())
            }
        };
        if let Err(Dropped { reason, packet }) = offered {
            counters.drop_packet(reason, &packet);
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
            Self::Managed(managed) => managed.next_due(),
            Self::DelayThenManaged(delay, managed) => managed.next_due().or_else(|| delay.next_due()),
        }
    }

    /// Whether anything moves by `now`, from one element to the next or out of the last.
    #[inline]
    pub(crate) fn moves_by(&self, now: Time) -> bool {
        match self {
            Self::Delay(delay) => delay.is_due(now),
            Self::Bottleneck(bottleneck) => bottleneck.is_due(now),
            Self::DelayThenBottleneck(delay, bottleneck) => bottleneck.is_due(now) || delay.is_due(now),
            Self::Managed(managed) => managed.is_due(now),
            Self::DelayThenManaged(delay, managed) => managed.is_due(now) || delay.is_due(now),
        }
    }

    /// Takes from the last element. The caller has advanced to `now`.
    #[inline]
    pub(crate) fn take_due(&mut self, now: Time, counters: &mut Counters) -> Option<Released<T>> {
        match self {
            Self::Delay(delay) => delay.take_due(now),
            Self::Bottleneck(bottleneck) | Self::DelayThenBottleneck(_, bottleneck) => {
                bottleneck.take_due(now)
            }
            Self::Managed(managed) | Self::DelayThenManaged(_, managed) => managed.take_due(now, counters),
        }
    }

    pub(crate) fn reordered(&self) -> u64 {
        match self {
            Self::Delay(delay) | Self::DelayThenBottleneck(delay, _) | Self::DelayThenManaged(delay, _) => {
                delay.reordered()
            }
            Self::Bottleneck(_) | Self::Managed(_) => 0,
        }
    }

    /// The bottleneck whose queue has a discipline.
    pub(crate) const fn managed(&self) -> Option<&ManagedBottleneck<T>> {
        match self {
            Self::Managed(managed) | Self::DelayThenManaged(_, managed) => Some(managed),
            Self::Delay(_) | Self::Bottleneck(_) | Self::DelayThenBottleneck(..) => None,
        }
    }

    pub(crate) fn backlog(&self, counters: &Counters) -> Vec<Backlog> {
        let in_delay = |delay: &Delay<T>| {
            let dropped = counters.dropped(DropReason::DelayLimit);
            row(record::Element::Delay, delay.backlog(), dropped.packets)
        };
        let in_queue = |held: Count| {
            let reasons = [DropReason::QueueFull, DropReason::Aqm, DropReason::ExceedsBurst];
            let dropped = reasons.iter().map(|&reason| counters.dropped(reason).packets).sum();
            row(record::Element::Queue, held, dropped)
        };
        match self {
            Self::Delay(delay) => vec![in_delay(delay)],
            Self::Bottleneck(bottleneck) => vec![in_queue(bottleneck.backlog())],
            Self::DelayThenBottleneck(delay, bottleneck) => {
                vec![in_delay(delay), in_queue(bottleneck.backlog())]
            }
            Self::Managed(managed) => vec![in_queue(managed.backlog())],
            Self::DelayThenManaged(delay, managed) => vec![in_delay(delay), in_queue(managed.backlog())],
        }
    }
}

const fn row(element: record::Element, held: Count, dropped_packets: u64) -> Backlog {
    Backlog { element, packets: held.packets, bytes: held.bytes, dropped_packets }
}
