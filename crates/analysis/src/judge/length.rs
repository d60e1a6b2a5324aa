//! Whether there is enough of a flow to judge: otherwise no holder is named, unless an event decides.

use super::HeldTime;
use super::rule::RuleId;
use crate::ground::thresholds::Thresholds;
use pipefill_core::limit::{Cause, LimitedBy};

/// Of a flow that is too short.
pub const TOO_SHORT: RuleId = RuleId::new("too_short");
/// Of a flow of whose receiver the capture has no packet.
pub const OTHER_DIRECTION: RuleId = RuleId::new("unknown.other_direction");
/// Of a flow that took a few ticks of the capture's clock.
pub const COARSE_CLOCK: RuleId = RuleId::new("unknown.coarse_clock");
/// Of a flow whose receiver's window closed and stayed so: no time is known that it held.
pub const ZERO_WINDOW: RuleId = super::rules::receiver::ZERO_WINDOW.id;

/// How much of a flow was seen.
#[derive(Debug, Clone, Copy)]
pub struct FlowLength<'a> {
    /// The time that is judged, microseconds; `None` where it is not known.
    pub span_us: Option<u64>,
    /// The least round trip.
    pub min_rtt_us: Option<u64>,
    /// Segments with payload.
    pub segments: u64,
    /// Its time by who held it.
    pub time: &'a [HeldTime],
}

impl FlowLength<'_> {
    /// Whether it is shorter than two round trips, or has fewer than ten segments of which it did not wait for turns most of the time. A window that
    /// was 0 and an end that did not answer decide even then.
    pub fn is_too_short(&self, t: &Thresholds) -> bool {
        let share = |is: fn(&HeldTime) -> bool| -> f64 {
            self.time.iter().filter(|held| is(held)).map(|held| held.share).sum()
        };
        let is_event = |held: &HeldTime| {
            held.limited_by == LimitedBy::Receiver || matches!(held.cause, Some(Cause::Silence | Cause::Mtu))
        };
        if share(is_event) >= t.event_decides.value() {
            return false;
        }
        let is_turn =
            |held: &HeldTime| matches!(held.cause, Some(Cause::Request | Cause::Response | Cause::Turns));
        let waits = share(is_turn) >= t.mostly_waits.value();
        let few_round_trips = self
            .span_us
            .zip(self.min_rtt_us)
            .is_some_and(|(span_us, rtt_us)| (span_us as f64) < t.judged_round_trips.value() * rtt_us as f64);
        few_round_trips || (self.segments < t.judged_segments.whole() && !waits)
    }
}
