//! The times in which a sender with data out waited for its retransmission timer, and sending again helped: from the last delivery before the
//! timer ran out to the next one (RFC 6298).
//!
//! Never: a wait that nothing ended within three timers, which is silence; or a loss that duplicate ACKs showed.

use super::sender_sample::SenderSample;
use crate::ground::interval::TimeInterval;
use crate::ground::thresholds::Thresholds;
use std::collections::VecDeque;

/// Follows one stream.
#[derive(Debug, Default)]
pub(super) struct TimerWaits {
    longest_timers: f64,
    open: Option<OpenWait>,
    found: VecDeque<TimeInterval>,
}

/// A time with data out in which nothing was delivered so far.
#[derive(Debug, Clone, Copy)]
struct OpenWait {
    interval: TimeInterval,
    /// Bytes acknowledged, and segments delivered, which count what SACKs show too.
    delivered: (Option<u64>, Option<u32>),
    /// The timeout at its beginning: it doubles each time the timer runs out.
    rto_us: u64,
    timeouts: u32,
    has_run_out: bool,
}

impl TimerWaits {
    pub(super) fn new(thresholds: &Thresholds) -> Self {
        Self { longest_timers: thresholds.silent_timers.value(), ..Self::default() }
    }

    /// Takes the sender's next sample, in order of time.
    pub(super) fn add(&mut self, sample: &SenderSample) {
        let delivered = (sample.acked, sample.delivered);
        if let Some(open) = self.open.as_mut().filter(|_| sample.unacked > 0) {
            open.interval.to_us = sample.t_us;
            open.has_run_out |=
                sample.timeouts > open.timeouts || sample.backoff.is_some_and(|times| times > 0);
            if open.delivered == delivered {
                return;
            }
        }
        if let Some(mut ended) = self.open.take() {
            ended.interval.to_us = sample.t_us;
            ended.has_run_out |= sample.timeouts > ended.timeouts;
            self.found.extend(self.wait(ended));
        }
        let interval = TimeInterval { from_us: sample.t_us, to_us: sample.t_us };
        let timeouts = sample.timeouts;
        self.open = sample.rto_us.filter(|_| sample.unacked > 0).map(|rto_us| OpenWait {
            interval,
            delivered,
            rto_us,
            timeouts,
            has_run_out: false,
        });
    }

    /// The share of `interval` that it waited, by the samples so far. Later intervals follow.
    pub(super) fn share(&mut self, interval: TimeInterval) -> f64 {
        while self.found.pop_front_if(|wait| wait.to_us <= interval.from_us).is_some() {}
        let open = self.open.and_then(|open| self.wait(open));
        let waited: u64 =
            self.found.iter().copied().chain(open).map(|wait| wait.within(interval).length_us()).sum();
        waited as f64 / interval.length_us().max(1) as f64
    }

    /// Its time, where that is a wait for the timer.
    fn wait(&self, open: OpenWait) -> Option<TimeInterval> {
        let timers = open.interval.length_us() as f64 / open.rto_us.max(1) as f64;
        (open.has_run_out && timers > 1.0 && timers <= self.longest_timers).then_some(open.interval)
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
        waits(samples).share(TimeInterval { from_us: from_ms * 1_000, to_us: to_ms * 1_000 })
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
        assert_eq!(
            share(&[&silent[..], &[(620, 8, 6, 2)]].concat(), 0, 500),
            0.0,
            "longer than three timers"
        );
        let idle = [(0, 5, 0, 0), (900, 5, 9, 0), (1_000, 8, 6, 0)];
        assert_eq!(share(&idle, 0, 900), 0.0, "nothing was out");
    }
}
