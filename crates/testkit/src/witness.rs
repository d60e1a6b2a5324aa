//! Whether this machine was late, by what has nothing to do with the lab: threads that only sleep, and the kernel's account of CPU time.
//!
//! A run that was late is the program's own fault unless this shows that the machine was late in the same seconds.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::unistd::Pid;
use std::fmt;
use std::fs;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};

/// How long the threads sleep at a time.
const PERIOD: Duration = Duration::from_millis(1);
/// A timer may be so late on an idle machine: half of the least mean lateness that makes a run invalid.
const HARMLESS: Duration = Duration::from_micros(250);
/// A timer that misses this share of the time shows a machine that is late at times …
const MISSED: f64 = 0.01;
/// … and so does a real-time one that is so late once: half of the least stall that can make a run invalid.
const STALL: Duration = Duration::from_micros(500);
/// A machine that is late as a rule makes an instant so late in the mean: a fifth of the least mean lateness that makes a run invalid.
const MEAN: Duration = Duration::from_micros(100);
/// So does this share of all CPUs' time that the hypervisor gave to others.
const STOLEN: f64 = 0.01;
/// An ordinary timer also waits where the program under test keeps the CPUs; it counts only where other programs have computed for
/// this share of one CPU's time.
const OTHERS: f64 = 0.10;
/// The unit of `/proc/stat` (`USER_HZ` is 100 on all of Linux's common architectures).
const TICK: Duration = Duration::from_millis(10);

/// Looks until [`Witness::stop`].
pub struct Witness {
    began: Instant,
    before: Usage,
    is_over: Arc<AtomicBool>,
    /// One on each CPU.
    real_time: Vec<JoinHandle<Option<Timer>>>,
    ordinary: JoinHandle<Timer>,
}

/// What a sleeping thread saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timer {
    /// Sum of all latenesses, each without its harmless part.
    pub missed: Duration,
    pub longest: Duration,
    /// How late what is due at a random instant was: a lateness `l` meets what falls due in it, which waits for `l / 2`.
    pub mean: Duration,
}

/// What made a run invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatenessKind {
    /// Its latenesses in the mean or at the median: stalls do not explain them.
    AsARule,
    /// The latest packets, or single stalls.
    AtTimes,
    /// Nothing but `starved_cpu`: a CPU was wanted that other programs had.
    Starved,
}

/// CPU time, all CPUs together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Usage {
    /// Given to other guests by the hypervisor.
    stolen: Duration,
    /// In user mode, by all programs.
    all: Duration,
    /// In user mode, by this process and those of its children that have ended.
    ours: Duration,
}

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Testimony {
    pub length: Duration,
    pub cpus: u32,
    /// The worst of threads on each CPU that go before the data path's; `None` where this user gets no real-time priority.
    pub real_time: Option<Timer>,
    pub ordinary: Timer,
    pub stolen: Duration,
    /// CPU time of other programs in user mode: the kernel's own work for the lab's packets is not among it.
    pub others: Duration,
}

impl Witness {
    pub fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let on_cpu = |cpu: usize| {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || {
                (stay_on(cpu) && before_the_path()).then(|| sleep_until(Instant::now(), &is_over))
            })
        };
        let real_time = (0..cpus()).map(on_cpu).collect();
        let (again, began) = (Arc::clone(&is_over), Instant::now());
        let ordinary = thread::spawn(move || sleep_until(began, &again));
        Self { began, before: Usage::now(), is_over, real_time, ordinary }
    }

    /// What was seen so far. Children that are to count as ours have been waited for before.
    pub fn stop(self) -> Testimony {
        self.is_over.store(true, Ordering::Relaxed);
        let real_time = self.real_time.into_iter().filter_map(|thread| thread.join().unwrap());
        let real_time = real_time.reduce(Timer::worse);
        let ordinary = self.ordinary.join().unwrap();
        let after = Usage::now();
        let all = after.all.saturating_sub(self.before.all);
        let ours = after.ours.saturating_sub(self.before.ours);
        Testimony {
            length: self.began.elapsed(),
            cpus: u32::try_from(cpus()).unwrap(),
            real_time,
            ordinary,
            stolen: after.stolen.saturating_sub(self.before.stolen),
            others: all.saturating_sub(ours),
        }
    }
}

impl Testimony {
    /// What shows that the machine was late in that way; `None` where nothing does.
    pub fn machine_was_late(&self, kind: LatenessKind) -> Option<String> {
        let share = |part: Duration, whole: Duration| part.as_secs_f64() / whole.as_secs_f64();
        let is_late = |timer: &Timer| match kind {
            LatenessKind::AsARule => timer.mean >= MEAN,
            LatenessKind::AtTimes | LatenessKind::Starved => share(timer.missed, self.length) >= MISSED,
        };
        let stalled = |timer: &Timer| kind == LatenessKind::AtTimes && timer.longest >= STALL;
        let stolen = share(self.stolen, self.length * self.cpus);
        let others = share(self.others, self.length);
        if stolen >= STOLEN {
            Some(format!("{:.1} % of the CPU time was stolen", 100.0 * stolen))
        } else if kind == LatenessKind::Starved && others >= OTHERS {
            Some(format!("other programs used {:.0} % of a CPU", 100.0 * others))
        } else if let Some(timer) = self.real_time.filter(|timer| is_late(timer) || stalled(timer)) {
            Some(format!("a real-time timer was late: {timer}"))
        } else if is_late(&self.ordinary) && others >= OTHERS {
            let others = 100.0 * others;
            Some(format!(
                "other programs used {others:.0} % of a CPU, and a timer was late: {}",
                self.ordinary
            ))
        } else {
            None
        }
    }
}

impl Testimony {
    /// What shows that others used the machine: a figure that was measured meanwhile can be too low.
    pub fn was_busy(&self) -> Option<String> {
        let stolen = self.stolen.as_secs_f64() / (self.length * self.cpus).as_secs_f64();
        let others = self.others.as_secs_f64() / self.length.as_secs_f64();
        if stolen >= STOLEN {
            Some(format!("{:.1} % of the CPU time was stolen", 100.0 * stolen))
        } else if others >= OTHERS {
            Some(format!("other programs used {:.0} % of a CPU", 100.0 * others))
        } else {
            None
        }
    }
}

impl Timer {
    fn worse(self, other: Self) -> Self {
        Self {
            missed: self.missed.max(other.missed),
            longest: self.longest.max(other.longest),
            mean: self.mean.max(other.mean),
        }
    }
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1?} in all, {:.1?} at once, {:.1?} in the mean", self.missed, self.longest, self.mean)
    }
}

impl fmt::Display for Testimony {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "machine: in {:.1?} a timer was late by {}", self.length, self.ordinary)?;
        match self.real_time {
            Some(timer) => write!(f, "; a real-time one by {timer}")?,
            None => write!(f, "; there is no real-time priority")?,
        }
        write!(f, "; {:?} of CPU time stolen, {:.1?} used by others", self.stolen, self.others)
    }
}

fn cpus() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Keeps this thread on one CPU; returns whether that was granted.
fn stay_on(cpu: usize) -> bool {
    let mut only = CpuSet::new();
    only.set(cpu).is_ok() && sched_setaffinity(Pid::from_raw(0), &only).is_ok()
}

/// Asks for a priority above the data path's (`SCHED_FIFO` 1); returns whether it was granted.
fn before_the_path() -> bool {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let priority = ThreadPriority::Crossplatform(10_u8.try_into().unwrap());
    set_thread_priority_and_policy(thread_native_id(), priority, policy).is_ok()
}

/// Sleeps again and again from `start` on. A thread that first runs when all is over was late for all of that.
fn sleep_until(start: Instant, is_over: &AtomicBool) -> Timer {
    let (mut timer, mut began, mut squares) = (Timer::default(), start, 0.0);
    loop {
        thread::sleep(PERIOD);
        let late = began.elapsed().saturating_sub(PERIOD);
        timer.missed += late.saturating_sub(HARMLESS);
        timer.longest = timer.longest.max(late);
        squares += late.as_secs_f64().powi(2);
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        began = Instant::now();
    }
    timer.mean =
        Duration::from_secs_f64(squares / 2.0 / start.elapsed().as_secs_f64().max(PERIOD.as_secs_f64()));
    timer
}

impl Usage {
    fn now() -> Self {
        let (all, stolen) = user_and_stolen(&fs::read_to_string("/proc/stat").unwrap());
        let user = |who| span(getrusage(who).unwrap().user_time());
        let ours = user(UsageWho::RUSAGE_SELF) + user(UsageWho::RUSAGE_CHILDREN);
        Self { stolen, all, ours }
    }
}

fn span(time: TimeVal) -> Duration {
    Duration::from_micros(u64::try_from(time.tv_sec() * 1_000_000 + time.tv_usec()).unwrap())
}

/// Of `/proc/stat`: `cpu user nice system idle iowait irq softirq steal …`, in ticks (proc_stat(5)).
fn user_and_stolen(stat: &str) -> (Duration, Duration) {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu ")).expect("a line of all CPUs");
    let ticks: Vec<u32> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    (TICK * (ticks[0] + ticks[1]), TICK * ticks[7])
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn timer(missed_us: u64, longest_us: u64, mean_us: u64) -> Timer {
        Timer {
            missed: Duration::from_micros(missed_us),
            longest: Duration::from_micros(longest_us),
            mean: Duration::from_micros(mean_us),
        }
    }

    const QUIET: Testimony = Testimony {
        length: Duration::from_secs(5),
        cpus: 2,
        real_time: Some(timer(3_000, 300, 5)),
        ordinary: timer(20_000, 6_000, 20),
        stolen: Duration::from_millis(20),
        others: Duration::from_millis(100),
    };
    const STALLED: Timer = timer(2_000, 1_000, 10);
    const LATE: Timer = timer(300_000, 30_000, 150);

    /// As a rule, and at times.
    fn is_late(change: impl Fn(&mut Testimony)) -> [bool; 2] {
        let mut testimony = QUIET;
        change(&mut testimony);
        [LatenessKind::AsARule, LatenessKind::AtTimes].map(|kind| testimony.machine_was_late(kind).is_some())
    }

    #[test]
    fn a_quiet_machine_excuses_nothing() {
        assert_eq!(is_late(|_| ()), [false, false]);
        assert_eq!(is_late(|seen| seen.real_time = None), [false, false]);
    }

    #[test]
    fn stolen_time_and_a_late_real_time_timer_excuse() {
        assert_eq!(is_late(|seen| seen.stolen = Duration::from_millis(100)), [true, true]);
        assert_eq!(is_late(|seen| seen.real_time = Some(LATE)), [true, true]);
    }

    /// A data path that is slow all the time meets a stall sooner or later: that does not explain its mean.
    #[test]
    fn a_stall_excuses_no_lateness_in_the_mean() {
        assert_eq!(is_late(|seen| seen.real_time = Some(STALLED)), [false, true]);
    }

    /// A data path that keeps the CPUs delays ordinary threads as well: that is its own fault.
    #[test]
    fn a_late_ordinary_timer_excuses_only_where_others_computed() {
        assert_eq!(is_late(|seen| seen.ordinary = LATE), [false, false]);
        assert_eq!(is_late(|seen| seen.others = Duration::from_secs(4)), [false, false]);
        let both = |seen: &mut Testimony| {
            seen.ordinary = LATE;
            seen.others = Duration::from_millis(500);
        };
        assert_eq!(is_late(both), [true, true]);
    }

    #[test]
    fn a_starved_run_is_excused_where_others_computed() {
        let is_starved = |others| {
            let testimony = Testimony { others, ..QUIET };
            testimony.machine_was_late(LatenessKind::Starved).is_some()
        };
        assert_eq!([100, 499, 500].map(|ms| is_starved(Duration::from_millis(ms))), [false, false, true]);
    }

    #[test]
    fn a_figure_is_not_judged_where_others_computed_or_time_was_stolen() {
        let busy = |stolen, others| {
            let [stolen, others] = [stolen, others].map(Duration::from_millis);
            Testimony { stolen, others, ..QUIET }.was_busy().is_some()
        };
        assert_eq!([busy(0, 0), busy(99, 499), busy(100, 0), busy(0, 500)], [false, false, true, true]);
    }

    #[test]
    fn a_stopped_timer_is_seen() {
        let witness = Witness::start();
        thread::sleep(Duration::from_millis(100));
        let seen = witness.stop();
        assert!(seen.length >= Duration::from_millis(100), "{seen}");
        assert!(seen.ordinary.longest > Duration::ZERO && seen.cpus >= 1, "{seen}");
    }

    #[test]
    fn a_thread_that_runs_when_all_is_over_was_late() {
        let began = Instant::now();
        thread::sleep(Duration::from_millis(20));
        let timer = sleep_until(began, &AtomicBool::new(true));
        assert!(timer.longest >= Duration::from_millis(20), "{timer}");
    }

    #[test]
    fn what_this_process_computes_is_not_of_others() {
        let witness = Witness::start();
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(500) {
            std::hint::spin_loop();
        }
        let after = Usage::now();
        let before = witness.before;
        witness.stop();
        assert!(after.ours - before.ours > Duration::from_millis(50), "{before:?}, {after:?}");
        assert!(after.all >= before.all && after.stolen >= before.stolen, "{before:?}, {after:?}");
    }

    #[test]
    fn the_kernels_line_is_read_in_its_order() {
        let stat = "cpu  10 5 7 1000 3 0 2 4 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(user_and_stolen(stat), (Duration::from_millis(150), Duration::from_millis(40)));
    }
}
