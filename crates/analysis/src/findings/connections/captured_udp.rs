//! What a capture shows beside TCP's flows: UDP flows, and which TCP connections are subflows of one of Multipath TCP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the datagrams of a flow are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UdpKind {
    /// QUIC (RFC 9000, or Google's before it).
    Quic,
    /// RTP (RFC 3550).
    Rtp,
    /// Anything else.
    #[default]
    Other,
}

/// UDP datagrams from one end to another.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct UdpFlow {
    /// Address and port of the sender.
    pub src: String,
    /// Address and port of the receiver.
    pub dst: String,
    /// Datagrams; a fragmented one is one.
    pub datagrams: u64,
    /// Payload of UDP, bytes.
    pub bytes: u64,
    /// The same from the first to the last datagram, bits per second; null for a single one.
    pub rate_bps: Option<u64>,
    /// From the first to the last datagram, microseconds.
    pub span_us: u64,
    /// Pauses of a second and longer.
    pub gaps: u64,
    /// The longest pause, microseconds.
    pub longest_gap_us: u64,
    /// Interarrival jitter, microseconds. Of RTP by its timestamps: the largest of its sources. Otherwise by how much one spacing between datagrams
    /// differs from the next, on average: the variation of the path's delay where the sender is even. Null for fewer than three datagrams.
    pub jitter_us: Option<u64>,
    /// What they are.
    pub kind: UdpKind,
    /// Of RTP, one entry for each source; empty otherwise.
    pub rtp: Vec<RtpSource>,
    /// Of QUIC, what is not encrypted; null otherwise.
    pub quic: Option<QuicFigures>,
}

/// A source of RTP.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RtpSource {
    /// Its identifier (SSRC).
    pub ssrc: u32,
    /// The type of its payload.
    pub payload_type: u8,
    /// Packets that were captured.
    pub packets: u64,
    /// Packets that its sequence numbers announce.
    pub expected: u64,
    /// Expected and not captured (RFC 3550 A.3).
    pub lost: u64,
    /// Behind one with a larger number.
    pub reordered: u64,
    /// The rate of its clock, hertz; null where its timestamps follow no usual one.
    pub clock_hz: Option<u32>,
    /// Interarrival jitter (RFC 3550 6.4.1) at the last packet, microseconds; null where the clock is not known.
    pub jitter_us: Option<u64>,
}

/// What QUIC's headers show.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct QuicFigures {
    /// Its version, as `1`, `2`, `draft-29`, `Q046`; null where no long header was captured: then the port says that it is QUIC.
    pub version: Option<String>,
    /// From the client's first datagram to the server's first, microseconds: the path's round trip from the capture point to the server; null where the handshake was
    /// not captured.
    pub answer_us: Option<u64>,
    /// From the client's first Initial to its first short header, which needs the keys of the finished handshake, microseconds; null where one of
    /// them was not captured.
    pub handshake_us: Option<u64>,
    /// The median round trip by the spin bit (RFC 9000 17.4), microseconds; null where it does not spin.
    pub spin_rtt_us: Option<u64>,
}

/// A connection that the capture has on both sides of a NAT.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct NatGroup {
    /// Both ends, as each side of the NAT has them; the side that was seen first comes first.
    pub connections: Vec<[String; 2]>,
}

/// TCP connections that are subflows of one connection of Multipath TCP (RFC 8684).
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct MptcpGroup {
    /// 0 (RFC 6824) or 1 (RFC 8684); null where the first subflow is not in the capture.
    pub version: Option<u8>,
    /// The token by which subflows join it, eight hexadecimal digits.
    pub token: String,
    /// Both ends of each subflow with data, the first one first.
    pub subflows: Vec<[String; 2]>,
}
