//! Whose turn it was by the samples of one socket: samples place the waits of a stream, the kernel's counters fix their sums.
//!
//! Near the sender the time with nothing queued or outstanding is what `tcpi_busy_time` leaves; near the receiver it is the time since its own
//! request. Invariant: the waits of an interval are no longer than it.

use super::waits::Wait;
use crate::ground::interval::TimeInterval;
use crate::ground::thresholds::{PACKET_SAMPLES_MAX, PATIENCE_US, TURNS_INTERVAL_US, Thresholds};
use pipefill_core::record::{OptionsSet, StreamEnd, TcpSample, Waiting, Waits};

/// What a sample shows of the conversation. *Own* is the end whose socket it is.
#[derive(Debug, Clone, Copy)]
struct TurnSample {
    t_us: u64,
    min_rtt_us: u64,
    busy_us: u64,
    /// Payload segments that this end sent and received so far.
    sent: u32,
    heard: u32,
    /// Segments that this end sent again so far.
    sent_again: u32,
    /// Payload segments that this end has out.
    out: u32,
    /// Ages of the last payload sent and received, microseconds.
    sent_age_us: u64,
    heard_age_us: u64,
    /// Nothing is queued or outstanding.
    is_quiet: bool,
    has_unsent: bool,
    /// Payload of the end that asks so far, bytes.
    asked_bytes: u64,
    /// Payload that arrived in order so far, bytes, and segments that came out of order.
    received: u64,
    out_of_order: u32,
    /// At most two segments are out, with room in both windows.
    has_little_out: bool,
    /// A single one is.
    has_one_out: bool,
    /// Less than a segment waits behind them (`tcp_nagle_check()`).
    is_held: bool,
}

/// Times of an interval, microseconds.
#[derive(Debug, Clone, Default)]
struct TurnTimes {
    from_us: u64,
    sent: u32,
    heard: u32,
    /// Of what was heard, what came when all that was out before had been acknowledged: in a transfer that goes on, what is out never falls to 0.
    answers: u32,
    asked_bytes: u64,
    /// Near the sender: with nothing queued or outstanding, and how much of it after a payload of the other side, or after an own one.
    idle: u64,
    after_theirs: u64,
    after_own: u64,
    held: u64,
    holds: u32,
    /// With little out until an ACK that the other end delayed.
    late: u64,
    late_acks: u32,
    /// With data out for longer than a round trip and a late ACK, on a path that loses: no turn takes so long.
    overdue: Vec<TimeInterval>,
    /// Near the receiver: since the own request until the first data, and from the last data to the next request.
    asked: u64,
    pause: u64,
    /// Every sample had data that waits to be sent.
    samples: u32,
    unsent: u32,
}

/// Follows the samples of one end of a stream.
#[derive(Debug)]
pub(crate) struct SocketTurns<'a> {
    thresholds: &'a Thresholds,
    end: StreamEnd,
    /// Whether its program is known to have turned Nagle's algorithm off.
    has_nodelay: bool,
    last: Option<TurnSample>,
    interval: TurnTimes,
    /// Time with nothing outstanding that the counter, which moves in jiffies, has not shown yet; negative where it showed too much.
    idle_ahead_us: i64,
    /// A silence that may become a pause of the one who asks.
    silence_us: u64,
    /// Round trips of turns whose time has not passed yet.
    owed_us: u64,
    /// Round trips of the turns that ended in the interval before, and its length: an interval may have the end of one more than fit into it.
    before_us: [u64; 2],
    /// Silences that ended with the other side's payload, and without.
    answered: u32,
    alone: u32,
    /// ACKs that the other end delayed.
    late_acks: u32,
    /// Pauses of a sender that nobody asks, and those that are not found yet.
    paused: usize,
    pauses: Vec<TimeInterval>,
    /// Of the whole stream.
    after_theirs_us: u64,
    after_own_us: u64,
    heard: u32,
    waits: Waits,
    found: Vec<Wait>,
    /// The shortest interval: near the receiver, whose waits are kept to the end, it doubles where there are many.
    least_us: u64,
    kept: usize,
}

impl<'a> SocketTurns<'a> {
    /// For the samples of `end`.
    pub(crate) fn new(end: StreamEnd, thresholds: &'a Thresholds) -> Self {
        Self {
            thresholds,
            end,
            has_nodelay: false,
            last: None,
            interval: TurnTimes::default(),
            idle_ahead_us: 0,
            silence_us: 0,
            owed_us: 0,
            before_us: [0; 2],
            answered: 0,
            alone: 0,
            late_acks: 0,
            paused: 0,
            pauses: Vec::new(),
            after_theirs_us: 0,
            after_own_us: 0,
            heard: 0,
            waits: Waits::default(),
            found: Vec::new(),
            least_us: TURNS_INTERVAL_US,
            kept: PACKET_SAMPLES_MAX,
        }
    }

    /// With what the program of that end has set of its socket.
    pub(crate) fn knowing(mut self, options: Option<OptionsSet>) -> Self {
        self.has_nodelay = options.and_then(|options| options.nodelay) == Some(true);
        self
    }

    /// Takes the next sample, in order of time. Samples without the ages of payload (records of 0.1) show no turns.
    pub(crate) fn observe(&mut self, row: &TcpSample) {
        let Some(now) = TurnSample::of(row, self.has_nodelay, self.thresholds) else { return };
        let Some(before) = self.last.filter(|before| before.t_us <= now.t_us) else {
            self.last = Some(now);
            self.interval = TurnTimes { from_us: now.t_us, ..TurnTimes::default() };
            return;
        };
        self.last = Some(now);
        let interval = &mut self.interval;
        interval.sent = interval.sent.saturating_add(now.sent.wrapping_sub(before.sent));
        let heard = now.heard.wrapping_sub(before.heard);
        interval.heard = interval.heard.saturating_add(heard);
        if self.end == StreamEnd::Receiver || now.has_emptied_since(before) {
            interval.answers = interval.answers.saturating_add(heard);
        }
        let asked_bytes = now.asked_bytes.saturating_sub(before.asked_bytes);
        interval.asked_bytes = interval.asked_bytes.saturating_add(asked_bytes);
        interval.samples += 1;
        interval.unsent += u32::from(now.has_unsent);
        match self.end {
            StreamEnd::Sender => self.of_sender(before, now),
            StreamEnd::Receiver => self.of_receiver(before, now),
        }
        let length_us = self.least_us.max(2 * now.min_rtt_us);
        let length_us =
            if self.end == StreamEnd::Sender { length_us.min(PATIENCE_US / 2) } else { length_us };
        if now.t_us.saturating_sub(self.interval.from_us) >= length_us {
            self.end_interval(now);
        }
    }

    /// The waits since the last call, in order of time.
    pub(crate) fn take(&mut self) -> Vec<Wait> {
        std::mem::take(&mut self.found)
    }

    /// Ends the last interval; the waits since the last call.
    pub(crate) fn finish(&mut self) -> Vec<Wait> {
        if let Some(last) = self.last {
            self.end_interval(last);
        }
        self.take()
    }

    /// Their sums so far.
    pub(crate) fn sums(&self) -> Waits {
        self.waits
    }

    fn of_sender(&mut self, before: TurnSample, now: TurnSample) {
        let length_us = now.t_us.saturating_sub(before.t_us);
        let busy_us = now.busy_us.saturating_sub(before.busy_us);
        self.idle_ahead_us =
            self.idle_ahead_us.saturating_add(length_us as i64).saturating_sub(busy_us as i64);
        let idle = u64::try_from(self.idle_ahead_us).unwrap_or(0).min(length_us);
        self.idle_ahead_us -= idle as i64;
        let (spoke, heard) = (now.sent != before.sent, now.heard != before.heard);
        let interval = &mut self.interval;
        interval.idle += idle;
        if before.is_held {
            interval.held += if spoke { length_us / 2 } else { length_us - idle };
            interval.holds += u32::from(spoke);
        } else if now.is_held {
            interval.held += now.sent_age_us.min(length_us - idle);
        }
        // What goes on with the ACK, unasked, was waiting for it. Of a short round trip the other side's answer may be in the same sample: then the
        // ACK released a segment, and the answer the next one.
        let segments_sent = now.sent.wrapping_sub(before.sent);
        let segments_heard = now.heard.wrapping_sub(before.heard);
        // What is sent again waited for a timer.
        let is_new = now.sent_again == before.sent_again;
        let is_released = is_new && (!heard || (before.has_one_out && segments_sent > segments_heard));
        if spoke && is_released && before.awaits_late_ack(self.thresholds) {
            let sent_us = before.t_us - before.sent_age_us.min(before.t_us);
            let since_us = now.sent_age_us + if heard { now.min_rtt_us } else { 0 };
            let released_us = now.t_us - since_us.min(length_us);
            interval.late = interval.late.saturating_add(released_us.saturating_sub(sent_us));
            interval.late_acks += 1;
        }
        if !spoke && !heard && now.out > 0 && now.sent_again > 0 {
            let in_time_us = now.min_rtt_us.saturating_add(self.thresholds.late_ack_us.whole());
            let overdue_us = now.sent_age_us.saturating_sub(in_time_us).min(length_us - idle);
            interval.add_overdue(TimeInterval { from_us: now.t_us - overdue_us, to_us: now.t_us });
        }
        let (theirs, own) = match (spoke, heard) {
            (false, true) => (idle.min(now.heard_age_us), idle.saturating_sub(now.heard_age_us)),
            (false, false) if now.has_heard_last() => (idle, 0),
            (false, false) => (0, idle),
            (true, false) if before.is_quiet && before.has_heard_last() => (idle, 0),
            (true, false) if before.is_quiet => (0, idle),
            _ => (0, 0),
        };
        interval.after_theirs += theirs;
        interval.after_own += own;
        self.after_theirs_us += theirs;
        self.after_own_us += own;
        if before.is_quiet && spoke {
            let is_answer = heard || before.has_heard_last();
            *(if is_answer { &mut self.answered } else { &mut self.alone }) += 1;
        }
    }

    fn of_receiver(&mut self, before: TurnSample, now: TurnSample) {
        let length_us = now.t_us.saturating_sub(before.t_us);
        let (spoke, heard) = (now.sent != before.sent, now.heard != before.heard);
        let waits = |sample: TurnSample| {
            sample.sent_age_us < sample.heard_age_us || (sample.sent > 0 && !sample.has_heard_last())
        };
        let interval = &mut self.interval;
        match (spoke, heard) {
            (false, false) if waits(before) => interval.asked += length_us,
            (false, false) => self.silence_us += length_us,
            (true, false) => {
                let since_us = if waits(before) { length_us } else { now.sent_age_us.min(length_us) };
                interval.asked += since_us;
                interval.pause += std::mem::take(&mut self.silence_us) + length_us - since_us;
                self.answered += u32::from(!waits(before));
            }
            (false, true) => {
                let silent_us = now.heard_age_us.min(length_us);
                if waits(before) {
                    // A flight of the initial window takes no time; of a longer one the beginning is not known.
                    let is_one_flight = f64::from(now.heard.wrapping_sub(before.heard))
                        <= self.thresholds.initial_window.value();
                    interval.asked += if is_one_flight { length_us - silent_us } else { length_us / 2 };
                } else {
                    self.alone += u32::from(self.silence_us > now.min_rtt_us);
                    self.end_silence(before, now);
                }
                self.silence_us = silent_us;
            }
            (true, true) => {
                for sample in [before, now] {
                    if waits(sample) {
                        interval.asked += length_us / 2;
                    } else if sample.heard_age_us > sample.min_rtt_us {
                        interval.pause += length_us / 2;
                    }
                }
                self.silence_us = 0;
                self.answered += 1;
            }
        }
    }

    /// The other end goes on after a silence, unasked. A sender with data outstanding would have sent it again by then: it paused.
    fn end_silence(&mut self, before: TurnSample, now: TurnSample) {
        let is_pause = self.silence_us >= self.thresholds.timer_least_us.whole() + now.min_rtt_us;
        // What arrives again was not acknowledged, as the sender sees it.
        let is_in_order = now.out_of_order == before.out_of_order && now.received > before.received;
        if now.sent > 0 || !is_pause || !is_in_order {
            return;
        }
        let from_us = before.t_us.saturating_sub(self.silence_us);
        self.pauses.push(TimeInterval { from_us, to_us: before.t_us });
        self.paused += 1;
        // A single one may be a loss at the end of what was sent.
        if self.paused >= self.thresholds.pauses_fewest.count() {
            for interval in std::mem::take(&mut self.pauses) {
                self.waits.add(Waiting::Rate, interval.length_us());
                self.found.push(Wait::of_socket(interval, Waiting::Rate));
            }
        }
    }

    fn end_interval(&mut self, now: TurnSample) {
        let interval =
            std::mem::replace(&mut self.interval, TurnTimes { from_us: now.t_us, ..TurnTimes::default() });
        let length_us = now.t_us.saturating_sub(interval.from_us);
        self.heard = self.heard.saturating_add(interval.heard);
        let turns = interval.sent.min(interval.heard);
        let round_trips_us = u64::from(turns) * now.min_rtt_us;
        let [turns_before_us, length_before_us] =
            std::mem::replace(&mut self.before_us, [round_trips_us, length_us]);
        let is_more = |turns_us: u64, length_us: u64| {
            turns_us as f64 > self.thresholds.turns_overlap.value() * length_us as f64
        };
        let overlaps = is_more(round_trips_us, length_us)
            && is_more(turns_before_us + round_trips_us, length_before_us + length_us);
        // What the one who asks sends are no requests: they open a window of the application.
        let asked = match self.end {
            StreamEnd::Sender => interval.heard,
            StreamEnd::Receiver => interval.sent,
        };
        let are_remarks =
            interval.asked_bytes as f64 <= self.thresholds.remark_bytes.value() * f64::from(asked);
        let has_much_unsent = 2 * interval.unsent > interval.samples;
        if (overlaps && (are_remarks || has_much_unsent)) || interval.unsent == interval.samples {
            self.owed_us = 0;
        } else if overlaps {
            // Requests that are outstanding together are one turn.
            self.owed_us = length_us;
            let batches = length_us / now.min_rtt_us.max(1);
            self.waits.turns = self.waits.turns.saturating_add(u32::try_from(batches).unwrap_or(u32::MAX));
        } else {
            let turns = interval.sent.min(interval.answers);
            self.owed_us += u64::from(turns) * now.min_rtt_us;
            self.waits.turns = self.waits.turns.saturating_add(turns);
        }
        let parts = match self.end {
            StreamEnd::Sender => self.parts_near_sender(&interval, length_us),
            StreamEnd::Receiver if overlaps && self.owed_us == 0 => Vec::new(),
            StreamEnd::Receiver if overlaps => vec![(Waiting::Turns, std::mem::take(&mut self.owed_us))],
            StreamEnd::Receiver => self.parts_near_receiver(&interval, length_us),
        };
        let from_us = self.found.last().map_or(0, |wait| wait.interval.to_us).max(interval.from_us);
        let mut places = interval.places(from_us, now.t_us).into_iter();
        let mut place = places.next();
        let mut placed = Vec::new();
        for (waiting, mut us) in parts {
            while let Some(TimeInterval { from_us, to_us }) = place.filter(|_| us > 0) {
                let until_us = from_us.saturating_add(us).min(to_us);
                let part = TimeInterval { from_us, to_us: until_us };
                us -= part.length_us();
                self.waits.add(waiting, part.length_us());
                placed.push(Wait::of_socket(part, waiting));
                let rest = TimeInterval { from_us: until_us, to_us };
                place = if rest.length_us() > 0 { Some(rest) } else { places.next() };
            }
        }
        placed.sort_by_key(|wait| wait.interval.from_us);
        self.found.extend(placed);
        if self.found.len() >= self.kept {
            self.least_us = self.least_us.saturating_mul(2);
            self.kept += PACKET_SAMPLES_MAX;
        }
        self.waits.nagles = self.waits.nagles.saturating_add(interval.holds);
        self.late_acks = self.late_acks.saturating_add(interval.late_acks);
        if self.late_acks >= self.thresholds.delayed_acks.count() as u32 {
            self.waits.delayed_acks = self.late_acks;
        }
    }

    fn parts_near_sender(&mut self, interval: &TurnTimes, length_us: u64) -> Vec<(Waiting, u64)> {
        let idle = interval.idle.min(length_us);
        // Between samples the parts of all others stand for those that are not seen.
        let (theirs, own) = match interval.after_theirs + interval.after_own {
            0 => (self.after_theirs_us, self.after_own_us),
            _ => (interval.after_theirs, interval.after_own),
        };
        let response = match theirs + own {
            0 if interval.heard > 0 => idle,
            0 => 0,
            both => (u128::from(idle) * u128::from(theirs) / u128::from(both)) as u64,
        };
        let after_own =
            if self.heard == 0 || self.alone > self.answered { Waiting::Rate } else { Waiting::Request };
        let busy = length_us - idle;
        // A single late ACK may have been lost.
        let is_delayed =
            self.late_acks.saturating_add(interval.late_acks) >= self.thresholds.delayed_acks.count() as u32;
        let late = if is_delayed { interval.late.min(busy) } else { 0 };
        let awaited = (interval.held + late).min(busy);
        let overdue: u64 = interval.overdue.iter().map(|span| span.length_us()).sum();
        let turns = match awaited {
            0 if overdue == 0 && busy <= 2 * self.owed_us => busy,
            // What is overdue waited before as well.
            0 => self.owed_us.min(busy.saturating_sub(overdue)),
            _ => self.owed_us.min(busy - awaited),
        };
        self.owed_us = self.owed_us.saturating_sub(turns);
        // Where an ACK is awaited, all but the turns' round trips is that wait.
        let awaited = if interval.held > 0 { busy - turns } else { awaited };
        let ack = if interval.held > 0 { Waiting::Nagle } else { Waiting::DelayedAck };
        vec![
            (after_own, idle - response),
            (Waiting::Response, response),
            (ack, awaited),
            (Waiting::Turns, turns),
        ]
    }

    fn parts_near_receiver(&mut self, interval: &TurnTimes, length_us: u64) -> Vec<(Waiting, u64)> {
        let mut pause = interval.pause;
        let has_spoken = self.last.is_some_and(|last| last.sent > 0);
        if self.silence_us >= length_us && self.answered >= self.alone && has_spoken {
            pause += std::mem::take(&mut self.silence_us).min(length_us);
        }
        let asked = interval.asked.min(length_us);
        let pause = pause.min(length_us - asked);
        let in_turns = self.owed_us.min(asked);
        self.owed_us -= in_turns;
        let transfer = length_us - asked - pause;
        // Data that takes less than a round trip belongs to its turn.
        let belongs = if transfer <= in_turns { transfer } else { 0 };
        vec![
            (Waiting::Request, pause),
            (Waiting::Response, asked - in_turns),
            (Waiting::Turns, in_turns + belongs),
        ]
    }
}

impl TurnTimes {
    /// Adds a span after the others.
    fn add_overdue(&mut self, span: TimeInterval) {
        if span.length_us() == 0 {
            return;
        }
        match self.overdue.last_mut().filter(|last| last.to_us >= span.from_us) {
            Some(last) => last.to_us = span.to_us,
            None => self.overdue.push(span),
        }
    }

    /// Where its waits are placed, between these times: what is overdue comes last.
    fn places(&self, from_us: u64, to_us: u64) -> Vec<TimeInterval> {
        let (mut places, mut overdue, mut at_us) = (Vec::new(), Vec::new(), from_us);
        for span in &self.overdue {
            let span = span.within(TimeInterval { from_us: at_us, to_us });
            if span.length_us() > 0 {
                places.push(TimeInterval { from_us: at_us, to_us: span.from_us });
                overdue.push(span);
                at_us = span.to_us;
            }
        }
        places.push(TimeInterval { from_us: at_us, to_us });
        places.extend(overdue);
        places.retain(|place| place.length_us() > 0);
        places
    }
}

impl TurnSample {
    fn of(row: &TcpSample, has_nodelay: bool, thresholds: &Thresholds) -> Option<Self> {
        let info = &row.info;
        let mss = u64::from(info.mss_bytes);
        let notsent = u64::from(info.notsent_bytes?);
        let min_rtt_us = u64::from(info.min_rtt_us?);
        let sent_age_us = info.last_data_sent_us?;
        let has_room = |window: Option<u64>| {
            window.is_none_or(|window| window >= info.unacked_bytes.saturating_add(2 * mss))
        };
        let has_little_out = (1..=2 * mss).contains(&info.unacked_bytes)
            && has_room(info.cwnd_bytes)
            && has_room(info.rwnd_bytes.map(u64::from));
        let is_held = !has_nodelay
            && has_little_out
            && (1..mss).contains(&notsent)
            && sent_age_us >= thresholds.held_us.whole();
        Some(Self {
            t_us: row.t_us,
            min_rtt_us,
            busy_us: info.busy_us?,
            sent: info.data_segs_out?,
            heard: info.data_segs_in?,
            sent_again: info.retransmits,
            out: u32::try_from(info.unacked_bytes / mss.max(1)).unwrap_or(u32::MAX),
            sent_age_us,
            heard_age_us: info.last_data_recv_us?,
            is_quiet: info.unacked_bytes == 0 && notsent == 0,
            has_unsent: notsent > 0,
            asked_bytes: match row.end {
                StreamEnd::Sender => info.bytes_received,
                StreamEnd::Receiver => info.bytes_acked,
            }
            .unwrap_or(0),
            received: info.bytes_received.unwrap_or(0),
            out_of_order: info.rcv_ooo_segments.unwrap_or(0),
            has_little_out,
            has_one_out: info.unacked_bytes <= mss,
            is_held,
        })
    }

    /// Whether the other end delays its ACK (RFC 1122, 4.2.3.2).
    fn awaits_late_ack(&self, thresholds: &Thresholds) -> bool {
        let late_us = self.sent_age_us.saturating_sub(self.min_rtt_us) as f64;
        self.has_little_out && !self.is_held && late_us >= thresholds.late_ack_us.value()
    }

    /// Whether nothing was out at some time since `before`: all that is out now was sent since.
    const fn has_emptied_since(&self, before: Self) -> bool {
        let sent = self.sent.wrapping_sub(before.sent);
        self.out <= sent.saturating_sub(self.sent_again.wrapping_sub(before.sent_again))
    }

    /// Whether the other side spoke last; in the same jiffy this end, which answers at once.
    fn has_heard_last(&self) -> bool {
        self.heard_age_us < self.sent_age_us
    }
}

#[cfg(test)]
mod tests;
