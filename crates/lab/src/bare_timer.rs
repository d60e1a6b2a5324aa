//! A thread that does nothing but sleep to absolute deadlines, at normal priority: how late a program is on this machine that does no
//! work at all. Where it is late, the machine is; where it is punctual and the data path is not, the data path is slow.

use crate::clock::RunClock;
use crate::lateness::LatenessMeter;
use crate::sys::thread;
use pipefill_core::record::Lateness;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// From one deadline to the next.
const EVERY: Duration = Duration::from_millis(10);

/// Sleeps from deadline to deadline until `stop` is set. `None` where no deadline came.
pub(crate) fn run(clock: RunClock, stop: &AtomicBool) -> Option<Lateness> {
    thread::without_timer_slack();
    let mut lateness = LatenessMeter::new();
    let mut due = clock.now().after(EVERY);
    while !stop.load(Ordering::Relaxed) {
        clock.sleep_until(due);
        due = lateness.record_deadlines(due, EVERY, clock.now());
    }
    lateness.summary()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::units::Time;

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
