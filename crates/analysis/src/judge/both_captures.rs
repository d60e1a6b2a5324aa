//! The revision [`BOTH_CAPTURES`]: what a capture at the receiver shows against the verdict of the sender's capture.

use super::flow_ledger::FlowLedger;
use super::ledger::Holding;
use super::rule::{Revision, RuleId};
use super::trace::Trace;
use crate::ground::thresholds::Thresholds;
use pipefill_core::limit::{Cause, CwndCause, LimitedBy};

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
    /// Revises the ledger that the sender's capture alone gives. What both show; `None` where they agree with it.
    pub fn revise(&self, ledger: &mut FlowLedger, t: &Thresholds) -> Option<JoinedEvidence> {
        let limited_by = ledger.sums.main_holder()?;
        let cause = ledger.sums.main_cause(limited_by);
        let (found, evidence) = self.revision(limited_by, cause, t)?;
        let revised =
            Holding { limited_by: LimitedBy::Cwnd, cause: Some(found.into()), rule: BOTH_CAPTURES.id };
        let is_of_all = matches!(evidence, JoinedEvidence::AcksWait { .. });
        ledger.revise(|holding| {
            let is_its = holding.limited_by == limited_by && (is_of_all || holding.cause == cause);
            is_its.then_some(revised)
        });
        Some(evidence)
    }

    /// The cause of the congestion window that both captures show, where it is another one than the verdict of the sender's capture.
    fn revision(
        &self,
        limited_by: LimitedBy,
        cause: Option<Cause>,
        t: &Thresholds,
    ) -> Option<(CwndCause, JoinedEvidence)> {
        let of_cwnd = cause.and_then(Cause::of_cwnd);
        let mut trace = Trace::default();
        let may_be_acks = matches!(limited_by, LimitedBy::Cwnd | LimitedBy::Path | LimitedBy::Unknown);
        let acks = if may_be_acks { self.acks_wait(t, &mut trace) } else { None };
        let acks = acks.map(|evidence| (CwndCause::AckPath, evidence));
        let found = acks.or_else(|| match (limited_by, of_cwnd) {
            (LimitedBy::Cwnd, Some(cause)) if cause.is_loss() => self.other_loss(cause, t, &mut trace),
            // What the sender sent again and again had arrived: it did not hear of it.
            (LimitedBy::Path, _) if cause == Some(Cause::Silence) && self.lost_data_segments == 0 => {
                self.without_losses()
            }
            _ => None,
        });
        found.filter(|&(found, _)| of_cwnd != Some(found))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;

    const MS: u64 = 1_000;

    /// Three quarters of a flow on a path of 40 ms, in which its sender's capture says that it is limited so.
    fn revised(
        limit: LimitedBy,
        cause: Option<CwndCause>,
        both: BothCaptures,
    ) -> (FlowLedger, Option<JoinedEvidence>) {
        let mut ledger = FlowLedger::held(&[(limit, cause, 750), (LimitedBy::App, None, 250)]);
        let both = BothCaptures { min_rtt_us: 40 * MS, retransmits: 9, ..both };
        let evidence = both.revise(&mut ledger, &STANDARD);
        (ledger, evidence)
    }

    fn main(
        limit: LimitedBy,
        cause: Option<CwndCause>,
        both: BothCaptures,
    ) -> (LimitedBy, Option<CwndCause>) {
        let diagnosis = revised(limit, cause, both).0.diagnosis(&STANDARD).expect("it has time");
        (diagnosis.limited_by, diagnosis.cwnd_cause)
    }

    fn wait(median_us: u64, longest_us: u64, before_loss_us: Option<u64>) -> Option<QueueWait> {
        Some(QueueWait { median_us, longest_us, before_loss_us })
    }

    fn lossy(lost_data_segments: u64, data: Option<QueueWait>) -> BothCaptures {
        BothCaptures { lost_data_segments, data, acks: wait(0, 0, None), ..BothCaptures::default() }
    }

    #[test]
    fn acks_that_wait_while_data_do_not_are_the_cause() {
        let acks = wait(30 * MS, 31 * MS, None);
        let both = BothCaptures { acks, ..lossy(0, wait(200, 900, None)) };
        let (ledger, evidence) = revised(LimitedBy::Path, None, both);
        assert_eq!(evidence, Some(JoinedEvidence::AcksWait { acks_us: 30 * MS, data_us: 200 }));
        let found = ledger.diagnosis(&STANDARD).expect("it has time");
        assert_eq!((found.limited_by, found.cwnd_cause), (LimitedBy::Cwnd, Some(CwndCause::AckPath)));
        assert_eq!((found.rule, found.margin), (Some(BOTH_CAPTURES.id), None));
        assert_eq!(found.limited_fraction, [(LimitedBy::Cwnd, 0.75), (LimitedBy::App, 0.25)].into());
        assert_eq!(found.timeline[0].cwnd_cause, Some(CwndCause::AckPath), "the spans say the same");
        // Where data wait as long, the queue is theirs; and an application stays what it is.
        let both = BothCaptures { acks, ..lossy(0, wait(25 * MS, 31 * MS, None)) };
        assert_eq!(main(LimitedBy::Path, None, both), (LimitedBy::Path, None));
        let both = BothCaptures { acks, ..lossy(0, wait(0, 0, None)) };
        assert_eq!(main(LimitedBy::App, None, both), (LimitedBy::App, None));
    }

    #[test]
    fn the_wait_before_losses_tells_a_full_queue_from_chance() {
        for (told, wait_ms, expected) in [
            (CwndCause::RandomLoss, 19, CwndCause::QueueLoss),
            (CwndCause::QueueLoss, 2, CwndCause::RandomLoss),
            (CwndCause::QueueLoss, 19, CwndCause::QueueLoss),
            (CwndCause::RandomLoss, 10, CwndCause::RandomLoss),
            (CwndCause::Policer, 19, CwndCause::Policer),
        ] {
            let both = lossy(5, wait(0, 20 * MS, Some(wait_ms * MS)));
            assert_eq!(main(LimitedBy::Cwnd, Some(told), both).1, Some(expected), "{told:?} {wait_ms}");
        }
        // A queue that never stood tells nothing.
        let short = lossy(5, wait(0, 900, Some(900)));
        let random = Some(CwndCause::RandomLoss);
        assert_eq!(main(LimitedBy::Cwnd, random, short).1, random);
        let agreed = lossy(5, wait(0, 20 * MS, Some(100)));
        assert_eq!(revised(LimitedBy::Cwnd, random, agreed).1, None, "the sender's verdict stands");
    }

    #[test]
    fn what_was_never_lost_is_no_loss() {
        let cause = |both| main(LimitedBy::Cwnd, Some(CwndCause::RandomLoss), both).1;
        let acks = BothCaptures { lost_pure_acks: 50, ..lossy(0, wait(0, 0, None)) };
        assert_eq!(cause(acks), Some(CwndCause::AckPath));
        let overtaken = BothCaptures { overtaken_segments: 7, ..acks };
        assert_eq!(cause(overtaken), Some(CwndCause::Reordering));
        assert_eq!(cause(BothCaptures { lost_data_segments: 1, ..overtaken }), Some(CwndCause::RandomLoss));
    }

    #[test]
    fn only_what_is_held_for_that_cause_is_revised() {
        let random = Some(CwndCause::RandomLoss);
        let mut ledger = FlowLedger::held(&[
            (LimitedBy::Cwnd, Some(CwndCause::Startup), 200),
            (LimitedBy::Cwnd, random, 500),
            (LimitedBy::Path, None, 300),
        ]);
        let both = BothCaptures { min_rtt_us: 40 * MS, ..lossy(5, wait(0, 20 * MS, Some(19 * MS))) };
        assert!(both.revise(&mut ledger, &STANDARD).is_some());
        let found = ledger.diagnosis(&STANDARD).expect("it has time");
        let causes: Vec<Option<CwndCause>> = found.timeline.iter().map(|span| span.cwnd_cause).collect();
        assert_eq!(causes, [Some(CwndCause::Startup), Some(CwndCause::QueueLoss), None]);
        assert_eq!(found.margin, Some(0.5), "who holds it has not changed");
    }
}
