//! What the figures of a test between hosts must be read with: an end that was late, a server whose claims this host's sockets contradict,
//! other tests at the same time, a clock that was set.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestEnd {
    /// This host.
    Client,
    /// The server.
    Server,
}

/// Why an end's figures must not be believed.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct InvalidEnd {
    /// Which.
    pub end: TestEnd,
    /// A stable word, as of an invalid run: `late_samples`, `starved_cpu`.
    pub reason: String,
    /// What happened, with the figure and the bound.
    pub detail: String,
}

/// A figure of the server that can't be, by what this host's socket has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Contradiction {
    /// The stream, by the number that is printed for it.
    pub stream: u32,
    /// What contradicts what.
    pub kind: ContradictionKind,
    /// Of what both figures are.
    pub unit: CountUnit,
    /// What the server says.
    pub claimed: u64,
    /// What this host's socket has counted.
    pub counted: u64,
}

/// What contradicts what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContradictionKind {
    /// The server says that it received more than this host sent.
    ReceivedMoreThanSent,
    /// The server says that it received less than its kernel has acknowledged, beyond what a receive buffer holds.
    ReceivedLessThanAcknowledged,
    /// The server says that it sent less than this host received.
    SentLessThanReceived,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CountUnit {
    /// Payload.
    Bytes,
    /// Datagrams.
    Datagrams,
}

/// Other tests whose data went through the same server at the same time.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct OtherTests {
    /// The most at one time.
    pub most: u32,
    /// The share of this test's time in which there was at least one.
    pub time_share: f64,
}

/// A clock of one of the hosts was set while the test ran: delays and jitter, which compare two clocks, are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ClockSet {
    /// By how much the difference between the two clocks changed, microseconds: positive where the server's is ahead by more than before.
    pub by_us: i64,
}
