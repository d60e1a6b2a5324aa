//! A path that got longer and stayed so: its round trip does not follow what is in flight, as that behind a queue does.

use super::samples::Timed;
use super::track::{Track, TrackSample};
use crate::ground::statistics::{median, percentile, rounded, variation};
use crate::ground::thresholds::{THIRDS, Thresholds};

/// The round trip without load of the longer path, microseconds, where most of the time of `track` is on it: from some time on all round trips are
/// long and alike, while what is in flight and the rate grow, and nothing is lost. A queue would have grown too; where others fill it, it would
/// have dropped segments of what grows. A queue of ACKs stands from the start, or fills over some round trips: a path gets longer at once.
pub(super) fn longer_rtt_us(track: &Track, t: &Thresholds) -> Option<u64> {
    let samples = track.samples.as_slice();
    let (first, last) = (samples.first()?, samples.last()?);
    let usual = median(&rtts(&samples[samples.len() / 2..]))?;
    let least = rtts(samples).into_iter().reduce(f64::min)?;
    let differs = |most: f64| {
        move |sample: &TrackSample| sample.srtt_us.is_some_and(|us| (us as f64 / usual - 1.0).abs() > most)
    };
    let other = samples.iter().rposition(differs(t.detour_other.value()))?;
    let start = other + samples[other..].iter().position(|sample| !differs(t.detour_even.value())(sample))?;
    let was_settled =
        samples[start].t_us().saturating_sub(first.t_us()) as f64 >= t.detour_before.value() * least;
    // The queue that made it longer still is gone: only a longer path leaves a long one.
    let was_longer = samples[other].srtt_us.is_some_and(|us| us as f64 > usual);
    let is_at_once = was_longer || jumps(samples, start, usual, t);
    let has_lost = samples.iter().rposition(|sample| sample.retransmits < last.retransmits);
    let settled = &samples[has_lost.map_or(start, |at| start.max(at + 1))..];
    let lasts_us = last.t_us().saturating_sub(settled.first()?.t_us()) as f64;
    let is_most = lasts_us >= t.detour_most.value() * last.t_us().saturating_sub(first.t_us()) as f64;
    let is_long = lasts_us >= t.detour_round_trips.value() * usual;
    let is_much_longer = usual >= t.detour_longer.value() * least;
    let tail = t.detour_tails.value();
    let (low, high) = percentile(&rtts(settled), tail).zip(percentile(&rtts(settled), 1.0 - tail))?;
    let is_even = high <= (1.0 + t.detour_even.value()) * low;
    let is_longer = was_settled && is_at_once && is_most && is_long && is_much_longer && is_even;
    (is_longer && grows(settled, t) && comes_in_flights(settled, usual, t)).then(|| rounded(low))
}

/// Whether the round trip came to `usual` before the sample at `at` by a jump: before it rose by much less in as long a time. What smooths round trips comes
/// to the new one slowly.
fn jumps(samples: &[TrackSample], at: usize, usual: f64, t: &Thresholds) -> bool {
    let step_us = t.detour_step.value() * usual;
    let rtt_before = |steps: f64| {
        let since_us = (samples[at].t_us() as f64 - steps * step_us).max(0.0) as u64;
        let place = samples.partition_point(|sample| sample.t_us() < since_us);
        samples[place..].iter().find_map(|sample| sample.srtt_us).map(|us| us as f64)
    };
    let (just_before, earlier) = (rtt_before(1.0), rtt_before(2.0));
    just_before.zip(earlier).is_some_and(|(just_before, earlier)| {
        just_before - earlier <= t.detour_jump.value() * (usual - just_before)
    })
}

/// Whether what is in flight and the rate grow from the first third to the last, and nothing is lost: CUBIC's window hardly grows in the middle.
fn grows(samples: &[TrackSample], t: &Thresholds) -> bool {
    let third = samples.len() / THIRDS;
    let (early, late) = (&samples[..third], &samples[samples.len() - third..]);
    let [flights, rates] = [flight, rate].map(|of: fn(&[TrackSample]) -> Option<f64>| {
        of(early).zip(of(late)).is_some_and(|(early, late)| late >= (1.0 + t.detour_grows.value()) * early)
    });
    let lost = |sample: Option<&TrackSample>| sample.map(|sample| sample.retransmits);
    flights && rates && lost(samples.first()) == lost(samples.last())
}

/// Whether what arrives comes in flights, as on a path that is not full: a queue, of data or of ACKs, lets it through evenly.
fn comes_in_flights(samples: &[TrackSample], usual_us: f64, t: &Thresholds) -> bool {
    let part_us = t.detour_part.value() * usual_us;
    let Some(mut since) = samples.first() else { return false };
    let mut rates = Vec::new();
    for sample in samples {
        let took_us = sample.t_us.saturating_sub(since.t_us) as f64;
        if took_us >= part_us {
            rates.push(sample.delivered.saturating_sub(since.delivered) as f64 / took_us);
            since = sample;
        }
    }
    variation(&rates).is_some_and(|share| share >= t.detour_flights.value())
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
        longer_of_parts(1, change)
    }

    /// The same, where a part of each flight, one of `parts`, arrives in the first quarter of its round trip.
    fn longer_of_parts(parts: u64, change: impl Fn(u64, &mut TrackSample)) -> Option<u64> {
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
                data_rtt_us: None,
                rttvar_us: 0,
                retransmits: 9,
                rto_count: 0,
                has_unsent: true,
                is_closed: false,
                has_shrunk: false,
            };
            if is_longer {
                change(grown, &mut sample);
            }
            track.samples.push(sample);
            let round_trip_us = sample.srtt_us.unwrap_or(0);
            let (t_quarter_us, arrived) = (t_us + round_trip_us / 4, delivered + sample.unacked / parts);
            track.samples.push(TrackSample { t_us: t_quarter_us, delivered: arrived, ..sample });
            delivered += sample.unacked;
            t_us += round_trip_us;
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
        assert_eq!(longer_of_parts(4, |_, _| ()), None, "a queue of ACKs lets it through evenly");
    }

    /// The queue of the shorter path made round trips longer than the longer path does.
    #[test]
    fn a_queue_that_is_gone_leaves_a_short_round_trip_or_a_longer_path() {
        let drained = |change: fn(u64, &mut TrackSample)| {
            longer(move |grown, sample| {
                let queued = 150_000_u64.saturating_sub(8_000 * grown);
                sample.srtt_us = Some(queued.max(92_000));
                sample.retransmits = 9 + grown.min(10) as u32;
                change(grown, sample);
            })
        };
        assert_eq!(drained(|_, _| ()), Some(92_000));
        assert_eq!(
            drained(|grown, sample| sample.retransmits = 9 + grown as u32 / 40),
            None,
            "a queue drops"
        );
        assert_eq!(drained(|_, sample| sample.unacked = 144_800), None, "the same is in flight");
    }
}
