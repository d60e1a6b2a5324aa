//! What both halves of a socket know of ECN (RFC 3168; `ecn_flags` of `struct tcp_sock`).
//!
//! A connection whose ends did not agree on it has nothing of it: its headers' bits are 0.

use crate::host::Host;
use crate::segment::ecn;

/// What the sending half knows.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct SenderEcn {
    /// `TCP_ECN_OK`: both ends agreed.
    pub(crate) is_on: bool,
    /// All that is sent is ECT, retransmissions too (`tcp_ca_needs_ecn()`).
    pub(super) is_always_ect: bool,
    /// `TCP_ECN_QUEUE_CWR`: the next new segment says that the window was reduced.
    pub(super) queued_cwr: bool,
    /// `delivered_ce`.
    pub(crate) delivered_ce: u32,
}

impl SenderEcn {
    /// Of a connection whose ends agreed on ECN, or did not.
    pub(crate) fn new(host: &Host) -> Self {
        let is_on = host.ecn_agreed;
        Self { is_on, is_always_ect: is_on && host.needs_ecn, ..Self::default() }
    }
}

/// What the receiving half knows.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ReceiverEcn {
    /// The congestion control of the socket needs each mark to be echoed, and none twice (RFC 8257, section 3.2).
    pub(super) echoes_each: bool,
    /// Bits of its ACKs: ECT(0) where all that is sent is ECT.
    pub(super) of_acks: u8,
    /// `ECE` while `TCP_ECN_DEMAND_CWR`: every segment echoes the mark until CWR comes.
    pub(crate) echo: u8,
    /// `TCP_ECN_SEEN`: a segment with ECT or CE came.
    pub(crate) is_seen: bool,
    /// `received_ce`.
    pub(crate) received_ce: u32,
}

impl ReceiverEcn {
    /// Of a socket at `host`.
    pub(crate) fn new(host: &Host) -> Self {
        let echoes_each = host.ecn_agreed && host.needs_ecn;
        let of_acks = if echoes_each { ecn::ECT_0 } else { 0 };
        Self { echoes_each, of_acks, ..Self::default() }
    }
}
