//! A capture at the receiver beside the sender's: what both show goes to the judge, what it revises into the document.

use super::captured::CapturedFlow;
use super::joined::{JoinedFlow, OneWayDelay};
use crate::findings::verdict::VerdictReason;
use crate::ground::thresholds::STANDARD;
use crate::judge::{BothCaptures, QueueWait};
use pipefill_core::limit::{CwndCause, LimitedBy};

impl CapturedFlow {
    /// Adds what both captures say together. The verdict stays that of the sender's capture, unless the receiver's shows another cause of a
    /// small congestion window.
    pub fn join(&mut self, joined: JoinedFlow) {
        let limited_by = self.limited_by;
        let revision = limited_by.and_then(|limited_by| {
            self.both_captures(&joined).revision(limited_by, self.cwnd_cause, &STANDARD)
        });
        if let Some((cause, evidence)) = revision {
            let limit = limited_by.unwrap_or(LimitedBy::Cwnd);
            let share = self.take_share(limit);
            self.limited_by = Some(LimitedBy::Cwnd);
            self.cwnd_cause = Some(cause);
            (self.rule, self.margin) = (Some(BothCaptures::RULE), None);
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

    /// What both captures show.
    fn both_captures(&self, joined: &JoinedFlow) -> BothCaptures {
        let wait = |delay: OneWayDelay| {
            let micros = |us: i64| u64::try_from(us).unwrap_or(0);
            QueueWait {
                median_us: micros(delay.above_min_us_p50),
                longest_us: micros(delay.above_min_us_p99),
                before_loss_us: delay.above_min_us_before_loss.map(micros),
            }
        };
        BothCaptures {
            min_rtt_us: self.min_rtt_us.unwrap_or(0),
            retransmits: self.retransmits,
            lost_data_segments: joined.forward.lost_data_segments,
            overtaken_segments: joined.forward.reordered,
            pure_acks: joined.reverse.pure_acks,
            lost_pure_acks: joined.reverse.lost_pure_acks,
            data: joined.forward.one_way_delay.map(wait),
            acks: joined.reverse.one_way_delay.map(wait),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::connections::JoinedDirection;
    use crate::findings::connections::OneWayDelay;
    use crate::judge::JoinedEvidence;
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
