//! Slow start again after an idle time: what cwnd was before (`tcp_slow_start_after_idle_check()`, RFC 5681 section 4.1).

use super::sender_sample::SenderSample;
use crate::ground::thresholds::Thresholds;

/// Follows the samples of one sender.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct IdleRestart {
    /// Segments of the initial window.
    initial: f64,
    /// The last sample in which it sent: when, the largest cwnd since the last idle time, and retransmissions by then.
    busy: Option<(u64, u64, u32)>,
    /// cwnd before the last idle time, and retransmissions then.
    before: Option<(u64, u32)>,
}

impl IdleRestart {
    pub(super) fn new(thresholds: &Thresholds) -> Self {
        Self { initial: thresholds.initial_window.value(), ..Self::default() }
    }

    /// Takes the next sample, in order of time; gives cwnd before the last idle time while it is smaller since then. A loss ends that.
    pub(super) fn add(&mut self, sample: &SenderSample) -> Option<u64> {
        let cwnd = sample.cwnd.map(|(_, cwnd)| cwnd).or(sample.packets.map(|packets| packets.flight))?;
        if !sample.is_sending {
            // What is idle at the first sample has sent before, with the window that it still has.
            let idle_us = sample.sent_age_us.filter(|_| self.busy.is_none());
            self.busy = idle_us
                .map(|age_us| (sample.t_us.saturating_sub(age_us), cwnd, sample.retransmits))
                .or(self.busy);
            return self.before.map(|(before, _)| before);
        }
        // No window below the initial one is given up (`tcp_cwnd_restart()`).
        let is_lost = |largest: u64| cwnd < largest && largest as f64 > self.initial * sample.mss as f64;
        // What is sent again after a timeout ends no idle time.
        let was_idle = |at_us: u64, retransmits: u32| {
            sample.retransmits == retransmits
                && sample.rto_us.is_some_and(|rto_us| sample.t_us - at_us > rto_us)
        };
        let largest = match self.busy {
            Some((at_us, largest, retransmits)) if was_idle(at_us, retransmits) => {
                self.before = is_lost(largest).then_some((largest, sample.retransmits));
                cwnd
            }
            Some((_, largest, _)) => largest.max(cwnd),
            None => cwnd,
        };
        self.busy = Some((sample.t_us, largest, sample.retransmits));
        self.before = self.before.filter(|&(before, sent)| cwnd < before && sample.retransmits == sent);
        self.before.map(|(before, _)| before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;

    /// At milliseconds, with bytes outstanding, a cwnd in segments, and segments sent again so far.
    fn before_idle(samples: &[(u64, u64, u64, u32)]) -> Vec<Option<u64>> {
        let mut restart = IdleRestart::default();
        let of = |&(t_ms, unacked, cwnd, retransmits): &(u64, u64, u64, u32)| SenderSample {
            t_us: t_ms * 1_000,
            is_sending: unacked > 0,
            cwnd: Some((1.0, cwnd)),
            rto_us: Some(300_000),
            retransmits,
            ..SenderSample::default()
        };
        samples.iter().map(|sample| restart.add(&of(sample))).collect()
    }

    #[test]
    fn no_window_below_the_initial_one_is_given_up() {
        let restarts = |before: u64| {
            let mut restart = IdleRestart::new(&STANDARD);
            let sample = |t_us: u64, cwnd: u64| SenderSample {
                t_us,
                mss: 1_000,
                is_sending: true,
                cwnd: Some((1.0, cwnd)),
                rto_us: Some(300_000),
                ..SenderSample::default()
            };
            [sample(0, before), sample(900_000, 2_000)].map(|sample| restart.add(&sample))
        };
        assert_eq!([restarts(10_000), restarts(11_000)], [[None, None], [None, Some(11_000)]]);
    }

    #[test]
    fn a_connection_that_is_idle_at_its_first_sample_had_its_window_before() {
        let mut restart = IdleRestart::default();
        let sample = |t_ms: u64, unacked: u64, cwnd: u64, sent_age_ms: u64| SenderSample {
            t_us: t_ms * 1_000,
            is_sending: unacked > 0,
            cwnd: Some((1.0, cwnd)),
            rto_us: Some(300_000),
            sent_age_us: Some(sent_age_ms * 1_000),
            ..SenderSample::default()
        };
        let samples = [sample(500, 0, 100, 250), sample(550, 0, 100, 300), sample(600, 9, 10, 0)];
        assert_eq!(samples.map(|sample| restart.add(&sample)), [None, None, Some(100)]);
    }

    #[test]
    fn a_window_that_is_smaller_after_an_idle_time_restarts_until_it_is_as_large_or_something_is_lost() {
        let idle = [(0, 9, 100, 0), (100, 0, 100, 0), (900, 0, 100, 0)];
        let after = |samples: &[(u64, u64, u64, u32)]| before_idle(&[&idle, samples].concat()).split_off(3);
        assert_eq!(
            after(&[(1_000, 9, 10, 0), (1_100, 9, 20, 0), (1_500, 9, 100, 0)]),
            [Some(100), Some(100), None]
        );
        assert_eq!(after(&[(1_000, 9, 10, 0), (1_100, 9, 20, 1)]), [Some(100), None]);
        assert_eq!(after(&[(1_000, 9, 10, 1), (1_100, 9, 20, 1)]), [None, None], "a timer ran out");
        assert_eq!(after(&[(1_000, 9, 100, 0), (1_100, 9, 90, 0)]), [None, None], "cwnd was kept");
        assert_eq!(
            before_idle(&[(0, 9, 100, 0), (300, 9, 10, 0)]),
            [None, None],
            "not longer than the timeout"
        );
    }
}
