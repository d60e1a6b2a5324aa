//! A capture at the receiver in addition to one at the sender: the judge gets what both show, and the document what the judge revises.

use super::captured::CapturedFlow;
use super::joined::{JoinedFlow, OneWayDelay};
use crate::findings::advice::advise;
use crate::findings::verdict::{JudgedFlow, Verdict, VerdictReason};
use crate::ground::thresholds::STANDARD;
use crate::judge::{BothCaptures, QueueWait};
use pipefill_core::limit::CwndCause;

impl CapturedFlow {
    /// Adds what both captures show together. The verdict stays that of the sender's capture, unless the receiver's shows another cause of a
    /// small congestion window: then the ledger is revised, and figures and advice are those of the other cause.
    pub fn join(&mut self, joined: JoinedFlow) {
        let both = self.both_captures(&joined);
        self.joined = Some(joined);
        if let (Some(ledger), Some(VerdictReason::Judged(judged))) = (&mut self.ledger, &self.verdict.reason)
            && let Some(evidence) = both.revise(ledger, &STANDARD)
            && let Some(diagnosis) = ledger.diagnosis(&STANDARD)
        {
            self.loss_is_chance = diagnosis.cwnd_cause == Some(CwndCause::RandomLoss);
            let judged = Box::new(JudgedFlow { diagnosis, ..JudgedFlow::clone(judged) });
            let advice = advise(&judged);
            let reason = Some(VerdictReason::BothCaptures(judged.clone(), evidence));
            self.verdict = Verdict { reason, ..Verdict::of(judged, advice) };
        }
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
