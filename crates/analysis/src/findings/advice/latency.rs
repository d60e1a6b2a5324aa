//! A shorter round trip under load: a shorter queue, a congestion control that does not fill it.

use super::Case;
use super::change::Change;
use crate::findings::finding::Advice;
use pipefill_core::limit::LimitedBy;

/// CUBIC gives up 0.3 of its window, so that a queue of 0.43 BDP never runs empty (RFC 9438, 4.6).
const SHORT_QUEUE: f64 = 0.5;
/// BBR probes with a quarter more than the path's rate for one round trip in eight.
const BBR_QUEUE: f64 = 0.25;

impl Case<'_> {
    /// What shortens the queue that is never empty for long.
    pub(super) fn for_latency(&self) -> Vec<Advice> {
        let latency = self.subject.latency;
        let Some((bloat, idle_us)) = latency.bufferbloat.zip(latency.idle_rtt_us) else { return Vec::new() };
        let spec = self.subject.spec;
        let mut advice = Vec::new();
        let bottleneck = spec.path.way(bloat.direction).bottleneck.as_ref();
        let holds = bottleneck.map(|one| one.queue_bdp(spec.path.rtt(), spec.path.full_frame()));
        let goodput = Some(self.subject.goodput_bps);
        if holds.is_some_and(|holds| holds > SHORT_QUEUE) {
            let mut change = Change::default();
            change.set.push(format!("{}={SHORT_QUEUE}bdp", Self::path_key(bloat.direction, "queue")));
            change
                .commands
                .push("tc qdisc replace dev DEV root fq_codel    # on the bottleneck: an AQM".to_owned());
            let why =
                "the queue is never empty for long; what is beyond half a BDP adds delay and no goodput"
                    .to_owned();
            let rtt_us = idle_us + (idle_us as f64 * SHORT_QUEUE) as u64;
            advice.push(change.for_latency(why, goodput, rtt_us));
        }
        // Its own data fills that queue; what others put there is theirs to change.
        let is_own = bloat.direction == self.subject.flow.direction
            && self.subject.diagnosis.limited_by == LimitedBy::Path;
        if is_own && let Some(change) = self.with_bbr() {
            let why = "it keeps what is in flight near one BDP, whatever the queue holds".to_owned();
            let rtt_us = idle_us + (idle_us as f64 * BBR_QUEUE) as u64;
            advice.push(change.for_latency(why, goodput, rtt_us));
        }
        advice
    }
}
