//! The time in which a sender waited for its retransmission timer, as it shows near the receiver: nothing arrives for longer than a timer, and then
//! slow start begins with a segment (RFC 5681, 3.1), or a hole is filled. What was lost was never seen there, so that it is no retransmission.
//!
//! An application that pauses, or slow start after an idle time, goes on with an initial window (RFC 6928) or with as little as it has.

use crate::ground::thresholds::Thresholds;
use pipefill_core::record::PacketSample;

/// Segments with which slow start begins after a timeout: one, or one and a loss probe.
const LOSS_WINDOW: u64 = 2;

/// The share of the time of a stream that was captured near its receiver; `None` where its round trip is not known.
pub(super) fn timer_share(samples: &[PacketSample], thresholds: &Thresholds) -> Option<f64> {
    let rtt_us = u64::from(samples.iter().filter_map(|sample| sample.path_rtt_us).min()?);
    let (first, last) = samples.first().zip(samples.last())?;
    let until = |t_us: u64| {
        let behind = samples.partition_point(|sample| sample.t_us <= t_us);
        behind.checked_sub(1).map_or(0, |at| samples[at].segments)
    };
    let (mut waited_us, mut had) = (0, first);
    for sample in samples.iter().filter(|sample| sample.segments > 0) {
        if sample.segments == had.segments {
            continue;
        }
        let silent_us = sample.t_us.saturating_sub(had.t_us);
        let begins = until(sample.t_us + rtt_us / 2).saturating_sub(had.segments);
        let goes_on = until(sample.t_us + 2 * rtt_us + rtt_us / 2).saturating_sub(had.segments + begins);
        let flight = had.segments.saturating_sub(until(had.t_us.saturating_sub(rtt_us)));
        let is_slow_start = begins <= LOSS_WINDOW
            && goes_on as f64 >= thresholds.slow_start_growth.value() * begins as f64
            && flight > begins;
        // Duplicate ACKs would have filled the hole a round trip later (RFC 5681, 3.2).
        let fills_hole = sample.out_of_order_segments + sample.retransmits
            > had.out_of_order_segments + had.retransmits
            && silent_us > thresholds.hole_timer_us.whole() + 2 * rtt_us;
        if fills_hole || is_slow_start && silent_us > thresholds.timer_least_us.whole() + rtt_us {
            waited_us += silent_us;
        }
        had = sample;
    }
    Some(waited_us as f64 / last.t_us.saturating_sub(first.t_us).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;

    /// Twenty segments in each round trip of 40 ms, but for 300 ms of 600: then `begins` segments, and twice as many in the next round trip.
    fn share(begins: u64) -> Option<f64> {
        let mut arrived = 0;
        let sample = |at: u64| {
            let part = at % 60;
            arrived += match part {
                0 => begins,
                4 => 2 * begins,
                8.. if part < 30 && part.is_multiple_of(4) => 20,
                _ => 0,
            };
            PacketSample {
                t_us: at * 10_000,
                segments: arrived,
                path_rtt_us: Some(40_000),
                ..PacketSample::default()
            }
        };
        let samples: Vec<PacketSample> = (0..600).map(sample).collect();
        timer_share(&samples, &STANDARD)
    }

    #[test]
    fn silence_that_slow_start_from_a_segment_ends_was_a_timers() {
        assert!(share(1).is_some_and(|share| (0.45..0.60).contains(&share)), "{:?}", share(1));
        assert_eq!(share(10), Some(0.0), "an initial window: the application paused");
    }

    /// One segment each 210 ms, as single losses of a flight leave it; with so much silence before each, which fills a hole or goes on.
    fn share_of_holes(silent_ms: u64, fills: u32) -> Option<f64> {
        let mut filled = 0;
        let sample = |at: u64| {
            filled += fills;
            PacketSample {
                t_us: at * silent_ms * 1_000,
                segments: 100 + at,
                out_of_order_segments: filled,
                path_rtt_us: Some(9_000),
                ..PacketSample::default()
            }
        };
        timer_share(&(0..20).map(sample).collect::<Vec<_>>(), &STANDARD)
    }

    #[test]
    fn silence_that_ends_where_a_hole_is_filled_was_a_timers() {
        assert_eq!([share_of_holes(210, 1), share_of_holes(130, 1)], [Some(1.0); 2]);
        assert_eq!(share_of_holes(110, 1), Some(0.0), "duplicate ACKs may have filled it");
        assert_eq!(share_of_holes(210, 0), Some(0.0), "a program that writes");
    }
}
