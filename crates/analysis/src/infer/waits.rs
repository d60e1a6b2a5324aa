//! What a stream waited for, and when, by the packets of both directions: spans in order of time, none over another.

use crate::ground::interval::TimeInterval;
use crate::ground::thresholds::Thresholds;
use pipefill_core::record::{PacketSample, Waiting, Waits};

/// A time in which the stream waited for one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) interval: TimeInterval,
    pub(crate) waiting: Waiting,
    /// See [`PacketSample::may_lose_full_segments`].
    pub(crate) may_lose_full_segments: bool,
}

impl Wait {
    /// A wait of a socket.
    pub(crate) const fn of_socket(interval: TimeInterval, waiting: Waiting) -> Self {
        Self { interval, waiting, may_lose_full_segments: false }
    }
}

/// The waits of a stream with these samples, in order of time. A wait is counted when it ends: it stands before the first sample that has it, as
/// late as those after it leave room. Each has its whole length then, since none is over another.
pub(crate) fn waits(samples: &[PacketSample], thresholds: &Thresholds) -> Vec<Wait> {
    let Some(all) = samples.last().map(|last| last.waits) else { return Vec::new() };
    // A single late ACK may have been lost.
    let is_delayed = f64::from(all.delayed_acks) >= thresholds.delayed_acks.value();
    let is_written_in_pieces = ends_writes(samples, thresholds);
    let (mut found, mut next_us) = (Vec::<Wait>::new(), u64::MAX);
    for (at, sample) in samples.iter().enumerate().rev() {
        let before = at.checked_sub(1).map_or(Waits::default(), |before| samples[before].waits);
        let news = sample.waits.since(&before);
        let counts = |waiting: &Waiting| match waiting {
            Waiting::DelayedAck => is_delayed,
            Waiting::Rate => is_written_in_pieces,
            _ => true,
        };
        for waiting in Waiting::ALL.into_iter().rev().filter(counts) {
            let to_us = next_us.min(sample.t_us);
            let interval = TimeInterval { from_us: to_us.saturating_sub(news.us(waiting)), to_us };
            if interval.length_us() == 0 {
                continue;
            }
            next_us = interval.from_us;
            let after = found.last_mut();
            match after.filter(|after| after.waiting == waiting && after.interval.from_us == to_us) {
                Some(after) => after.interval.from_us = interval.from_us,
                None => found.push(Wait {
                    interval,
                    waiting,
                    may_lose_full_segments: sample.may_lose_full_segments(),
                }),
            }
        }
    }
    found.reverse();
    found
}

/// Whether pauses are those of an application that goes on unasked: what it writes then ends in a part of a segment. A pacer that pauses for longer
/// than a round trip takes whole segments from a queue that does not end.
fn ends_writes(samples: &[PacketSample], thresholds: &Thresholds) -> bool {
    let pairs = samples.windows(2).filter(|pair| match pair {
        [before, sample] => sample.waits.rate_us > before.waits.rate_us,
        _ => false,
    });
    let tails: u32 = samples.iter().map(|sample| sample.tails).sum();
    f64::from(tails) >= thresholds.pause_tails.value() * pairs.count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;

    /// A message waits for an ACK that comes after 73 ms, and its answer takes 30 ms: a sample has each wait up to 73 ms late.
    #[test]
    fn a_wait_that_is_counted_late_keeps_its_length() {
        let sample = |t_ms: u64, nagle_ms: u64, turns_ms: u64| PacketSample {
            t_us: t_ms * 1_000,
            waits: Waits { nagle_us: nagle_ms * 1_000, turns_us: turns_ms * 1_000, ..Waits::default() },
            ..PacketSample::default()
        };
        let samples = [sample(0, 0, 0), sample(103, 73, 0), sample(176, 73, 30), sample(206, 146, 30)];
        let found = waits(&samples, &STANDARD);
        let length_us = |waiting: Waiting| {
            let its = found.iter().filter(|wait| wait.waiting == waiting);
            its.map(|wait| wait.interval.length_us()).sum::<u64>()
        };
        assert_eq!((length_us(Waiting::Nagle), length_us(Waiting::Turns)), (146_000, 30_000), "{found:?}");
        assert!(found.windows(2).all(|two| two[0].interval.to_us <= two[1].interval.from_us), "{found:?}");
        assert_eq!(found.last().map(|wait| wait.interval.to_us), Some(206_000));
    }

    /// A pause of 5 ms every 10 ms.
    #[test]
    fn pauses_after_whole_segments_are_a_pacers() {
        let paused_us = |tails: u32| {
            let sample = |at: u64| PacketSample {
                t_us: at * 10_000,
                tails: if at.is_multiple_of(10) { tails } else { 0 },
                waits: Waits { rate_us: at * 5_000, ..Waits::default() },
                ..PacketSample::default()
            };
            let samples: Vec<PacketSample> = (0..100).map(sample).collect();
            waits(&samples, &STANDARD).iter().map(|wait| wait.interval.length_us()).sum::<u64>()
        };
        assert_eq!([paused_us(0), paused_us(1)], [0, 495_000]);
    }
}
