//! Whose turn it was by the samples of one socket: samples place the waits of a stream, the kernel's counters fix their sums.
//!
//! Near the sender the time with nothing queued or outstanding is what `tcpi_busy_time` leaves; near the receiver it is the time since its own
//! request. Invariant: the waits of an interval are no longer than it.

use super::waits::Wait;
use crate::ground::interval::TimeInterval;
use crate::ground::thresholds::{PATIENCE_US, TURNS_INTERVAL_US, Thresholds};
use pipefill_core::record::{StreamEnd, TcpSample, Waiting, Waits};

/// What a sample shows of the conversation. *Own* is the end whose socket it is.
#[derive(Debug, Clone, Copy)]
struct TurnSample {
    t_us: u64,
    min_rtt_us: u64,
    busy_us: u64,
    /// Payload segments that this end sent and received so far.
    sent: u32,
    heard: u32,
    /// Ages of the last payload sent and received, microseconds.
    sent_age_us: u64,
    heard_age_us: u64,
    /// Nothing is queued or outstanding.
    is_quiet: bool,
    has_unsent: bool,
    /// Less than a segment waits behind at most two, later than an ACK can come, with room in both windows (`tcp_nagle_check()`).
    is_held: bool,
}

/// Times of an interval, microseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Shares {
    from_us: u64,
    sent: u32,
    heard: u32,
    /// Near the sender: with nothing queued or outstanding, and how much of it after a payload of the other side, or after an own one.
    idle: u64,
    after_theirs: u64,
    after_own: u64,
    held: u64,
    holds: u32,
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
    last: Option<TurnSample>,
    interval: Shares,
    /// Time with nothing outstanding that the counter, which moves in jiffies, has not shown yet; negative where it showed too much.
    idle_ahead_us: i64,
    /// A silence that may become a pause of the one who asks.
    silence_us: u64,
    /// Round trips of turns whose time has not passed yet.
    owed_us: u64,
    /// Silences that ended with the other side's payload, and without.
    answered: u32,
    alone: u32,
    /// Of the whole stream.
    after_theirs_us: u64,
    after_own_us: u64,
    heard: u32,
    waits: Waits,
    found: Vec<Wait>,
}

impl<'a> SocketTurns<'a> {
    /// For the samples of `end`.
    pub(crate) fn new(end: StreamEnd, thresholds: &'a Thresholds) -> Self {
        Self {
            thresholds,
            end,
            last: None,
            interval: Shares::default(),
            idle_ahead_us: 0,
            silence_us: 0,
            owed_us: 0,
            answered: 0,
            alone: 0,
            after_theirs_us: 0,
            after_own_us: 0,
            heard: 0,
            waits: Waits::default(),
            found: Vec::new(),
        }
    }

    /// Takes the next sample, in order of time. Samples without the ages of payload (records of 0.1) show no turns.
    pub(crate) fn see(&mut self, row: &TcpSample) {
        let Some(now) = TurnSample::of(row, self.thresholds) else { return };
        let Some(before) = self.last.replace(now) else {
            self.interval = Shares { from_us: now.t_us, ..Shares::default() };
            return;
        };
        let interval = &mut self.interval;
        interval.sent += now.sent.wrapping_sub(before.sent);
        interval.heard += now.heard.wrapping_sub(before.heard);
        interval.samples += 1;
        interval.unsent += u32::from(now.has_unsent);
        match self.end {
            StreamEnd::Sender => self.of_sender(before, now),
            StreamEnd::Receiver => self.of_receiver(before, now),
        }
        let length_us = TURNS_INTERVAL_US.max(2 * now.min_rtt_us).min(PATIENCE_US / 2);
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
        self.idle_ahead_us += length_us as i64 - busy_us as i64;
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
        let waits = |sample: TurnSample| !sample.has_heard_last();
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

    fn end_interval(&mut self, now: TurnSample) {
        let interval =
            std::mem::replace(&mut self.interval, Shares { from_us: now.t_us, ..Shares::default() });
        let length_us = now.t_us.saturating_sub(interval.from_us);
        self.heard = self.heard.saturating_add(interval.heard);
        let turns = interval.sent.min(interval.heard);
        let round_trips_us = u64::from(turns) * now.min_rtt_us;
        // Requests overlap, or what the other side sends are no requests: a window of the application.
        let overlaps = round_trips_us as f64 > self.thresholds.turns_overlap.value() * length_us as f64;
        if overlaps || (interval.samples > 0 && interval.unsent == interval.samples) {
            self.owed_us = 0;
        } else {
            self.owed_us += round_trips_us;
            self.waits.turns = self.waits.turns.saturating_add(turns);
        }
        let parts = match self.end {
            StreamEnd::Sender => self.parts_near_sender(&interval, length_us),
            StreamEnd::Receiver if overlaps => Vec::new(),
            StreamEnd::Receiver => self.parts_near_receiver(&interval, length_us),
        };
        let mut at_us = interval.from_us;
        for (waiting, us) in parts {
            let to_us = at_us.saturating_add(us).min(now.t_us);
            if to_us > at_us {
                self.waits.add(waiting, to_us - at_us);
                self.found.push(Wait { interval: TimeInterval { from_us: at_us, to_us }, waiting });
            }
            at_us = to_us;
        }
        self.waits.nagles = self.waits.nagles.saturating_add(interval.holds);
    }

    fn parts_near_sender(&mut self, interval: &Shares, length_us: u64) -> Vec<(Waiting, u64)> {
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
        // Where an ACK is awaited most of the time, all but the turns' round trips is that wait.
        let is_held = 2 * interval.held >= busy;
        let turns = if busy <= 2 * self.owed_us && !is_held { busy } else { self.owed_us.min(busy) };
        self.owed_us = self.owed_us.saturating_sub(turns);
        let held = if is_held { busy - turns } else { interval.held.min(busy - turns) };
        vec![
            (after_own, idle - response),
            (Waiting::Response, response),
            (Waiting::Nagle, held),
            (Waiting::Turns, turns),
        ]
    }

    fn parts_near_receiver(&mut self, interval: &Shares, length_us: u64) -> Vec<(Waiting, u64)> {
        let mut pause = interval.pause;
        if self.silence_us >= length_us && self.answered >= self.alone && self.heard > 0 {
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

impl TurnSample {
    fn of(row: &TcpSample, thresholds: &Thresholds) -> Option<Self> {
        let info = &row.info;
        let mss = u64::from(info.mss_bytes);
        let notsent = u64::from(info.notsent_bytes?);
        let min_rtt_us = u64::from(info.min_rtt_us?);
        let sent_age_us = info.last_data_sent_us?;
        let has_room =
            |window: Option<u64>| window.is_none_or(|window| window >= info.unacked_bytes + 2 * mss);
        let is_held = notsent > 0
            && notsent < mss
            && (1..=2 * mss).contains(&info.unacked_bytes)
            && has_room(info.cwnd_bytes)
            && has_room(info.rwnd_bytes.map(u64::from))
            && sent_age_us >= thresholds.held_us.whole();
        Some(Self {
            t_us: row.t_us,
            min_rtt_us,
            busy_us: info.busy_us?,
            sent: info.data_segs_out?,
            heard: info.data_segs_in?,
            sent_age_us,
            heard_age_us: info.last_data_recv_us?,
            is_quiet: info.unacked_bytes == 0 && notsent == 0,
            has_unsent: notsent > 0,
            is_held,
        })
    }

    /// Whether the other side spoke last; in the same jiffy this end, which answers at once.
    fn has_heard_last(&self) -> bool {
        self.heard_age_us < self.sent_age_us
    }
}

#[cfg(test)]
mod tests;
