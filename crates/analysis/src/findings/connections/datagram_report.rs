//! Counters of a flow of datagrams, reported beside its verdict.

use pipefill_core::record::{DatagramSample, DropReason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What became of the datagrams of a connection. A datagram that is fragmented counts once for each fragment.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DatagramReport {
    /// Datagrams that came to the path and are not on it any more.
    pub datagrams_sent: u64,
    /// Those of them that the path delivered and the receiving socket took.
    pub datagrams_received: u64,
    /// Payload that came to the path, bits per second from the first datagram to the last.
    pub offered_bps: Option<u64>,
    /// Datagrams that the path dropped, by reason; reasons without any are left out.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Datagrams that the receiving socket dropped; null where it was not found.
    pub socket_drops: Option<u64>,
    /// The longest burst: datagrams that came faster than the path's rate lets them leave. Null where it has no rate.
    pub burst_datagrams: Option<u64>,
    /// Payload of that burst, bytes.
    pub burst_bytes: Option<u64>,
    /// The queue that this flow alone needs at the path's rate, packets.
    pub needed_queue_packets: Option<u64>,
    /// The same in bytes of frames.
    pub needed_queue_bytes: Option<u64>,
    /// Limit of the receiving socket's buffer, bytes of memory; null where it was not found.
    pub rcvbuf_bytes: Option<u64>,
    /// Version of QUIC, where its first datagrams show it.
    pub quic: Option<String>,
}

impl DatagramReport {
    /// Of a flow that `offered_bps` of payload, by what was `counted` in all.
    pub(super) fn of(counted: &DatagramSample, offered_bps: Option<u64>, quic: Option<String>) -> Self {
        let totals = counted.totals();
        let reasons = DropReason::ALL.into_iter().map(|reason| (reason, counted.dropped(reason)));
        Self {
            datagrams_sent: totals.sent,
            datagrams_received: totals.received,
            offered_bps,
            dropped: reasons.filter(|&(_, packets)| packets > 0).collect(),
            socket_drops: counted.socket_drops,
            burst_datagrams: counted.burst_packets,
            burst_bytes: counted.burst_bytes,
            needed_queue_packets: counted.needed_queue_packets,
            needed_queue_bytes: counted.needed_queue_bytes,
            rcvbuf_bytes: counted.rcvbuf_bytes,
            quic,
        }
    }
}
