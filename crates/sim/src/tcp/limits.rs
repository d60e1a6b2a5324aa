//! What bounds a transmission, and with what a connection begins.

/// `TCP_INIT_CWND` (RFC 6928).
pub(crate) const INIT_CWND: u32 = 10;
/// The first byte's sequence number; the SYN has 0.
pub(crate) const FIRST_BYTE: u64 = 1;
/// `GSO_LEGACY_MAX_SIZE` less the largest header.
pub(crate) const GSO_MAX_SIZE: u64 = 65_536 - 320;

/// How much new data is pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Push {
    All,
    /// One packet (`tcp_push_one()`).
    First,
    /// A tail loss probe: one packet, cwnd or not.
    Probe,
}
