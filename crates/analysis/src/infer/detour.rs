//! A path that got longer and stayed so: its round trip does not follow what is in flight, as that behind a queue does.

use super::samples::Timed;
use super::track::{Track, TrackSample};
use crate::ground::statistics::{median, percentile, rounded};
use crate::ground::thresholds::Thresholds;

/// The round trip without load of the longer path, microseconds, where most of the time of `track` is on it: from some time on all round trips are
/// long and alike, while what is in flight and the rate grow, and nothing is lost. A queue would have grown too; where others fill it, it would
/// have dropped segments of what grows. A queue of ACKs stands from the start, or fills over some round trips: a path gets longer at once.
pub(super) fn longer_rtt_us(track: &Track, t: &Thresholds) -> Option<u64> {
    let samples = track.samples.as_slice();
    let (first, last) = (samples.first()?, samples.last()?);
    let usual = median(&rtts(&samples[samples.len() / 2..]))?;
    let below = |most: f64| move |sample: &TrackSample| sample.srtt_us.is_some_and(|us| (us as f64) < most);
    let least = rtts(samples).into_iter().reduce(f64::min)?;
    let short = least + t.detour_short.value() * (usual - least);
    let longer = &samples[samples.iter().rposition(below(short))? + 1..];
    let start = longer.first()?;
    // What smooths round trips comes to the new one slowly.
    let near = (1.0 - t.detour_even.value()) * usual;
    let settled = &longer[longer.iter().position(|sample| !below(near)(sample))?..];
    let was_settled = start.t_us().saturating_sub(first.t_us()) as f64 >= t.detour_before.value() * least;
    let is_at_once = settled[0].t_us().saturating_sub(start.t_us()) as f64 <= t.detour_step.value() * usual;
    let tail = t.detour_tails.value();
    let (low, high) = (percentile(&rtts(settled), tail)?, percentile(&rtts(settled), 1.0 - tail)?);
    let is_much_longer = usual >= t.detour_longer.value() * least;
    let is_even = high <= (1.0 + t.detour_even.value()) * low;
    let lasts_us = last.t_us().saturating_sub(start.t_us());
    let is_most = lasts_us as f64 >= t.detour_most.value() * last.t_us().saturating_sub(first.t_us()) as f64;
    let is_long = lasts_us as f64 >= t.detour_round_trips.value() * usual;
    let is_longer = is_much_longer && was_settled && is_at_once && is_even && is_most && is_long;
    (is_longer && grows(settled, t)).then(|| rounded(low))
}

/// Whether what is in flight and the rate grow from the first half to the second, and nothing is lost.
fn grows(samples: &[TrackSample], t: &Thresholds) -> bool {
    let (early, late) = samples.split_at(samples.len() / 2);
    let [flights, rates] = [flight, rate].map(|of: fn(&[TrackSample]) -> Option<f64>| {
        of(early).zip(of(late)).is_some_and(|(early, late)| late >= (1.0 + t.detour_grows.value()) * early)
    });
    let lost = |sample: Option<&TrackSample>| sample.map(|sample| sample.retransmits);
    flights && rates && lost(samples.first()) == lost(samples.last())
}

/// The median of what is in flight, bytes.
fn flight(samples: &[TrackSample]) -> Option<f64> {
    let flights: Vec<f64> = samples.iter().map(|sample| sample.unacked as f64).collect();
    median(&flights)
}

/// Bytes a microsecond.
fn rate(samples: &[TrackSample]) -> Option<f64> {
    let (first, last) = (samples.first()?, samples.last()?);
    let took_us = last.t_us.checked_sub(first.t_us).filter(|&us| us > 0)?;
    Some(last.delivered.saturating_sub(first.delivered) as f64 / took_us as f64)
}

fn rtts(samples: &[TrackSample]) -> Vec<f64> {
    samples.iter().filter_map(|sample| sample.srtt_us).map(|us| us as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use pipefill_core::cell::Direction;

    /// A round trip of 11 ms for 2 s, then for 8 s what `change` makes of one of 92 ms in which a segment more is in flight each time.
    fn longer(change: impl Fn(u64, &mut TrackSample)) -> Option<u64> {
        let mut track = Track::new(Direction::Forward, 1_000);
        let (mut t_us, mut delivered) = (0, 0);
        for round in 0..270 {
            let is_longer = round >= 182;
            let grown = if is_longer { round - 182 } else { 0 };
            let mut sample = TrackSample {
                t_us,
                delivered,
                acked: delivered,
                unacked: (100 + grown) * 1_448,
                srtt_us: Some(if is_longer { 92_000 } else { 11_000 }),
                retransmits: 9,
                rto_count: 0,
                has_unsent: true,
                is_closed: false,
                has_shrunk: false,
            };
            if is_longer {
                change(grown, &mut sample);
            }
            delivered += sample.unacked;
            t_us += sample.srtt_us.unwrap_or(0);
            track.samples.push(sample);
        }
        longer_rtt_us(&track, &STANDARD)
    }

    #[test]
    fn a_round_trip_that_does_not_follow_the_flight_is_a_longer_path() {
        assert_eq!(longer(|_, _| ()), Some(92_000));
        let growing = |grown: u64, sample: &mut TrackSample| sample.srtt_us = Some(92_000 + 920 * grown);
        assert_eq!(longer(growing), None, "what is in flight waits in a queue");
        assert_eq!(longer(|_, sample| sample.unacked = 144_800), None, "a window that others' queue holds");
        let lossy = |grown: u64, sample: &mut TrackSample| sample.retransmits = 9 + grown as u32 / 40;
        assert_eq!(longer(lossy), None, "a queue drops");
        assert_eq!(longer(|_, sample| sample.srtt_us = Some(16_000)), None, "a burst waits as long");
        let back = |grown: u64, sample: &mut TrackSample| {
            sample.srtt_us = Some(if grown == 60 { 11_000 } else { 92_000 });
        };
        assert_eq!(longer(back), None, "it was as short again");
        let filling = |grown: u64, sample: &mut TrackSample| {
            sample.srtt_us = Some(92_000.min(20_000 + 10_000 * grown));
        };
        assert_eq!(longer(filling), None, "a queue of ACKs fills");
    }
}
