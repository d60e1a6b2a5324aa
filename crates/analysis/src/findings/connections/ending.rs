//! How a captured flow ended, its events, and which parts of the flow the capture lacks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the connection ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FlowEnding {
    /// The kind.
    pub how: EndingKind,
    /// Which end of this flow did it; null where it is open.
    pub by: Option<EndedBy>,
}

/// A kind of ending.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndingKind {
    /// An end had nothing more to send.
    Fin,
    /// An end reset it.
    Reset,
    /// An end answered no more.
    Silence,
    /// The capture ended before.
    #[default]
    Open,
}

/// An end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// Who sends its data.
    Sender,
    /// Who receives them.
    Receiver,
}

/// What the capture does not have of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingPart {
    /// The SYN and the SYN-ACK.
    Handshake,
    /// Every packet of the receiver.
    OtherDirection,
    /// The scale of the receiver's windows.
    Scale,
    /// Packets that were acknowledged, or that later ones show.
    Packets,
}
