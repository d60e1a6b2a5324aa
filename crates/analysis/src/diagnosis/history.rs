//! What was seen of a run in the last while: enough to judge an epoch that has just ended, and no more.
//!
//! Never: a judgement, or a row that no epoch to come can ask for.

use crate::metrics::window::Window;
use crate::reading::between;
use pipefill_core::cell::Direction;
use pipefill_core::record::{AnyRow, Element, StreamEnd, ThreadRole};
use std::collections::{BTreeMap, VecDeque};

/// A cumulative count as samples (microsecond, count) in order of time.
type Points = VecDeque<(u64, u64)>;

/// The looks at a queue by which it had dropped since the look before.
#[derive(Debug, Default)]
struct Overflows {
    dropped: u64,
    at_us: VecDeque<u64>,
}

/// The rows of the last while.
#[derive(Debug)]
pub(super) struct History {
    /// Payload acknowledged of each stream.
    acked: BTreeMap<u32, (Direction, Points)>,
    /// Whether something waited in the bottleneck's queue: forward, reverse.
    queues: [VecDeque<(u64, bool)>; 2],
    /// When that queue dropped: forward, reverse.
    overflows: [Overflows; 2],
    /// CPU time of each thread so far, microseconds.
    threads: BTreeMap<ThreadRole, Points>,
}

impl History {
    /// Of streams with their directions.
    pub(super) fn of(streams: impl Iterator<Item = (u32, Direction)>) -> Self {
        let acked = streams.map(|(stream, direction)| (stream, (direction, Points::new()))).collect();
        Self { acked, queues: Default::default(), overflows: Default::default(), threads: BTreeMap::new() }
    }

    /// Takes the next row of any table, in order of time.
    pub(super) fn take(&mut self, row: &AnyRow) {
        match row {
            AnyRow::Tcp(row) if row.end == StreamEnd::Sender => {
                if let Some((_, points)) = self.acked.get_mut(&row.stream) {
                    points.push_back((row.t_us, row.info.bytes_acked));
                }
            }
            AnyRow::Path(row) if row.element == Element::Queue => {
                let direction = usize::from(row.direction != Direction::Forward);
                self.queues[direction].push_back((row.t_us, row.backlog_packets > 0));
                self.overflows[direction].see(row.t_us, row.dropped_packets);
            }
            AnyRow::Cpu(row) => match self.threads.get_mut(&row.thread) {
                Some(points) => points.push_back((row.t_us, row.cpu_us)),
                None => {
                    self.threads.insert(row.thread.clone(), Points::from([(row.t_us, row.cpu_us)]));
                }
            },
            AnyRow::Tcp(_)
            | AnyRow::Path(_)
            | AnyRow::Delivery(_)
            | AnyRow::Udp(_)
            | AnyRow::Ping(_)
            | AnyRow::Retransmit(_) => {}
        }
    }

    /// Drops what only an epoch from before `from_us` could ask for.
    pub(super) fn forget(&mut self, from_us: u64) {
        let counts = self.acked.values_mut().map(|(_, points)| points).chain(self.threads.values_mut());
        for points in counts {
            while points.get(1).is_some_and(|&(t_us, _)| t_us <= from_us) {
                points.pop_front();
            }
        }
        for queue in &mut self.queues {
            while queue.pop_front_if(|(t_us, _)| *t_us < from_us).is_some() {}
        }
        for Overflows { at_us, .. } in &mut self.overflows {
            while at_us.get(1).is_some_and(|&t_us| t_us <= from_us) {
                at_us.pop_front();
            }
        }
    }

    /// What `stream` has got acknowledged by `t_us`.
    pub(super) fn acked_bytes(&self, stream: u32, t_us: u64) -> f64 {
        self.acked.get(&stream).map_or(0.0, |(_, points)| count_at(points, t_us))
    }

    /// Payload acknowledged of all streams of `direction`.
    pub(super) fn acked_bps(&self, direction: Direction, window: Window) -> f64 {
        let streams = self.acked.values().filter(|(of, _)| *of == direction);
        let bytes: f64 = streams
            .map(|(_, points)| count_at(points, window.to_us) - count_at(points, window.from_us))
            .sum();
        bytes * 8e6 / window.length_us().max(1) as f64
    }

    /// For each look at the bottleneck's queue in `window` whether something waited.
    pub(super) fn queue_looks(&self, direction: Direction, window: Window) -> impl Iterator<Item = bool> {
        let queue = &self.queues[usize::from(direction != Direction::Forward)];
        let from = queue.partition_point(|&(t_us, _)| t_us < window.from_us);
        let looks = queue.range(from..).take_while(move |(t_us, _)| *t_us < window.to_us);
        looks.map(|&(_, is_waiting)| is_waiting)
    }

    /// When the bottleneck's queue was last seen to have dropped, by `t_us`.
    pub(super) fn last_overflow_us(&self, direction: Direction, t_us: u64) -> Option<u64> {
        let Overflows { at_us, .. } = &self.overflows[usize::from(direction != Direction::Forward)];
        at_us.partition_point(|&at| at <= t_us).checked_sub(1).map(|last| at_us[last])
    }

    /// The largest share of one CPU that a thread with such a role took between the samples around `window`.
    pub(super) fn cpu_share(&self, is_it: impl Fn(&ThreadRole) -> bool, window: Window) -> Option<f64> {
        let those = self.threads.iter().filter(|(role, _)| is_it(role));
        those.filter_map(|(_, points)| cpu_share(points, window)).reduce(f64::max)
    }
}

impl Overflows {
    fn see(&mut self, t_us: u64, dropped: u64) {
        if dropped > self.dropped {
            self.at_us.push_back(t_us);
        }
        self.dropped = dropped;
    }
}

/// The count at `t_us`, between two samples in proportion.
fn count_at(points: &Points, t_us: u64) -> f64 {
    let next = points.partition_point(|&(t, _)| t < t_us);
    match (next.checked_sub(1).map(|before| points[before]), points.get(next)) {
        (Some(before), Some(&after)) => between(before, after, t_us),
        (Some((_, bytes)), None) | (None, Some(&(_, bytes))) => bytes as f64,
        (None, None) => 0.0,
    }
}

/// CPU time over wall time between the last sample before `window` and the first after it.
fn cpu_share(points: &Points, window: Window) -> Option<f64> {
    let begin = points.partition_point(|&(t, _)| t <= window.from_us).saturating_sub(1);
    let end = points.partition_point(|&(t, _)| t < window.to_us).min(points.len().checked_sub(1)?);
    let ((t0, cpu0), (t1, cpu1)) = (points[begin], points[end]);
    (t1 > t0).then(|| cpu1.saturating_sub(cpu0) as f64 / (t1 - t0) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::record::{CpuSample, PathSample};

    #[test]
    fn the_queues_last_drop_is_found_after_what_was_before_is_forgotten() {
        let mut history = History::of(std::iter::empty());
        for (t_us, dropped_packets) in [(10, 0), (20, 3), (30, 3), (40, 4), (50, 4)] {
            let row = PathSample {
                t_us,
                direction: Direction::Forward,
                element: Element::Queue,
                backlog_packets: 0,
                backlog_bytes: 0,
                dropped_packets,
            };
            history.take(&AnyRow::Path(row));
        }
        let last = |history: &History, t_us| history.last_overflow_us(Direction::Forward, t_us);
        assert_eq!(
            [19, 20, 39, 40, 90].map(|t_us| last(&history, t_us)),
            [None, Some(20), Some(20), Some(40), Some(40)]
        );
        history.forget(39);
        assert_eq!([last(&history, 39), last(&history, 90)], [Some(20), Some(40)]);
        history.forget(60);
        assert_eq!(last(&history, 90), Some(40));
        assert_eq!(history.last_overflow_us(Direction::Reverse, 90), None);
    }

    #[test]
    fn what_is_left_answers_as_before_for_what_is_to_come() {
        let mut history = History::of(std::iter::once((0, Direction::Forward)));
        for t_us in (0..100).step_by(10) {
            let row = CpuSample {
                t_us,
                thread: ThreadRole::Sender { flow: 0 },
                cpu_us: t_us * t_us / 100,
                wait_us: None,
            };
            history.take(&AnyRow::Cpu(row));
        }
        let window = Window { from_us: 55, to_us: 75 };
        let before = history.cpu_share(|_| true, window);
        history.forget(55);
        assert_eq!(history.threads[&ThreadRole::Sender { flow: 0 }].len(), 5);
        assert_eq!((before, history.cpu_share(|_| true, window)), (Some(1.3), Some(1.3)));
    }
}
