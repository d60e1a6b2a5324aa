//! What travels along a path, and what becomes of it.

use pipefill_core::record::DropReason;
use pipefill_core::units::Time;

/// A packet of at most one MTU. `T` is whatever the driver attaches (the lab: a reference-counted frame and a segment
/// index; the simulator: a TCP segment).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet<T> {
    /// Id of the super-packet that it came in; equal for consecutive segments of one GSO super-packet.
    pub gso_id: u64,
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
