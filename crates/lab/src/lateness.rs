//! How late the instrument was: a histogram of the time between when something was due and when it happened, and the times
//! when it was so late that TCP takes notice.

use hdrhistogram::Histogram;
use pipefill_core::cell::Direction;
use pipefill_core::record::{Lateness, Stall};
use pipefill_core::units::Time;
use std::time::Duration;

/// Collects latenesses up to 60 s with three significant figures.
pub(crate) struct LatenessMeter {
    histogram: Histogram<u64>,
}

const LONGEST_NS: u64 = 60_000_000_000;

impl LatenessMeter {
    pub(crate) fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3)
            .unwrap_or_else(|_| unreachable!("the bounds are constants that hdrhistogram accepts"));
        Self { histogram }
    }

    pub(crate) fn record(&mut self, late: Duration) {
        self.histogram.saturating_record(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Records every deadline from `due` to `now`, `every` apart, each with the time from itself to `now`; returns the first one after
    /// `now`. What was slept through counts too, so that a quantile is a share of the time.
    pub(crate) fn record_deadlines(&mut self, due: Time, every: Duration, now: Time) -> Time {
        let mut due = due;
        while due <= now {
            self.record(now.since(due));
            due = due.after(every.max(Duration::from_nanos(1)));
        }
        due
    }

    /// `None` where nothing happened.
    pub(crate) fn summary(&self) -> Option<Lateness> {
        let h = &self.histogram;
        (!h.is_empty()).then(|| Lateness {
            count: h.len(),
            mean_ns: h.mean() as u64,
            p50_ns: h.value_at_quantile(0.5),
            p99_ns: h.value_at_quantile(0.99),
            p999_ns: h.value_at_quantile(0.999),
            max_ns: h.max(),
            histogram: h
                .iter_log(1_000, 2.0)
                .map(|step| (step.value_iterated_to() + 1, step.count_since_last_iteration()))
                .collect(),
        })
    }
}

/// A path that stalls more often is invalid anyway.
const MOST_STALLS: usize = 10_000;

/// The stalls of one direction of the path.
pub(crate) struct StallLog {
    direction: Direction,
    /// Lateness from which on it is a stall.
    noticed: Duration,
    stalls: Vec<Stall>,
    /// When the last one ended.
    ended: Time,
}

impl StallLog {
    pub(crate) fn new(direction: Direction, noticed: Duration) -> Self {
        Self { direction, noticed, stalls: Vec::new(), ended: Time::ZERO }
    }

    /// Notes that a packet left at `now`, `late`. A packet that was due before the last stall ended belongs to that stall.
    pub(crate) fn record(&mut self, now: Time, late: Duration) {
        if late < self.noticed {
            return;
        }
        let late_ns = late.as_nanos() as u64;
        let (is_same, has_room) = (now.before(late) <= self.ended, self.stalls.len() < MOST_STALLS);
        match self.stalls.last_mut() {
            Some(last) if is_same => {
                last.t_us = now.micros();
                last.late_ns = last.late_ns.max(late_ns);
            }
            _ if has_room => {
                self.stalls.push(Stall { direction: self.direction, t_us: now.micros(), late_ns });
            }
            _ => return,
        }
        self.ended = now;
    }

    pub(crate) fn into_stalls(self) -> Vec<Stall> {
        self.stalls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_that_was_slept_through_counts_too() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let every = Duration::from_millis(10);
        let mut lateness = LatenessMeter::new();
        assert_eq!(lateness.record_deadlines(at(10), every, at(10)), at(20));
        assert_eq!(lateness.record_deadlines(at(20), every, at(19)), at(20), "not yet");
        assert_eq!(lateness.record_deadlines(at(20), every, at(55)), at(60));
        let summary = lateness.summary().unwrap();
        assert_eq!(summary.count, 5, "10, 20, 30, 40 and 50 ms");
        let milliseconds = |ns: u64| Duration::from_nanos(ns).as_secs_f64() * 1e3;
        assert!((milliseconds(summary.max_ns) - 35.0).abs() < 0.1, "{summary:?}");
        assert!((milliseconds(summary.mean_ns) - 16.0).abs() < 0.1, "{summary:?}");
    }

    #[test]
    fn what_was_due_during_a_stall_is_part_of_it() {
        let mut log = StallLog::new(Direction::Forward, Duration::from_millis(4));
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        for (now, late) in [(10, 3), (30, 20), (31, 15), (32, 5), (50, 6)] {
            log.record(at(now), Duration::from_millis(late));
        }
        let stalls: Vec<(u64, u64)> =
            log.into_stalls().iter().map(|stall| (stall.t_us / 1_000, stall.late_ns / 1_000_000)).collect();
        assert_eq!(stalls, [(32, 20), (50, 6)]);
    }
}
