//! What a host counts beside its connections: its queueing disciplines (`tc -s qdisc`) and its protocol counters (`nstat -az`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was read of a host, in the order of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct HostContext {
    /// Queueing disciplines.
    pub qdiscs: Vec<QdiscReading>,
    /// Counters that say something about connections, also those that are 0.
    pub counters: Vec<CounterReading>,
}

/// A queueing discipline as `tc -s qdisc` prints it. Its counters begin when it was set up.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct QdiscReading {
    /// The file that shows it.
    pub source: String,
    /// Its kind, e.g. `fq_codel`.
    pub kind: String,
    /// Its handle, e.g. `120:`.
    pub handle: String,
    /// Its interface; null where `tc` was asked for one interface alone.
    pub device: Option<String>,
    /// The rate that it shapes to, bits per second of Ethernet frames; null where it does not shape.
    pub rate_bps: Option<u64>,
    /// Bytes sent.
    pub sent_bytes: Option<u64>,
    /// Packets sent.
    pub sent_packets: Option<u64>,
    /// Packets dropped.
    pub dropped_packets: Option<u64>,
    /// Packets that the shaper held back.
    pub overlimits: Option<u64>,
    /// Packets marked with CE, by all of its reasons; null where it does not count them.
    pub marked_packets: Option<u64>,
    /// Bytes that wait now.
    pub backlog_bytes: Option<u64>,
    /// Packets that wait now.
    pub backlog_packets: Option<u64>,
}

/// A counter of the whole host as `nstat -az` prints it: since it booted, or since `nstat` was last called.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CounterReading {
    /// The file that shows it.
    pub source: String,
    /// Its name in `nstat`, e.g. `TcpExtTCPTimeouts`.
    pub name: String,
    /// What it counts.
    pub counts: HostCounter,
    /// Its value.
    pub value: u64,
}

/// What a counter of a host tells about its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostCounter {
    /// Retransmission timers that ran out.
    Timeouts,
    /// Segments that came out of order and not lost.
    Reordering,
    /// Segments that this host sent again without need, as the peer reports.
    SpuriousRetransmits,
    /// Slow start that ended early, at a longer round trip or train of ACKs.
    HystartExits,
    /// CE marks.
    CeMarks,
    /// Windows of 0 that this host advertised.
    ZeroWindowsSent,
    /// Windows of 0 that peers advertised: this host probed them.
    ZeroWindowsReceived,
    /// Segments that a receive buffer of this host had no room for.
    ReceiveBufferFull,
    /// Connections that the queue of a listening program had no room for.
    AcceptQueueFull,
    /// Times in which all sockets together used as much memory as TCP may have.
    MemoryPressure,
    /// Datagrams that a receive buffer of this host had no room for.
    UdpReceiveBufferFull,
}

/// The counters by their names in `nstat` (`net/ipv4/proc.c`).
const NAMES: [(&str, HostCounter); 20] = [
    ("TcpExtTCPTimeouts", HostCounter::Timeouts),
    ("TcpExtTCPSACKReorder", HostCounter::Reordering),
    ("TcpExtTCPTSReorder", HostCounter::Reordering),
    ("TcpExtTCPRenoReorder", HostCounter::Reordering),
    ("TcpExtTCPDSACKRecv", HostCounter::SpuriousRetransmits),
    ("TcpExtTCPSpuriousRTOs", HostCounter::SpuriousRetransmits),
    ("TcpExtTCPHystartTrainDetect", HostCounter::HystartExits),
    ("TcpExtTCPHystartDelayDetect", HostCounter::HystartExits),
    ("TcpExtTCPDeliveredCE", HostCounter::CeMarks),
    ("IpExtInCEPkts", HostCounter::CeMarks),
    ("TcpExtTCPToZeroWindowAdv", HostCounter::ZeroWindowsSent),
    ("TcpExtTCPWinProbe", HostCounter::ZeroWindowsReceived),
    ("TcpExtPruneCalled", HostCounter::ReceiveBufferFull),
    ("TcpExtRcvPruned", HostCounter::ReceiveBufferFull),
    ("TcpExtTCPRcvQDrop", HostCounter::ReceiveBufferFull),
    ("TcpExtTCPZeroWindowDrop", HostCounter::ReceiveBufferFull),
    ("TcpExtListenOverflows", HostCounter::AcceptQueueFull),
    ("TcpExtListenDrops", HostCounter::AcceptQueueFull),
    ("TcpExtTCPMemoryPressures", HostCounter::MemoryPressure),
    ("UdpRcvbufErrors", HostCounter::UdpReceiveBufferFull),
];

impl HostCounter {
    /// What the counter that `nstat` calls `name` counts; `None` for one that says nothing about a connection's limit.
    pub fn of_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, counter)| *counter)
    }
}
