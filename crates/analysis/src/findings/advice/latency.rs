//! A shorter round trip under load: an AQM, a shorter queue, a congestion control that does not fill it.

use super::Case;
use crate::findings::finding::{Advice, Goal};
use crate::findings::proposal::{Change, Reason, Setting, Target};
use pipefill_core::cell::Protocol;
use pipefill_core::limit::LimitedBy;

/// CUBIC gives up 0.3 of its window, so that a queue of 0.43 BDP never runs empty (RFC 9438, 4.6).
const SHORT_QUEUE: f64 = 0.5;
/// BBR probes with a quarter more than the path's rate for one round trip in eight.
const BBR_QUEUE: f64 = 0.25;
/// What FQ-CoDel lets stand (RFC 8290, section 5.2.3).
const FQ_CODEL_TARGET_US: u64 = 5_000;

impl Case<'_> {
    /// What shortens the queue that is never empty for long.
    pub(super) fn for_latency(&self) -> Vec<Advice> {
        let latency = &self.judged.latency;
        let Some((bloat, idle_us)) = latency.bufferbloat.zip(latency.idle_rtt_us) else { return Vec::new() };
        let for_latency = |change, reason, standing_us: u64| Advice {
            goal: Goal::Latency,
            predicted_rtt_us: Some(idle_us + standing_us),
            ..self.proposed(vec![change], reason, Some(self.at(self.judged.goodput_bps)))
        };
        let of_bdp = |share: f64| (idle_us as f64 * share) as u64;
        let mut advice = Vec::new();
        // What a flow that answers to nothing sends waits behind itself.
        let answers = self.judged.flow.protocol == Protocol::Tcp;
        if answers && !self.judged.path.way(bloat.direction).has_aqm {
            let change = Change {
                target: Target::Bottleneck,
                setting: Setting::FqCodel,
                key: Self::path_key(bloat.direction, "aqm"),
            };
            advice.push(for_latency(change, Reason::AqmKeepsItShort, FQ_CODEL_TARGET_US));
        }
        let holds = self.judged.path.queue_bdp(bloat.direction);
        if holds.is_some_and(|holds| holds > SHORT_QUEUE) {
            let change = Change {
                target: Target::Bottleneck,
                setting: Setting::ShorterQueue(SHORT_QUEUE),
                key: Self::path_key(bloat.direction, "queue"),
            };
            advice.push(for_latency(change, Reason::StandingQueue, of_bdp(SHORT_QUEUE)));
        }
        // Its own data fills that queue; what others put there is theirs to change.
        let is_own = bloat.direction == self.judged.flow.direction && self.limited_by == LimitedBy::Path;
        if is_own && let Some(change) = self.with_bbr() {
            advice.push(for_latency(change, Reason::BbrKeepsOneBdp, of_bdp(BBR_QUEUE)));
        }
        advice
    }
}
