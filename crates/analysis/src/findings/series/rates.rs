//! Cumulative byte counts as rates, each the mean of a span.
//!
//! Never: a span shorter than some samples, whose rate would be the sampler's rhythm.

use crate::ground::count_at::between;
use crate::ground::downsampling::{Point, width_us};
use crate::ground::interval::TimeInterval;
use crate::ground::statistics::rounded;
use pipefill_core::record::DeliverySample;
use std::collections::BTreeMap;
use std::time::Duration;

/// Samples that a span has at least.
const SAMPLES: u128 = 4;

/// Bytes at the spans' edges: what the receivers had read, what the sending sockets had taken.
#[derive(Debug)]
pub(super) struct Rates {
    from_us: u64,
    width_us: u64,
    /// All streams together; an edge that was not reached has none.
    edges: Vec<[f64; 2]>,
    streams: BTreeMap<u32, StreamRate>,
}

/// A stream's last sample, and the first edge after it.
#[derive(Debug, Default)]
struct StreamRate {
    t_us: u64,
    bytes: [u64; 2],
    edge: usize,
}

impl Rates {
    /// In `buckets` spans of `window`, fewer where samples lie `sample` apart.
    pub(super) fn of(window: TimeInterval, buckets: usize, sample: Duration) -> Self {
        let shortest = u64::try_from(sample.as_micros() * SAMPLES).unwrap_or(u64::MAX);
        let width_us = width_us(window, buckets).max(shortest);
        let spans = usize::try_from(window.length_us() / width_us).unwrap_or(0);
        Self { from_us: window.from_us, width_us, edges: vec![[0.0; 2]; spans + 1], streams: BTreeMap::new() }
    }

    /// Takes the next sample.
    pub(super) fn observe(&mut self, row: &DeliverySample) {
        let bytes = [row.received_bytes, row.sent_bytes];
        let stream = self.streams.entry(row.stream).or_default();
        let since = (stream.t_us, stream.bytes);
        while let Some(sums) = self.edges.get_mut(stream.edge) {
            let at_us = self.from_us + self.width_us * stream.edge as u64;
            if at_us > row.t_us {
                break;
            }
            for (kind, sum) in sums.iter_mut().enumerate() {
                let before = (since.0.min(at_us), since.1[kind]);
                *sum += between(before, (row.t_us, bytes[kind]), at_us);
            }
            stream.edge += 1;
        }
        (stream.t_us, stream.bytes) = (row.t_us, bytes);
    }

    /// Received and sent, bits per second, a point at the beginning of each span and one at the end of the last. Nothing where
    /// nothing was counted.
    pub(super) fn finish(mut self) -> [Vec<Point>; 2] {
        if self.streams.is_empty() {
            return [Vec::new(), Vec::new()];
        }
        for stream in self.streams.values() {
            for sums in self.edges.iter_mut().skip(stream.edge) {
                (0..2).for_each(|kind| sums[kind] += stream.bytes[kind] as f64);
            }
        }
        [0, 1].map(|kind| self.points(kind))
    }

    fn points(&self, kind: usize) -> Vec<Point> {
        let at = |edge: usize| self.from_us + self.width_us * edge as u64;
        let rate = |pair: &[[f64; 2]]| rounded((pair[1][kind] - pair[0][kind]) * 8e6 / self.width_us as f64);
        let mut points: Vec<Point> = Vec::with_capacity(self.edges.len());
        for (edge, pair) in self.edges.windows(2).enumerate() {
            points.push(Point { t_us: at(edge), value: rate(pair) });
        }
        let end = points.last().map(|last| Point { t_us: at(points.len()), ..*last });
        points.extend(end);
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_mean_of_its_span_and_streams_add_up() {
        let window = TimeInterval { from_us: 1_000, to_us: 41_000 };
        let mut rates = Rates::of(window, 4, Duration::from_micros(500));
        // One stream of 8 Mbit/s all the time, one of as much in the first 10 ms only.
        for t_us in (1_000..=41_000).step_by(500) {
            for (stream, bytes) in [(0, t_us - 1_000), (1, (t_us - 1_000).min(10_000))] {
                rates.observe(&DeliverySample { t_us, stream, sent_bytes: 2 * bytes, received_bytes: bytes });
            }
        }
        let [received, sent] = rates.finish();
        let values: Vec<(u64, u64)> = received.iter().map(|point| (point.t_us, point.value)).collect();
        let (both, single) = (16_000_000, 8_000_000);
        assert_eq!(
            values,
            [(1_000, both), (11_000, single), (21_000, single), (31_000, single), (41_000, single)]
        );
        assert_eq!(sent[0].value, 32_000_000);
    }

    #[test]
    fn a_span_is_no_shorter_than_four_samples_and_nothing_counted_is_no_rate() {
        let window = TimeInterval { from_us: 0, to_us: 100_000 };
        let mut rates = Rates::of(window, 600, Duration::from_millis(10));
        assert_eq!(rates.edges.len(), 3);
        rates.observe(&DeliverySample { t_us: 0, stream: 0, sent_bytes: 0, received_bytes: 0 });
        assert_eq!(rates.finish()[0].iter().map(|point| point.value).sum::<u64>(), 0);
        assert_eq!(Rates::of(window, 600, Duration::from_millis(10)).finish(), [Vec::new(), Vec::new()]);
    }
}
