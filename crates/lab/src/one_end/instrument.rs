//! How punctual one end of a test was while its data flowed, and when its figures must not be believed, by the bounds of a run.

use super::Transfer;
use crate::bare_timer;
use crate::cpu_use::CpuMeter;
use crate::lateness::LatenessMeter;
use crate::{starvation, validity};
use pipefill_core::record::{Instrument, Invalid, Lateness, ThreadCpu};
use pipefill_core::units::Time;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Measures from its start until [`Self::finish`].
pub struct EndInstrument {
    cpu_meter: Option<CpuMeter>,
    samples: LatenessMeter,
    stop: Arc<AtomicBool>,
    timer: Option<JoinHandle<Option<Lateness>>>,
}

impl std::fmt::Debug for EndInstrument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EndInstrument")
    }
}

impl EndInstrument {
    /// Of the end that `transfer` is.
    ///
    /// # Errors
    /// There can be no more threads.
    pub fn start(transfer: &Transfer) -> io::Result<Self> {
        let clock = transfer.shared.clock;
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        let timer = super::spawn_named("timer", move || bare_timer::run(clock, &is_over)).map(Some)?;
        Ok(Self { cpu_meter: CpuMeter::start(clock), samples: LatenessMeter::new(), stop, timer })
    }

    /// Notes that a sample was taken at `now`, and that those from `due` on, `every` apart, were due until then; returns when the next one is.
    pub fn note_sample(&mut self, due: Time, every: Duration, now: Time) -> Time {
        self.samples.record_deadlines(due, every, now)
    }

    /// The timer ends within 10 ms.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// What was measured.
    pub fn finish(&mut self, transfer: &Transfer) -> Instrument {
        self.stop();
        let timer_lateness = self.timer.take().and_then(|timer| timer.join().ok().flatten());
        let threads = &transfer.shared.threads;
        let alive = threads.alive().map(|(thread, scheduled)| ThreadCpu {
            thread,
            // Only the wait is judged.
            user_us: scheduled.cpu_us,
            system_us: 0,
            wait_us: Some(scheduled.wait_us),
        });
        Instrument {
            sample_lateness: self.samples.summary(),
            timer_lateness,
            cpu_use: self.cpu_meter.as_ref().and_then(CpuMeter::used),
            threads: threads.ended().into_iter().chain(alive).collect(),
            ..Instrument::default()
        }
    }
}

impl Drop for EndInstrument {
    fn drop(&mut self) {
        self.stop();
        let _lateness = self.timer.take().map(JoinHandle::join);
    }
}

/// Why the figures of an end must not be believed; empty where they may be. `has_rate` says whether the test was asked for a rate.
pub fn why_invalid(instrument: &Instrument, has_rate: bool) -> Vec<Invalid> {
    let late = validity::late_samples(instrument);
    late.into_iter().chain(starvation::starved_end(instrument, has_rate)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::record::{CpuUse, ThreadRole};

    /// An end over ten seconds that did not run for `stopped`.
    fn stopped(stopped: Duration) -> Instrument {
        let end = Time::from_nanos(10_000_000_000);
        let deadlines = |every: Duration| {
            let mut lateness = LatenessMeter::new();
            let mut due = lateness.record_deadlines(Time::ZERO, every, Time::ZERO.after(stopped));
            while due < end {
                due = lateness.record_deadlines(due, every, due);
            }
            lateness.summary()
        };
        Instrument {
            timer_lateness: deadlines(Duration::from_millis(10)),
            sample_lateness: deadlines(Duration::from_millis(20)),
            ..Instrument::default()
        }
    }

    #[test]
    fn an_end_that_was_stopped_is_not_believed() {
        let words = |ms| -> Vec<String> {
            let all = why_invalid(&stopped(Duration::from_millis(ms)), false);
            all.into_iter().map(|invalid| invalid.reason).collect()
        };
        assert_eq!(words(0), [""; 0]);
        assert_eq!(words(150), [""; 0], "1.5 % of the time");
        assert_eq!(words(300), ["late_samples"]);
        assert_eq!(words(1_500), ["late_samples", "starved_cpu"]);
    }

    #[test]
    fn a_thread_that_waited_for_others_is_not_believed() {
        let waited = |wait_us, has_rate| {
            let thread = ThreadRole::Receiver { flow: 0, stream: None };
            let threads = vec![ThreadCpu { thread, user_us: 0, system_us: 0, wait_us: Some(wait_us) }];
            let cpu_use = Some(CpuUse { cpus: 2, span_us: 10_000_000, own_us: 0, others_us: 20_000_000 });
            !why_invalid(&Instrument { threads, cpu_use, ..Instrument::default() }, has_rate).is_empty()
        };
        assert_eq!([waited(1_000_000, false), waited(1_010_000, false)], [false, true]);
        assert_eq!([waited(2_000_000, true), waited(2_010_000, true)], [false, true]);
    }

    #[test]
    fn figures_of_a_hostile_end_are_judged_or_not_and_no_more() {
        let lateness = Lateness { count: 1, histogram: vec![(u64::MAX, u64::MAX); 3], ..Lateness::default() };
        let cpu_use = Some(CpuUse { cpus: 0, span_us: 0, own_us: u64::MAX, others_us: u64::MAX });
        let threads = vec![ThreadCpu {
            thread: ThreadRole::Sender { flow: 7 },
            user_us: u64::MAX,
            system_us: u64::MAX,
            wait_us: Some(u64::MAX),
        }];
        let instrument =
            Instrument { timer_lateness: Some(lateness), cpu_use, threads, ..Instrument::default() };
        assert!(!why_invalid(&instrument, true).is_empty());
    }
}
