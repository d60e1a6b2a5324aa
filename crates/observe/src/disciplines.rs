//! How the disciplines of an emulated path's queues stand over time.

use crate::tracker::micros;
use pipefill_core::cell::Direction;
use pipefill_core::record::{AqmSample, AqmSummary};
use pipefill_lab::program::ProgramPath;
use pipefill_runs::PathDisciplines;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// From one reading to the next.
const EVERY: Duration = Duration::from_millis(50);
/// Readings of a queue that are kept: beyond that every second one goes, for they are cumulative.
const SAMPLES_MAX: usize = 2_000;

/// Reads the disciplines of a path's queues.
#[derive(Debug)]
pub struct DisciplineWatcher {
    next: Instant,
    samples: Vec<(Instant, AqmSample)>,
    /// Twice as long each time that readings had to go.
    every: Duration,
}

impl Default for DisciplineWatcher {
    fn default() -> Self {
        Self { next: Instant::now(), samples: Vec::new(), every: EVERY }
    }
}

impl DisciplineWatcher {
    /// Reads the queues of `path` where it is time to.
    pub fn look_if_due(&mut self, path: &ProgramPath<'_>) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + self.every;
        self.look(path, now);
    }

    fn look(&mut self, path: &ProgramPath<'_>, now: Instant) {
        self.take(now, Direction::ALL.into_iter().filter_map(|direction| path.discipline(direction)));
    }

    fn take(&mut self, now: Instant, samples: impl Iterator<Item = AqmSample>) {
        self.samples.extend(samples.map(|sample| (now, sample)));
        if self.samples.len() > Direction::ALL.len() * SAMPLES_MAX {
            self.every *= 2;
            let mut last = None;
            let mut is_kept = false;
            // The readings of one instant belong together.
            self.samples.retain(|&(at, _)| {
                if last.replace(at) != Some(at) {
                    is_kept = !is_kept;
                }
                is_kept
            });
        }
    }

    /// The last reading of `path`, and all of them with what the disciplines did in all.
    pub fn finish(mut self, path: &ProgramPath<'_>, summaries: &[AqmSummary]) -> FoundDisciplines {
        self.look(path, Instant::now());
        FoundDisciplines { summaries: summaries.to_vec(), samples: self.samples }
    }
}

/// What was read of the disciplines of a path's queues; nothing where they are drop-tail.
#[derive(Debug, Default)]
pub struct FoundDisciplines {
    summaries: Vec<AqmSummary>,
    samples: Vec<(Instant, AqmSample)>,
}

impl FoundDisciplines {
    /// As the record of a connection has them: in the time that began at `zero`, from the last reading before the connection to the first one after it;
    /// `is_far` where the connection is seen from the far end, so that forward leads back.
    pub(crate) fn during(
        &self,
        zero: Instant,
        connection_us: &RangeInclusive<u64>,
        is_far: bool,
    ) -> PathDisciplines {
        let way = |direction: Direction| if is_far { direction.opposite() } else { direction };
        let summary =
            |summary: &AqmSummary| AqmSummary { direction: way(summary.direction), ..summary.clone() };
        let sample = |&(at, sample): &(Instant, AqmSample)| AqmSample {
            t_us: micros(at.saturating_duration_since(zero)),
            direction: way(sample.direction),
            ..sample
        };
        let mut samples: Vec<AqmSample> = self.samples.iter().map(sample).collect();
        let before = samples.partition_point(|sample| sample.t_us < *connection_us.start());
        let from_us = before.checked_sub(1).map_or(0, |last| samples[last].t_us);
        let until = samples.partition_point(|sample| sample.t_us <= *connection_us.end());
        let to_us = samples.get(until).map_or(u64::MAX, |first| first.t_us);
        samples.retain(|sample| (from_us..=to_us).contains(&sample.t_us));
        PathDisciplines { summaries: self.summaries.iter().map(summary).collect(), samples }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Forward, Reverse};

    fn sample(direction: Direction, packets: u64) -> AqmSample {
        AqmSample {
            t_us: 0,
            direction,
            backlog_packets: None,
            backlog_bytes: None,
            packets,
            sojourn_sum_us: None,
            sojourn_us: None,
            dropped_packets: 0,
            overflow_packets: 0,
            marked_packets: 0,
            probability_ppb: None,
            drop_count: None,
        }
    }

    #[test]
    fn a_connection_has_the_readings_of_its_time_and_those_around_it_as_its_end_sees_them() {
        let zero = Instant::now();
        let mut watcher = DisciplineWatcher::default();
        for step in 0..10 {
            let at = zero + step * EVERY;
            watcher.take(at, [Forward, Reverse].map(|way| sample(way, step.into())).into_iter());
        }
        let found = FoundDisciplines { summaries: Vec::new(), samples: watcher.samples };
        let of = |is_far, way| {
            let all = found.during(zero, &(120_000..=210_000), is_far).samples;
            let own = all.iter().filter(|sample| sample.direction == way);
            own.map(|sample| (sample.t_us, sample.packets)).collect::<Vec<_>>()
        };
        let expected: Vec<(u64, u64)> = (2..=5).map(|step| (step * 50_000, step)).collect();
        assert_eq!((of(false, Forward), of(true, Reverse)), (expected.clone(), expected));
        // A connection that began before the first reading and is still there has all of them.
        assert_eq!(found.during(zero, &(0..=u64::MAX), false).samples.len(), 20);
    }

    #[test]
    fn what_is_kept_of_the_queues_is_bounded_and_stays_in_pairs() {
        let zero = Instant::now();
        let mut watcher = DisciplineWatcher::default();
        for step in 0..5 * SAMPLES_MAX as u32 {
            let at = zero + step * EVERY;
            watcher.take(at, [Forward, Reverse].map(|way| sample(way, step.into())).into_iter());
        }
        assert!(watcher.samples.len() <= 2 * SAMPLES_MAX, "{}", watcher.samples.len());
        let pairs = watcher.samples.as_chunks::<2>().0;
        assert!(pairs.iter().all(|[forward, reverse]| forward.1.packets == reverse.1.packets));
        assert!(watcher.every >= 4 * EVERY, "{:?}", watcher.every);
    }
}
