//! What the discipline of a bottleneck's queue did during a run.

use crate::cell::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One discipline; its drops and marks are among the path's counters, where the record has those.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct AqmSummary {
    /// Which way.
    pub direction: Direction,
    /// The word of the scenario: `fq_codel`.
    pub kind: String,
    /// Packets that left.
    pub packets: u64,
    /// Its drops and marks, where the record has no counters of the path; absent where it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<AqmCounted>,
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

/// Drops and marks of a discipline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct AqmCounted {
    /// Packets that it dropped though there was room.
    pub dropped_packets: u64,
    /// Packets that were dropped since the queue was full.
    pub overflow_packets: u64,
    /// Packets that it marked CE.
    pub marked_packets: u64,
}

/// `aqm.jsonl.zst`: how the discipline of a bottleneck's queue stands, and what it has done so far. Only runs with a discipline have the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct AqmSample {
    /// When it was read.
    pub t_us: u64,
    /// Which way.
    pub direction: Direction,
    /// Packets in it, with the one that waits for the link alone; null in records of before it was noted.
    #[serde(default)]
    pub backlog_packets: Option<u64>,
    /// Bytes in it, in the same way (Ethernet frames without FCS).
    #[serde(default)]
    pub backlog_bytes: Option<u64>,
    /// Packets that left its queue so far.
    pub packets: u64,
    /// Sum of the times that they waited: the difference over that of `packets` is the mean of an interval. Null where the kernel's qdisc is the
    /// discipline, which does not count it.
    #[serde(default)]
    pub sojourn_sum_us: Option<u64>,
    /// How long the packet waited that left last; null before the first, and of a qdisc that does not report it.
    pub sojourn_us: Option<u64>,
    /// Packets that it dropped so far though there was room.
    pub dropped_packets: u64,
    /// Packets that were dropped so far since the queue was full.
    pub overflow_packets: u64,
    /// Packets that it marked CE so far.
    pub marked_packets: u64,
    /// PIE, RED, DualPI2: the probability with which it drops or marks now (of DualPI2 the base probability p', whose square is that of classic
    /// packets), in parts per billion; null for others, and of the kernel's RED.
    pub probability_ppb: Option<u64>,
    /// CoDel: drops and marks of the cycle that lasts (`count`), 0 between cycles; of FQ-CoDel the largest of its queues. Null for
    /// others, and of the kernel's FQ-CoDel.
    pub drop_count: Option<u64>,
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
