//! The graphs of a connection in a capture as pictures: time-sequence, windows, RTT, throughput.
//!
//! What is drawn comes as plain numbers; who reads captures is not known here.

use schemars::JsonSchema;
use serde::Serialize;

/// What a graph is of: decides its axis and its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Sequence numbers, bytes.
    TimeSequence,
    /// Bytes outstanding, and the advertised window.
    Windows,
    /// Round-trip times, nanoseconds.
    Rtt,
    /// Rates, bits per second.
    Throughput,
}

/// What a layer of a graph shows: decides how it is drawn, and what the legend says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shows {
    /// Data that was sent for the first time.
    Data,
    /// Data sent again in fast recovery.
    FastRetransmit,
    /// Data sent again after a timeout.
    RtoRetransmit,
    /// Data sent again as a probe for a lost tail.
    TlpRetransmit,
    /// A retransmission that was for nothing.
    Spurious,
    /// Data that others overtook before the capture point.
    OutOfOrder,
    /// Data that the receiver has behind a hole.
    Sack,
    /// Data that the receiver had twice.
    Dsack,
    /// An ACK of nothing new.
    DuplicateAck,
    /// A window of 0.
    ZeroWindow,
    /// A probe for a window.
    ZeroWindowProbe,
    /// The connection's begin.
    Syn,
    /// The end of data.
    Fin,
    /// A reset.
    Reset,
    /// What is acknowledged, until the next value.
    Ack,
    /// ACK and window together, until the next value.
    WindowEdge,
    /// Sent and not acknowledged, until the next value.
    Outstanding,
    /// Outstanding without what was received out of order or is taken for lost, until the next value.
    InFlight,
    /// The advertised window, until the next value.
    Window,
    /// A sample of the RTT.
    RttSample,
    /// The smoothed RTT, until the next value.
    SmoothedRtt,
    /// The rate of all data packets, until the next value.
    Throughput,
    /// The rate of what was acknowledged, until the next value.
    Goodput,
}

/// A value or a range of values: at a time, or, where several were merged, over a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Nanoseconds from the connection's first packet.
    pub from_ns: u64,
    /// The same for the last of several; of a rate the end of the time that it is the mean of.
    pub to_ns: u64,
    /// The least value, in the unit of the graph's subject.
    pub low: u64,
    /// The largest.
    pub high: u64,
    /// How many they are.
    pub count: u64,
}

/// What is drawn in one way; a later layer over an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// What it is.
    pub shows: Shows,
    /// In the order of time.
    pub marks: Vec<Mark>,
}

/// One graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// What it is of.
    pub subject: Subject,
    /// Its title: the connection's ends belong into it.
    pub title: String,
    /// What time is shown, nanoseconds from the connection's first packet: from and to.
    pub shown_ns: [u64; 2],
    /// What has to be known of it: one sentence each, below the picture.
    pub notes: Vec<String>,
    /// What is drawn.
    pub layers: Vec<Layer>,
}

impl Graph {
    /// Whether there is anything to draw.
    pub(crate) fn has_marks(&self) -> bool {
        self.layers.iter().any(|layer| !layer.marks.is_empty())
    }
}
