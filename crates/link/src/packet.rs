//! What travels along a path, and what becomes of it.
//!
//! Never: a look into the payload; the path judges a packet by its size, its train and its turn.

use pipefill_core::units::Time;
use std::fmt;

/// A packet of at most one MTU. `T` is whatever the driver attaches (the lab: a reference-counted frame and a segment
/// index; the simulator: a TCP segment).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet<T> {
    /// Id of the super-packet that it came in; equal for consecutive segments of one GSO super-packet.
    pub train: u64,
    /// Ethernet frame without FCS: IP + 14 bytes.
    pub bytes: u32,
    /// The driver's own.
    pub payload: T,
}

/// A packet that has left, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Released<T> {
    /// The exact instant at which it left, however late the driver asked.
    pub due: Time,
    /// The packet.
    pub packet: Packet<T>,
}

/// A packet that an element did not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped<T> {
    /// Why.
    pub reason: DropReason,
    /// The packet, handed back.
    pub packet: Packet<T>,
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// By the loss element, drawn or listed.
    RandomLoss,
    /// The delay element held as much as it may (netem's `limit`).
    DelayLimit,
    /// The queue before the token bucket was full (tbf's `limit`).
    QueueFull,
    /// The packet is larger than the bucket, so that it could never pass (tbf's `max_size`).
    ExceedsBurst,
}

impl DropReason {
    /// Every reason, in the order of the path.
    pub const ALL: [Self; 4] = [Self::RandomLoss, Self::DelayLimit, Self::QueueFull, Self::ExceedsBurst];

    /// The stable word for records: `random_loss`, `delay_limit`, `queue_full`, `exceeds_burst`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::RandomLoss => "random_loss",
            Self::DelayLimit => "delay_limit",
            Self::QueueFull => "queue_full",
            Self::ExceedsBurst => "exceeds_burst",
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
