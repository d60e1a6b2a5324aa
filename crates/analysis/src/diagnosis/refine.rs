//! Why the congestion window was no larger: startup, loss (the path's or the queue's), growth.
//!
//! Never: a cause for another limit than the congestion window.

use super::epochs::Epoch;
use super::facts::Facts;
use pipefill_core::limit::{CwndCause, LimitedBy};

/// A loss is forgotten after so many round trips: what follows is growth.
const MEMORY_ROUND_TRIPS: u64 = 20;
/// And not before this.
const MEMORY_US: u64 = 2_000_000;

/// A segment that the queue dropped is sent again within so many round trips …
const REPAIR_ROUND_TRIPS: u64 = 3;
/// … or when the retransmission timer says so, which is no sooner than this (`TCP_RTO_MIN`).
const REPAIR_US: u64 = 200_000;

/// Follows one stream.
pub(super) struct Refiner {
    /// Whose losses the run has, where it has those of one kind only.
    sole: Option<CwndCause>,
    /// Whose the last one was.
    loss: CwndCause,
    memory_us: u64,
    last_loss_us: Option<u64>,
}

impl Refiner {
    pub(super) fn new(facts: &Facts<'_>) -> Self {
        let sole = match (facts.drops.random, facts.drops.queue) {
            (0, _) => Some(CwndCause::QueueLoss),
            (_, 0) => Some(CwndCause::RandomLoss),
            _ => None,
        };
        let memory_us = (MEMORY_ROUND_TRIPS * facts.base_rtt_us).max(MEMORY_US);
        Self { sole, loss: CwndCause::QueueLoss, memory_us, last_loss_us: None }
    }

    /// The cause of `epoch`; `None` where the congestion window did not limit it. `overflow_us`: when the queue last dropped
    /// by its end.
    pub(super) fn see(
        &mut self,
        epoch: &Epoch,
        limited_by: LimitedBy,
        overflow_us: Option<u64>,
    ) -> Option<CwndCause> {
        if epoch.retransmits > 0 || epoch.repair_share > 0.0 {
            self.last_loss_us = Some(epoch.to_us);
            self.loss = self.sole.unwrap_or_else(|| whose(epoch, overflow_us));
        }
        (limited_by == LimitedBy::Cwnd).then(|| match self.last_loss_us {
            None if epoch.has_ssthresh => CwndCause::HystartExit,
            None => CwndCause::Startup,
            Some(at) if epoch.to_us - at > self.memory_us => CwndCause::Growth,
            Some(_) => self.loss,
        })
    }
}

/// Where both kinds occur: the queue's where it dropped a short while before, for it drops many at once, and chance a packet here and there.
fn whose(epoch: &Epoch, overflow_us: Option<u64>) -> CwndCause {
    let repair_us = REPAIR_ROUND_TRIPS * epoch.srtt_us.unwrap_or(0) + REPAIR_US;
    match overflow_us {
        Some(at) if epoch.from_us.saturating_sub(at) <= repair_us => CwndCause::QueueLoss,
        _ => CwndCause::RandomLoss,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refiner(sole: Option<CwndCause>) -> Refiner {
        Refiner { sole, loss: CwndCause::QueueLoss, memory_us: MEMORY_US, last_loss_us: None }
    }

    fn epoch(from_us: u64, retransmits: u32) -> Epoch {
        Epoch { from_us, to_us: from_us + 40_000, retransmits, srtt_us: Some(10_000), ..Epoch::default() }
    }

    #[test]
    fn a_loss_is_the_queues_where_it_has_just_dropped_and_else_chance() {
        let mut refiner = refiner(None);
        let mut see = |from_us, retransmits, overflow_us| {
            refiner.see(&epoch(from_us, retransmits), LimitedBy::Cwnd, overflow_us)
        };
        assert_eq!(see(0, 0, None), Some(CwndCause::Startup));
        assert_eq!(see(100_000, 45, Some(120_000)), Some(CwndCause::QueueLoss), "in the epoch");
        assert_eq!(
            see(350_000, 1, Some(120_000)),
            Some(CwndCause::QueueLoss),
            "three round trips and the timer"
        );
        assert_eq!(see(350_001, 0, Some(120_000)), Some(CwndCause::QueueLoss), "what the last one left");
        assert_eq!(see(390_000, 1, Some(120_000)), Some(CwndCause::RandomLoss));
        assert_eq!(see(800_000, 0, Some(120_000)), Some(CwndCause::RandomLoss));
        assert_eq!(see(2_800_000, 0, Some(120_000)), Some(CwndCause::Growth));
    }

    #[test]
    fn where_there_is_one_kind_of_losses_it_is_that() {
        for sole in [CwndCause::RandomLoss, CwndCause::QueueLoss] {
            assert_eq!(refiner(Some(sole)).see(&epoch(0, 1), LimitedBy::Cwnd, None), Some(sole));
        }
        assert_eq!(refiner(None).see(&epoch(0, 1), LimitedBy::Rwnd, None), None);
    }
}
