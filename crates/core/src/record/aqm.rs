//! What the discipline of a bottleneck's queue did during a run.

use crate::cell::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One discipline; its drops and marks are among the path's counters.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct AqmSummary {
    /// Which way.
    pub direction: Direction,
    /// The word of the scenario: `fq_codel`.
    pub kind: String,
    /// Packets that left.
    pub packets: u64,
    /// Median of the time that they waited, from their arrival until the link was free for them; null where none left.
    pub sojourn_us_p50: Option<u64>,
    /// Its 95th percentile.
    pub sojourn_us_p95: Option<u64>,
    /// Its 99th percentile.
    pub sojourn_us_p99: Option<u64>,
    /// Its maximum.
    pub sojourn_us_max: Option<u64>,
    /// What it counted of its flows' queues; null where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_queues: Option<FlowQueues>,
}

/// Counts of queues that flows are hashed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct FlowQueues {
    /// Times that an empty queue became a new flow's (`new_flow_count`).
    pub new_flows: u64,
    /// Times that a new flow used up its quantum and became an old one.
    pub became_old: u64,
    /// Packets that came to a queue in which a packet of another flow was the last.
    pub collisions: u64,
}
