//! The run's clock: `CLOCK_MONOTONIC`, counted from the run's beginning, and how the kernel's `CLOCK_REALTIME`
//! timestamps translate to it.

use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use pipefill_core::units::Time;

/// Nanoseconds of a clock.
fn read(clock: ClockId) -> u64 {
    // Can't fail for the clocks used here.
    clock_gettime(clock).map_or(0, |t| {
        u64::try_from(t.tv_sec()).unwrap_or(0) * 1_000_000_000 + u64::try_from(t.tv_nsec()).unwrap_or(0)
    })
}

/// `CLOCK_REALTIME` now, nanoseconds since the Unix epoch.
pub(crate) fn realtime_ns() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

/// CPU time that this process has used, all threads, in nanoseconds.
pub(crate) fn process_cpu_ns() -> u64 {
    read(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// Counts from the moment it was made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunClock {
    origin: u64,
}

impl RunClock {
    pub(crate) fn start() -> Self {
        Self { origin: read(ClockId::CLOCK_MONOTONIC) }
    }

    pub(crate) fn now(self) -> Time {
        Time::from_nanos(read(ClockId::CLOCK_MONOTONIC).saturating_sub(self.origin))
    }

    /// `CLOCK_MONOTONIC` at `time`, the clock of `bpf_ktime_get_ns()`.
    pub(crate) fn monotonic_ns(self, time: Time) -> u64 {
        self.origin.saturating_add(time.nanos())
    }

    /// The run's time when `CLOCK_MONOTONIC` was `ns`.
    pub(crate) fn at_monotonic(self, ns: u64) -> Time {
        Time::from_nanos(ns.saturating_sub(self.origin))
    }

    /// What to subtract from a `CLOCK_REALTIME` timestamp to get the run's time; read anew now and then, since the
    /// wall clock may be stepped.
    ///
    /// The two clocks can't be read at once: the pair that was read closest together counts, so that an interruption between
    /// the two does not move every packet of a batch.
    pub(crate) fn realtime_offset(self) -> u64 {
        const CLOSE_ENOUGH: u64 = 2_000;
        const TRIES: usize = 5;
        let mut best = (u64::MAX, 0);
        for _ in 0..TRIES {
            let (before, wall, after) = (self.now().nanos(), realtime_ns(), self.now().nanos());
            let apart = after.saturating_sub(before);
            if apart < best.0 {
                best = (apart, wall.saturating_sub(before + apart / 2));
            }
            if apart <= CLOSE_ENOUGH {
                break;
            }
        }
        best.1
    }

    /// Sleeps until `due`; returns early only for a signal.
    pub(crate) fn sleep_until(self, due: Time) {
        let at = self.origin + due.nanos();
        let request = nix::sys::time::TimeSpec::new((at / 1_000_000_000) as i64, (at % 1_000_000_000) as i64);
        let _interrupted =
            clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &request);
    }
}
