//! CPU time of the processes whose connections are busy, and what the CPU quotas of their cgroups hold back, time by time.
//!
//! What is held is bounded: [`PROCESSES_MAX`] processes, of which the one that was read the longest ago goes first, and [`READINGS_MAX`]
//! readings of each.

use crate::tracker::micros;
use pipefill_analysis::findings::connections::ProcessCpuRows;
use pipefill_core::record::{CpuQuota, CpuSample, ThreadRole};
use pipefill_lab::process_cpu::{CpuReading, ProcessCpu};
use std::cell::OnceCell;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Processes that are read.
const PROCESSES_MAX: usize = 64;
/// Readings that are kept of one.
const READINGS_MAX: usize = 600;
/// From one reading of a process with few threads to the next: the usual period of a quota (`default_cfs_period()`).
const STEP: Duration = Duration::from_millis(100);
/// Threads that take no longer to read than one reading may; of a process with more each reading is as much later.
const THREADS_A_STEP: u32 = 8;

/// The processes by their numbers.
#[derive(Debug, Default)]
pub(crate) struct CpuTracks {
    processes: HashMap<u32, CpuTrack>,
}

#[derive(Debug)]
struct CpuTrack {
    source: ProcessCpu,
    readings: VecDeque<(Instant, CpuReading)>,
    /// The busiest thread's part of these readings, once it was asked for: many connections may be of one process.
    samples: OnceCell<Vec<(Instant, CpuSample)>>,
}

/// What was read of one process: of its threads the busiest one.
#[derive(Debug, Clone, Default)]
pub(crate) struct CpuOfProcess {
    quota: Option<CpuQuota>,
    samples: Vec<(Instant, CpuSample)>,
}

impl CpuTracks {
    /// Reads the CPU times of the processes of `pids` that are due at `now`.
    pub(crate) fn read(&mut self, pids: impl Iterator<Item = u32>, now: Instant) {
        for pid in pids.take(PROCESSES_MAX) {
            let track = self.processes.entry(pid).or_insert_with(|| CpuTrack::of(ProcessCpu::of(pid)));
            if track.is_due(now) {
                track.read(now);
            }
        }
        while self.processes.len() > PROCESSES_MAX {
            let read_at = |track: &CpuTrack| track.readings.back().map(|(at, _)| *at);
            let oldest = self.processes.iter().min_by_key(|(_, track)| read_at(track)).map(|(&pid, _)| pid);
            oldest.and_then(|pid| self.processes.remove(&pid));
        }
    }

    /// What was read of `pid`, to be kept; `None` where nothing was.
    pub(crate) fn of(&self, pid: u32) -> Option<CpuOfProcess> {
        let track = self.track(pid)?;
        Some(CpuOfProcess { quota: track.source.quota().cloned(), samples: track.samples().to_vec() })
    }

    /// The readings of `pid` from `from_us` on, in the time of a watch that `began` then.
    pub(crate) fn rows(&self, pid: u32, began: Instant, from_us: u64) -> Option<ProcessCpuRows> {
        let track = self.track(pid)?;
        Some(rows(track.source.quota(), track.samples(), began, from_us))
    }

    fn track(&self, pid: u32) -> Option<&CpuTrack> {
        self.processes.get(&pid).filter(|track| !track.readings.is_empty())
    }
}

impl CpuTrack {
    const fn of(source: ProcessCpu) -> Self {
        Self { source, readings: VecDeque::new(), samples: OnceCell::new() }
    }

    fn is_due(&self, now: Instant) -> bool {
        self.readings.back().is_none_or(|(at, reading)| {
            let threads = u32::try_from(reading.threads.len()).unwrap_or(u32::MAX);
            now.duration_since(*at) >= STEP * (1 + threads / THREADS_A_STEP)
        })
    }

    fn read(&mut self, now: Instant) {
        self.samples = OnceCell::new();
        self.readings.extend(self.source.read().map(|reading| (now, reading)));
        if self.readings.len() > READINGS_MAX {
            self.readings.pop_front();
        }
    }

    fn samples(&self) -> &[(Instant, CpuSample)] {
        self.samples.get_or_init(|| {
            let Some(busiest) = self.busiest() else { return Vec::new() };
            self.readings.iter().filter_map(|(at, reading)| Some((*at, sample(reading, busiest)?))).collect()
        })
    }

    /// The thread that computed and waited for a CPU most while it was read.
    fn busiest(&self) -> Option<u32> {
        let mut first = HashMap::new();
        let mut used: HashMap<u32, u64> = HashMap::new();
        for thread in self.readings.iter().flat_map(|(_, reading)| &reading.threads) {
            let so_far = thread.cpu_us + thread.wait_us.unwrap_or(0);
            let began = *first.entry(thread.id).or_insert(so_far);
            used.insert(thread.id, so_far.saturating_sub(began));
        }
        used.into_iter().max_by_key(|&(id, us)| (us, std::cmp::Reverse(id))).map(|(id, _)| id)
    }
}

/// The sample of the thread `id` and of its cgroup in `reading`; its process is the connection's.
fn sample(reading: &CpuReading, id: u32) -> Option<CpuSample> {
    let thread = reading.threads.iter().find(|thread| thread.id == id)?;
    let throttled = reading.throttled;
    Some(CpuSample {
        throttled_periods: throttled.map(|throttled| throttled.periods),
        throttled_us: throttled.map(|throttled| throttled.us),
        cgroup_cpu_us: throttled.and_then(|throttled| throttled.cpu_us),
        ..CpuSample::of_thread(0, ThreadRole::Other(String::new()), thread.cpu_us, thread.wait_us)
    })
}

impl CpuOfProcess {
    /// The readings from `from_us` on, in the time of a watch that `began` then.
    pub(crate) fn rows(&self, began: Instant, from_us: u64) -> ProcessCpuRows {
        rows(self.quota.as_ref(), &self.samples, began, from_us)
    }
}

/// The `samples` from `from_us` on, in the time of a watch that `began` then; those of before it are left out.
fn rows(
    quota: Option<&CpuQuota>,
    samples: &[(Instant, CpuSample)],
    began: Instant,
    from_us: u64,
) -> ProcessCpuRows {
    let from = began + Duration::from_micros(from_us);
    let lately = &samples[samples.partition_point(|(at, _)| *at < from)..];
    let row = |(at, sample): &(Instant, CpuSample)| {
        let t_us = micros(at.saturating_duration_since(began));
        CpuSample { t_us, ..sample.clone() }
    };
    ProcessCpuRows { quota: quota.cloned(), samples: lately.iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_lab::process_cpu::{ThreadTime, Throttled};

    fn thread(id: u32, cpu_us: u64, wait_us: u64) -> ThreadTime {
        ThreadTime { id, cpu_us, wait_us: Some(wait_us) }
    }

    #[test]
    fn the_busiest_thread_is_the_one_that_used_most_while_it_was_watched() {
        let began = Instant::now();
        let mut track = CpuTrack::of(ProcessCpu::of(u32::MAX));
        for (step, threads) in [
            (0, vec![thread(1, 9_000_000, 0), thread(2, 0, 0)]),
            (1, vec![thread(1, 9_000_000, 0), thread(2, 400, 300)]),
            (2, vec![thread(1, 9_000_500, 0), thread(2, 400, 300), thread(3, 5_000, 0)]),
        ] {
            let throttled = Some(Throttled { periods: step, us: 70, cpu_us: None });
            let at = began + Duration::from_secs(step);
            track.readings.push_back((at, CpuReading { threads, throttled }));
        }
        assert_eq!(track.busiest(), Some(2), "what it had used before does not count");
        let tracks = CpuTracks { processes: HashMap::from([(7, track)]) };
        let rows = tracks.of(7).unwrap().rows(began, 1_000_000);
        let rows: Vec<_> =
            rows.samples.iter().map(|row| (row.t_us, row.cpu_us, row.throttled_periods)).collect();
        assert_eq!(rows, [(1_000_000, 400, Some(1)), (2_000_000, 400, Some(2))]);
        assert!(tracks.of(8).is_none());
    }

    #[test]
    fn a_process_is_read_the_less_often_the_more_threads_it_has_and_only_so_many_are_kept() {
        let (mut tracks, own, now) = (CpuTracks::default(), std::process::id(), Instant::now());
        tracks.read(std::iter::once(own), now);
        let mut track = CpuTrack::of(ProcessCpu::of(own));
        for (threads, steps) in [(1, 1), (7, 1), (8, 2), (64, 9)] {
            let threads = (0..threads).map(|id| thread(id, 0, 0)).collect();
            track.readings.push_back((now, CpuReading { threads, throttled: None }));
            assert!(track.is_due(now + STEP * steps) && !track.is_due(now + STEP * steps - STEP / 2));
        }
        // None of these runs: they have no reading.
        let ended = |first: u32| (first..).take(PROCESSES_MAX);
        tracks.read(ended(u32::MAX / 2), now);
        assert_eq!(tracks.processes.len(), PROCESSES_MAX);
        assert!(tracks.of(own).is_some());
    }
}
