//! What each direction of a connection waited for, by whose turn it was: from the payload of both directions, and the ACKs between.
//!
//! A wait is between two payloads of a direction, with everything before it acknowledged at the capture point. The round trip from there to the
//! end that speaks next is the turn's; the rest is that end's own time. Invariant: the waits of a direction do not overlap.

mod bulk;

use crate::headers::Flags;
use crate::tcp::{Connection, Event, Half, SegmentKind, Side};
use pipefill_core::record::{Waiting, Waits};
use std::num::{NonZeroU32, NonZeroU64};

/// An ACK that comes this much later than the least round trip was delayed (RFC 1122, 4.2.3.2: at most 500 ms; Linux: 40 ms).
const DELAYED_NS: u64 = 20_000_000;
/// What follows an ACK within this time, and the round trip to its sender, was held back by it …
const RELEASED_NS: u64 = 1_000_000;
/// … and near its sender within this time: the kernel sends it while it processes the ACK (`tcp_data_snd_check()`).
const RELEASED_NEAR_NS: u64 = 100_000;
/// A program that polls for an ACK (SIOCOUTQ) each millisecond writes within this time.
const POLLED_NS: u64 = 2_000_000;
/// A delayed ACK waits for a second segment (RFC 5681, 4.2).
const SEGMENTS_OUT: u32 = 2;
/// Payload of a window update of SSH, a WINDOW_UPDATE or a PING of HTTP/2: no turn while other data is outstanding.
const REMARK_BYTES: u32 = 100;
/// A round trip of a local network, and how much longer an idle time is that no place of the capture makes.
const SHORT_NS: u64 = 1_000_000;
const LONG_BESIDE: u64 = 50;
/// An answer comes no sooner than nine tenths of the least round trip: a clock may tick in between.
const ROUND_TRIP_PARTS: u64 = 10;
/// After this number of timers without an answer the peer is silent. A sender that goes on in order after them had nothing outstanding.
const SILENT_TIMERS: u64 = 3;
/// Likewise one that does so for this often after a timer, since losses would leave holes.
const PAUSES: u8 = 3;
/// All ACKs of this many timers are not lost by chance. The third repetition goes three timers after the data, the fourth seven (RFC 6298, 5.5): an error of
/// the estimated timer does not reach from one to the other.
const LOST_ACK_TIMERS: u64 = 5;
/// So many flights in a row in which requests overlap are a window of the application, and no turns.
const OVERLAPPING_FLIGHTS: u8 = 5;
/// The least timer beside the round trip (`TCP_RTO_MIN`).
const TIMER_LEAST_NS: u64 = 200_000_000;
/// The initial window (RFC 6928, 2): as much is out without a congestion window that is used up.
const INITIAL_SEGMENTS: u32 = 10;
/// The first timer (RFC 6298, 2.1), microseconds.
const FIRST_TIMER_US: u32 = 1_000_000;

/// Follows both directions.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Conversation {
    /// When the first payload of either side passed.
    begun_ns: Option<NonZeroU64>,
    speakers: [Speaker; 2],
}

/// How fast a side answers requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answers {
    /// How many it answered.
    pub count: u32,
    /// The least time from a request to its answer as both pass the capture point, microseconds.
    pub least_us: u32,
}

/// A time in which nothing came back until the retransmission timer ran out.
#[derive(Debug, Clone, Copy)]
struct TimerWait {
    from_ns: NonZeroU64,
    to_ns: u64,
}

/// One side.
#[derive(Debug, Clone, Copy, Default)]
struct Speaker {
    waits: Waits,
    answers: Answers,
    /// Its last payload.
    last_ns: Option<NonZeroU64>,
    /// When what it sends without a wait began.
    piece_ns: u64,
    /// What that belongs to where it is shorter than a round trip; absent without one.
    piece: Option<Waiting>,
    /// The first and the last payload of the other side since; before the first what was on its way to this side then.
    heard: Option<(NonZeroU64, u64)>,
    /// Whether something of it is not acknowledged, and how much was after its last payload.
    is_out: bool,
    out_bytes: u32,
    /// What it sent with no pause of a round trip in between: far from the sender that may still be outstanding there.
    flight_bytes: u32,
    /// When everything was acknowledged, and whether the other end delayed that.
    acked_ns: u64,
    is_ack_late: bool,
    /// Its data end without PSH: the rest of what was written waits.
    is_unfinished: bool,
    /// Its data end with full segments.
    ends_full: bool,
    /// Where its last segment that was not full ends, until that is acknowledged; and when the one before it was.
    small_to: Option<NonZeroU64>,
    small_acked_ns: u64,
    /// Pauses of a timer since the last sign of a loss.
    pauses: u8,
    /// Since its last silence it spoke sooner after the other side than any answer comes: what was asked for before was under way.
    is_under_way: bool,
    /// Flights in a row of which that is so.
    overlapping: u8,
    /// Since when nothing came back, with data outstanding.
    unanswered_ns: Option<NonZeroU64>,
    /// How long after that something was sent again, microseconds, and nothing new since; absent without that.
    repeated_us: Option<NonZeroU32>,
    /// From when to when the timer was awaited that sent a few segments again since.
    timer: Option<TimerWait>,
    /// Of the time since its last payload, for how long, in microseconds, the other side waited for its timer, since what it had said was lost.
    lost_us: u32,
    /// Since when the other side's window has no room for a segment.
    closed_ns: Option<NonZeroU64>,
}

impl Conversation {
    /// Of the data of `side` so far.
    pub(super) fn waits(&self, side: Side) -> Waits {
        self.speakers[side as usize].waits
    }

    /// Of `side` so far.
    pub(super) fn answers(&self, side: Side) -> Answers {
        self.speakers[side as usize].answers
    }

    /// A segment passed; `connection` is in the state after it.
    pub(super) fn observe(&mut self, connection: &Connection, event: &Event) {
        let peer = &mut self.speakers[event.side.other() as usize];
        if peer.last_ns.is_some() {
            peer.watch_window(connection, event);
            peer.watch_small(connection, event);
            if event.payload > 0 && peer.heard.is_none_or(|(_, last)| peer.spoke_ns() > Some(last)) {
                peer.end_transfer(connection, event.side);
            }
        }
        if peer.is_out {
            self.answered(connection, event);
        }
        if event.shows_unseen {
            self.spoke_unseen(connection, event);
        }
        if event.payload > 0 {
            match event.kind {
                SegmentKind::New | SegmentKind::OutOfOrder => self.spoke(connection, event),
                kind if kind.is_retransmit() => self.repeated(connection, event),
                _ => {}
            }
        }
    }

    /// The other end of what is outstanding sent something: perhaps an ACK of all of it.
    #[inline]
    fn answered(&mut self, connection: &Connection, event: &Event) {
        let peer = event.side.other();
        let half = connection.half(peer);
        let own = &mut self.speakers[peer as usize];
        // If all of it had arrived, and not only what was sent again, a few lost ACKs explain the pause. A longer one is silence.
        let has_all_arrived = half.unacked_bytes() == 0 && own.out_bytes > half.mss_bytes();
        if has_all_arrived && own.silent_us(event.time_ns) <= LOST_ACK_TIMERS * timer_us(half) {
            own.repeated_us = None;
        }
        let lost = own.end_lost_answer(connection, event);
        let timer = own.end_silence(event.time_ns, half).or(lost);
        if let Some(timer) = timer.filter(|_| !event.is_dsack) {
            self.speakers[event.side as usize].waited_for_others_timer(timer);
        }
        let own = &mut self.speakers[peer as usize];
        if half.unacked_bytes() > 0 {
            return;
        }
        let age_ns = event.time_ns.saturating_sub(own.spoke_ns().unwrap_or(event.time_ns));
        if age_ns >= DELAYED_NS {
            let few_bytes = SEGMENTS_OUT * half.mss_bytes();
            let has_room =
                connection.half(event.side).window_bytes().is_none_or(|window| window >= few_bytes);
            let least_ns = to_end_ns(connection, event.side);
            let is_far = to_end_ns(connection, peer) >= SHORT_NS;
            let out_bytes = if is_far { own.flight_bytes } else { own.out_bytes };
            own.is_ack_late = event.payload == 0
                && has_room
                && out_bytes <= few_bytes
                && age_ns >= least_ns.saturating_add(DELAYED_NS);
        } else {
            own.is_ack_late = false;
        }
        (own.is_out, own.acked_ns) = (false, event.time_ns);
    }

    /// New payload.
    #[inline]
    fn spoke(&mut self, connection: &Connection, event: &Event) {
        let (side, peer, now) = (event.side, event.side.other(), event.time_ns);
        self.begun_ns = self.begun_ns.or_else(|| NonZeroU64::new(now));
        let begun_ns = self.begun_ns.map_or(now, NonZeroU64::get);
        // Near the receiver all that came is acknowledged, also in the middle of what the other side writes.
        let is_remark = event.payload <= REMARK_BYTES
            && (connection.half(peer).unacked_bytes() > 0 || self.speakers[peer as usize].goes_on());
        if !is_remark {
            self.speakers[peer as usize].hear(now);
        }
        let own = &mut self.speakers[side as usize];
        let is_in_order = event.kind == SegmentKind::New && !event.fills_hole;
        if !is_in_order {
            own.pauses = 0;
        }
        if own.is_held(connection, event) {
            own.end_piece(connection);
            own.waits.add(Waiting::Nagle, now.saturating_sub(own.spoke_ns().unwrap_or(now)) / 1_000);
            own.waits.nagles = own.waits.nagles.saturating_add(1);
            (own.piece_ns, own.piece) = (now, Some(Waiting::Nagle));
        } else if !own.is_out {
            own.end_wait(connection, event, begun_ns);
        }
        let half = connection.half(side);
        own.repeated_us = None;
        if !own.is_out {
            own.unanswered_ns = NonZeroU64::new(now);
        } else if own.unanswered_ns.is_some_and(|since_ns| has_timed_out(now, since_ns.get(), half)) {
            // A sender that has room goes on: that nothing came back is the capture's. Or it is a loss probe with new data (RFC 8985, 7.3), and silence
            // begins.
            own.unanswered_ns = NonZeroU64::new(now);
        }
        let (full_ns, silent_ns) =
            (full_ns(connection), own.spoke_ns().map(|last_ns| now.saturating_sub(last_ns)));
        let is_new_flight = silent_ns.is_none_or(|silent_ns| is_round_trip(silent_ns, full_ns));
        let is_burst = full_ns > 0 && silent_ns.is_some_and(|silent_ns| silent_ns >= full_ns.div_ceil(2));
        own.waits.resumptions =
            own.waits.resumptions.saturating_add(u32::from(is_burst && is_in_order && own.ends_full));
        own.flight_bytes = if is_new_flight { 0 } else { own.flight_bytes }.saturating_add(event.payload);
        let under_way = own
            .heard
            .filter(|&(_, last)| !is_round_trip(now.saturating_sub(last), to_end_ns(connection, side)));
        own.begin_to_listen(now);
        own.heard = under_way;
        let out_bytes = half.unacked_bytes();
        (own.is_out, own.is_ack_late) = (out_bytes > 0, false);
        own.out_bytes = u32::try_from(out_bytes).unwrap_or(u32::MAX);
        let is_full = event.payload.is_multiple_of(half.mss_bytes().max(1));
        // What was overtaken is not where its data end.
        if event.seq_to >= half.sent_to() {
            (own.is_unfinished, own.ends_full) = (is_in_order && !event.flags.has(Flags::PSH), is_full);
        }
        if !is_full {
            own.small_to = NonZeroU64::new(event.seq_to);
        }
    }

    /// The other side sent what the capture does not have, not long before this ACK: it stands for that.
    #[cold]
    fn spoke_unseen(&mut self, connection: &Connection, ack: &Event) {
        let side = ack.side.other();
        let payload = connection.half(side).mss_bytes() + 1;
        let seq_to = connection.half(side).acked_to();
        let kind = SegmentKind::New;
        self.spoke(connection, &Event { side, kind, payload, seq_to, flags: Flags::PSH, ..*ack });
    }

    /// Payload was sent again.
    fn repeated(&mut self, connection: &Connection, event: &Event) {
        let half = connection.half(event.side);
        // What the first copy of did not get here.
        if event.fills_hole {
            self.speakers[event.side.other() as usize].hear(event.time_ns);
        }
        let own = &mut self.speakers[event.side as usize];
        own.pauses = 0;
        if half.unacked_bytes() > 0 {
            let repeated_us = own.unanswered_ns.and_then(|since_ns| later_us(event.time_ns, since_ns.get()));
            own.repeated_us = own.repeated_us.or(repeated_us);
            if matches!(event.kind, SegmentKind::RtoRetransmit | SegmentKind::TlpRetransmit) {
                own.timer_ran_out(connection, event.time_ns, half);
            }
            own.begin_to_listen(event.time_ns);
        }
    }

    /// The capture's clock was set back: no time from before it to a later one is known.
    pub(super) fn clock_was_set(&mut self) {
        self.begun_ns = None;
        for own in &mut self.speakers {
            *own = Speaker {
                waits: own.waits,
                answers: own.answers,
                is_out: own.is_out,
                out_bytes: own.out_bytes,
                ..Speaker::default()
            };
        }
    }

    /// The connection is over: nothing follows the last payloads. Returns when they passed, which is when the waits of each side end.
    pub(super) fn finish(&mut self, connection: &Connection) -> [Option<u64>; 2] {
        Side::BOTH.map(|side| {
            let own = &mut self.speakers[side as usize];
            own.end_piece(connection);
            let last_ns = own.spoke_ns();
            if let Some(last_ns) = last_ns.filter(|_| own.is_out) {
                // Nothing came back: no timer helped.
                own.timer = None;
                own.end_silence(last_ns, connection.half(side));
            }
            last_ns
        })
    }
}

impl Answers {
    fn add(&mut self, ns: u64) {
        let us = u32::try_from(ns / 1_000).unwrap_or(u32::MAX);
        self.least_us = if self.count == 0 { us } else { self.least_us.min(us) };
        self.count = self.count.saturating_add(1);
    }
}

impl Speaker {
    /// When its last payload passed.
    fn spoke_ns(&self) -> Option<u64> {
        self.last_ns.map(NonZeroU64::get)
    }

    /// The end `listener` answers: what was out until it acknowledged something last was under way until then, and no wait for it. Of less than an initial
    /// window that round trip is the turn's, however long it took.
    fn end_transfer(&mut self, connection: &Connection, listener: Side) {
        let few_bytes = INITIAL_SEGMENTS * connection.half(listener.other()).mss_bytes();
        let acked_ns =
            if self.is_out { self.unanswered_ns.map_or(0, NonZeroU64::get) } else { self.acked_ns };
        let sent_ns = acked_ns.saturating_sub(to_end_ns(connection, listener));
        if self.out_bytes > few_bytes && Some(sent_ns) > self.spoke_ns() {
            self.last_ns = NonZeroU64::new(sent_ns);
        }
    }

    /// It sent payload: what the other side says from now on is the answer.
    #[inline]
    const fn begin_to_listen(&mut self, now: u64) {
        (self.last_ns, self.heard, self.lost_us) = (NonZeroU64::new(now), None, 0);
    }

    /// The other side said something.
    #[inline]
    fn hear(&mut self, now: u64) {
        let before = self.heard.filter(|&(_, last)| Some(last) >= self.spoke_ns());
        let first = before.map(|(first, _)| first).or_else(|| NonZeroU64::new(now));
        self.heard = first.map(|first| (first, now));
    }

    /// It sends again what is out, by a timer: fewer segments than show a loss by the ACKs of others, or than a congestion window that is used up.
    fn timer_ran_out(&mut self, connection: &Connection, now: u64, half: &Half) {
        let Some(unanswered_ns) = self.unanswered_ns else { return };
        if self.out_bytes > INITIAL_SEGMENTS * half.mss_bytes() {
            return;
        }
        self.end_piece(connection);
        let from_ns = unanswered_ns.get().max(self.spoke_ns().unwrap_or(now)).min(now);
        let Some(from_ns) = NonZeroU64::new(from_ns) else { return };
        self.timer.get_or_insert(TimerWait { from_ns, to_ns: now }).to_ns = now;
    }

    /// The other side answers after a timer what it never acknowledged: a stack that had the request acknowledges it in less (RFC 1122, 4.2.3.2), so
    /// that the request or the answer was lost. Or it sends again by a timer what was acknowledged here: with the ACK an answer was lost. Returns when that
    /// timer was awaited. Later than the request's own timer this would have been sent again: then it is the ACK that the capture does not have.
    fn end_lost_answer(&mut self, connection: &Connection, event: &Event) -> Option<TimerWait> {
        if event.payload == 0 {
            return None;
        }
        let [own, other] = [event.side.other(), event.side].map(|side| connection.half(side));
        let is_again = event.kind.is_retransmit() && event.seq_to <= other.acked_to();
        let is_late_answer = self.repeated_us.is_none()
            && (is_again || own.unacked_bytes() == 0)
            && self.out_bytes <= INITIAL_SEGMENTS * own.mss_bytes();
        let least_ns = TIMER_LEAST_NS.saturating_add(to_end_ns(connection, event.side));
        // Late ACKs make its estimate of the round trip as long.
        let timer_ns = u64::from(FIRST_TIMER_US) * 1_000 + full_ns(connection);
        let is_by_timer = |since_ns: &NonZeroU64| {
            let late_ns = event.time_ns.saturating_sub(since_ns.get());
            late_ns >= least_ns && (is_again || late_ns <= timer_ns)
        };
        let since_ns = self.unanswered_ns.filter(|since_ns| is_late_answer && is_by_timer(since_ns));
        let from_ns = since_ns.filter(|_| !self.lacks_acks(connection))?;
        // The round trip of an answer is its turn's.
        let turn_ns = if is_again { 0 } else { to_end_ns(connection, event.side) };
        let to_ns = event.time_ns.saturating_sub(turn_ns);
        self.end_piece(connection);
        self.waits.add(Waiting::Timer, (to_ns - from_ns.get()) / 1_000);
        self.begin_to_listen(to_ns);
        Some(TimerWait { from_ns, to_ns })
    }

    /// Whether the capture has no ACKs without payload although there were some: whoever gets more than two segments in a turn sends one (RFC 9293,
    /// 3.8.6.3).
    fn lacks_acks(&self, connection: &Connection) -> bool {
        Side::BOTH.into_iter().any(|side| {
            let own = connection.half(side);
            let most = u64::from(SEGMENTS_OUT * own.mss_bytes()) * (u64::from(self.waits.turns) + 1);
            own.counts().new_bytes > most && !connection.half(side.other()).acks_apart()
        })
    }

    /// What the other side had said was lost until its timer ran out. What this side has out may have been lost as well: then it waits for its own.
    fn waited_for_others_timer(&mut self, timer: TimerWait) {
        if self.is_out {
            return;
        }
        let spoke_ns = self.spoke_ns();
        let is_lost = |last: u64| last <= timer.from_ns.get() && Some(last) >= spoke_ns;
        if let Some((_, last)) = self.heard.as_mut().filter(|(_, last)| is_lost(*last)) {
            let lost_ns = timer.to_ns - timer.from_ns.get();
            *last = timer.to_ns;
            self.lost_us = self.lost_us.saturating_add(u32::try_from(lost_ns / 1_000).unwrap_or(u32::MAX));
            self.waits.add(Waiting::Timer, lost_ns / 1_000);
        }
    }

    /// The other side advertises a window. While a hole is open, what waits for its filling is not the receiver's.
    #[inline]
    fn watch_window(&mut self, connection: &Connection, event: &Event) {
        if event.flags.has(Flags::RST) {
            return;
        }
        let own = connection.half(event.side.other());
        // A window whose scale is not known is not 0.
        let has_room = event.window_bytes.is_none_or(|window| window >= own.mss_bytes());
        let is_closed = !has_room && own.sacked_segments() == 0;
        if is_closed {
            self.closed_ns = self.closed_ns.or(NonZeroU64::new(event.time_ns));
        } else if let Some(since_ns) = self.closed_ns.take() {
            self.end_piece(connection);
            self.waits.add(Waiting::ZeroWindow, event.time_ns.saturating_sub(since_ns.get()) / 1_000);
            self.begin_to_listen(event.time_ns);
            (self.piece_ns, self.piece) = (event.time_ns, Some(Waiting::ZeroWindow));
        }
    }

    /// The other side acknowledged its last segment that was not full.
    #[inline]
    fn watch_small(&mut self, connection: &Connection, event: &Event) {
        let Some(small_to) = self.small_to else { return };
        if connection.half(event.side.other()).acked_to() >= small_to.get() {
            (self.small_to, self.small_acked_ns) = (None, event.time_ns);
        }
    }

    /// It speaks, of what was written before: less than a segment that waited until the last one of that kind was acknowledged (RFC 896,
    /// `tcp_minshall_check()`).
    #[inline]
    fn is_held(&self, connection: &Connection, event: &Event) -> bool {
        let mss = connection.half(event.side).mss_bytes();
        if event.payload >= mss || !self.is_unfinished || !event.flags.has(Flags::PSH) {
            return false;
        }
        let (None, Some(last_ns)) = (self.small_to, self.spoke_ns()) else { return false };
        let acked_ns = self.small_acked_ns;
        let own_ns = to_end_ns(connection, event.side);
        let after_ack_ns = event.time_ns.saturating_sub(acked_ns);
        event.time_ns.saturating_sub(last_ns) > RELEASED_NS
            && acked_ns.saturating_add(own_ns) > last_ns
            && is_round_trip(after_ack_ns, own_ns)
            && is_released(connection, event.side, after_ack_ns, RELEASED_NS)
            && self.flight_bytes <= INITIAL_SEGMENTS * mss
    }

    /// It speaks, with everything before acknowledged: names what it waited for.
    fn end_wait(&mut self, connection: &Connection, event: &Event, begun_ns: u64) {
        let (now, side) = (event.time_ns, event.side);
        let from_ns = self.spoke_ns().unwrap_or(begun_ns);
        let own_ns = to_end_ns(connection, side);
        let is_answered = |asked_ns: u64| is_round_trip(now.saturating_sub(asked_ns), own_ns);
        let heard = self.heard.map(|(first, last)| (first.get(), last));
        let under_way = heard.filter(|&(_, last)| last < from_ns).map(|(_, last)| last);
        let gap_ns = now.saturating_sub(from_ns);
        let is_answer = !self.is_unfinished && !self.ends_full && is_round_trip(gap_ns, own_ns);
        let belongs_to = match heard.filter(|_| under_way.is_none()) {
            // Sooner than anything can come from that end: it was under way already.
            Some((first, _)) if !is_answered(first) => {
                self.is_under_way = true;
                return;
            }
            Some(_) if self.overlaps_again() => {
                self.end_piece(connection);
                return;
            }
            Some((first, last)) => {
                // Requests that overlap are one turn; of one that was sent again the first copy may have been answered.
                let last = if is_answered(last) || self.lost_us > 0 { last } else { first };
                self.end_piece(connection);
                let peer_ns = to_end_ns(connection, side.other());
                self.divide(first.saturating_sub(from_ns), peer_ns, Waiting::Request);
                let asking_ns = last.saturating_sub(first).saturating_sub(u64::from(self.lost_us) * 1_000);
                self.waits.add(Waiting::Request, asking_ns / 1_000);
                self.divide(now.saturating_sub(last), own_ns, Waiting::Response);
                self.answers.add(now.saturating_sub(last));
                self.waits.turns = self.waits.turns.saturating_add(1);
                Waiting::Turns
            }
            None if self.last_ns.is_none() => {
                self.piece = None;
                return;
            }
            None => {
                let after_ack_ns = now.saturating_sub(self.acked_ns.max(from_ns));
                // Of bulk data near the receiver: sooner than any answer to that ACK, and than any timer.
                if !self.is_ack_late && after_ack_ns < own_ns.min(TIMER_LEAST_NS) {
                    return;
                }
                let is_prompt =
                    is_round_trip(after_ack_ns, own_ns) && after_ack_ns <= own_ns.saturating_add(POLLED_NS);
                if self.is_ack_late && is_prompt {
                    let is_held = self.is_held_till_late_ack(connection, event, after_ack_ns);
                    self.end_piece(connection);
                    self.waited_for_late_ack(is_held, gap_ns / 1_000)
                } else if let Some(asked_ns) = under_way.filter(|_| is_answer) {
                    self.end_piece(connection);
                    self.divide(gap_ns, own_ns.saturating_sub(from_ns - asked_ns), Waiting::Response);
                    self.answers.add(now.saturating_sub(asked_ns));
                    self.waits.turns = self.waits.turns.saturating_add(1);
                    Waiting::Turns
                } else {
                    // Nothing was outstanding at the sender: near it that shows at once, elsewhere by a pause that no loss makes.
                    let idle_ns = after_ack_ns.saturating_sub(own_ns);
                    let path_ns = full_ns(connection);
                    let is_short = path_ns > 0 && path_ns < SHORT_NS && idle_ns > LONG_BESIDE * path_ns;
                    let is_pause = self.has_paused(after_ack_ns, path_ns);
                    let is_near = connection.near() == Some(side) && idle_ns >= path_ns;
                    if !(is_near || is_short || is_pause) {
                        return;
                    }
                    self.end_piece(connection);
                    // What is written ends with PSH, and seldom with a full segment: the rest was sent, and was lost for as long as several timers.
                    if !is_near && !is_short && self.may_go_on() {
                        if is_silent(after_ack_ns, path_ns) {
                            self.waits.add(Waiting::Silence, idle_ns / 1_000);
                        }
                        return;
                    }
                    self.waits.add(Waiting::Rate, idle_ns / 1_000);
                    Waiting::Rate
                }
            }
        };
        (self.piece_ns, self.piece) = (now, Some(belongs_to));
    }

    /// Whether the flight that ends with this silence is one of many in which what the other side asked for never ran out.
    fn overlaps_again(&mut self) -> bool {
        let is_under_way = std::mem::take(&mut self.is_under_way);
        self.overlapping = if is_under_way { self.overlapping.saturating_add(1) } else { 0 };
        self.overlapping >= OVERLAPPING_FLIGHTS
    }

    /// Whether its last payload was in the middle of what was written: near the receiver that is acknowledged like all other.
    const fn goes_on(&self) -> bool {
        self.is_unfinished && self.ends_full
    }

    /// Whether its last payload may have been the middle of what was written.
    const fn may_go_on(&self) -> bool {
        self.is_unfinished || self.ends_full && self.pauses < PAUSES
    }

    /// Whether it paused, where it was silent for `silent_ns` on a path with this round trip: a loss would have been repaired by then.
    fn has_paused(&mut self, silent_ns: u64, path_ns: u64) -> bool {
        if path_ns == 0 || silent_ns < TIMER_LEAST_NS.saturating_add(path_ns) {
            return false;
        }
        self.pauses = self.pauses.saturating_add(1);
        self.pauses >= PAUSES || is_silent(silent_ns, path_ns)
    }

    /// Whether the kernel held back what it sends `after_ack_ns` after a late ACK.
    fn is_held_till_late_ack(&self, connection: &Connection, event: &Event, after_ack_ns: u64) -> bool {
        let is_small = event.payload < connection.half(event.side).mss_bytes() && event.flags.has(Flags::PSH);
        let released_ns = if self.goes_one_by_one(event) { RELEASED_NEAR_NS } else { RELEASED_NS };
        is_small && is_released(connection, event.side, after_ack_ns, released_ns)
    }

    /// Whether it waited for a late ACK before, too, and sent as much then: each write by itself. What is held back was written with something that
    /// went out at once, or grows.
    fn goes_one_by_one(&self, event: &Event) -> bool {
        let has_waited = matches!(self.piece, Some(Waiting::Nagle | Waiting::DelayedAck));
        has_waited && self.spoke_ns() == Some(self.piece_ns) && self.flight_bytes == event.payload
    }

    fn waited_for_late_ack(&mut self, is_held: bool, us: u64) -> Waiting {
        let (waiting, count) = if is_held {
            (Waiting::Nagle, &mut self.waits.nagles)
        } else {
            (Waiting::DelayedAck, &mut self.waits.delayed_acks)
        };
        *count = count.saturating_add(1);
        self.waits.add(waiting, us);
        waiting
    }

    /// Of a gap until an end speaks, the round trip to it is the turn's and the rest that end's own.
    fn divide(&mut self, gap_ns: u64, round_trip_ns: u64, rest: Waiting) {
        let turn_ns = gap_ns.min(round_trip_ns);
        self.waits.add(Waiting::Turns, turn_ns / 1_000);
        self.waits.add(rest, (gap_ns - turn_ns) / 1_000);
    }

    /// What it sent since the last wait takes less than a round trip: it belongs to that wait.
    fn end_piece(&mut self, connection: &Connection) {
        let Some((belongs_to, last_ns)) = self.piece.take().zip(self.spoke_ns()) else { return };
        let from_ns = self.piece_ns;
        let length_ns = last_ns.saturating_sub(from_ns);
        if length_ns < full_ns(connection) {
            self.waits.add(belongs_to, length_ns / 1_000);
        }
    }

    /// For how long nothing came back for what is out, microseconds.
    fn silent_us(&self, now: u64) -> u64 {
        self.unanswered_ns.map_or(0, |since_ns| now.saturating_sub(since_ns.get()) / 1_000)
    }

    /// Something came back for the data of `half`, or nothing ever will. Returns when its timer was awaited, where it was and helped.
    fn end_silence(&mut self, now: u64, half: &Half) -> Option<TimerWait> {
        let silent_us = self.silent_us(now);
        let since_ns = std::mem::replace(&mut self.unanswered_ns, NonZeroU64::new(now));
        let timer = self.timer.take();
        let (_, repeated_us) = since_ns.zip(self.repeated_us.take())?;
        // What was answered at once, when it was sent again, waited for a timer: some stacks have one of a second.
        let was_repeated_in_vain = silent_us > u64::from(repeated_us.get()) + timer_us(half);
        let timer_us = if was_repeated_in_vain { timer_us(half) } else { FIRST_TIMER_US.into() };
        if silent_us > SILENT_TIMERS * timer_us {
            self.waits.add(Waiting::Silence, silent_us);
            (self.piece, self.last_ns) = (None, NonZeroU64::new(now));
            return None;
        }
        let timer = timer?;
        self.waits.add(Waiting::Timer, (timer.to_ns - timer.from_ns.get()) / 1_000);
        Some(timer)
    }
}

/// What of `waits` a clock with a resolution of `resolution_us` shows: an ACK that was delayed is later by more than a tick.
pub(super) fn shown(waits: Waits, resolution_us: u32) -> Waits {
    if u64::from(resolution_us) * 1_000 < DELAYED_NS {
        return waits;
    }
    Waits { delayed_ack_us: 0, delayed_acks: 0, nagle_us: 0, nagles: 0, ..waits }
}

/// Whether the timer of `half` has run out since. No timer is shorter than the least one, which is asked first: it needs no estimate.
#[inline]
fn has_timed_out(now: u64, since_ns: u64, half: &Half) -> bool {
    let silent_ns = now.saturating_sub(since_ns);
    silent_ns > TIMER_LEAST_NS && silent_ns / 1_000 > u64::from(half.rto_us().unwrap_or(FIRST_TIMER_US))
}

/// The timer of `half`, microseconds: at most the first one.
fn timer_us(half: &Half) -> u64 {
    half.rto_us().unwrap_or(FIRST_TIMER_US).min(FIRST_TIMER_US).into()
}

/// How long `now` is after `since_ns`, microseconds, at least one.
fn later_us(now: u64, since_ns: u64) -> Option<NonZeroU32> {
    NonZeroU32::new(u32::try_from(now.saturating_sub(since_ns) / 1_000).unwrap_or(u32::MAX).max(1))
}

/// Whether several timers have run out in `ns`, on a path with this round trip.
pub(super) const fn is_silent(ns: u64, path_ns: u64) -> bool {
    ns >= SILENT_TIMERS * TIMER_LEAST_NS.saturating_add(path_ns)
}

/// Whether the kernel of `side` held back what it sends `after_ack_ns` after an ACK; near it that shows, elsewhere within `released_ns`.
fn is_released(connection: &Connection, side: Side, after_ack_ns: u64, released_ns: u64) -> bool {
    let released_ns = if connection.near() == Some(side) { RELEASED_NEAR_NS } else { released_ns };
    after_ack_ns <= to_end_ns(connection, side).saturating_add(released_ns)
}

/// Whether `ns` are a round trip of `round_trip_ns`, but for the part by which that may vary.
#[inline]
fn is_round_trip(ns: u64, round_trip_ns: u64) -> bool {
    ns.saturating_mul(ROUND_TRIP_PARTS) >= round_trip_ns.saturating_mul(ROUND_TRIP_PARTS - 1)
}

/// The least time from the capture point to an end and back; 0 where it is not known.
#[inline]
fn to_end_ns(connection: &Connection, end: Side) -> u64 {
    connection.answer_us(end).map_or(0, |us| u64::from(us) * 1_000)
}

/// The least round trip between both ends, likewise; that to one end where the other's is not known.
#[inline]
fn full_ns(connection: &Connection) -> u64 {
    to_end_ns(connection, Side::A) + to_end_ns(connection, Side::B)
}
