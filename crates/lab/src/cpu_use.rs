//! Who used the CPUs during the traffic: this process, or others.

use crate::clock::{RunClock, process_cpu_ns};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use pipefill_core::record::CpuUse;
use pipefill_core::units::Time;
use std::fs;

/// One tick of `/proc/stat` (`USER_HZ` = 100).
const TICK_US: u64 = 10_000;

/// Counts from the moment it was made.
pub(crate) struct CpuMeter {
    clock: RunClock,
    began: Reading,
}

/// The counters at one time.
struct Reading {
    at: Time,
    own_us: u64,
    busy: Busy,
}

/// What the CPUs that this process may use have done since boot.
#[derive(Debug, PartialEq, Eq)]
struct Busy {
    cpus: u32,
    us: u64,
}

impl CpuMeter {
    /// Reads the first values; `None` where the kernel does not report them.
    pub(crate) fn start(clock: RunClock) -> Option<Self> {
        Some(Self { clock, began: Reading::take(clock)? })
    }

    /// What was used since the start.
    pub(crate) fn used(&self) -> Option<CpuUse> {
        let now = Reading::take(self.clock)?;
        let own_us = now.own_us.saturating_sub(self.began.own_us);
        Some(CpuUse {
            cpus: now.busy.cpus,
            span_us: now.at.micros().saturating_sub(self.began.at.micros()),
            own_us,
            others_us: now.busy.us.saturating_sub(self.began.busy.us).saturating_sub(own_us),
        })
    }
}

impl Reading {
    fn take(clock: RunClock) -> Option<Self> {
        let ours = sched_getaffinity(Pid::from_raw(0)).ok()?;
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let busy = Busy::parse(&stat, |cpu| is_in(&ours, cpu))?;
        Some(Self { at: clock.now(), own_us: process_cpu_ns() / 1_000, busy })
    }
}

fn is_in(set: &CpuSet, cpu: usize) -> bool {
    set.is_set(cpu).unwrap_or(false)
}

impl Busy {
    /// User, nice, system and steal of the lines `cpuN` of `/proc/stat`(5). Interrupts are left out: during a run nearly all of them
    /// carry the run's own packets, and unless the kernel accounts for them apart (`CONFIG_IRQ_TIME_ACCOUNTING`) the time of a thread
    /// contains them, so that others never seem to have used more than they did.
    fn parse(stat: &str, is_ours: impl Fn(usize) -> bool) -> Option<Self> {
        const STEAL: usize = 7;
        let mut busy = Self { cpus: 0, us: 0 };
        for line in stat.lines() {
            let mut words = line.split_whitespace();
            let Some(cpu) = words.next().and_then(|name| name.strip_prefix("cpu")?.parse().ok()) else {
                continue;
            };
            if !is_ours(cpu) {
                continue;
            }
            let ticks: Vec<u64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
            busy.cpus += 1;
            busy.us += (ticks.get(..3)?.iter().sum::<u64>() + ticks.get(STEAL)?) * TICK_US;
        }
        (busy.cpus > 0).then_some(busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn only_the_cpus_that_the_process_may_use_count() {
        let stat =
            "cpu  60 70 80 90 1 2 3 4 0 0\ncpu0 1 2 3 90 9 9 9 4 0 0\ncpu1 100 0 0 0 0 0 0 0 0 0\nintr 5\n";
        let read = |is_ours: fn(usize) -> bool| Busy::parse(stat, is_ours);
        assert_eq!(read(|cpu| cpu == 0), Some(Busy { cpus: 1, us: 100_000 }));
        assert_eq!(read(|_| true), Some(Busy { cpus: 2, us: 1_100_000 }));
        assert_eq!(read(|_| false), None);
        assert_eq!(Busy::parse("cpu0 1 2", |_| true), None, "a kernel without these counters");
    }

    #[test]
    fn what_this_process_uses_is_not_others() {
        let clock = RunClock::start();
        let meter = CpuMeter::start(clock).unwrap();
        let began = Instant::now();
        while process_cpu_ns() / 1_000 < meter.began.own_us + 50_000 {
            assert!(began.elapsed() < Duration::from_secs(60), "no CPU to be had");
        }
        let used = meter.used().unwrap();
        assert!(used.own_us >= 50_000 && used.span_us >= 50_000 / u64::from(used.cpus), "{used:?}");
        // Each CPU's counters are some ticks old.
        let most = u64::from(used.cpus) * (used.span_us + 10 * TICK_US);
        assert!(used.own_us + used.others_us <= most, "{used:?}");
    }
}
