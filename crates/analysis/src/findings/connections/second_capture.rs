//! What a capture at the receiver changes in the verdict of the sender's capture.

use super::captured::CapturedFlow;
use super::joined::{JoinedDirection, JoinedFlow};
use crate::findings::verdict::{JoinedEvidence, VerdictReason};
use pipefill_core::limit::{CwndCause, LimitedBy};

/// Losses are drops of a full queue where what came before them had waited this part of the longest wait, and none below the other.
const FULL: f64 = 0.7;
const NOT_FULL: f64 = 0.3;
/// A queue is told from the noise of timestamps from this on, microseconds.
const QUEUE_US: i64 = 1_000;
/// And where it is this part of the least round trip.
const QUEUE_PART: f64 = 0.2;
/// A queue in one direction is the cause where it is so many times that of the other.
const ONE_SIDED: i64 = 2;

impl CapturedFlow {
    /// Adds what both captures say together. The verdict stays that of the sender's capture, unless the receiver's shows another cause of a
    /// small congestion window.
    pub fn join(&mut self, joined: JoinedFlow) {
        if let Some((cause, evidence)) = self.other_cause(&joined) {
            let limit = self.limited_by.unwrap_or(LimitedBy::Cwnd);
            let share = self.take_share(limit);
            self.limited_by = Some(LimitedBy::Cwnd);
            self.cwnd_cause = Some(cause);
            self.loss_is_chance = cause == CwndCause::RandomLoss;
            self.reason = Some(VerdictReason::BothCaptures(cause, share, evidence));
            // What was advised, and what it rested on, was for the other cause.
            self.advice = Some(Vec::new());
            self.diagnosis = None;
        }
        self.joined = Some(joined);
    }

    /// The share of `limit` becomes the congestion window's.
    fn take_share(&mut self, limit: LimitedBy) -> Option<f64> {
        let shares = self.limited_fraction.as_mut()?;
        let share = shares.remove(&limit)?;
        let all = shares.entry(LimitedBy::Cwnd).or_insert(0.0);
        *all += share;
        Some(*all)
    }

    /// What the receiver's capture says against the sender's, and why.
    fn other_cause(&self, joined: &JoinedFlow) -> Option<(CwndCause, JoinedEvidence)> {
        let may_be = matches!(self.limited_by, Some(LimitedBy::Cwnd | LimitedBy::Path | LimitedBy::Unknown));
        let cause = self.ack_queue(joined).map(|why| (CwndCause::AckPath, why));
        let cause = cause.filter(|_| may_be).or_else(|| self.other_loss(joined));
        cause.filter(|&(cause, _)| self.cwnd_cause != Some(cause))
    }

    /// ACKs wait on their way back, and data do not.
    fn ack_queue(&self, joined: &JoinedFlow) -> Option<JoinedEvidence> {
        let (data, acks) = (joined.forward.one_way_delay?, joined.reverse.one_way_delay?);
        let (wait, other) = (acks.above_min_us_p50, data.above_min_us_p50);
        let is_queue = wait >= self.least_queue_us() && wait >= ONE_SIDED * other;
        is_queue
            .then(|| JoinedEvidence::AcksWait { acks_us: wait.unsigned_abs(), data_us: other.unsigned_abs() })
    }

    /// Why the window was cut, where that is not what the sender's capture says.
    fn other_loss(&self, joined: &JoinedFlow) -> Option<(CwndCause, JoinedEvidence)> {
        if self.limited_by != Some(LimitedBy::Cwnd) || !self.cwnd_cause?.is_loss() {
            return None;
        }
        let (forward, reverse) = (&joined.forward, &joined.reverse);
        if forward.lost_data_segments == 0 {
            return self.without_losses(forward, reverse);
        }
        let delay = forward.one_way_delay?;
        let (wait, longest) = (delay.above_min_us_before_loss? as f64, delay.above_min_us_p99 as f64);
        if longest < self.least_queue_us() as f64 {
            return None;
        }
        let (is_full, cause) = match self.cwnd_cause? {
            CwndCause::RandomLoss if wait >= FULL * longest => (true, CwndCause::QueueLoss),
            CwndCause::QueueLoss if wait <= NOT_FULL * longest => (false, CwndCause::RandomLoss),
            _ => return None,
        };
        let (wait_us, longest_us) = (wait as u64, longest as u64);
        Some((cause, JoinedEvidence::WaitBeforeLoss { is_full, wait_us, longest_us }))
    }

    /// Data were sent again, and none were lost.
    fn without_losses(
        &self,
        forward: &JoinedDirection,
        reverse: &JoinedDirection,
    ) -> Option<(CwndCause, JoinedEvidence)> {
        if self.retransmits == 0 {
            None
        } else if forward.reordered > 0 {
            Some((CwndCause::Reordering, JoinedEvidence::Overtaken(forward.reordered)))
        } else if reverse.lost_pure_acks > 0 {
            let (lost, all) = (reverse.lost_pure_acks, reverse.pure_acks);
            Some((CwndCause::AckPath, JoinedEvidence::AcksLost { lost, all }))
        } else {
            None
        }
    }

    fn least_queue_us(&self) -> i64 {
        QUEUE_US.max((QUEUE_PART * self.min_rtt_us.unwrap_or(0) as f64) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::connections::OneWayDelay;
    use std::collections::BTreeMap;

    /// A flow that its sender's capture says is limited so, on a path of 40 ms.
    fn flow(limit: LimitedBy, cause: Option<CwndCause>) -> CapturedFlow {
        CapturedFlow {
            limited_by: Some(limit),
            cwnd_cause: cause,
            limited_fraction: Some(BTreeMap::from([(limit, 0.75), (LimitedBy::App, 0.25)])),
            reason: Some(VerdictReason::TooShort),
            min_rtt_us: Some(40_000),
            retransmits: 9,
            ..CapturedFlow::default()
        }
    }

    fn waits(p50: i64, p99: i64, before_loss: Option<i64>) -> Option<OneWayDelay> {
        Some(OneWayDelay {
            above_min_us_p50: p50,
            above_min_us_p99: p99,
            above_min_us_before_loss: before_loss,
            ..OneWayDelay::default()
        })
    }

    fn lossy(lost: u64, delay: Option<OneWayDelay>) -> JoinedFlow {
        let forward =
            JoinedDirection { lost_data_segments: lost, one_way_delay: delay, ..JoinedDirection::default() };
        let reverse = JoinedDirection { one_way_delay: waits(0, 0, None), ..JoinedDirection::default() };
        JoinedFlow { forward, reverse, ..JoinedFlow::default() }
    }

    fn cause_of(mut flow: CapturedFlow, joined: JoinedFlow) -> (Option<LimitedBy>, Option<CwndCause>) {
        flow.join(joined);
        (flow.limited_by, flow.cwnd_cause)
    }

    #[test]
    fn acks_that_wait_while_data_do_not_are_the_cause() {
        let mut joined = lossy(0, waits(200, 900, None));
        joined.reverse.one_way_delay = waits(30_000, 31_000, None);
        let mut path = flow(LimitedBy::Path, None);
        path.join(joined.clone());
        assert_eq!((path.limited_by, path.cwnd_cause), (Some(LimitedBy::Cwnd), Some(CwndCause::AckPath)));
        let shares = BTreeMap::from([(LimitedBy::Cwnd, 0.75), (LimitedBy::App, 0.25)]);
        assert_eq!(path.limited_fraction, Some(shares));
        let evidence = JoinedEvidence::AcksWait { acks_us: 30_000, data_us: 200 };
        let reason = VerdictReason::BothCaptures(CwndCause::AckPath, Some(0.75), evidence);
        assert_eq!(path.reason, Some(reason));
        // Where data wait as long, the queue is theirs; and an application stays what it is.
        joined.forward.one_way_delay = waits(25_000, 31_000, None);
        assert_eq!(cause_of(flow(LimitedBy::Path, None), joined.clone()), (Some(LimitedBy::Path), None));
        joined.forward.one_way_delay = waits(0, 0, None);
        assert_eq!(cause_of(flow(LimitedBy::App, None), joined), (Some(LimitedBy::App), None));
    }

    #[test]
    fn the_wait_before_losses_tells_a_full_queue_from_chance() {
        for (told, wait, expected) in [
            (CwndCause::RandomLoss, 19_000, CwndCause::QueueLoss),
            (CwndCause::QueueLoss, 2_000, CwndCause::RandomLoss),
            (CwndCause::QueueLoss, 19_000, CwndCause::QueueLoss),
            (CwndCause::RandomLoss, 10_000, CwndCause::RandomLoss),
            (CwndCause::Policer, 19_000, CwndCause::Policer),
        ] {
            let found = cause_of(flow(LimitedBy::Cwnd, Some(told)), lossy(5, waits(0, 20_000, Some(wait))));
            assert_eq!(found.1, Some(expected), "{told:?} {wait}");
        }
        // A queue that never stood tells nothing.
        let short = lossy(5, waits(0, 900, Some(900)));
        assert_eq!(
            cause_of(flow(LimitedBy::Cwnd, Some(CwndCause::RandomLoss)), short).1,
            Some(CwndCause::RandomLoss)
        );
    }

    #[test]
    fn what_was_never_lost_is_no_loss() {
        let random = || flow(LimitedBy::Cwnd, Some(CwndCause::RandomLoss));
        let mut joined = lossy(0, waits(0, 0, None));
        joined.reverse.lost_pure_acks = 50;
        assert_eq!(cause_of(random(), joined.clone()).1, Some(CwndCause::AckPath));
        joined.forward.reordered = 7;
        assert_eq!(cause_of(random(), joined.clone()).1, Some(CwndCause::Reordering));
        joined.forward.lost_data_segments = 1;
        assert_eq!(cause_of(random(), joined).1, Some(CwndCause::RandomLoss));
    }

    #[test]
    fn where_both_agree_the_verdict_stays_the_senders() {
        let mut agreed = flow(LimitedBy::Cwnd, Some(CwndCause::RandomLoss));
        agreed.join(lossy(5, waits(0, 20_000, Some(100))));
        assert_eq!(agreed.reason, Some(VerdictReason::TooShort), "the sender's");
        assert!(agreed.joined.is_some());
    }
}
