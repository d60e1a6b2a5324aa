//! Slow start as it arrives: from the first data on each round trip brings half as much again as the one before, or more (RFC 5681, 3.1, with
//! an ACK for every second segment), or two of them twice as much, and nothing is missing.

use crate::ground::interval::TimeInterval;
use crate::ground::thresholds::Thresholds;
use pipefill_core::record::PacketSample;

/// The slow start at the beginning of a stream whose packets were captured near its receiver; `None` where it did not begin with one, or its round
/// trips cannot be told apart.
pub(crate) fn slow_start(samples: &[PacketSample], thresholds: &Thresholds) -> Option<TimeInterval> {
    let rtt_us = u64::from(samples.iter().filter_map(|sample| sample.path_rtt_us).min()?).max(1);
    let arrived = |sample: &PacketSample| sample.acked_bytes + sample.unacked_bytes;
    let first = samples.iter().find(|sample| arrived(sample) > 0)?;
    let last_us = samples.last()?.t_us;
    let until = |at_us: u64| {
        let behind = samples.partition_point(|sample| sample.t_us < at_us);
        behind.checked_sub(1).map(|at| &samples[at])
    };
    // Of the two round trips before.
    let (mut before, mut had, mut steps) = ([0_u64; 2], 0, 0_u64);
    let growth = thresholds.slow_start_growth.value();
    let mut end_us = first.t_us;
    for round in 0.. {
        // A flight begins with each round trip, some sooner than the least one: it is cut in the middle.
        let to_us = first.t_us + round * rtt_us + rtt_us / 2;
        let Some(sample) = until(to_us).filter(|_| to_us < last_us + rtt_us) else { break };
        let bytes = arrived(sample) - had;
        let grows = bytes as f64 >= growth * before[0] as f64
            || (round > 1 && bytes as f64 >= growth * growth * before[1] as f64);
        if !grows || sample.out_of_order_segments > 0 || bytes == 0 {
            break;
        }
        steps += u64::from(round > 0);
        (before, had, end_us) = ([bytes, before[0]], arrived(sample), to_us.min(last_us));
    }
    (steps >= thresholds.slow_start_rounds.whole())
        .then_some(TimeInterval { from_us: first.t_us, to_us: end_us })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;

    /// What arrives in each round trip of 50 ms, a sample each 10 ms.
    fn samples(rounds: &[u64]) -> Vec<PacketSample> {
        let mut acked_bytes = 0;
        let mut all = Vec::new();
        for (round, bytes) in rounds.iter().enumerate() {
            for part in 0..5 {
                // It comes as a burst, at the beginning of the round trip.
                acked_bytes += if part == 0 { *bytes } else { 0 };
                let t_us = (round as u64 * 5 + part) * 10_000;
                all.push(PacketSample {
                    t_us,
                    acked_bytes,
                    path_rtt_us: Some(50_000),
                    ..PacketSample::default()
                });
            }
        }
        all
    }

    #[test]
    fn it_lasts_while_each_round_trip_brings_half_as_much_again() {
        let found = |rounds: &[u64]| slow_start(&samples(rounds), &STANDARD).map(|found| found.to_us);
        assert_eq!(found(&[14_000, 28_000, 56_000, 113_000, 225_000]), Some(225_000), "to its end");
        assert_eq!(found(&[14_000, 28_000, 56_000, 100_000, 100_000, 100_000]), Some(175_000));
        assert_eq!(found(&[14_000, 28_000, 56_000, 80_000, 160_000, 100_000]), Some(225_000), "a late burst");
        assert_eq!(
            found(&[14_000, 21_000, 31_000, 47_000, 10_000]),
            Some(175_000),
            "an ACK for two segments"
        );
        assert_eq!(found(&[50_000, 50_000, 50_000, 50_000]), None);
        assert_eq!(found(&[14_000, 28_000]), None, "one doubling is chance");
        let mut lossy = samples(&[14_000, 28_000, 56_000, 113_000]);
        lossy.iter_mut().skip(5).for_each(|sample| sample.out_of_order_segments = 1);
        assert_eq!(slow_start(&lossy, &STANDARD), None);
    }
}
