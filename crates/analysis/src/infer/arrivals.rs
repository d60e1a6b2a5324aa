//! What the receiving socket shows by itself: bytes per round trip against its window, data that is not read, segments out of order.
//!
//! The receiver measures its own round trip (`tcp_rcv_rtt_measure_ts()`, RFC 7323 timestamps) and knows its window, its queue and what
//! arrives.

use super::open_window::OpenWindow;
use super::queue;
use super::rounds::idle_share;
use super::samples::{Cut, Samples, Timed};
use super::track::arrived_bytes;
use crate::ground::interval::TimeInterval;
use crate::ground::statistics::{median, percentile, relative_spread, rounded, variation};
use crate::ground::thresholds::{PERMILLE, RECEIVER_SAMPLES_MAX, SEGMENT_BYTES, THIRDS, Thresholds};
use pipefill_core::evidence::{ArrivalPattern, Arrivals, ArrivalsOfAll, DelayedAcks, Growth, Risen, Settled};
use pipefill_core::record::{PacketSample, TcpSample};

/// One sample of a receiver.
#[derive(Debug, Clone, Copy)]
struct ReceiverSample {
    t_us: u64,
    received: u64,
    /// Payload segments that the receiver sent so far.
    spoken: Option<u64>,
    rtt_us: Option<u64>,
    /// The same without what ACKs waited for on their way: what a queue of the data makes of it.
    data_rtt_us: Option<u64>,
    window: Option<u64>,
    unread: Option<f64>,
    out_of_order: u32,
    /// Segments that were sent again so far; absent where that is not seen.
    resent: Option<u32>,
    /// CE marks so far, or ACKs that tell of them; absent where nobody counts them.
    marks: Option<u32>,
    counts: Option<SegmentCounts>,
}

/// What a receiver's socket counts of segments so far.
#[derive(Debug, Clone, Copy)]
struct SegmentCounts {
    /// With payload that came.
    came: u32,
    /// That it sent.
    sent: u32,
    /// Payload of a full one, bytes.
    full: u64,
}

/// Some round trips.
#[derive(Debug, Clone, Copy)]
struct ArrivalRound {
    interval: TimeInterval,
    rate_bps: f64,
    /// What arrives in a round trip over the advertised window.
    used: Option<f64>,
    unread: f64,
    is_disordered: bool,
    is_marked: Option<bool>,
    idle_share: Option<f64>,
}

/// Collects one stream's samples.
#[derive(Debug)]
pub(crate) struct Receiving<'a> {
    samples: Samples<ReceiverSample>,
    /// Of packets.
    window: OpenWindow,
    thresholds: &'a Thresholds,
}

impl Timed for ReceiverSample {
    fn t_us(&self) -> u64 {
        self.t_us
    }
}

impl<'a> Receiving<'a> {
    pub(crate) fn new(thresholds: &'a Thresholds) -> Self {
        Self { samples: Samples::new(RECEIVER_SAMPLES_MAX), window: OpenWindow::default(), thresholds }
    }

    /// Takes the next sample, in order of time.
    pub(crate) fn observe(&mut self, row: &TcpSample) {
        let info = &row.info;
        let share = |(used, size): (u64, u64)| used as f64 / size.max(1) as f64;
        self.samples.push(ReceiverSample {
            t_us: row.t_us,
            received: info.bytes_received.unwrap_or(0),
            spoken: info.data_segs_out.map(u64::from),
            rtt_us: info.rcv_rtt_us.map(u64::from),
            data_rtt_us: info.rcv_rtt_us.map(u64::from),
            window: info.local_rwnd_bytes.map(u64::from),
            unread: row.rmem_alloc_bytes.zip(row.rcvbuf_bytes).map(share),
            out_of_order: info.rcv_ooo_segments.unwrap_or(0),
            resent: None,
            marks: info.received_ce_segments,
            counts: info.data_segs_in.zip(info.segs_out).map(|(came, sent)| SegmentCounts {
                came,
                sent,
                full: info.mss_bytes.into(),
            }),
        });
    }

    /// The same of packets. What is not read takes room from the window; the kernel's round trip is from its ACKs to the data that echo their
    /// timestamps (`tcp_rcv_rtt_measure_ts()`).
    pub(crate) fn observe_packets(&mut self, row: &PacketSample) {
        let window = row.rwnd_bytes.map(u64::from);
        self.window.observe(window, arrived_bytes(row), self.thresholds.window_is_all.value());
        let widest = self.window.widest().unwrap_or(0);
        // Without the scale only its ratio to the largest one is known.
        let of_widest = |permille: u16| 1.0 - f64::from(permille) / PERMILLE;
        let unread = |window: u64| (widest - window) as f64 / widest.max(1) as f64;
        self.samples.push(ReceiverSample {
            t_us: row.t_us,
            received: arrived_bytes(row),
            spoken: row.peer_segments.map(u64::from),
            rtt_us: row.receiver_rtt_us.map(u32::from).or(row.path_rtt_us).map(u64::from),
            data_rtt_us: queue::receiver_rtt_of(row, self.thresholds),
            window,
            unread: window.filter(|_| widest > 0).map(unread).or(row.rwnd_permille.map(of_widest)),
            out_of_order: row.out_of_order_segments,
            resent: Some(row.retransmits),
            marks: Some(row.ece_acks),
            counts: None,
        });
    }

    /// The evidence of each round of a stream. Of its life, `measured` counts where single rounds show nothing; `others` go the same way.
    pub(crate) fn arrivals(
        &self,
        life: TimeInterval,
        measured: TimeInterval,
        others: &[&Self],
    ) -> Vec<(TimeInterval, Arrivals)> {
        let rounds = self.rounds();
        let within = |interval: TimeInterval| {
            rounds.iter().copied().filter(move |round| round.interval.within(interval).length_us() > 0)
        };
        let counted: Vec<ArrivalRound> = within(measured).collect();
        let is_few = counted.len() < self.thresholds.receiver_rounds.count();
        let counted = if is_few { within(life).collect() } else { counted };
        let whole = self.whole(&counted, others);
        let spoken_in_round_trip = self.spoken_in_round_trip();
        let arrivals = |round: ArrivalRound| {
            let (unread_share, window_used) = (round.unread, round.used);
            let arrivals =
                Arrivals { unread_share, window_used, whole, spoken_in_round_trip, ..Arrivals::default() };
            (round.interval, arrivals)
        };
        within(life).map(arrivals).collect()
    }

    fn spoken_in_round_trip(&self) -> Option<f64> {
        let samples = self.samples.as_slice();
        let (first, last) = samples.first().zip(samples.last())?;
        let spoken = last.spoken?.saturating_sub(first.spoken?);
        let rtt_us = median(&self.round_trips().collect::<Vec<f64>>())?;
        Some(spoken as f64 * rtt_us / last.t_us.saturating_sub(first.t_us).max(1) as f64)
    }

    fn rounds(&self) -> Vec<ArrivalRound> {
        // The first round trip of a connection that was idle at first is the time since it was opened.
        let rtts: Vec<f64> = self.round_trips().collect();
        let too_long = self.thresholds.receiver_rtt_too_long.value();
        let most_us = median(&rtts).map_or(u64::MAX, |usual| (too_long * usual) as u64);
        // Two round trips, so that bursts of one do not count.
        let least_us = |first: &ReceiverSample| 2 * first.rtt_us.unwrap_or(0).min(most_us);
        self.samples
            .rounds(self.thresholds.epoch_samples.count(), least_us)
            .iter()
            .map(|cut| round(cut, self.payload_of_segment(), self.thresholds))
            .collect()
    }

    /// Payload of a segment, the mean, where some came out of order and the socket counts segments: what waits behind a hole has come, and the socket
    /// counts its bytes later, all at once.
    fn payload_of_segment(&self) -> Option<f64> {
        let samples = self.samples.as_slice();
        let (first, last) = samples.first().zip(samples.last())?;
        let came = last.counts?.came.wrapping_sub(first.counts?.came);
        let bytes = last.received.saturating_sub(first.received);
        (last.out_of_order > first.out_of_order && came > 0).then(|| bytes as f64 / f64::from(came))
    }

    /// What all rounds together show, since the rate fell for good, if it did.
    fn whole(&self, rounds: &[ArrivalRound], others: &[&Self]) -> ArrivalsOfAll {
        let rounds = &rounds[self.fallen(rounds).unwrap_or(0)..];
        let together = |round: &ArrivalRound| {
            round.rate_bps + others.iter().map(|other| other.rate_bps(round.interval)).sum::<f64>()
        };
        let all: Vec<f64> = rounds.iter().map(together).collect();
        let own: Vec<f64> = rounds.iter().map(|round| round.rate_bps).collect();
        let disordered = rounds.iter().filter(|round| round.is_disordered).count();
        let (started, last_disordered) =
            (self.started(&own), rounds.iter().rposition(|round| round.is_disordered));
        let marked: Option<usize> = rounds.iter().map(|round| round.is_marked.map(usize::from)).sum();
        let idle: Vec<f64> = rounds.iter().filter_map(|round| round.idle_share).collect();
        let rtts = self.rtts_of(rounds, |sample| sample.rtt_us);
        let middle = median(&rtts).unwrap_or(0.0);
        let mean_bps = own.iter().sum::<f64>() / own.len().max(1) as f64;
        ArrivalsOfAll {
            rounds: rounds.len(),
            streams: others.len() + 1,
            segments: (!rtts.is_empty()).then_some(mean_bps * middle / 8e6 / SEGMENT_BYTES),
            spread: relative_spread(&all).unwrap_or(f64::INFINITY),
            disordered_share: disordered as f64 / rounds.len().max(1) as f64,
            marked_share: marked.map(|marked| marked as f64 / rounds.len().max(1) as f64),
            // While one is silent, others keep a queue busy.
            idle_share: median(&idle).filter(|_| others.is_empty()),
            settled: self.settled(rounds, &own, started),
            undisturbed: self.settled(
                rounds,
                &own,
                last_disordered.map_or(started, |at| started.max(at + 1)),
            ),
            growth: growth(&own),
            acks_delayed: self.acks_delayed(rounds),
            risen_always: self.risen(rounds, self.thresholds.receiver_queue_share.value()),
            risen_often: self.risen(rounds, self.thresholds.receiver_queue_often.value()),
            // Without timestamps it sees a round trip only where a window ends (`tcp_rcv_rtt_measure()`).
            has_one_rtt_only: rtts.iter().all(|rtt| Some(rtt) == rtts.first()),
            pattern: self.pattern(&rounds[started..]),
        }
    }

    /// What the samples in the time of `rounds` show.
    fn pattern(&self, rounds: &[ArrivalRound]) -> Option<ArrivalPattern> {
        let interval = rounds.first()?.interval.around(rounds.last()?.interval);
        let in_time = |sample: &&ReceiverSample| (interval.from_us..=interval.to_us).contains(&sample.t_us);
        let samples: Vec<&ReceiverSample> = self.samples.as_slice().iter().filter(in_time).collect();
        let steps: Vec<ArrivalStep> = samples.windows(2).filter_map(ArrivalStep::of).collect();
        let sum = |of: fn(&ArrivalStep) -> f64| steps.iter().map(of).sum::<f64>();
        let [time_us, bytes, came] = [sum(|it| it.us), sum(|it| it.bytes), sum(|it| it.came)];
        if time_us <= 0.0 || came <= 0.0 {
            return None;
        }
        let in_time = self.round_trips().reduce(f64::min)? / time_us;
        let received: Vec<f64> = steps.iter().map(|it| it.bytes).collect();
        let t = self.thresholds;
        let is_silent = |it: &ArrivalStep| it.bytes < t.idle_part.value() * bytes / time_us * it.us;
        let silent_us: f64 = steps.iter().filter(|it| is_silent(it)).map(|it| it.us).sum();
        let begins = |pair: &&[ArrivalStep]| {
            pair.first().is_some_and(is_silent) && pair.last().is_some_and(|it| !is_silent(it))
        };
        let bursts = steps.windows(2).filter(begins).count() as f64;
        let fullest =
            steps.iter().filter(|it| it.came > 0.0).map(|it| it.bytes / it.came).fold(0.0, f64::max);
        let full = fullest.min(samples.first()?.counts?.full as f64);
        let is_in_order = samples.last()?.out_of_order == samples.first()?.out_of_order;
        let short = (came - bytes / full.max(1.0)).max(0.0);
        let is_dense = came * t.delayed_ack_us.value() >= 2.0 * time_us;
        Some(ArrivalPattern {
            samples_in_round_trip: in_time * steps.len() as f64,
            unevenness: variation(&received)?,
            silent_share: silent_us / time_us,
            bursts_in_round_trip: bursts * in_time,
            short_in_round_trip: is_in_order.then_some(short * in_time),
            acks_of_segment: is_dense.then(|| sum(|it| it.sent) / came),
        })
    }

    /// How long ACKs wait, by the round trips in the time of `rounds`.
    fn acks_delayed(&self, rounds: &[ArrivalRound]) -> Option<DelayedAcks> {
        let of_acks = |sample: &ReceiverSample| Some(sample.rtt_us?.saturating_sub(sample.data_rtt_us?));
        let wait_us = median(&self.rtts_of(rounds, of_acks))?;
        let rtt_us = median(&self.rtts_of(rounds, |sample| sample.rtt_us)).filter(|&us| us > 0.0)?;
        let from_us = rounds.first()?.interval.from_us;
        let samples = self.samples.as_slice().windows(2);
        let came = samples.filter(|pair| pair[1].t_us >= from_us && pair[1].received > pair[0].received);
        let came_us: Vec<u64> = came.map(|pair| pair[1].t_us).collect();
        let gaps_us = || came_us.windows(2).map(|pair| (pair[1] - pair[0]) as f64);
        let silent_us: f64 = gaps_us().filter(|us| 2.0 * us >= wait_us).sum();
        let all_us: f64 = gaps_us().sum();
        Some(DelayedAcks { share: wait_us / rtt_us, silent_share: silent_us / all_us.max(1.0) })
    }

    /// The rounds from that at `from` on.
    fn settled(&self, rounds: &[ArrivalRound], rates: &[f64], from: usize) -> Settled {
        let time = |rounds: &[ArrivalRound]| {
            rounds.iter().map(|round| round.interval.length_us()).sum::<u64>() as f64
        };
        let share = time(&rounds[from..]) / time(rounds).max(1.0);
        let (settled, rates) = (&rounds[from..], &rates[from..]);
        Settled {
            rounds: settled.len(),
            share,
            spread: relative_spread(rates),
            risen: self.risen(settled, self.thresholds.receiver_queue_share.value()),
            is_disordered: settled.iter().any(|round| round.is_disordered),
            growth: growth(rates),
        }
    }

    /// The first of rounds with `rates` after the start.
    fn started(&self, rates: &[f64]) -> usize {
        let started = self.thresholds.receiver_started.value() * median(rates).unwrap_or(0.0);
        rates.iter().position(|&rate| rate >= started).unwrap_or(0)
    }

    /// Where the rate has fallen for good, in the first half of the time; `None` where it has not, or is mostly the same.
    fn fallen(&self, rounds: &[ArrivalRound]) -> Option<usize> {
        let (first, last) = rounds.first().zip(rounds.last())?;
        let all: Vec<f64> = rounds.iter().map(|round| round.rate_bps).collect();
        if relative_spread(&all)? <= self.thresholds.receiver_plateau.value() {
            return None;
        }
        let half_us = first.interval.from_us.midpoint(last.interval.to_us);
        let late = rounds.partition_point(|round| round.interval.from_us < half_us);
        let exceeded = self.thresholds.plateau_exceeded.value() * median(&all[late..])?;
        let fastest = all.iter().rposition(|&rate| rate > exceeded)?;
        (fastest < late).then_some(fastest + 1)
    }

    /// The round trip that `share` of the samples of `rounds` reach, against the least one of all.
    fn risen(&self, rounds: &[ArrivalRound], share: f64) -> Option<Risen> {
        let of_data = |sample: &ReceiverSample| sample.data_rtt_us;
        let all = self.samples.as_slice().iter().filter_map(of_data).map(|us| us as f64);
        let least = all.reduce(f64::min)?;
        let low = percentile(&self.rtts_of(rounds, of_data), 1.0 - share)?;
        Some(Risen { times: if least > 0.0 { low / least } else { f64::INFINITY }, above_us: low - least })
    }

    fn round_trips(&self) -> impl Iterator<Item = f64> {
        self.samples.as_slice().iter().filter_map(|sample| sample.rtt_us).map(|us| us as f64)
    }

    /// The round trips that were measured in the time of `rounds`, microseconds.
    fn rtts_of(&self, rounds: &[ArrivalRound], of: impl Fn(&ReceiverSample) -> Option<u64>) -> Vec<f64> {
        let (Some(first), Some(last)) = (rounds.first(), rounds.last()) else { return Vec::new() };
        let interval = first.interval.from_us..last.interval.to_us;
        let samples = self.samples.as_slice().iter().filter(|sample| interval.contains(&sample.t_us));
        samples.filter_map(of).map(|us| us as f64).collect()
    }

    fn rate_bps(&self, interval: TimeInterval) -> f64 {
        let count = |t_us| self.samples.at(t_us).map_or(0, |sample| sample.received);
        interval.bps(count(interval.to_us).saturating_sub(count(interval.from_us)))
    }
}

/// What came between two samples.
#[derive(Debug, Clone, Copy)]
struct ArrivalStep {
    us: f64,
    bytes: f64,
    /// Segments with payload.
    came: f64,
    /// Segments that the receiver sent.
    sent: f64,
}

impl ArrivalStep {
    fn of(pair: &[&ReceiverSample]) -> Option<Self> {
        let [before, now] = pair else { return None };
        let (counted, counts) = before.counts.zip(now.counts)?;
        Some(Self {
            us: now.t_us.saturating_sub(before.t_us) as f64,
            bytes: now.received.saturating_sub(before.received) as f64,
            came: counts.came.wrapping_sub(counted.came).into(),
            sent: counts.sent.wrapping_sub(counted.sent).into(),
        })
    }
}

fn round(
    cut: &Cut<'_, ReceiverSample>,
    payload_of_segment: Option<f64>,
    thresholds: &Thresholds,
) -> ArrivalRound {
    let first = cut.samples.first().unwrap_or(cut.next);
    let came = payload_of_segment
        .zip(first.counts.zip(cut.next.counts))
        .map(|(payload, (before, now))| rounded(payload * f64::from(now.came.wrapping_sub(before.came))));
    let came = came.unwrap_or(cut.next.received.saturating_sub(first.received));
    let rate_bps = cut.interval.bps(came);
    let rtt_us = cut.samples.iter().filter_map(|sample| sample.rtt_us).min();
    let largest = cut.samples.iter().filter_map(|sample| sample.window).max();
    let used = |(rtt, window): (u64, u64)| rate_bps * rtt as f64 / 8e6 / window.max(1) as f64;
    let is_out_of_order = cut.next.out_of_order > first.out_of_order;
    // What others overtook was not lost.
    let is_resent = cut.next.resent.zip(first.resent).is_none_or(|(now, before)| now > before);
    // What waits behind a hole comes in a lump.
    let received: Vec<(u64, u64)> =
        cut.samples.iter().chain([cut.next]).map(|sample| (sample.t_us, sample.received)).collect();
    let received = joined(&received, thresholds);
    ArrivalRound {
        interval: cut.interval,
        rate_bps,
        used: rtt_us.zip(largest).map(used),
        unread: cut.samples.iter().filter_map(|sample| sample.unread).fold(0.0, f64::max),
        is_disordered: is_out_of_order && is_resent,
        is_marked: cut.next.marks.zip(first.marks).map(|(now, before)| now > before),
        idle_share: (!is_out_of_order)
            .then(|| idle_share(received.into_iter(), SEGMENT_BYTES as u64, thresholds))
            .flatten(),
    }
}

/// Of `received`, what had come at some times, those so far apart that enough comes between two of them to show silence: all where it does. As they are where
/// too few would be left.
fn joined(received: &[(u64, u64)], thresholds: &Thresholds) -> Vec<(u64, u64)> {
    let Some((first, last)) = received.first().zip(received.last()) else { return Vec::new() };
    let steps = (last.1.saturating_sub(first.1)) as f64 / (thresholds.idle_segments.value() * SEGMENT_BYTES);
    if steps < thresholds.epoch_samples.value() {
        return received.to_vec();
    }
    let apart_us = last.0.saturating_sub(first.0) as f64 / steps;
    let (mut kept, mut next_us) = (Vec::new(), first.0 as f64);
    for &(t_us, bytes) in received {
        if t_us as f64 >= next_us {
            kept.push((t_us, bytes));
            next_us = t_us as f64 + apart_us;
        }
    }
    if let Some(end) = kept.last_mut() {
        *end = *last;
    }
    kept
}

/// How `rates` grow from third to third of their time.
fn growth(rates: &[f64]) -> Growth {
    let third = rates.len() / THIRDS;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let [first, second, last] =
        [&rates[..third], &rates[third..rates.len() - third], &rates[rates.len() - third..]].map(mean);
    let over = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { f64::INFINITY };
    Growth {
        each: over(second, first).min(over(last, second)),
        whole: if last > 0.0 { over(last, first) } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use pipefill_core::record::StreamEnd;
    use pipefill_core::tcp_info::TcpInfo;

    /// What ten seconds of a receiver show, a sample each 10 ms of a round trip of 20 ms: `bytes` arrive in each.
    fn whole(bytes: impl Fn(u64) -> u64) -> ArrivalsOfAll {
        whole_of(20_000, bytes)
    }

    /// The same with round trips of `rtt_us`.
    fn whole_of(rtt_us: u32, bytes: impl Fn(u64) -> u64) -> ArrivalsOfAll {
        let mut receiving = Receiving::new(&STANDARD);
        let mut received = 0;
        for at in 0..1_000 {
            received += bytes(at);
            receiving.observe_packets(&PacketSample {
                t_us: at * 10_000,
                acked_bytes: received,
                receiver_rtt_us: Some(rtt_us.into()),
                ..PacketSample::default()
            });
        }
        let life = TimeInterval { from_us: 0, to_us: 10_000_000 };
        receiving.arrivals(life, life, &[])[0].1.whole
    }

    #[test]
    fn what_came_before_the_rate_fell_for_good_is_the_start() {
        let spread = |fall: u64| whole(move |at| if at < fall { 100_000 } else { 10_000 }).spread;
        assert_eq!(spread(300), 0.0);
        assert!(spread(700) > 0.5, "most of the time it has another rate: {}", spread(700));
    }

    #[test]
    fn silence_between_bursts_is_counted_where_it_shows() {
        assert_eq!(whole(|_| 10_000).idle_share, Some(0.0));
        assert_eq!(whole(|at| if at % 2 == 0 { 20_000 } else { 0 }).idle_share, Some(0.5));
        assert_eq!(whole(|at| if at % 2 == 0 { 2_000 } else { 0 }).idle_share, None, "a segment or two");
        // In 200 ms.
        let seldom = |at: u64, bytes: u64| if at.is_multiple_of(20) { bytes } else { 0 };
        let silent = whole_of(200_000, move |at| seldom(at, 40_000)).idle_share.unwrap();
        assert!(silent > 0.6, "{silent}: a burst of 28 segments");
        let even = whole_of(200_000, |_| 2_000).idle_share.unwrap();
        assert!(even < 0.05, "{even}: the same rate, evenly");
    }

    /// The same of a socket, with a round trip of 40 ms: `came` has the number and the size of the segments of each 10 ms, and every second one is acknowledged.
    fn pattern(came: impl Fn(u64) -> (u32, u64)) -> Option<ArrivalPattern> {
        let mut receiving = Receiving::new(&STANDARD);
        let (mut received, mut segments) = (0, 0);
        for at in 0..400 {
            let (count, bytes) = came(at);
            received += bytes;
            segments += count;
            let info = TcpInfo {
                mss_bytes: 1_000,
                bytes_received: Some(received),
                data_segs_in: Some(segments),
                segs_out: Some(segments / 2),
                rcv_rtt_us: Some(40_000),
                ..TcpInfo::default()
            };
            receiving.observe(&TcpSample::of_info(at * 10_000, 0, StreamEnd::Receiver, info));
        }
        let life = TimeInterval { from_us: 0, to_us: 4_000_000 };
        receiving.arrivals(life, life, &[])[0].1.whole.pattern
    }

    #[test]
    fn segments_that_are_not_full_and_silences_are_counted_in_a_round_trip() {
        let even = pattern(|_| (10, 10_000)).unwrap();
        assert_eq!((even.unevenness, even.silent_share, even.bursts_in_round_trip), (0.0, 0.0, 0.0));
        assert_eq!((even.short_in_round_trip, even.acks_of_segment), (Some(0.0), Some(0.5)));
        assert!((even.samples_in_round_trip - 4.0).abs() < 0.01, "{even:?}");
        // The second half of each round trip is silent, and one segment of it half full.
        let bursts = pattern(|at| match at % 4 {
            0 => (20, 20_000),
            1 => (20, 19_500),
            _ => (0, 0),
        });
        let bursts = bursts.unwrap();
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 0.03, "{bursts:?}");
        near(bursts.silent_share, 0.5);
        near(bursts.bursts_in_round_trip, 1.0);
        near(bursts.short_in_round_trip.unwrap(), 0.5);
        let few = pattern(|at| (u32::from(at % 8 == 0), if at % 8 == 0 { 1_000 } else { 0 })).unwrap();
        assert_eq!(few.acks_of_segment, None, "one in 80 ms");
    }
}
