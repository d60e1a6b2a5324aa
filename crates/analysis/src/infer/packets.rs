//! What the packets of one direction show that only its socket knows: whether data wait, and what lets them out. Figures, no verdict.
//!
//! The estimates are in the spirit of T-RAT (Zhang et al., SIGCOMM 2002) and of Siekkinen et al. (2008), over spans of some round trips. Linux sets PSH
//! on the last segment of what was written, and in a longer queue only once for each half of the largest window (`forced_push()`): so PSH shows
//! a queue that has run dry. Then the application offers no more, or its buffer holds no more. Super-packets always end with PSH (since 5.4) and
//! hide the others: but a buffer is filled again only when a third of it is free (`sk_stream_min_wspace()`), so that less than the most is in
//! flight when ACKs come. Where data wait, they leave on ACKs, or evenly by a pacing rate.

pub(crate) mod conditions;
mod line_rate;
mod rate;
mod span;

pub(crate) use line_rate::{LineRate, line_rate};
pub(crate) use rate::{
    apart_share, bursts_in_round_trip, fallen_share, paused_share, resumed_share, single_share, steady_rate,
};
pub(crate) use span::CutSpan;

use crate::ground::thresholds::{PACKET_SAMPLES_MAX, Thresholds};
use pipefill_core::evidence::SentPackets;
use pipefill_core::record::PacketSample;

/// One stream's samples in order of time, in a bounded number of intervals.
#[derive(Debug, Clone, Default)]
pub(crate) struct PacketTrack {
    samples: Vec<PacketSample>,
    /// Samples that become one.
    stride: usize,
    /// Of these, still to come.
    missing: usize,
    /// Whether more was out than the windows let out: none is known.
    exceeds_window: bool,
}

/// What the packets of one stream show.
#[derive(Debug)]
pub(crate) struct StreamPackets<'a> {
    pub(crate) samples: &'a [PacketSample],
    /// All samples, cut.
    pub(crate) spans: Vec<CutSpan>,
    /// Of each sample: the most in flight in the round trip before, and at the next one.
    flights: Vec<u64>,
    mean_bps: u64,
    thresholds: &'a Thresholds,
}

impl PacketTrack {
    /// Takes the next sample; neighbours become one where there are too many.
    pub(crate) fn push(&mut self, sample: &PacketSample) {
        if self.samples.len() >= PACKET_SAMPLES_MAX {
            self.samples = PacketSample::in_pairs(&self.samples);
            self.stride = 2 * self.stride.max(1);
            self.missing = 0;
        }
        if sample.exceeds_window() && !self.exceeds_window {
            self.exceeds_window = true;
            self.samples.iter_mut().for_each(|sample| *sample = sample.without_window());
        }
        let sample = if self.exceeds_window { &sample.without_window() } else { sample };
        match self.samples.last_mut().filter(|_| self.missing > 0) {
            Some(last) => {
                let before = std::mem::replace(last, *sample);
                last.extend_back(&before);
                self.missing -= 1;
            }
            None => {
                self.samples.push(*sample);
                self.missing = self.stride.max(1) - 1;
            }
        }
    }

    pub(crate) fn as_slice(&self) -> &[PacketSample] {
        &self.samples
    }
}

impl<'a> StreamPackets<'a> {
    pub(crate) fn of(samples: &'a [PacketSample], thresholds: &'a Thresholds) -> Self {
        let flights: Vec<u64> = (0..samples.len()).map(|at| flight_around(samples, at)).collect();
        let spans = span::cut(samples, &flights, thresholds);
        Self { samples, spans, flights, mean_bps: mean_bps(samples), thresholds }
    }

    /// Near the receiver, which acknowledges what arrives at once: what the sender has out is not seen.
    pub(crate) fn near_receiver(samples: &'a [PacketSample], thresholds: &'a Thresholds) -> Self {
        let mut packets = Self::of(samples, thresholds);
        for CutSpan { figures, .. } in &mut packets.spans {
            (figures.drained_share, figures.flight_most) = (None, None);
        }
        packets
    }

    /// Every sample with its span, in order of time.
    pub(crate) fn in_spans(&self) -> impl Iterator<Item = (&CutSpan, &PacketSample)> {
        self.spans
            .iter()
            .flat_map(|span| self.samples[span.samples.clone()].iter().map(move |sample| (span, sample)))
    }

    /// What each sample shows of the sender beside its own columns: the figures of its span, and whether slow start has ended by then.
    pub(crate) fn sent(&self) -> impl Iterator<Item = (SentPackets, bool)> {
        let mut has_left_slow_start = false;
        let mut paced_since_us = None;
        self.in_spans().enumerate().map(move |(at, (span, sample))| {
            has_left_slow_start |= span.waits_for_cwnd && !self.has_doubled(at);
            if span.waits_for_pacer {
                paced_since_us.get_or_insert(sample.t_us);
            } else {
                paced_since_us = None;
            }
            let flight = self.flights[at];
            let [is_doubling, is_doubled] = self.doubling(at);
            let packets = SentPackets {
                span: span.figures,
                flight,
                flight_least: flight,
                is_doubling,
                is_doubled,
                flight_used: sample.most_in_flight_bytes() as f64
                    / flight.max(sample.mss_bytes.into()).max(1) as f64,
                paced_us: paced_since_us.map_or(0, |since_us| sample.t_us.saturating_sub(since_us)),
                mean_bps: self.mean_bps,
            };
            (packets, has_left_slow_start)
        })
    }

    /// Whether the flight at sample `at` is larger than that of some round trips before, as slow start makes it; so is the first one, before any
    /// round trip is known.
    fn has_doubled(&self, at: usize) -> bool {
        let now = &self.samples[at];
        let Some(rtt_us) = now.srtt_us else { return true };
        let back_us = self.thresholds.packet_slow_start.whole() * u64::from(rtt_us);
        let then_us = |sample: &PacketSample| sample.t_us.saturating_add(back_us);
        let before = self.samples[..at].partition_point(|sample| then_us(sample) < now.t_us);
        let flight = before.checked_sub(1).map_or(0, |before| self.flights[before]);
        flight == 0 || self.flights[at] as f64 >= self.thresholds.packet_doubling.value() * flight as f64
    }

    /// Whether the flight at sample `at` has doubled since the round trip before, or doubles in the next: no buffer is full that holds more a round
    /// trip later. After none it is not known. And whether it is slow start's: of an initial window at least, and no more than twice as large.
    fn doubling(&self, at: usize) -> [bool; 2] {
        let now = &self.samples[at];
        let rtt_us = now.srtt_us.map_or(0, u64::from);
        let flight_at = |t_us: u64| {
            let until = self.samples.partition_point(|sample| sample.t_us <= t_us);
            until.checked_sub(1).map_or(0, |at| self.flights[at])
        };
        let [before, after] =
            [now.t_us.saturating_sub(rtt_us), now.t_us.saturating_add(rtt_us)].map(flight_at);
        let initial = self.thresholds.initial_window.value() * f64::from(now.mss_bytes);
        let (least, most) = (self.thresholds.packet_doubling.value(), self.thresholds.packet_doubled.value());
        let steps = [(before, self.flights[at]), (self.flights[at], after)].map(|(of, flight)| {
            let times = flight as f64 / of.max(1) as f64;
            let is_multiple = of > 0 && times >= least;
            [is_multiple, is_multiple && times <= most && of as f64 >= initial]
        });
        [0, 1].map(|at| steps.iter().any(|step| step[at]))
    }
}

/// The most in flight in the round trip before sample `at`, and at the next one.
fn flight_around(samples: &[PacketSample], at: usize) -> u64 {
    let now = &samples[at];
    let since_us = now.t_us.saturating_sub(now.srtt_us.map_or(0, u64::from));
    let before = samples[..at].iter().rev().take_while(|sample| sample.t_us >= since_us);
    let after = samples[at..].iter().take(2);
    before.chain(after).map(PacketSample::most_in_flight_bytes).max().unwrap_or(0)
}

fn mean_bps(samples: &[PacketSample]) -> u64 {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return 0 };
    let bytes = last.acked_bytes.saturating_sub(first.acked_bytes);
    bytes.saturating_mul(8_000_000) / last.t_us.saturating_sub(first.t_us).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use pipefill_core::record::StreamEnd;
    use proptest::prelude::*;

    const MSS: u64 = 1_448;
    const RTT_US: u64 = 20_000;

    /// Ten seconds of a sender that keeps 100 kB in flight, a sample each 10 ms: `change` what makes it another's.
    fn samples(change: impl Fn(u64, &mut PacketSample)) -> Vec<PacketSample> {
        let sample = |at: u64| {
            let mut sample = PacketSample {
                t_us: at * 10_000,
                end: StreamEnd::Sender,
                mss_bytes: MSS as u16,
                acked_bytes: at * 50_000,
                unacked_bytes: 100_000,
                in_flight_bytes: 100_000,
                rwnd_bytes: Some(1_000_000),
                srtt_us: Some((RTT_US as u32).into()),
                min_rtt_us: Some((RTT_US as u32).into()),
                prompt_bytes: 50_000,
                largest_bytes: MSS as u32,
                acks: 17,
                in_flight_before_acks_bytes: 17 * 98_000,
                in_flight_peak_bytes: 100_000,
                unacked_peak_bytes: 100_000,
                rwnd_at_peak_bytes: Some(1_000_000),
                ..PacketSample::default()
            };
            change(at, &mut sample);
            sample
        };
        (0..1_000).map(sample).collect()
    }

    /// Shares of the spans in which data wait, and in which they wait for the congestion window and for a pacing rate.
    fn waits(samples: &[PacketSample]) -> [f64; 3] {
        let packets = StreamPackets::of(samples, &STANDARD);
        let share = |is: fn(&CutSpan) -> bool| {
            packets.spans.iter().filter(|span| is(span)).count() as f64 / packets.spans.len() as f64
        };
        [share(|span| span.has_unsent), share(|span| span.waits_for_cwnd), share(|span| span.waits_for_pacer)]
    }

    #[test]
    fn what_data_wait_for_shows_in_when_they_leave() {
        let growing = |at: u64, sample: &mut PacketSample| {
            sample.in_flight_peak_bytes = (100_000 + at * 2_000) as u32;
            sample.in_flight_before_acks_bytes = 17 * (99_000 + at * 2_000);
        };
        assert_eq!(waits(&samples(growing)), [1.0, 1.0, 0.0], "a window that grows");
        let [unsent, by_cwnd, _] = waits(&samples(|_, _| ()));
        assert!(unsent < 0.05 && by_cwnd < 0.05, "a flight that is always the same is a buffer's");
        let paced = samples(|_, sample| {
            (sample.unprompted_bytes, sample.prompt_bytes) = (50_000, 0);
        });
        assert_eq!(waits(&paced), [1.0, 0.0, 1.0]);
        let closed = samples(|_, sample| sample.rwnd_at_peak_bytes = Some(100_100));
        assert_eq!(waits(&closed), [1.0, 0.0, 0.0], "for the receiver's window");
        let written = samples(|_, sample| sample.pushes = 1);
        assert_eq!(waits(&written), [0.0, 0.0, 0.0], "the queue runs dry each 50 kB");
        let lossy = samples(|at, sample| sample.retransmits = at as u32);
        assert_eq!(waits(&lossy), [1.0, 1.0, 0.0], "what a loss has left");
        let marked = samples(|at, sample| sample.ece_acks = at as u32);
        assert_eq!(waits(&marked), [1.0, 1.0, 0.0], "and a mark");
    }

    /// Losses now and then, and each ACK comes when so much of a flight that stays the same is out.
    #[test]
    fn a_buffer_is_emptied_after_losses_too() {
        let unsent = |before_acks: u64| {
            waits(&samples(|at, sample| {
                sample.in_flight_before_acks_bytes = 17 * before_acks;
                sample.retransmits = (at / 30) as u32;
            }))[0]
        };
        let [window, buffer] = [98_000, 65_000].map(unsent);
        assert!(window > 0.5 && buffer < 0.3, "{window} {buffer}");
    }

    /// A round trip of 20 ms brings 100 kB, which begin after a silence.
    #[test]
    fn a_queue_that_runs_dry_does_so_in_most_bursts() {
        let written = |of_bursts: u64| {
            let [unsent, ..] = waits(&samples(|at, sample| {
                sample.bursts = u16::from(at.is_multiple_of(2));
                sample.pushes = u32::from(at.is_multiple_of(2 * of_bursts));
                sample.in_flight_peak_bytes = (100_000 + at * 2_000) as u32;
                sample.in_flight_before_acks_bytes = 17 * (99_000 + at * 2_000);
            }));
            unsent
        };
        assert_eq!([written(1), written(4)], [0.0, 1.0]);
    }

    /// Flights of 20 ms each.
    #[test]
    fn no_buffer_is_full_while_flights_double() {
        let doubling = |flights: &[u64]| {
            let samples = samples(|at, sample| {
                let flight = flights[(at as usize / 2).min(flights.len() - 1)];
                (sample.in_flight_bytes, sample.in_flight_peak_bytes) = (flight, flight as u32);
            });
            let packets = StreamPackets::of(&samples, &STANDARD);
            packets.sent().map(|(sent, _)| sent.is_doubling).take(2 * flights.len()).collect::<Vec<_>>()
        };
        let grows = doubling(&[10_000, 20_000, 40_000, 80_000, 80_000, 80_000, 80_000]);
        assert!(grows[..7].iter().all(|&is| is), "{grows:?}");
        assert!(grows[11..].iter().all(|&is| !is), "{grows:?}");
        assert!(doubling(&[80_000; 7]).iter().all(|&is| !is));
    }

    #[test]
    fn what_is_in_flight_falls_where_a_buffer_is_emptied_and_not_where_a_segment_is_lost() {
        let flights = |flights: [u64; 5], lost_segments: u32, is_sent_at_once: bool| {
            samples(|at, sample| {
                let at_place = at as usize % 5;
                sample.in_flight_bytes = flights[at_place];
                sample.in_flight_peak_bytes = flights[at_place] as u32;
                sample.prompt_bytes = if at_place == 0 || is_sent_at_once { 50_000 } else { 0 };
                sample.lost_segments = lost_segments;
                sample.retransmits = (at / 20) as u32;
            })
        };
        let is_its_windows = |samples: &[PacketSample]| {
            let [unsent, by_cwnd, _] = waits(samples);
            unsent > 0.9 && by_cwnd > 0.9
        };
        let emptied = [100_000, 80_000, 45_000, 30_000, 20_000];
        let [unsent, by_cwnd, _] = waits(&flights(emptied, 0, false));
        assert!(unsent < 0.1 && by_cwnd < 0.1, "losses are repaired in between");
        assert!(is_its_windows(&flights(emptied, 1, false)), "what is lost is not in flight");
        assert!(is_its_windows(&flights(emptied, 0, true)), "what one ACK leaves for a moment");
        let answered = [100_000, 80_000, 45_000, 20_000, 0];
        assert!(is_its_windows(&flights(answered, 0, false)), "the end of an answer, to the last byte");
        assert!(
            is_its_windows(&flights(emptied.map(|bytes| bytes / 5), 0, false)),
            "an ACK of a few segments"
        );
    }

    #[test]
    fn slow_start_has_ended_once_data_wait_for_a_window_that_no_longer_doubles() {
        let flight = |at: u64| if at < 40 { 10_000 << (at / 4) } else { 10_000_000 + at * 20_000 };
        let samples = samples(|at, sample| {
            (sample.in_flight_bytes, sample.in_flight_peak_bytes) = (0, flight(at) as u32);
            sample.in_flight_before_acks_bytes = 17 * flight(at);
        });
        let packets = StreamPackets::of(&samples, &STANDARD);
        let ended = packets.sent().position(|(_, has_left_slow_start)| has_left_slow_start);
        assert!(ended.is_some_and(|at| (40..60).contains(&at)), "{ended:?}");
    }

    #[test]
    fn more_samples_than_are_kept_become_longer_intervals_of_the_same_bytes() {
        let mut track = PacketTrack::default();
        let row = PacketSample { prompt_bytes: 3, in_flight_peak_bytes: 7, ..PacketSample::default() };
        let count = 5 * PACKET_SAMPLES_MAX as u64 + 1;
        (0..count).for_each(|t_us| track.push(&PacketSample { t_us, ..row }));
        let kept = track.as_slice();
        assert!(kept.len() <= PACKET_SAMPLES_MAX && kept.is_sorted_by_key(|sample| sample.t_us));
        assert_eq!(kept.iter().map(PacketSample::new_bytes).sum::<u64>(), 3 * count);
        assert_eq!(kept.last().map(|sample| sample.t_us), Some(count - 1));
    }

    /// Any of a row's numbers, times in order.
    fn any_samples() -> impl Strategy<Value = Vec<PacketSample>> {
        let number = || prop_oneof![0..10_u64, Just(u64::MAX), any::<u64>()];
        let small = || prop_oneof![0..10_u32, Just(u32::MAX), any::<u32>()];
        let sample = (prop::array::uniform10(number()), prop::array::uniform14(small()), any::<bool>());
        prop::collection::vec(sample, 0..60).prop_map(|all| {
            let mut samples: Vec<PacketSample> = all
                .into_iter()
                .map(|(long, short, is_known)| PacketSample {
                    t_us: long[0],
                    mss_bytes: short[0] as u16,
                    acked_bytes: long[1],
                    unacked_bytes: long[2],
                    in_flight_bytes: long[3],
                    sacked_segments: short[1],
                    rwnd_bytes: is_known.then_some(short[2]),
                    srtt_us: is_known.then_some(short[3].into()),
                    min_rtt_us: is_known.then_some(short[4].into()),
                    receiver_rtt_us: is_known.then_some(short[5].into()),
                    segments: long[4],
                    retransmits: short[6],
                    dsacks: short[7],
                    sack_acks: short[8],
                    out_of_order_segments: short[9],
                    prompt_bytes: long[5] as u32,
                    unprompted_bytes: long[6] as u32,
                    pushes: short[10],
                    tails: short[11],
                    largest_bytes: short[12],
                    acks: short[13],
                    in_flight_before_acks_bytes: long[7],
                    in_flight_peak_bytes: long[8] as u32,
                    unacked_peak_bytes: long[9] as u32,
                    rwnd_at_peak_bytes: is_known.then_some(short[2]),
                    ..PacketSample::default()
                })
                .collect();
            samples.sort_by_key(|sample| sample.t_us);
            samples
        })
    }

    proptest! {
        #[test]
        fn spans_cover_all_samples_whatever_these_hold(samples in any_samples()) {
            let packets = StreamPackets::of(&samples, &STANDARD);
            prop_assert!(packets.in_spans().map(|(_, sample)| sample).eq(&samples));
            prop_assert_eq!(packets.sent().count(), samples.len());
            let _ = steady_rate(&samples, &STANDARD);
        }
    }
}
