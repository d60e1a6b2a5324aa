//! A thread that does nothing but sleep to absolute deadlines, at normal priority: how late a program is on this machine that does no
//! work at all. Where it is late, the machine is; where it is punctual and the data path is not, the data path is slow.

use crate::clock::RunClock;
use crate::lateness::LatenessMeter;
use crate::sys::thread;
use pipefill_core::record::Lateness;
use pipefill_core::units::Time;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// From one deadline to the next.
const EVERY: Duration = Duration::from_millis(10);

/// Sleeps from deadline to deadline until `stop` is set. Every deadline counts once, those that were slept through too, each with the
/// time from itself to the waking: the quantiles are shares of time. `None` where no deadline came.
pub(crate) fn run(clock: RunClock, stop: &AtomicBool) -> Option<Lateness> {
    thread::without_timer_slack();
    let mut lateness = LatenessMeter::new();
    let mut due = clock.now();
    while !stop.load(Ordering::Relaxed) {
        due = due.after(EVERY);
        clock.sleep_until(due);
        due = note_deadlines(&mut lateness, due, clock.now());
    }
    lateness.summary()
}

/// Records every deadline from `due` to `now`; returns the last of them.
fn note_deadlines(lateness: &mut LatenessMeter, due: Time, now: Time) -> Time {
    let mut due = due;
    lateness.record(now.since(due));
    while due.after(EVERY) <= now {
        due = due.after(EVERY);
        lateness.record(now.since(due));
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_that_was_slept_through_counts_too() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let mut lateness = LatenessMeter::new();
        assert_eq!(note_deadlines(&mut lateness, at(10), at(10)), at(10));
        assert_eq!(note_deadlines(&mut lateness, at(20), at(55)), at(50));
        let summary = lateness.summary().unwrap();
        assert_eq!(summary.count, 5, "10, 20, 30, 40 and 50 ms");
        let milliseconds = |ns: u64| Duration::from_nanos(ns).as_secs_f64() * 1e3;
        assert!((milliseconds(summary.max_ns) - 35.0).abs() < 0.1, "{summary:?}");
        assert!((milliseconds(summary.mean_ns) - 16.0).abs() < 0.1, "{summary:?}");
    }

    #[test]
    fn it_counts_the_deadlines_until_it_is_stopped() {
        let (clock, stop) = (RunClock::start(), AtomicBool::new(false));
        let lateness = std::thread::scope(|scope| {
            let timer = scope.spawn(|| run(clock, &stop));
            clock.sleep_until(Time::ZERO.after(20 * EVERY));
            stop.store(true, Ordering::Relaxed);
            timer.join().unwrap()
        });
        let passed = clock.now().nanos() / EVERY.as_nanos() as u64;
        let count = lateness.unwrap().count;
        assert!(count >= 1 && count <= passed, "{count} deadlines of {passed}");
        assert_eq!(run(clock, &stop), None);
    }
}
