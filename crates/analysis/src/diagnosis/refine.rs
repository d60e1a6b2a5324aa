//! Why the congestion window was no larger: startup, loss (the path's or the queue's), growth.
//!
//! Never: a cause for another limit than the congestion window.

use super::epochs::Epoch;
use super::facts::Facts;
use crate::experiment::LimitedBy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A loss is forgotten after so many round trips: what follows is growth.
const MEMORY_ROUND_TRIPS: u64 = 20;
/// And not before this.
const MEMORY_US: u64 = 2_000_000;

/// Why the congestion window limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CwndCause {
    /// Nothing was lost yet, and slow start still has no ceiling.
    Startup,
    /// Nothing was lost yet; HyStart ended slow start, or an idle time did.
    HystartExit,
    /// Losses that have nothing to do with load.
    RandomLoss,
    /// Drops of the bottleneck's own queue.
    QueueLoss,
    /// The last loss is long ago, and the window has not recovered yet.
    Growth,
}

/// Follows one stream.
pub(super) struct Refiner {
    loss: CwndCause,
    memory_us: u64,
    last_loss_us: Option<u64>,
}

impl CwndCause {
    /// The word of records and expectations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::HystartExit => "hystart_exit",
            Self::RandomLoss => "random_loss",
            Self::QueueLoss => "queue_loss",
            Self::Growth => "growth",
        }
    }

    /// Whether packets were lost.
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::RandomLoss | Self::QueueLoss)
    }
}

impl Refiner {
    pub(super) fn new(facts: &Facts<'_>) -> Self {
        let drops = facts.drops;
        let loss = if drops.random > drops.queue { CwndCause::RandomLoss } else { CwndCause::QueueLoss };
        let memory_us = (MEMORY_ROUND_TRIPS * facts.base_rtt_us).max(MEMORY_US);
        Self { loss, memory_us, last_loss_us: None }
    }

    /// The cause of `epoch`; `None` where the congestion window did not limit it.
    pub(super) fn see(&mut self, epoch: &Epoch, limited_by: LimitedBy) -> Option<CwndCause> {
        if epoch.retransmits > 0 || epoch.repair_share > 0.0 {
            self.last_loss_us = Some(epoch.to_us);
        }
        (limited_by == LimitedBy::Cwnd).then(|| match self.last_loss_us {
            None if epoch.has_ssthresh => CwndCause::HystartExit,
            None => CwndCause::Startup,
            Some(at) if epoch.to_us - at > self.memory_us => CwndCause::Growth,
            Some(_) => self.loss,
        })
    }
}
