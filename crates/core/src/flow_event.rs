//! What happened to a flow beside its time: the words and the shape of `events`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowEventKind {
    /// Data was outstanding, and nothing passed in either direction for more than three timers.
    Outage,
    /// The receiver's window was 0.
    ZeroWindow,
    /// The retransmission timer ran out.
    Timeout,
    /// The path marked packets.
    CeMarks,
    /// A reset passed.
    Reset,
    /// Packets are missing from the capture.
    CaptureGap,
    /// The capture's clock was set back.
    ClockStep,
    /// Nothing was outstanding, and nothing passed for at least 200 ms.
    Idle,
}

/// What happened to a flow: once, or several times from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FlowEvent {
    /// The kind.
    pub kind: FlowEventKind,
    /// When it began, microseconds since the run began; in a capture since the first packet between these hosts.
    pub from_us: u64,
    /// When the last one ended.
    pub to_us: u64,
    /// How many packets or timers show it; 1 for a quiet time.
    pub count: u64,
}
