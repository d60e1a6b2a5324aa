//! What a captured flow's handshake agreed on, and counts of its packets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the handshake agreed on for the data of a flow. Each is null where the SYNs that decide it are not in the capture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FlowOptions {
    /// The largest segment that the receiver takes, bytes: the MSS option of its SYN; without one 536 over IPv4 and 1220 over IPv6 (RFC 9293 3.7.1).
    pub mss_bytes: Option<u16>,
    /// The shift of the windows that the receiver advertises (RFC 7323); 0 where the ends do not scale.
    pub window_scale: Option<u8>,
    /// Whether the receiver may send SACKs (RFC 2018): both SYNs permit them.
    pub sack: Option<bool>,
    /// Whether both ends send timestamps (RFC 7323).
    pub timestamps: Option<bool>,
    /// Whether both ends use ECN, that of RFC 3168 or the accurate one.
    pub ecn: Option<bool>,
    /// Whether both ends use accurate ECN (RFC 9768): ECE and CWR are parts of a counter then.
    pub accurate_ecn: Option<bool>,
}

/// Events of a flow, in numbers of packets. 0 where there was none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FlowCounts {
    /// Packets of the sender that the path marked (CE, RFC 3168).
    pub ce: u64,
    /// Segments of the receiver with ECE: echoes of marks. 0 with accurate ECN, where the bit has another meaning.
    pub ece: u64,
    /// Segments of the sender with CWR: its window was reduced. 0 with accurate ECN.
    pub cwr: u64,
    /// Times that the receiver's window became 0.
    pub zero_windows: u64,
    /// Probes of such a window (RFC 9293, 3.8.6.1).
    pub window_probes: u64,
    /// ACKs of nothing new while data was outstanding (RFC 5681, 2).
    pub duplicate_acks: u64,
    /// Segments that others overtook before the capture point: none of them was sent again.
    pub out_of_order: u64,
    /// Packets that the capture has twice, from two interfaces or by the network.
    pub duplicates: u64,
    /// Keep-alives of the sender (RFC 9293, 3.8.4).
    pub keep_alives: u64,
    /// Segments that the receiver reported as received twice (RFC 2883) although they were sent once, as far as the capture shows.
    pub network_duplicates: u64,
}
