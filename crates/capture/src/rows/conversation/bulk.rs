//! Prediction for conversations: what most segments of a bulk transfer change, in few steps.
//!
//! Invariant: what is taken here is taken the same by the general way, which gets every other segment.

use super::{Conversation, DELAYED_NS, REMARK_BYTES, Speaker, TIMER_LEAST_NS, full_ns, to_end_ns};
use crate::headers::Flags;
use crate::tcp::{Connection, Event, SegmentKind, Side};
use std::num::NonZeroU64;

impl Conversation {
    /// After a segment that was taken the general way: the side whose bulk data may follow. It waits for nothing, and the other side only listens.
    #[inline]
    pub(super) fn bulk_sender_after(&self, event: &Event) -> Option<Side> {
        let side = sender(event);
        let [own, peer] = [side, side.other()].map(|side| &self.speakers[side as usize]);
        (self.begun_ns.is_some() && own.is_sending() && peer.is_listening_to(own)).then_some(side)
    }

    /// Takes a segment while bulk data go on. Returns whether it was one of these or an ACK of them: nothing is changed otherwise.
    #[inline(always)]
    pub(super) fn take_bulk(&mut self, connection: &Connection, event: &Event) -> bool {
        if event.shows_unseen || event.flags.has(Flags::RST) {
            return false;
        }
        let receives = connection.half(event.side.other());
        if event.window_bytes.is_some_and(|window| window < receives.mss_bytes()) {
            return false;
        }
        if event.payload > 0 {
            self.take_bulk_data(connection, event)
        } else {
            self.take_bulk_ack(connection, event)
        }
    }

    /// Full segments in order, sooner after the last than half a round trip.
    #[inline(always)]
    fn take_bulk_data(&mut self, connection: &Connection, event: &Event) -> bool {
        let (side, now) = (event.side, event.time_ns);
        let half = connection.half(side);
        let mss = half.mss_bytes();
        let is_full = event.payload == mss || event.payload > mss && event.payload.is_multiple_of(mss);
        let is_in_order =
            event.kind == SegmentKind::New && !event.fills_hole && event.seq_to >= half.sent_to();
        if !(is_full && is_in_order && mss > REMARK_BYTES) {
            return false;
        }
        let (own, peer) = side.own_and_other(&mut self.speakers);
        let gap_ns = own.spoke_ns().and_then(|last_ns| now.checked_sub(last_ns));
        // Of what came back, and what has to come back before anything else may be waited for.
        let (since_ns, least_ns) = if own.is_out {
            (own.unanswered_ns.map_or(0, NonZeroU64::get), TIMER_LEAST_NS)
        } else {
            (own.acked_ns, to_end_ns(connection, side).min(TIMER_LEAST_NS))
        };
        let is_prompt = now.saturating_sub(since_ns) < least_ns && !own.is_ack_late;
        if !is_prompt || gap_ns.is_none_or(|gap_ns| gap_ns >= full_ns(connection) / 2) {
            return false;
        }
        if !own.is_out {
            own.unanswered_ns = NonZeroU64::new(now);
        }
        let out_bytes = half.unacked_bytes();
        own.is_out = out_bytes > 0;
        own.out_bytes = u32::try_from(out_bytes).unwrap_or(u32::MAX);
        own.flight_bytes = own.flight_bytes.saturating_add(event.payload);
        own.last_ns = NonZeroU64::new(now);
        (own.is_unfinished, own.ends_full) = (!event.flags.has(Flags::PSH), true);
        if let Some((_, last_ns)) = &mut peer.heard {
            *last_ns = now;
        }
        true
    }

    /// What the other side acknowledges, soon.
    #[inline(always)]
    fn take_bulk_ack(&mut self, connection: &Connection, event: &Event) -> bool {
        let sender = event.side.other();
        let own = &mut self.speakers[sender as usize];
        let now = event.time_ns;
        if own.is_out {
            if connection.half(sender).unacked_bytes() == 0 {
                if own.spoke_ns().is_none_or(|last_ns| now.saturating_sub(last_ns) >= DELAYED_NS) {
                    return false;
                }
                (own.is_out, own.is_ack_late, own.acked_ns) = (false, false, now);
            }
            own.unanswered_ns = NonZeroU64::new(now);
        }
        own.watch_small(connection, event);
        true
    }
}

/// Whose bulk data a segment may be a part of, or acknowledge.
#[inline(always)]
pub(super) const fn sender(event: &Event) -> Side {
    if event.payload > 0 { event.side } else { event.side.other() }
}

impl Speaker {
    /// Whether it has spoken, and neither it nor a timer of it waits for anything but ACKs.
    const fn is_sending(&self) -> bool {
        self.last_ns.is_some()
            && self.heard.is_none()
            && self.lost_us == 0
            && self.repeated_us.is_none()
            && self.timer.is_none()
            && self.closed_ns.is_none()
    }

    /// Whether it has nothing outstanding, and heard `sender` since it spoke last.
    fn is_listening_to(&self, sender: &Self) -> bool {
        let has_heard = |(_, last_ns)| Some(last_ns) >= self.spoke_ns() && Some(last_ns) <= sender.spoke_ns();
        !self.is_out
            && self.small_to.is_none()
            && self.closed_ns.is_none()
            && self.heard.is_some_and(has_heard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::exchange::{Exchange, Next, any_next, bulk, handshake_end, syn};
    use crate::tcp::{Observer, Reconstruction};
    use proptest::prelude::*;

    /// One that predicts, and one that takes every segment the general way. Counts what was predicted.
    #[derive(Default)]
    struct Both {
        predicting: Conversation,
        bulk_sender: Option<Side>,
        plain: Conversation,
        predicted: usize,
    }

    impl Observer for Both {
        fn segment(&mut self, connection: &Connection, event: &Event) {
            let is_expected = self.bulk_sender == Some(sender(event));
            let is_predicted = is_expected && { self.predicting }.take_bulk(connection, event);
            self.predicted += usize::from(is_predicted);
            self.predicting.observe(connection, event, &mut self.bulk_sender);
            self.plain.observe_any(connection, event);
            let [predicting, plain] = [self.predicting, self.plain].map(|way| format!("{way:?}"));
            assert_eq!(predicting, plain, "after {event:?}");
        }
    }

    /// Follows the handshake and these segments; how many were predicted.
    fn predicted(follow: impl IntoIterator<Item = Next>) -> usize {
        let (mut exchange, mut reconstruction) = (Exchange::default(), Reconstruction::default());
        let mut both = Both::default();
        for next in [syn(true), syn(false), handshake_end()].into_iter().chain(follow) {
            reconstruction.take_segment(&exchange.segment(&next), &mut both);
        }
        both.predicted
    }

    /// Bulk data of one side or the other, and what may come between.
    fn any_part() -> impl Strategy<Value = Vec<Next>> {
        let any_bulk = (any::<bool>(), 1..12_usize, prop_oneof![0..400_000_i64, 0..4_000_000_i64]);
        prop_oneof![
            3 => any_bulk.prop_map(|(from_a, times, after_ns)| bulk(from_a, times, after_ns)),
            1 => prop::collection::vec(any_next(), 1..4),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn what_is_predicted_is_what_the_general_way_finds(parts in prop::collection::vec(any_part(), 0..12)) {
            predicted(parts.into_iter().flatten());
        }
    }

    /// Near the sender ACKs come a round trip later; here, near the receiver, at once.
    #[test]
    fn nearly_all_of_a_bulk_transfer_is_predicted() {
        let count = predicted(bulk(true, 100, 10_000));
        assert!(count > 290, "{count} of 300");
    }
}
