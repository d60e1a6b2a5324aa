//! What most segments of a bulk transfer change in a conversation, in few steps.
//!
//! Invariant: what is taken here is taken the same by [`Conversation::observe`], which gets every other segment.

use super::{Conversation, DELAYED_NS, REMARK_BYTES, Speaker, TIMER_LEAST_NS, full_ns, to_end_ns};
use crate::headers::Flags;
use crate::tcp::{Connection, Event, Side};
use std::num::NonZeroU64;

impl Conversation {
    /// After a segment that was taken the general way: the side whose bulk data may follow. It waits for nothing, and the other side only listens.
    pub(in crate::rows) fn bulk_sender_after(&self, connection: &Connection, event: &Event) -> Option<Side> {
        let side = if event.payload > 0 { event.side } else { event.side.other() };
        let [own, peer] = [side, side.other()].map(|side| &self.speakers[side as usize]);
        let may_follow = self.begun_ns.is_some()
            && own.is_sending()
            && peer.is_listening_to(own)
            && !closes_window(connection, side);
        may_follow.then_some(side)
    }

    /// When the last payload of `side` passed.
    pub(in crate::rows) fn spoke_ns(&self, side: Side) -> Option<u64> {
        self.speakers[side as usize].spoke_ns()
    }

    /// Takes predicted data while bulk data of their sender go on: full segments, sooner after the last than half a round trip. Returns whether they
    /// were that: nothing is changed otherwise.
    #[inline(always)]
    pub(in crate::rows) fn take_bulk_data(&mut self, connection: &Connection, event: &Event) -> bool {
        let (side, now) = (event.side, event.time_ns);
        let half = connection.half(side);
        let mss = half.mss_bytes();
        let is_full = event.payload == mss || event.payload > mss && event.payload.is_multiple_of(mss);
        if !is_full || mss <= REMARK_BYTES {
            return false;
        }
        let (own, peer) = side.own_and_other(&mut self.speakers);
        let last_ns = own.last_ns.map_or(u64::MAX, NonZeroU64::get);
        // Of what came back, and what has to come back before anything else may be waited for.
        let (since_ns, least_ns) = if own.is_out {
            (own.unanswered_ns.map_or(0, NonZeroU64::get), TIMER_LEAST_NS)
        } else {
            (own.acked_ns, to_end_ns(connection, side).min(TIMER_LEAST_NS))
        };
        let is_prompt = now.saturating_sub(since_ns) < least_ns && !own.is_ack_late;
        if !is_prompt || now < last_ns || now - last_ns >= full_ns(connection) / 2 {
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

    /// Takes a predicted ACK while bulk data of the other side go on, which comes soon. Returns whether it was that: nothing is changed otherwise.
    #[inline(always)]
    pub(in crate::rows) fn take_bulk_ack(&mut self, connection: &Connection, event: &Event) -> bool {
        if event.shows_unseen || closes_window(connection, event.side) {
            return false;
        }
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

/// Whether the window of `side` has no room for a segment of the other side. Predicted data leave it as it is.
#[inline(always)]
fn closes_window(connection: &Connection, side: Side) -> bool {
    let mss = connection.half(side.other()).mss_bytes().max(1);
    connection.half(side).window_bytes().is_some_and(|window| window < mss)
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
