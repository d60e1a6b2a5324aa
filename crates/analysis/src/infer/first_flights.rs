//! Slow start of transfers that end within their first flights: too few round trips to see a growth, but each flight waits for the ACKs of the one
//! before although more was written (RFC 5681, 3.1; RFC 6928, 2). And flights that grow more slowly, as behind HyStart or in congestion avoidance.
//!
//! How long a flight waits is what its round trip took, also where that is longer than the least one.

use crate::ground::interval::TimeInterval;
use crate::ground::models::window::window_used;
use crate::ground::statistics::median;
use crate::ground::thresholds::Thresholds;
use pipefill_core::record::PacketSample;

/// A slow start or a slower growth, and what its first round trip brought.
pub(super) struct Start {
    pub(super) interval: TimeInterval,
    pub(super) first: u64,
    /// Where most flights filled the advertised window: how much of it, in the median.
    pub(super) window_used: Option<f64>,
    /// Whether it grows more slowly than in slow start.
    pub(super) is_slow: bool,
}

/// What came since the last request.
struct Answer<'a> {
    samples: &'a [PacketSample],
    /// What had come before, and how often it had gone on.
    before: u64,
    resumptions: u32,
}

/// The starts of the answers in `samples`, in order of time, behind `before` other bytes: each has flights that are let out one by one, the first of
/// which is larger than all of the answers before.
pub(super) fn starts(samples: &[PacketSample], before: u64, thresholds: &Thresholds) -> Vec<Start> {
    let (mut found, mut largest) = (Vec::new(), 0);
    for answer in answers(samples, before) {
        let flights = answer.flights();
        if let Some(start) = answer.start(&flights, largest, thresholds) {
            found.push(start);
        }
        largest = flights.iter().map(|flight| flight.bytes).fold(largest, u64::max);
    }
    found
}

/// Parts of `samples` in each of which the other direction is silent.
fn answers(samples: &[PacketSample], mut before: u64) -> Vec<Answer<'_>> {
    let mut resumptions = samples.first().map_or(0, |first| first.waits.resumptions);
    let (mut all, mut from) = (Vec::new(), 0);
    let is_asked =
        |at: usize| at == samples.len() || samples[at].peer_segments != samples[at - 1].peer_segments;
    for at in (1..=samples.len()).filter(|&at| is_asked(at)) {
        all.push(Answer { samples: &samples[from..at], before, resumptions });
        let last = &samples[at - 1];
        (from, before, resumptions) = (at, last.sent_bytes(), last.waits.resumptions);
    }
    all
}

/// What came until a silence.
struct Flight {
    bytes: u64,
    /// The window at its end.
    window: Option<u32>,
}

impl Answer<'_> {
    /// Cut where data came after none for half of a round trip. None where that is not known.
    fn flights(&self) -> Vec<Flight> {
        let mut flights = Vec::new();
        let (mut before, mut window) = (self.before, None);
        for (at, now) in self.samples.iter().enumerate() {
            if now.bursts > 1 {
                return Vec::new();
            }
            let earlier = at.checked_sub(1).map_or(self.before, |before| self.samples[before].sent_bytes());
            // A sample is taken at the first packet of a burst, and at none before where its interval is short.
            let packet = u64::from(now.largest_bytes).min(now.sent_bytes().saturating_sub(earlier));
            let came = now.sent_bytes().saturating_sub(packet);
            if now.bursts == 1 && came > before {
                // The end of the answer before came after its last sample.
                if at > 0 {
                    flights.push(Flight { bytes: came - before, window });
                }
                before = came;
            }
            window = now.rwnd_bytes.or(window);
        }
        let came = self.samples.last().map_or(before, PacketSample::sent_bytes);
        flights.push(Flight { bytes: came.saturating_sub(before), window });
        flights
    }

    fn start(&self, flights: &[Flight], largest_before: u64, thresholds: &Thresholds) -> Option<Start> {
        let (first, end) = self.samples.first().zip(self.samples.last())?;
        let (last, waiting) = flights.split_last()?;
        let bursts: usize = self.samples.iter().map(|sample| usize::from(sample.bursts)).sum();
        let resumptions = end.waits.resumptions.saturating_sub(self.resumptions) as usize;
        // A request ends the silence before its answer.
        let is_let_out = are_resumed(waiting, resumptions, thresholds) && bursts <= waiting.len() + 1;
        let is_whole =
            end.out_of_order_segments == first.out_of_order_segments && end.retransmits == first.retransmits;
        let growth = thresholds.slow_start_growth.value();
        let least = (growth * largest_before as f64).max(2.0 * f64::from(end.mss_bytes));
        // From few segments on one with delayed ACKs may stay the same once.
        let steps = i32::try_from(waiting.len()).unwrap_or(i32::MAX) - 1;
        let (smallest, widest) = waiting.first().zip(waiting.last())?;
        let grows = waiting.is_sorted_by_key(|flight| flight.bytes)
            && widest.bytes as f64 >= growth.powi(steps) * smallest.bytes as f64;
        // An ACK lets out two segments for each that it acknowledges. A window that has grown enough lets out a stream.
        let most = thresholds.packet_doubled.value();
        let is_flight = flights.windows(2).all(|pair| pair[1].bytes as f64 <= most * pair[0].bytes as f64);
        // Less than a segment may be what a program held back.
        let goes_on = last.bytes >= end.mss_bytes.into();
        let is_larger = smallest.bytes as f64 >= least;
        let is_start = is_let_out && grows && is_flight && is_larger;
        let usual = slow_growth(waiting, resumptions, thresholds).filter(|_| !is_start);
        if !(is_whole && goes_on && (is_start || usual.is_some())) {
            return None;
        }
        let mss = end.mss_bytes.into();
        let used = |flight: &Flight| Some(window_used(flight.window?.into(), flight.bytes, mss));
        let used: Vec<f64> = waiting.iter().filter_map(used).collect();
        let window_used = median(&used).filter(|&used| used >= thresholds.receiver_window_filled.value());
        let brings = |pair: &&[PacketSample]| pair[1].sent_bytes() > pair[0].sent_bytes();
        let last_us = self.samples.windows(2).rfind(brings).map(|pair| pair[1].t_us)?;
        let from = self.samples.iter().find(|sample| sample.sent_bytes() > self.before)?;
        // A window that has become smaller than a flight holds the rest.
        let closes = |sample: &&PacketSample| {
            usual.zip(sample.rwnd_bytes).is_some_and(|(usual, window)| f64::from(window) < usual)
        };
        let closed = self.samples.iter().skip_while(closes).find(closes);
        let to_us = closed.map_or(last_us, |closed| closed.t_us.min(last_us));
        if to_us <= from.t_us {
            return None;
        }
        let interval = TimeInterval { from_us: from.t_us, to_us };
        Some(Start { interval, first: smallest.bytes, window_used, is_slow: !is_start })
    }
}

/// Whether `resumptions` of the flights that wait go on with what was written: one of several may end where a write does.
fn are_resumed(waiting: &[Flight], resumptions: usize, thresholds: &Thresholds) -> bool {
    resumptions as f64 >= thresholds.resumed_mostly.value() * waiting.len() as f64
}

/// A flight of the second half of those that wait, bytes, where `resumptions` of them go on with what was written and they grow from the first half to the
/// second, though some may be cut in the wrong place. No window but the congestion window grows all the time and is filled each time: a send buffer's flights are
/// all the same.
fn slow_growth(waiting: &[Flight], resumptions: usize, thresholds: &Thresholds) -> Option<f64> {
    let (early, late) = waiting.split_at(waiting.len() / 2);
    let usual = |flights: &[Flight]| {
        median(&flights.iter().map(|flight| flight.bytes as f64).collect::<Vec<f64>>()).unwrap_or(0.0)
    };
    let is_long = waiting.len() as u64 > thresholds.slow_start_rounds.whole();
    let grown = thresholds.flights_grown.value();
    let is_larger =
        |flight: &Flight, other: &Flight, times: f64| flight.bytes as f64 >= times * other.bytes as f64;
    // Some flights that were taken for one are much larger than the one before.
    let is_single =
        |at: usize| at == 0 || !is_larger(&waiting[at], &waiting[at - 1], thresholds.packet_doubled.value());
    let falls =
        (1..waiting.len()).any(|at| is_single(at - 1) && is_larger(&waiting[at - 1], &waiting[at], grown));
    let goes_on = are_resumed(waiting, resumptions, thresholds);
    (is_long && goes_on && !falls && usual(late) >= grown * usual(early)).then(|| usual(late))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use pipefill_core::record::Waits;

    const MSS: u64 = 1_000;

    /// Samples of `flights`, in bytes, each 60 ms after the one before, beside a window of 100 kB; the second half of a flight is seen 10 ms late.
    /// `resumptions` of them go on with what was written.
    fn samples(flights: &[u64], resumptions: u32) -> Vec<PacketSample> {
        let (mut came, mut all) = (0, Vec::new());
        for (at, bytes) in flights.iter().enumerate() {
            for (ms, part) in [(0, bytes.min(&MSS)), (10, &bytes.saturating_sub(MSS)), (20, &0)] {
                let begins = at > 0 && ms == 0;
                came += part;
                all.push(PacketSample {
                    t_us: at as u64 * 60_000 + ms * 1_000,
                    mss_bytes: MSS as u16,
                    acked_bytes: came,
                    largest_bytes: (*part).min(MSS) as u32,
                    rwnd_bytes: Some(100_000),
                    bursts: begins.into(),
                    waits: Waits { resumptions: resumptions.min(at as u32), ..Waits::default() },
                    ..PacketSample::default()
                });
            }
        }
        all
    }

    fn of(flights: &[u64], resumptions: u32) -> Vec<Start> {
        starts(&samples(flights, resumptions), 0, &STANDARD)
    }

    #[test]
    fn a_flight_that_waits_for_its_acks_is_slow_starts() {
        for flights in
            [&[14_000, 9_000][..], &[14_000, 28_000, 9_000], &[14_000, 21_000, 21_000, 42_000, 9_000]]
        {
            let found = of(flights, 9);
            let [start] = &found[..] else { panic!("{flights:?}: {}", found.len()) };
            assert_eq!((start.interval.from_us, start.first, start.window_used), (0, 14_000, None));
            assert_eq!(start.interval.to_us, (flights.len() as u64 - 1) * 60_000 + 10_000);
        }
    }

    #[test]
    fn a_write_that_ends_waits_for_its_program() {
        assert!(of(&[14_000, 9_000], 0).is_empty());
        assert!(of(&[14_000, 28_000, 9_000], 1).is_empty());
        assert!(of(&[14_000, 28_000, 56_000, 112_000, 9_000], 2).is_empty());
        assert_eq!(of(&[14_000, 28_000, 56_000, 112_000, 9_000], 3).len(), 1, "one ends where a write does");
    }

    /// A buffer's flights are all the same; what is less than a segment may be held back.
    #[test]
    fn what_other_windows_make_as_well_is_not_slow_starts() {
        for flights in [
            &[14_000, 14_000, 9_000][..],
            &[14_000, 500],
            &[900, 9_000],
            &[14_000, 21_000, 14_000, 28_000, 9_000],
            &[14_000, 900_000],
        ] {
            assert!(of(flights, 9).is_empty(), "{flights:?}");
        }
    }

    #[test]
    fn the_window_that_a_flight_fills_is_the_receivers() {
        let [start] = &of(&[98_000, 90_000], 9)[..] else { panic!("none") };
        assert_eq!(start.window_used, Some(0.98));
    }

    #[test]
    fn flights_that_grow_slowly_are_the_congestion_windows() {
        let is_slow = |flights: &[u64], resumptions| {
            let found = of(flights, resumptions);
            found.first().map(|start| start.is_slow)
        };
        let flights = [3_000, 4_000, 5_000, 6_000, 7_000, 4_000];
        assert_eq!(is_slow(&flights, 9), Some(true));
        assert_eq!(is_slow(&flights, 3), None, "writes that end");
        let cut = [14_000, 14_000, 14_000, 17_000, 54_000, 20_000, 9_000];
        assert_eq!(is_slow(&cut, 9), Some(true), "two flights were taken for one");
        assert_eq!(is_slow(&[14_000, 28_000, 56_000, 112_000, 9_000], 9), Some(false));
        assert_eq!(is_slow(&[14_000, 14_000, 15_000, 14_000, 15_000, 9_000], 9), None, "a buffer's");
    }

    /// A second answer whose first flight has grown since, and one whose has not.
    #[test]
    fn after_an_answer_the_window_has_grown() {
        let two = |second: u64, seen_late: u64| {
            let mut samples = samples(&[14_000, 28_000, second, 9_000], 9);
            for (at, sample) in samples.iter_mut().enumerate() {
                sample.peer_segments = Some(u32::from(at >= 6));
                sample.acked_bytes -= if (4..6).contains(&at) { seen_late } else { 0 };
            }
            starts(&samples, 0, &STANDARD).len()
        };
        assert_eq!([two(42_000, 0), two(28_000, 0)], [2, 1]);
        assert_eq!(two(42_000, 3_000), 2, "the end of the first answer is no flight of the second");
    }
}
