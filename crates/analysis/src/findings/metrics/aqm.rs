//! What the disciplines of the bottlenecks' queues did: drops, marks, and sojourn times with their target.

use pipefill_core::cell::{AqmSpec, Direction};
use pipefill_core::record::{AqmCounted, AqmSummary, DropReason, FlowQueues, Manifest, PathCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One direction's discipline.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AqmMetrics {
    /// Which way.
    pub direction: Direction,
    /// The word of the scenario: `fq_codel`.
    pub kind: String,
    /// The sojourn time that it aims at; null where it has none.
    pub target_us: Option<u64>,
    /// Packets that left its queue.
    pub packets: u64,
    /// Packets that it dropped though there was room.
    pub dropped_packets: Option<u64>,
    /// Packets that were dropped since the queue was full.
    pub overflow_packets: Option<u64>,
    /// Packets that it marked CE.
    pub marked_packets: Option<u64>,
    /// Median of the time that packets waited in it.
    pub sojourn_us_p50: Option<u64>,
    /// Its 95th percentile.
    pub sojourn_us_p95: Option<u64>,
    /// Its 99th percentile.
    pub sojourn_us_p99: Option<u64>,
    /// Its maximum.
    pub sojourn_us_max: Option<u64>,
    /// What it counted of flows' queues; null where it has none.
    pub flow_queues: Option<FlowQueues>,
}

/// The figures of a run's disciplines; none where both queues are drop-tail.
pub(super) fn metrics(manifest: &Manifest) -> Vec<AqmMetrics> {
    manifest.aqm.iter().map(|summary| of_direction(manifest, summary)).collect()
}

fn of_direction(manifest: &Manifest, summary: &AqmSummary) -> AqmMetrics {
    let direction = summary.direction;
    let spec = manifest.run.cell.spec.path.way(direction).aqm.as_ref();
    let target = spec.and_then(AqmSpec::target);
    let counted = |of_path, of_summary: fn(&AqmCounted) -> u64| {
        manifest.path_count(direction, of_path).or_else(|| summary.counted.as_ref().map(of_summary))
    };
    AqmMetrics {
        direction,
        kind: summary.kind.clone(),
        target_us: target.and_then(|target| u64::try_from(target.as_micros()).ok()),
        packets: summary.packets,
        dropped_packets: counted(PathCount::Dropped(DropReason::Aqm), |counted| counted.dropped_packets),
        overflow_packets: counted(PathCount::Dropped(DropReason::QueueFull), |counted| {
            counted.overflow_packets
        }),
        marked_packets: counted(PathCount::MarkedByAqm, |counted| counted.marked_packets),
        sojourn_us_p50: summary.sojourn_us_p50,
        sojourn_us_p95: summary.sojourn_us_p95,
        sojourn_us_p99: summary.sojourn_us_p99,
        sojourn_us_max: summary.sojourn_us_max,
        flow_queues: summary.flow_queues,
    }
}
