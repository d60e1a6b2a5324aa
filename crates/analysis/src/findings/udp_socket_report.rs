//! What a UDP socket of this host shows: its queues and its drops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A UDP socket while it was looked at. The kernel counts neither what it sends nor what it takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct UdpSocketReport {
    /// Datagrams that it dropped meanwhile (`sk_drops`).
    pub socket_drops: u64,
    /// The most that it dropped from one look to the next.
    pub socket_drops_peak: u64,
    /// Memory of what was received and not read at the last look, bytes.
    pub receive_queue_bytes: u64,
    /// The most at any look.
    pub receive_queue_peak_bytes: u64,
    /// Limit of that memory (`sk_rcvbuf`); null where the kernel does not show it.
    pub rcvbuf_bytes: Option<u64>,
    /// Share of the looks at which half of that limit or more was unread.
    pub unread_share: f64,
    /// Memory of what was sent and had not left the host at the last look, bytes.
    pub send_queue_bytes: u64,
    /// The most at any look.
    pub send_queue_peak_bytes: u64,
}
