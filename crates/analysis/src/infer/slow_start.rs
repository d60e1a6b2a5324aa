//! Slow start as it arrives: from the first data on each round trip brings half as much again as the one before, or more (RFC 5681, 3.1, with
//! an ACK for every second segment), or two of them twice as much, and nothing is missing. After an idle time longer than the retransmission timer it
//! may come again (RFC 5681, 4.1).

use super::first_flights::{self, Start};
use crate::ground::interval::TimeInterval;
use crate::ground::models::window::window_used;
use crate::ground::statistics::median;
use crate::ground::thresholds::Thresholds;
use pipefill_core::record::PacketSample;

/// One slow start, or a growth that looks like it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SlowStart {
    pub(crate) interval: TimeInterval,
    /// Whether an earlier round trip had brought more than its first one: the sender gave up its window in an idle time.
    pub(crate) is_restart: bool,
    /// Where most of its round trips filled the advertised window, which grew: how much of it, in the median.
    pub(crate) window_used: Option<f64>,
    /// Whether it grows more slowly: the window after slow start.
    pub(crate) is_slow: bool,
    /// What a round trip takes.
    pub(crate) rtt_us: u64,
}

/// The slow starts of a stream whose packets were captured near its receiver, in order of time: at its beginning, and after each silence that is longer
/// than the retransmission timer. None where it did not begin with one, or its round trips cannot be distinguished.
pub(crate) fn slow_starts(samples: &[PacketSample], thresholds: &Thresholds) -> Vec<SlowStart> {
    let Some(rtt_us) = samples.iter().filter_map(|sample| sample.path_rtt_us).min() else {
        return Vec::new();
    };
    let rtt_us = u64::from(rtt_us).max(1);
    let samples = &before_requests(samples);
    // A flight begins with each round trip, some sooner than the least one: it is cut in the middle. One that is paced takes all of it.
    let middle_us = rtt_us / 2;
    let paced_us = (thresholds.slow_start_paced.value() * rtt_us as f64) as u64;
    let (mut found, mut largest) = (Vec::new(), 0);
    let parts = active(samples, thresholds.timer_least_us.whole() + rtt_us);
    // What was sent again in vain waited for ACKs.
    let is_all = parts.len() == 1 && samples.last().is_some_and(|last| last.retransmits == 0);
    for active in parts {
        let held = held(active);
        let starts = [active, &held].into_iter().flat_map(|active| {
            [middle_us, paced_us].map(|cut_us| start(active, [cut_us, rtt_us], is_all, thresholds))
        });
        // A window that each round trip fills is seen where they are cut between their flights alone.
        let likeliest = |start: &Start| (start.window_used.is_some(), start.interval.to_us);
        let is_restart =
            |start: &Start| largest as f64 >= thresholds.slow_start_growth.value() * start.first as f64;
        let likeliest = starts.flatten().max_by_key(likeliest);
        let mut starts = first_flights::starts(active, before(active), thresholds);
        match likeliest {
            // Later answers may begin one of their own.
            Some(first) => {
                starts.retain(|start| start.interval.from_us >= first.interval.to_us);
                starts.insert(0, first);
            }
            // Later the window may be one that does not grow.
            None => starts.retain(|start| largest == 0 || start.is_slow || is_restart(start)),
        }
        found.extend(starts.into_iter().map(|start| {
            let is_restart = !start.is_slow && is_restart(&start);
            let Start { interval, window_used, is_slow, .. } = start;
            SlowStart { interval, is_restart, window_used, is_slow, rtt_us }
        }));
        largest = largest.max(largest_flight(active, rtt_us));
    }
    found
}

/// The same with what a request shows after a silence: it takes the sample, and the data in it came before that silence.
fn before_requests(samples: &[PacketSample]) -> Vec<PacketSample> {
    let mut all = samples.to_vec();
    for at in (1..all.len()).rev() {
        let (now, before) = (all[at], all[at - 1]);
        let is_late = now.sent_bytes() > before.sent_bytes() && now.peer_segments != before.peer_segments;
        if is_late && before.new_bytes() == 0 {
            let PacketSample { segments, acked_bytes, unacked_bytes, peer_segments, .. } = now;
            for silent in all[..at].iter_mut().rev().take_while(|silent| silent.new_bytes() == 0) {
                *silent = PacketSample { segments, acked_bytes, unacked_bytes, peer_segments, ..*silent };
            }
        }
    }
    all
}

/// The same with what each sample of a silence stands for in the last one before it: samples are taken when a burst begins, and where an ACK ends the
/// silence after it, what came in between is seen late. Late in every round trip, it grows as it did.
fn held(samples: &[PacketSample]) -> Vec<PacketSample> {
    let mut last = None::<PacketSample>;
    let hold = |sample: &PacketSample| match last {
        Some(PacketSample { segments, acked_bytes, unacked_bytes, .. }) if segments == sample.segments => {
            PacketSample { acked_bytes, unacked_bytes, ..*sample }
        }
        _ => *last.insert(*sample),
    };
    samples.iter().map(hold).collect()
}

/// The parts of `samples` between silences of at least `idle_us`, each from the sample before its first data on.
fn active(samples: &[PacketSample], idle_us: u64) -> Vec<&[PacketSample]> {
    let (mut parts, mut from, mut last) = (Vec::new(), 0, None::<usize>);
    for (at, pair) in samples.windows(2).enumerate() {
        let [before, now] = pair else { continue };
        if now.sent_bytes() <= before.sent_bytes() {
            continue;
        }
        if last.is_some_and(|last| now.t_us - samples[last].t_us >= idle_us) {
            parts.push(&samples[from..=at]);
            from = at;
        }
        last = Some(at + 1);
    }
    parts.push(&samples[from..]);
    parts
}

/// What had come before a part that begins with the sample before its first data.
fn before(samples: &[PacketSample]) -> u64 {
    samples.first().filter(|sample| sample.acked_bytes > 0).map_or(0, PacketSample::sent_bytes)
}

/// Of `samples` with round trips of `rtt_us`, the first of which is cut after `cut_us`. Where they are all of the stream (`is_all`), fewer round trips
/// are enough that go on to its end.
fn start(
    samples: &[PacketSample],
    [cut_us, rtt_us]: [u64; 2],
    is_all: bool,
    thresholds: &Thresholds,
) -> Option<Start> {
    let before = before(samples);
    let first = samples.iter().find(|sample| sample.sent_bytes() > before)?;
    let (last_us, disordered) = (samples.last()?.t_us, samples.first()?.out_of_order_segments);
    let until = |at_us: u64| {
        let behind = samples.partition_point(|sample| sample.t_us < at_us);
        behind.checked_sub(1).map(|at| &samples[at])
    };
    // Of the two round trips before.
    let (mut earlier, mut had, mut steps) = ([0_u64; 2], before, 0_u64);
    let (mut window, mut used) = (None::<u32>, Vec::new());
    let growth = thresholds.slow_start_growth.value();
    let (all, fewest_of_all) = (samples.last()?.sent_bytes(), thresholds.slow_start_rounds_of_all.whole());
    let (mut end_us, mut of_first, mut always_grows, mut is_steep) = (first.t_us, 0, true, true);
    for round in 0.. {
        let to_us = first.t_us + round * rtt_us + cut_us;
        let Some(sample) = until(to_us).filter(|_| to_us < last_us + rtt_us) else { break };
        let bytes = sample.sent_bytes().saturating_sub(had);
        let grows = bytes as f64 >= growth * earlier[0] as f64
            || (round > 1 && bytes as f64 >= growth * growth * earlier[1] as f64);
        let filled = window.map(|window| window_used(window.into(), bytes, sample.mss_bytes.into()));
        let fills = bytes >= earlier[0]
            && filled.is_some_and(|filled| filled >= thresholds.receiver_window_filled.value());
        // The last one may bring what is left, where it is needed, and each before was larger than the one before it.
        let is_needed = steps + 1 >= fewest_of_all && steps < thresholds.slow_start_rounds.whole();
        let is_last = is_all && is_steep && is_needed && sample.sent_bytes() == all;
        if !(grows || fills || is_last) || sample.out_of_order_segments > disordered || bytes == 0 {
            break;
        }
        always_grows &= grows || is_last;
        is_steep &= bytes as f64 >= growth * earlier[0] as f64;
        of_first = if round == 0 { bytes } else { of_first };
        steps += u64::from(round > 0);
        // What arrives in a round trip was let out by the window at the end of the one before.
        used.extend(filled);
        window = sample.rwnd_bytes;
        (earlier, had, end_us) = ([bytes, earlier[0]], sample.sent_bytes(), to_us.min(last_us));
    }
    let used = median(&used).filter(|&used| used >= thresholds.receiver_window_filled.value());
    let is_start = always_grows || used.is_some() && earlier[0] > of_first;
    let is_whole = is_all && had == all;
    let interval = TimeInterval { from_us: first.t_us, to_us: if is_whole { last_us } else { end_us } };
    let fewest = if is_whole { fewest_of_all } else { thresholds.slow_start_rounds.whole() };
    (is_start && steps >= fewest).then_some(Start {
        interval,
        first: of_first,
        window_used: used,
        is_slow: false,
    })
}

/// The most that arrived in a round trip.
fn largest_flight(samples: &[PacketSample], rtt_us: u64) -> u64 {
    let (mut from, mut largest) = (0, 0);
    for sample in samples {
        while samples[from].t_us + rtt_us < sample.t_us {
            from += 1;
        }
        largest = largest.max(sample.sent_bytes().saturating_sub(samples[from].sent_bytes()));
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;

    /// What arrives in each round trip of 50 ms, a sample each 10 ms.
    fn samples(rounds: &[u64]) -> Vec<PacketSample> {
        let (mut came, mut all) = (0, Vec::new());
        for (round, bytes) in rounds.iter().enumerate() {
            for part in 0..5 {
                // It comes as a burst, at the beginning of the round trip.
                let now = if part == 0 { *bytes } else { 0 };
                all.push(sample((round as u64 * 5 + part) * 10_000, came, now));
                came += now;
            }
        }
        all
    }

    /// Of round trips of 50 ms: `now` bytes that are not acknowledged yet came after `before` others.
    fn sample(t_us: u64, before: u64, now: u64) -> PacketSample {
        PacketSample {
            t_us,
            acked_bytes: before,
            unacked_bytes: now,
            segments: (before + now) / 1_000,
            path_rtt_us: Some(50_000),
            ..PacketSample::default()
        }
    }

    fn first(samples: &[PacketSample]) -> Option<SlowStart> {
        slow_starts(samples, &STANDARD).first().copied()
    }

    /// Samples when bursts begin; the ACK that ends the silence after the third one comes late, and that silence has only what began it.
    #[test]
    fn what_came_behind_the_first_segment_of_a_burst_may_be_seen_late() {
        let bursts = [14_000, 28_000, 56_000, 113_000, 225_000];
        let mut samples = samples(&bursts);
        for (at, sample) in samples.iter_mut().enumerate() {
            let before: u64 = bursts[..at / 5].iter().sum();
            sample.segments = before / 1_000 + 1;
            if at % 5 == 0 || at / 5 == 2 {
                (sample.acked_bytes, sample.unacked_bytes) = (before, 1_000);
            }
        }
        let found = first(&samples).expect("a slow start");
        assert!((225_000..=240_000).contains(&found.interval.to_us), "{found:?}");
    }

    /// The window of each round trip lets out the next one; or it is twice as large, as a receiver makes it.
    #[test]
    fn a_growth_that_fills_the_window_is_the_windows() {
        let rounds = [14_000, 28_000, 56_000, 113_000, 225_000];
        let used = |times: u64| {
            let mut samples = samples(&rounds);
            for (at, sample) in samples.iter_mut().enumerate() {
                sample.rwnd_bytes = rounds.get(at / 5 + 1).map(|next| (times * next) as u32);
            }
            first(&samples).expect("it grows").window_used
        };
        assert_eq!(used(1), Some(1.0));
        assert_eq!(used(2), None);
    }

    /// A request takes the sample that ends the silence, and the last burst before it is seen only then.
    #[test]
    fn what_a_request_shows_came_before_the_silence() {
        let bursts = [14_000, 28_000, 56_000, 113_000, 225_000];
        let rounds = [&bursts[..], &[0; 20], &bursts].concat();
        let mut samples = samples(&rounds);
        let late: u64 = bursts.iter().sum::<u64>() - 50_000;
        for (at, sample) in samples.iter_mut().enumerate() {
            sample.peer_segments = Some(u32::from(at >= 120));
            let is_in_burst = at % 5 == 0 && !(25..125).contains(&at);
            sample.prompt_bytes = u32::from(is_in_burst || at == 120);
            if (21..120).contains(&at) {
                (sample.acked_bytes, sample.unacked_bytes) = (late, 0);
            }
        }
        let found = slow_starts(&samples, &STANDARD);
        assert_eq!(
            found.iter().map(|start| start.is_restart).collect::<Vec<_>>(),
            [false, true],
            "{found:?}"
        );
    }

    #[test]
    fn it_lasts_while_each_round_trip_brings_half_as_much_again() {
        let found = |rounds: &[u64]| first(&samples(rounds)).map(|found| found.interval.to_us);
        // It ends where its last round trip is cut: in the middle, or where a paced flight ends.
        let lasts = |rounds: &[u64], to_us: u64, why: &str| {
            let found = found(rounds);
            assert!(found.is_some_and(|us| (to_us..=to_us + 20_000).contains(&us)), "{why}: {found:?}");
        };
        lasts(&[14_000, 28_000, 56_000, 113_000, 225_000], 225_000, "to its end");
        lasts(&[14_000, 28_000, 56_000, 100_000, 100_000, 100_000], 175_000, "until it stays the same");
        lasts(&[14_000, 28_000, 56_000, 80_000, 160_000, 100_000], 225_000, "a late burst");
        lasts(&[14_000, 21_000, 31_000, 47_000, 10_000], 175_000, "an ACK for two segments");
        assert_eq!(found(&[50_000, 50_000, 50_000, 50_000]), None);
        assert_eq!(found(&[14_000, 28_000]), None, "one doubling is chance");
        lasts(&[14_000, 28_000, 33_000], 125_000, "all of it");
        lasts(&[4_000, 9_000, 18_000, 14_000], 175_000, "with what is left");
        assert_eq!(found(&[14_000, 15_000, 15_000]), None);
        assert_eq!(found(&[14_000, 28_000, 33_000, 33_000]), None, "it goes on");
        let mut lossy = samples(&[14_000, 28_000, 56_000, 113_000]);
        lossy.iter_mut().skip(5).for_each(|sample| sample.out_of_order_segments = 1);
        assert_eq!(first(&lossy), None);
    }

    /// As a receiver makes it larger by what was read: by a quarter first.
    #[test]
    fn flights_that_fill_a_window_that_grows_slower_are_the_windows_too() {
        let rounds = [64_000, 80_000, 228_000, 683_000];
        let used = |part: u64| {
            let mut samples = samples(&rounds);
            for (at, sample) in samples.iter_mut().enumerate() {
                sample.rwnd_bytes = rounds.get(at / 5 + 1).map(|next| (next * 100 / part) as u32);
            }
            first(&samples).and_then(|start| start.window_used)
        };
        assert!(used(100).is_some_and(|used| used > 0.95));
        assert_eq!(used(90), None);
    }

    /// What has no room for a segment is full, and may stay the same for a round trip; a window that stays the same is no start.
    #[test]
    fn a_window_of_a_few_segments_is_filled_by_whole_ones() {
        let used = |rounds: &[u64], windows: &[u32]| {
            let mut samples = samples(rounds);
            for (at, sample) in samples.iter_mut().enumerate() {
                (sample.mss_bytes, sample.rwnd_bytes) = (1_448, windows.get(at / 5).copied());
            }
            first(&samples).and_then(|start| start.window_used)
        };
        let rounds = [2_896, 2_896, 5_792, 11_584, 14_480, 31_856];
        assert_eq!(used(&rounds, &[3_712, 6_656, 12_416, 14_720, 32_128]), Some(1.0));
        assert_eq!(used(&rounds, &[13_712, 16_656, 22_416, 24_720, 62_128]), None, "it has room");
        assert_eq!(used(&[14_480; 6], &[15_000; 6]), None, "it does not grow");
    }

    /// Round trips of 50 ms in which the data come at a time of their own, each with a sample each 5 ms.
    fn spread(rounds: &[(u64, u64)]) -> Vec<PacketSample> {
        let (mut came, mut all) = (0, Vec::new());
        for (round, &(bytes, parts)) in rounds.iter().enumerate() {
            for part in 0..10 {
                let now = if part < parts { bytes / parts } else { 0 };
                all.push(sample((round as u64 * 10 + part) * 5_000, came, now));
                came += now;
            }
        }
        all
    }

    #[test]
    fn flights_that_are_paced_over_their_round_trip_double_too() {
        let rounds = [(14_480, 1), (28_960, 6), (57_920, 10), (115_840, 10), (83_000, 7)];
        let found = first(&spread(&rounds)).unwrap();
        assert!((185_000..=225_000).contains(&found.interval.to_us), "{found:?}");
        assert_eq!(
            first(&spread(&[(14_480, 1), (28_960, 6), (30_000, 10), (30_000, 10), (30_000, 10)])),
            None
        );
    }

    #[test]
    fn it_comes_again_after_an_idle_time_in_which_the_window_was_given_up() {
        let burst = [(16_000, 1), (32_000, 1), (64_000, 1), (128_000, 2), (6_000, 1)];
        let idle = |round_trips: usize| vec![(0, 1); round_trips];
        let restarts = |second: &[(u64, u64)], idle_round_trips: usize| {
            let rounds = [&burst, &idle(idle_round_trips)[..], second].concat();
            slow_starts(&spread(&rounds), &STANDARD).iter().map(|it| it.is_restart).collect::<Vec<_>>()
        };
        assert_eq!(restarts(&burst, 20), [false, true]);
        assert_eq!(restarts(&burst, 3), [false], "no longer than the timer");
        assert_eq!(restarts(&[(128_000, 2), (118_000, 2)], 20), [false], "the window was kept");
        let larger = [(128_000, 1), (256_000, 2), (512_000, 4), (1_024_000, 8)];
        assert_eq!(restarts(&larger, 20), [false, false], "it goes on where it was");
    }
}
