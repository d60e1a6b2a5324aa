//! What both halves of a socket know of ECN (RFC 3168; `ecn_flags` of `struct tcp_sock`).
//!
//! A connection whose ends did not agree on it has nothing of it: its headers' bits are 0.

/// What the sending half knows.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct SenderEcn {
    /// `TCP_ECN_OK`: both ends agreed.
    pub(crate) is_on: bool,
    /// `TCP_ECN_QUEUE_CWR`: the next new segment says that the window was reduced.
    pub(super) queued_cwr: bool,
    /// `delivered_ce`.
    pub(crate) delivered_ce: u32,
}

impl SenderEcn {
    /// Of a connection whose ends agreed on ECN, or did not.
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_on, ..Self::default() }
    }
}

/// What the receiving half knows.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ReceiverEcn {
    /// `ECE` while `TCP_ECN_DEMAND_CWR`: every segment echoes the mark until CWR comes.
    pub(crate) echo: u8,
    /// `TCP_ECN_SEEN`: a segment with ECT or CE came.
    pub(crate) is_seen: bool,
    /// `received_ce`.
    pub(crate) received_ce: u32,
}
