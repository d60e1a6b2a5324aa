//! The revision [`BOTH_CAPTURES`]: what a capture at the receiver shows against the verdict of the sender's capture.

use super::rule::{Revision, RuleId};
use super::trace::Trace;
use crate::ground::thresholds::Thresholds;
use pipefill_core::limit::{CwndCause, LimitedBy};

pub(super) static BOTH_CAPTURES: Revision = Revision {
    id: RuleId::new("revision.both_captures"),
    question: "Do two captures of a transfer show another reason for a small congestion window than the sender's alone?",
    change: "the congestion window holds what it, the path or nobody known held: its ACKs wait, or its losses are of another kind",
};

/// What two captures of one transfer show together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BothCaptures {
    /// The least round trip, microseconds.
    pub min_rtt_us: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Data segments that the path lost.
    pub lost_data_segments: u64,
    /// Data segments that were overtaken.
    pub overtaken_segments: u64,
    /// ACKs without data, and those of them that the path lost.
    pub pure_acks: u64,
    /// See [`Self::pure_acks`].
    pub lost_pure_acks: u64,
    /// How long data waited in queues.
    pub data: Option<QueueWait>,
    /// How long ACKs did on their way back.
    pub acks: Option<QueueWait>,
}

/// One-way delay above the least one, microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct QueueWait {
    /// The median.
    pub median_us: u64,
    /// The 99th percentile.
    pub longest_us: u64,
    /// The median over what was lost: of the packet before; `None` without losses.
    pub before_loss_us: Option<u64>,
}

/// Why the revision is made, with its figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinedEvidence {
    /// ACKs wait on their way back, and data do not: medians.
    AcksWait {
        /// Wait of ACKs.
        acks_us: u64,
        /// Wait of data.
        data_us: u64,
    },
    /// How long packets waited before losses.
    WaitBeforeLoss {
        /// Whether the queue was full then.
        is_full: bool,
        /// Before half of the losses at least this.
        wait_us: u64,
        /// At most.
        longest_us: u64,
    },
    /// Nothing was lost, and so many segments were overtaken.
    Overtaken(u64),
    /// No data were lost, and ACKs were.
    AcksLost {
        /// How many.
        lost: u64,
        /// Of how many.
        all: u64,
    },
}

impl BothCaptures {
    /// The name of the revision.
    pub const RULE: RuleId = BOTH_CAPTURES.id;

    /// The cause of the congestion window that both captures show, where it is another one than the verdict of the sender's capture.
    pub fn revision(
        &self,
        limited_by: LimitedBy,
        cause: Option<CwndCause>,
        t: &Thresholds,
    ) -> Option<(CwndCause, JoinedEvidence)> {
        let mut trace = Trace::default();
        let may_be_acks = matches!(limited_by, LimitedBy::Cwnd | LimitedBy::Path | LimitedBy::Unknown);
        let acks = if may_be_acks { self.acks_wait(t, &mut trace) } else { None };
        let acks = acks.map(|evidence| (CwndCause::AckPath, evidence));
        let found = acks.or_else(|| match (limited_by, cause) {
            (LimitedBy::Cwnd, Some(cause)) if cause.is_loss() => self.other_loss(cause, t, &mut trace),
            _ => None,
        });
        found.filter(|&(found, _)| cause != Some(found))
    }

    fn acks_wait(&self, t: &Thresholds, trace: &mut Trace) -> Option<JoinedEvidence> {
        let (acks_us, data_us) = (self.acks?.median_us, self.data?.median_us);
        let times = if data_us > 0 { acks_us as f64 / data_us as f64 } else { f64::INFINITY };
        (self.is_queue(acks_us, t, trace) && trace.at_least(t.one_sided_queue, times))
            .then_some(JoinedEvidence::AcksWait { acks_us, data_us })
    }

    /// Why the window was cut, where that is not `cause`.
    fn other_loss(
        &self,
        cause: CwndCause,
        t: &Thresholds,
        trace: &mut Trace,
    ) -> Option<(CwndCause, JoinedEvidence)> {
        if self.lost_data_segments == 0 {
            return self.without_losses();
        }
        let QueueWait { longest_us, before_loss_us, .. } = self.data?;
        let wait_us = before_loss_us?;
        if !self.is_queue(longest_us, t, trace) {
            return None;
        }
        let share = wait_us as f64 / longest_us.max(1) as f64;
        let (is_full, other) = match cause {
            CwndCause::RandomLoss if trace.at_least(t.queue_full_at_loss, share) => {
                (true, CwndCause::QueueLoss)
            }
            CwndCause::QueueLoss if trace.at_most(t.queue_not_full_at_loss, share) => {
                (false, CwndCause::RandomLoss)
            }
            _ => return None,
        };
        Some((other, JoinedEvidence::WaitBeforeLoss { is_full, wait_us, longest_us }))
    }

    /// Data were sent again, and none were lost.
    const fn without_losses(&self) -> Option<(CwndCause, JoinedEvidence)> {
        if self.retransmits == 0 {
            None
        } else if self.overtaken_segments > 0 {
            Some((CwndCause::Reordering, JoinedEvidence::Overtaken(self.overtaken_segments)))
        } else if self.lost_pure_acks > 0 {
            let evidence = JoinedEvidence::AcksLost { lost: self.lost_pure_acks, all: self.pure_acks };
            Some((CwndCause::AckPath, evidence))
        } else {
            None
        }
    }

    /// Whether a wait is that of a queue, and not the noise of timestamps.
    fn is_queue(&self, wait_us: u64, t: &Thresholds, trace: &mut Trace) -> bool {
        let share = wait_us as f64 / self.min_rtt_us.max(1) as f64;
        trace.at_least(t.joined_queue_us, wait_us as f64) && trace.at_least(t.joined_queue, share)
    }
}
