//! The shape that every element with a memory of time has.
//!
//! Loss and duplication take no time and hold nothing, so they are plain decisions ([`crate::Loss`], [`crate::Duplicate`]) and not
//! elements.

use crate::counters::Count;
use crate::packet::{Dropped, Packet, Released};
use pipefill_core::units::Time;

/// A part of a path that holds packets until they are due.
///
/// `now` should not decrease from call to call. An earlier instant than the latest does no harm to order or rate, but
/// what has already left at the latest instant is not held again.
pub trait Element<T> {
    /// Offers a packet at `now`. What is due by then has left first, whether or not the driver has taken it.
    ///
    /// # Errors
    /// The packet comes back with the reason where the element drops it.
    fn offer(&mut self, now: Time, packet: Packet<T>) -> Result<(), Dropped<T>>;

    /// When the next packet leaves; `None` where the element is empty.
    fn next_due(&self) -> Option<Time>;

    /// The next packet that is due at `now` or before, in order of due.
    fn take_due(&mut self, now: Time) -> Option<Released<T>>;

    /// What was still inside at the latest offer, less what has been taken since.
    fn backlog(&self) -> Count;
}

/// Moves everything that leaves `from` by `now` into `to`, each at the exact instant at which it leaves.
pub(crate) fn hand_over<T>(
    from: &mut impl Element<T>,
    to: &mut impl Element<T>,
    now: Time,
    mut on_drop: impl FnMut(Dropped<T>),
) {
    while let Some(Released { due, packet }) = from.take_due(now) {
        if let Err(dropped) = to.offer(due, packet) {
            on_drop(dropped);
        }
    }
}
