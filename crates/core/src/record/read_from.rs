//! Another program's output, from which samples of a connection were read, and what it does not show.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The output of another program.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ReadFrom {
    /// The program and what it printed, e.g. `iperf3 -J`.
    pub program: String,
    /// Its version, where the output names it.
    pub version: Option<String>,
    /// Whether the bytes in flight, and those in the send buffer, are the rate times the round trip (Little's law), one value for each interval: the
    /// program prints neither.
    pub flight_estimated: bool,
    /// Whether each sample is a round of its own: they are few, and at least a round trip apart.
    pub sample_per_round: bool,
    /// What the output does not show, in the order of its importance.
    pub gaps: Vec<Gap>,
}

/// What an output does not show, although the verdict would be surer with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gap {
    /// The output breaks off.
    Rest,
    /// Nothing of the sender's socket: it is the receiver's output.
    Sender,
    /// The round trip.
    RoundTrip,
    /// The window that the receiver advertised.
    ReceiveWindow,
    /// The congestion window.
    CongestionWindow,
    /// The send buffer and what is in it.
    SendBuffer,
    /// What is in flight at an instant.
    Flight,
    /// The least round trip: a queue that stands all the time looks like the path's own delay.
    LeastRoundTrip,
    /// Whether the program writes as fast as it can.
    OfferedRate,
    /// More than one reading: one shows an instant.
    Readings,
    /// When each reading was made: the times follow from the ages and times that the sockets count.
    Times,
    /// What was sent and acknowledged, in bytes.
    Bytes,
    /// Where datagrams were lost.
    Drops,
    /// What was written and not sent yet.
    Unsent,
}
