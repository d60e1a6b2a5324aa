//! What the program behind a flow does: when it has data to send, how much, and what it waits for.
//!
//! The payload of a flow goes from its sender to its receiver: the responses of `requests`, the writes of `writes`. Each stream of a flow
//! has an application of its own.

use super::nanos;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The program behind a flow. Records that do not have it are of `bulk` flows.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Application {
    /// The sender always has data, or has it at `bitrate`.
    #[default]
    Bulk,
    /// The receiver's end is a client: it asks, and the sender's end answers.
    Requests(RequestsSpec),
    /// The sender writes a burst at fixed intervals.
    Bursts(BurstsSpec),
    /// The sender keeps no more than a window of the application's unread by the receiving program, as an SSH channel does.
    Window(WindowSpec),
    /// The sender writes a message in pieces, then waits for an answer.
    Writes(WritesSpec),
}

/// Requests and responses (HTTP, a database).
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RequestsSpec {
    /// Size of a request, written at once by the receiver's end.
    #[serde(rename = "request_bytes")]
    pub request: Bytes,
    /// Size of a response, written at once by the sender's end.
    #[serde(rename = "response_bytes")]
    pub response: Bytes,
    /// From the last byte of a request to the first byte of its response. Requests that wait are thought about at the same time.
    #[serde(rename = "think_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub think: Duration,
    /// Requests that the client has open at most.
    pub outstanding: u32,
    /// Requests of a stream; `None` = until the flow's duration is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// From the last byte of a response to the client's next request.
    #[serde(rename = "pause_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub pause: Duration,
}

/// Bursts at fixed intervals (a video player, a backup of changes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct BurstsSpec {
    /// Size of a burst. UDP sends it in datagrams of the flow's `length`, the last one shorter, but large enough for our header.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// From the beginning of a burst to that of the next. A burst that the socket still holds up delays the next one; none is left out.
    #[serde(rename = "every_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub every: Duration,
}

/// A window of the application (an SSH channel, an HTTP/2 stream).
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WindowSpec {
    /// Most bytes that the receiving program has not credited.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
}

/// Messages in several writes, each answered (a client that writes header and body apart).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WritesSpec {
    /// Sizes of the writes of a message, in order; at least one.
    #[serde(rename = "sizes_bytes")]
    pub sizes: Vec<Bytes>,
    /// Size of the answer, written at once by the receiver's end.
    #[serde(rename = "response_bytes")]
    pub response: Bytes,
    /// From the last byte of a message to the first byte of its answer.
    #[serde(rename = "think_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub think: Duration,
}

impl Application {
    /// Whether it is the default.
    pub const fn is_bulk(&self) -> bool {
        matches!(self, Self::Bulk)
    }

    /// Whether both programs of a stream write.
    pub const fn sends_both_ways(&self) -> bool {
        matches!(self, Self::Requests(_) | Self::Window(_) | Self::Writes(_))
    }

    /// The word of the scenario.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::Requests(_) => "requests",
            Self::Bursts(_) => "bursts",
            Self::Window(_) => "window",
            Self::Writes(_) => "writes",
        }
    }
}
