//! The times in which a sender with data out waited for a retransmission timer, and sending again helped: from the last delivery before the
//! timer ran out to the next one (RFC 6298). Of one or two segments a probe is sent again in its place (RFC 8985, 7), which no counter of timeouts
//! counts; and where the answer to them was lost, it is the other end's timer.
//!
//! Never: a wait that nothing ended within three timers, which is silence; a loss that duplicate ACKs showed; or an ACK that may have been delayed.

use super::sender_sample::SenderSample;
use crate::ground::interval::TimeInterval;
use crate::ground::thresholds::Thresholds;
use std::collections::VecDeque;

/// Follows one stream.
#[derive(Debug, Default)]
pub(super) struct TimerWaits {
    longest_timers: f64,
    /// The shortest timer. No ACK is delayed for longer (`TCP_DELACK_MAX`).
    least_us: u64,
    /// Longest round trip of an answer that was not lost, in smoothed ones.
    answer_round_trips: f64,
    /// When it was last sampled.
    last_us: u64,
    open: Option<OpenWait>,
    found: VecDeque<TimerWait>,
    /// Of the last one, as long as its answer may still come: until when, and payload segments of the other side by its end.
    awaits_answer: Option<(u64, Option<u64>)>,
}

/// A wait for a timer.
#[derive(Debug, Clone, Copy)]
struct TimerWait {
    interval: TimeInterval,
    /// Of few segments, with whose ACK an answer came.
    is_answered: bool,
}

/// Shares of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct TimerShares {
    /// What was waited.
    pub(super) all: f64,
    /// Of few segments, with whose ACK an answer came.
    pub(super) answered: f64,
}

/// A time with data out in which nothing was delivered so far.
#[derive(Debug, Clone, Copy)]
struct OpenWait {
    interval: TimeInterval,
    /// Bytes acknowledged, and segments delivered, which count what SACKs show too.
    delivered: (Option<u64>, Option<u32>),
    /// The timeout at its beginning: it doubles each time the timer runs out.
    rto_us: u64,
    /// Of packets, whose timer is an estimate by Linux's rules: after which time it ran out.
    seen_timer_us: u64,
    timeouts: u32,
    has_run_out: bool,
    /// Of a socket with one or two segments out: too few for duplicate ACKs to show a loss.
    few: Option<FewSegments>,
}

/// What few segments wait for.
#[derive(Debug, Clone, Copy)]
struct FewSegments {
    min_rtt_us: u64,
    srtt_us: u64,
    retransmits: u32,
    heard: Option<u64>,
    was_sent_again: bool,
    /// Whether an answer came, and whether the connection has lost segments by then.
    is_answered: bool,
    has_lost: bool,
}

impl TimerWaits {
    pub(super) fn new(thresholds: &Thresholds) -> Self {
        Self {
            longest_timers: thresholds.silent_timers.value(),
            least_us: thresholds.timer_least_us.whole(),
            answer_round_trips: thresholds.answer_round_trips.value(),
            ..Self::default()
        }
    }

    /// Takes the sender's next sample, in order of time.
    pub(super) fn add(&mut self, sample: &SenderSample) {
        let delivered = (sample.acked, sample.delivered);
        let before_us = std::mem::replace(&mut self.last_us, sample.t_us);
        self.observe_answer(sample);
        if let Some(open) = self.open.as_mut().filter(|_| sample.unacked > 0) {
            open.observe(sample);
            open.has_run_out |= sample.backoff.is_some_and(|times| times > 0);
            if open.delivered == delivered {
                return;
            }
        }
        if let Some(mut ended) = self.open.take() {
            ended.observe(sample);
            self.end(ended, sample);
        }
        // What was sent since the sample before waits since then.
        let sent_us = sample.t_us.saturating_sub(sample.sent_age_us.unwrap_or(0));
        let interval = TimeInterval { from_us: sent_us.max(before_us), to_us: sample.t_us };
        self.open = sample.rto_us.filter(|_| sample.unacked > 0).map(|rto_us| OpenWait {
            interval,
            delivered,
            rto_us,
            seen_timer_us: 0,
            timeouts: sample.timeouts,
            has_run_out: false,
            few: FewSegments::of(sample),
        });
    }

    /// Keeps the wait that `sample` ended, if it was one. The ACK of a probe comes a little before the answer, which the other end sends again by its own timer.
    fn end(&mut self, ended: OpenWait, sample: &SenderSample) {
        let Some(wait) = self.wait(ended) else { return };
        self.found.push_back(wait);
        self.awaits_answer = ended.few.filter(|few| !few.is_answered).map(|few| {
            let in_time_us = (self.answer_round_trips * few.srtt_us as f64) as u64;
            (sample.t_us.saturating_add(in_time_us), sample.heard)
        });
    }

    fn observe_answer(&mut self, sample: &SenderSample) {
        let Some((until_us, heard)) = self.awaits_answer else { return };
        let is_answered = sample.t_us <= until_us && sample.heard > heard;
        if let Some(wait) = self.found.back_mut().filter(|_| is_answered) {
            wait.is_answered = true;
        }
        if is_answered || sample.t_us > until_us {
            self.awaits_answer = None;
        }
    }

    /// The shares of `interval` that it waited, by the samples so far. Later intervals follow.
    pub(super) fn shares(&mut self, interval: TimeInterval) -> TimerShares {
        while self.found.pop_front_if(|wait| wait.interval.to_us <= interval.from_us).is_some() {}
        let open = self.open.and_then(|open| self.wait(open));
        let mut shares = TimerShares::default();
        for wait in self.found.iter().copied().chain(open) {
            let waited_us = wait.interval.within(interval).length_us();
            let share = waited_us as f64 / interval.length_us().max(1) as f64;
            shares.all += share;
            shares.answered += if wait.is_answered { share } else { 0.0 };
        }
        shares
    }

    /// Its time, where that is a wait for the timer.
    fn wait(&self, open: OpenWait) -> Option<TimerWait> {
        let length_us = open.interval.length_us();
        let is_of_timer = open.has_run_out && length_us > open.rto_us;
        let longest_us = self.longest_timers * open.rto_us.max(open.seen_timer_us) as f64;
        let is_of_few = open.few.is_some_and(|few| {
            let is_late = length_us as f64 >= self.answer_round_trips * few.srtt_us as f64;
            length_us >= self.least_us + few.min_rtt_us
                && (few.was_sent_again || (few.is_answered && few.has_lost && is_late))
        });
        let is_answered = open.few.is_some_and(|few| few.is_answered);
        let is_one = (is_of_timer || is_of_few) && length_us as f64 <= longest_us;
        is_one.then_some(TimerWait { interval: open.interval, is_answered })
    }
}

impl OpenWait {
    /// What a later sample shows of it, the one that ends it among them.
    fn observe(&mut self, sample: &SenderSample) {
        self.interval.to_us = sample.t_us;
        if sample.timeouts > self.timeouts && !self.has_run_out {
            self.has_run_out = true;
            self.seen_timer_us = sample.sent_age_us.map_or(self.interval.length_us(), |_| 0);
        }
        self.few = self.few.filter(|_| sample.unacked <= 2 * sample.mss);
        if let Some(few) = &mut self.few {
            few.was_sent_again |= sample.retransmits > few.retransmits;
            few.is_answered |= sample.heard > few.heard;
            few.has_lost |= sample.retransmits > 0;
        }
    }
}

impl FewSegments {
    fn of(sample: &SenderSample) -> Option<Self> {
        let _of_socket = sample.sent_age_us?;
        (sample.unacked <= 2 * sample.mss).then_some(Self {
            min_rtt_us: sample.min_rtt_us?,
            srtt_us: sample.srtt_us?,
            retransmits: sample.retransmits,
            heard: sample.heard,
            was_sent_again: false,
            is_answered: false,
            has_lost: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;

    /// At milliseconds: bytes acknowledged and outstanding, timers that ran out.
    fn waits(samples: &[(u64, u64, u64, u32)]) -> TimerWaits {
        let mut waits = TimerWaits::new(&STANDARD);
        for &(t_ms, acked, unacked, timeouts) in samples {
            waits.add(&SenderSample {
                t_us: t_ms * 1_000,
                acked: Some(acked),
                unacked,
                timeouts,
                rto_us: Some(200_000 << timeouts.min(1)),
                ..SenderSample::default()
            });
        }
        waits
    }

    fn share(samples: &[(u64, u64, u64, u32)], from_ms: u64, to_ms: u64) -> f64 {
        waits(samples).shares(TimeInterval { from_us: from_ms * 1_000, to_us: to_ms * 1_000 }).all
    }

    #[test]
    fn what_a_timer_ended_was_a_wait_for_it() {
        let ended =
            [(0, 5, 9, 0), (100, 6, 9, 0), (200, 6, 9, 0), (320, 6, 9, 1), (340, 9, 6, 1), (400, 15, 9, 1)];
        assert_eq!(
            [share(&ended, 100, 340), share(&ended, 220, 320), share(&ended, 340, 400)],
            [1.0, 1.0, 0.0]
        );
        assert_eq!(share(&ended, 0, 200), 0.5);
        let between_samples = [(0, 5, 9, 0), (250, 8, 6, 1)];
        assert_eq!(share(&between_samples, 0, 250), 1.0);
    }

    #[test]
    fn a_wait_that_no_timer_ended_or_that_is_too_long_is_another() {
        let without = [(0, 5, 9, 0), (250, 5, 9, 0), (260, 8, 6, 0)];
        assert_eq!(share(&without, 0, 260), 0.0, "no timer ran out");
        let short = [(0, 5, 9, 0), (150, 5, 9, 1), (180, 8, 6, 1)];
        assert_eq!(share(&short, 0, 180), 0.0, "shorter than the timeout");
        let silent = [(0, 5, 9, 0), (250, 5, 9, 1), (590, 5, 9, 1)];
        assert_eq!(share(&silent, 0, 500), 1.0, "it may still be answered");
        let ended = |t_ms| [&silent[..], &[(t_ms, 8, 6, 2)]].concat();
        assert_eq!(share(&ended(740), 0, 500), 1.0, "a timer of 250 ms was seen");
        assert_eq!(share(&ended(760), 0, 500), 0.0, "longer than three timers");
        let idle = [(0, 5, 0, 0), (900, 5, 9, 0), (1_000, 8, 6, 0)];
        assert_eq!(share(&idle, 0, 900), 0.0, "nothing was out");
    }

    /// A request of one segment every now and then, with a round trip of 3 ms; at milliseconds: bytes acknowledged, bytes out, since when, retransmissions
    /// and segments of the other side.
    fn shares_of_requests(
        samples: &[(u64, u64, u64, u64, u32, u64)],
        from_ms: u64,
        to_ms: u64,
    ) -> TimerShares {
        let mut waits = TimerWaits::new(&STANDARD);
        for &(t_ms, acked, unacked, sent_ms, retransmits, heard) in samples {
            waits.add(&SenderSample {
                t_us: t_ms * 1_000,
                mss: 1_448,
                acked: Some(acked),
                unacked,
                sent_age_us: Some((t_ms - sent_ms) * 1_000),
                retransmits,
                heard: Some(heard),
                rto_us: Some(260_000),
                srtt_us: Some(10_000),
                min_rtt_us: Some(3_000),
                ..SenderSample::default()
            });
        }
        waits.shares(TimeInterval { from_us: from_ms * 1_000, to_us: to_ms * 1_000 })
    }

    fn share_of_requests(samples: &[(u64, u64, u64, u64, u32, u64)], from_ms: u64, to_ms: u64) -> f64 {
        shares_of_requests(samples, from_ms, to_ms).all
    }

    fn answered_share(samples: &[(u64, u64, u64, u64, u32, u64)]) -> f64 {
        shares_of_requests(samples, 6, 216).answered
    }

    #[test]
    fn a_probe_of_a_request_and_an_answer_that_the_other_end_sends_again_were_waited_for() {
        let probed = [
            (0, 0, 0, 0, 0, 0),
            (10, 0, 1_448, 6, 0, 0),
            (206, 0, 1_448, 205, 1, 0),
            (216, 424, 0, 206, 1, 1),
        ];
        assert_eq!([share_of_requests(&probed, 6, 216), share_of_requests(&probed, 0, 6)], [1.0, 0.0]);
        let answered = |retransmits, heard, to_ms| {
            [
                (0, 0, 0, 0, retransmits, 0),
                (10, 0, 1_448, 6, retransmits, 0),
                (to_ms, 424, 0, 6, retransmits, heard),
            ]
        };
        assert_eq!(share_of_requests(&answered(1, 1, 216), 6, 216), 1.0);
        assert_eq!(share_of_requests(&answered(1, 1, 206), 6, 206), 0.0, "an ACK may be delayed for so long");
        assert_eq!(share_of_requests(&answered(1, 0, 216), 6, 216), 0.0, "an ACK without an answer");
        assert_eq!(share_of_requests(&answered(0, 1, 216), 6, 216), 0.0, "nothing was ever lost");
        let after_its_ack =
            |to_ms| [&probed[..3], &[(216, 424, 0, 206, 1, 0), (to_ms, 424, 0, 206, 1, 1)]].concat();
        assert_eq!(answered_share(&after_its_ack(236)), 1.0, "two round trips after the ACK of the probe");
        assert_eq!(answered_share(&after_its_ack(237)), 0.0, "that is no answer to it");
        let many = [(0, 0, 0, 0, 0, 0), (10, 0, 14_480, 6, 0, 0), (216, 424, 0, 206, 1, 1)];
        assert_eq!(share_of_requests(&many, 6, 216), 0.0, "duplicate ACKs show it");
    }
}
