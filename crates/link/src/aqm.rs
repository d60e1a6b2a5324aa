//! Disciplines of a queue that hold packets until the link asks for one, and drop or mark meanwhile.
//!
//! Each follows the Linux qdisc of its name. A discipline reads no clock: an update that Linux makes by a timer is made up to the instant of
//! the next call, before anything else.

mod codel;
mod drophead;
mod dualpi2;
mod fq_codel;
mod log;
mod pie;
mod red;
mod waiting;

pub use log::AqmCounts;
pub(crate) use log::{AqmLog, AqmState};
pub use red::red_weight_log;
pub(crate) use waiting::Waiting;

use crate::counters::Count;
use crate::ip_packet::IpPacket;
use crate::limit::Limit;
use crate::packet::Packet;
use pipefill_core::cell::AqmSpec;
use pipefill_core::prng::Prng;
use pipefill_core::units::Time;

/// What every discipline does.
pub(crate) trait Discipline<T> {
    /// Takes a packet that comes at `now`, marks or drops it, or drops others for it. `leaving` is the packet that waits for the link alone
    /// and counts as queued (`qdisc_peek_dequeued()`).
    fn enqueue(&mut self, now: Time, packet: Packet<T>, leaving: Count, log: &mut AqmLog<'_>);

    /// The packet that leaves at `now`; drops and marks others for it.
    fn dequeue(&mut self, now: Time, log: &mut AqmLog<'_>) -> Option<Waiting<T>>;

    /// What it holds.
    fn held(&self) -> Count;

    /// How it stands after its last call.
    fn state(&self) -> AqmState;
}

/// One of the disciplines.
#[derive(Debug)]
pub(crate) enum AnyDiscipline<T> {
    Drophead(drophead::Drophead<T>),
    Codel(codel::CodelQueue<T>),
    FqCodel(fq_codel::FqCodel<T>),
    Pie(pie::Pie<T>),
    Red(red::Red<T>),
    Dualpi2(dualpi2::Dualpi2<T>),
}

/// Calls a method of whichever discipline it is.
macro_rules! each {
    ($discipline:expr, $queue:ident => $call:expr) => {
        match $discipline {
            Self::Drophead($queue) => $call,
            Self::Codel($queue) => $call,
            Self::FqCodel($queue) => $call,
            Self::Pie($queue) => $call,
            Self::Red($queue) => $call,
            Self::Dualpi2($queue) => $call,
        }
    };
}

impl<T: IpPacket> AnyDiscipline<T> {
    /// The discipline of `spec`, which holds no more than `limit`. Its chance comes from `prng`.
    pub(crate) fn new(spec: &AqmSpec, limit: Limit, prng: Prng) -> Self {
        match spec {
            AqmSpec::Drophead => Self::Drophead(drophead::Drophead::new(limit)),
            AqmSpec::Codel(codel) => Self::Codel(codel::CodelQueue::new(codel, limit)),
            AqmSpec::FqCodel(fq_codel) => Self::FqCodel(fq_codel::FqCodel::new(fq_codel, limit, prng)),
            AqmSpec::Pie(pie) => Self::Pie(pie::Pie::new(pie, limit, prng)),
            AqmSpec::Red(red) => Self::Red(red::Red::new(red, limit, prng)),
            AqmSpec::Dualpi2(dualpi2) => Self::Dualpi2(dualpi2::Dualpi2::new(dualpi2, limit, prng)),
        }
    }
}

impl<T: IpPacket> Discipline<T> for AnyDiscipline<T> {
    fn enqueue(&mut self, now: Time, packet: Packet<T>, leaving: Count, log: &mut AqmLog<'_>) {
        each!(self, queue => queue.enqueue(now, packet, leaving, log));
    }

    fn dequeue(&mut self, now: Time, log: &mut AqmLog<'_>) -> Option<Waiting<T>> {
        each!(self, queue => queue.dequeue(now, log))
    }

    fn held(&self) -> Count {
        each!(self, queue => queue.held())
    }

    fn state(&self) -> AqmState {
        each!(self, queue => queue.state())
    }
}
