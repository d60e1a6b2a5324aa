//! A span of some round trips, in figures: how full the windows were, what PSH shows, how evenly data left, and what the round trip did.

use crate::ground::statistics::variation;
use pipefill_core::record::PacketSample;
use pipefill_core::tcp_info::CaState;
use std::ops::Range;

/// A span has so many round trips, and so many microseconds and samples at least.
const ROUND_TRIPS: u64 = 6;
const SPAN_US: u64 = 100_000;
const SPAN_SAMPLES: usize = 6;
/// The advertised window had no room for a packet in this share of the samples in which data left.
const WINDOW_FULL: f64 = 0.5;
/// Nor is a window used up of which less than this part is in flight when ACKs come.
const HALF_FULL: f64 = 0.6;
/// Where so much of the new data follows an ACK at once, ACKs clock it.
const PROMPT: f64 = 0.5;
/// A round trip so much above the least one has a queue in it: by this part, or so many microseconds.
const RISEN: f64 = 1.10;
const RISEN_US: u64 = 1_000;
/// And by this part in this share of the samples where it stands there.
const STANDING: f64 = 1.20;
const MOSTLY: f64 = 0.5;
/// Spans after a loss in which the window is what the loss has left.
const MEMORY_SPANS: usize = 3;
/// Bytes of the samples of a span differ by no more than this part of their mean where they are paced.
const EVEN: f64 = 0.35;
/// Of what a longer queue would have sent between two PSHs, no more than this part: it has run dry.
const DRY: f64 = 0.7;
/// Programs write no more at once; in a queue that is never empty the end of a write shows more seldom.
const MOST_OF_A_WRITE: f64 = 192.0 * 1024.0;
/// Samples with less than this part of the span's largest flight: the sender let the pipe run empty.
const DRAINED: f64 = 0.34;
/// A sender with so little in flight when ACKs come, on average, leaves room in cwnd: a buffer's writer waits until a third of it is free.
const NOT_FULL: f64 = 0.88;
/// A flight that is the same but for this part in both halves of a span neither grows nor shrinks …
const STEADY: f64 = 0.15;
/// … and one that is the same to a segment over so many spans more is no congestion window's.
const CONSTANT_SPANS: usize = 1;

/// One span.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PacketSpan {
    /// Places of its samples.
    pub(crate) samples: Range<usize>,
    /// Payload of a full segment.
    pub(crate) segment: u64,
    /// The most in flight.
    pub(crate) flight: u64,
    /// Of the samples in which data left, those in which the advertised window had no room for another packet.
    pub(crate) full_window_share: f64,
    /// What was in flight before each ACK, over the most that was around that time; `None` without ACKs.
    pub(crate) fill: Option<f64>,
    /// New payload for each PSH; `None` without any.
    pub(crate) bytes_of_a_push: Option<f64>,
    /// Of the segments with PSH, those that were not full.
    pub(crate) tail_share: f64,
    /// The largest window when the data may have been written: at half of the connection's age.
    pub(crate) widest_window: u64,
    /// Samples with little in flight.
    pub(crate) drained_share: f64,
    /// Spans since something was lost: 0 where it was in this one.
    pub(crate) since_loss: usize,
    /// Spans over which the largest flight has been the same to a segment.
    pub(crate) since_change: usize,
    /// Of the new payload, what followed an ACK at once.
    pub(crate) prompt_share: f64,
    /// Standard deviation over mean of what left in each sample; `None` where nothing did.
    pub(crate) unevenness: Option<f64>,
    /// By how much the round trip was above the least one at most: as a ratio, and in microseconds.
    pub(crate) rtt_risen: (f64, u64),
    /// Samples in which a queue stood in the round trip.
    pub(crate) standing_share: f64,
    /// Change of the largest flight from the first half to the second, over the first.
    pub(crate) flight_change: f64,
    /// How long it is.
    pub(crate) round_trips: f64,
}

/// All of `samples` in spans, which have `flights` around them.
pub(super) fn cut(samples: &[PacketSample], flights: &[u64]) -> Vec<PacketSpan> {
    let (mut spans, mut from): (Vec<PacketSpan>, usize) = (Vec::new(), 0);
    let mut widest = WidestWindow::default();
    while from < samples.len() {
        let rest = &samples[from..];
        let to = from + length(rest, rest[0].srtt_us);
        let own = &samples[from..to];
        let (flight, segment) = (largest_flight(own), segment(own));
        let before = spans.last();
        let since_loss = before.map_or(MEMORY_SPANS, |before| before.since_loss) + 1;
        let is_same = flight.abs_diff(before.map_or(0, |before| before.flight)) <= segment;
        spans.push(PacketSpan {
            segment,
            flight,
            full_window_share: full_window_share(own),
            fill: fill(own, &flights[from..to]),
            bytes_of_a_push: bytes_of_a_push(own),
            tail_share: sum(own, |one| one.tails.into()) / sum(own, |one| one.pushes.into()).max(1.0),
            widest_window: widest.until(samples, from..to),
            drained_share: share(own, |one| (one.in_flight_bytes as f64) < DRAINED * flight as f64),
            since_loss: if has_losses(own) { 0 } else { since_loss },
            since_change: if is_same { before.map_or(0, |before| before.since_change) + 1 } else { 0 },
            prompt_share: sum(own, |one| one.prompt_bytes) / sum(own, PacketSample::new_bytes).max(1.0),
            unevenness: new_bytes_unevenness(own),
            rtt_risen: rtt_risen(own),
            standing_share: share(own, has_queue),
            flight_change: flight_change(own),
            round_trips: round_trips(own),
            samples: from..to,
        });
        from = to;
    }
    spans
}

/// How many samples the first span has where a round trip takes so long.
pub(super) fn length(samples: &[PacketSample], rtt_us: Option<u32>) -> usize {
    let Some(first) = samples.first() else { return 0 };
    let least_us = (ROUND_TRIPS * rtt_us.map_or(0, u64::from)).max(SPAN_US);
    let end = samples.partition_point(|sample| sample.t_us < first.t_us.saturating_add(least_us));
    let end = end.max(SPAN_SAMPLES).min(samples.len());
    // What is left over belongs to the last span.
    if samples.len() - end < SPAN_SAMPLES { samples.len() } else { end }
}

/// Of what left in each sample but the first, whose interval began before.
pub(super) fn new_bytes_unevenness(samples: &[PacketSample]) -> Option<f64> {
    let bytes: Vec<f64> = samples.iter().skip(1).map(|sample| sample.new_bytes() as f64).collect();
    variation(&bytes)
}

impl PacketSpan {
    /// Whether the sender waits for room in the advertised window, and fills it.
    pub(crate) fn uses_the_window(&self) -> bool {
        self.full_window_share >= WINDOW_FULL && self.fill.is_none_or(|fill| fill >= HALF_FULL)
    }

    /// Whether the queue of written data runs dry.
    pub(crate) fn is_dry(&self) -> bool {
        let most = (DRY * self.widest_window as f64 / 2.0).min(MOST_OF_A_WRITE);
        self.bytes_of_a_push.is_some_and(|bytes| bytes < most)
    }

    /// Whether the window may be what a loss has left.
    pub(crate) fn has_lost(&self) -> bool {
        self.since_loss < MEMORY_SPANS
    }

    /// Whether data leave evenly, not on ACKs, and without a queue: a congestion control that paces (BBR) probes for more.
    pub(crate) fn is_paced(&self) -> bool {
        self.prompt_share < PROMPT && self.unevenness.is_some_and(|uneven| uneven <= EVEN) && self.is_flat()
    }

    /// Whether a send buffer is filled again now and then: a congestion window that nothing is lost from grows, and is filled after each ACK;
    /// what is written at any time fills none.
    pub(crate) fn is_refilled(&self) -> bool {
        let is_steady = self.flight_change <= STEADY;
        let is_filled_again =
            is_steady && self.fill.is_some_and(|fill| fill < NOT_FULL) && self.prompt_share >= PROMPT;
        let is_constant = self.since_change >= CONSTANT_SPANS && self.is_flat();
        // It has to be long enough to see a window grow.
        self.round_trips >= ROUND_TRIPS as f64 / 2.0 && (is_filled_again || is_constant)
    }

    /// Whether written data wait to be sent.
    pub(crate) fn has_unsent(&self) -> bool {
        let is_sent = !self.has_lost() && !self.is_paced() && self.is_refilled();
        self.uses_the_window() || !(self.is_dry() || is_sent)
    }

    /// Whether a queue stands in the round trip, of this connection's own making or of others'.
    pub(crate) fn has_queue(&self) -> bool {
        self.standing_share >= MOSTLY
    }

    /// What of the advertised window was out at `sample`, and the window. Where it is used up, it is so all the time: but a window that makes a
    /// queue is larger than the pipe, and only samples at any time show whether it is used up.
    pub(crate) fn window_at(&self, sample: &PacketSample) -> (u64, Option<u64>) {
        let PacketSample { unacked_bytes, rwnd_bytes, unacked_peak_bytes, rwnd_at_peak_bytes, .. } = *sample;
        let (unacked, window) = if self.uses_the_window() && !self.has_queue() {
            (unacked_peak_bytes.max(unacked_bytes), rwnd_at_peak_bytes.or(rwnd_bytes))
        } else {
            (unacked_bytes, rwnd_bytes)
        };
        (unacked, window.map(u64::from))
    }

    fn is_flat(&self) -> bool {
        self.rtt_risen.0 < RISEN && self.rtt_risen.1 < RISEN_US
    }
}

/// Follows the largest window.
#[derive(Debug, Default)]
struct WidestWindow {
    bytes: u64,
    /// Samples that it is of.
    count: usize,
}

impl WidestWindow {
    /// At half of the connection's age at the end of the span.
    fn until(&mut self, samples: &[PacketSample], span: Range<usize>) -> u64 {
        let (first, last) = (&samples[0], &samples[span.end - 1]);
        let half_us = first.t_us + last.t_us.saturating_sub(first.t_us) / 2;
        while let Some(sample) = samples.get(self.count).filter(|sample| sample.t_us <= half_us) {
            self.bytes = self.bytes.max(sample.rwnd_bytes.unwrap_or(0).into());
            self.count += 1;
        }
        self.bytes
    }
}

fn largest_flight(samples: &[PacketSample]) -> u64 {
    samples.iter().map(PacketSample::most_in_flight_bytes).max().unwrap_or(0)
}

fn segment(samples: &[PacketSample]) -> u64 {
    samples.iter().map(|sample| u64::from(sample.mss_bytes)).max().unwrap_or(0)
}

fn sum(samples: &[PacketSample], value: impl Fn(&PacketSample) -> u64) -> f64 {
    samples.iter().map(|sample| value(sample) as f64).sum()
}

fn share(samples: &[PacketSample], is: impl Fn(&PacketSample) -> bool) -> f64 {
    samples.iter().filter(|sample| is(sample)).count() as f64 / samples.len().max(1) as f64
}

fn has_losses(samples: &[PacketSample]) -> bool {
    let ends = samples.first().zip(samples.last());
    ends.is_some_and(|(first, last)| last.retransmits > first.retransmits)
        || samples.iter().any(|sample| sample.ca_state.is_some_and(|state| state >= CaState::Recovery))
}

/// A sender waits until its next packet fits.
fn full_window_share(samples: &[PacketSample]) -> f64 {
    let largest = samples.iter().map(|sample| u64::from(sample.largest_bytes)).max().unwrap_or(0);
    let is_full = |sample: &&PacketSample| sample.least_room_bytes().is_some_and(|room| room < largest);
    let sending = samples.iter().filter(|sample| sample.new_bytes() > 0).count();
    samples.iter().filter(is_full).count() as f64 / sending.max(1) as f64
}

fn fill(samples: &[PacketSample], flights: &[u64]) -> Option<f64> {
    let most: f64 =
        samples.iter().zip(flights).map(|(sample, &flight)| f64::from(sample.acks) * flight as f64).sum();
    (most > 0.0).then(|| sum(samples, |sample| sample.in_flight_before_acks_bytes) / most)
}

fn bytes_of_a_push(samples: &[PacketSample]) -> Option<f64> {
    let pushes = sum(samples, |sample| sample.pushes.into());
    (pushes > 0.0).then(|| sum(samples, PacketSample::new_bytes) / pushes)
}

fn rtt_risen(samples: &[PacketSample]) -> (f64, u64) {
    let rtts = samples.iter().filter_map(|sample| sample.srtt_us.zip(sample.min_rtt_us));
    rtts.fold((0.0, 0), |(ratio, by_us), (now, least)| {
        (f64::max(ratio, f64::from(now) / f64::from(least)), by_us.max(u64::from(now.saturating_sub(least))))
    })
}

fn has_queue(sample: &PacketSample) -> bool {
    sample.srtt_us.zip(sample.min_rtt_us).is_some_and(|(now, least)| {
        u64::from(now) >= u64::from(least) + RISEN_US && f64::from(now) >= STANDING * f64::from(least)
    })
}

fn flight_change(samples: &[PacketSample]) -> f64 {
    let (first, second) = samples.split_at(samples.len() / 2);
    let [first, second] = [first, second].map(|half| largest_flight(half) as f64);
    if first == second { 0.0 } else { (second - first).abs() / first }
}

fn round_trips(samples: &[PacketSample]) -> f64 {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return 0.0 };
    let rtt_us = last.srtt_us.filter(|&rtt_us| rtt_us > 0).map_or(f64::MIN_POSITIVE, f64::from);
    last.t_us.saturating_sub(first.t_us) as f64 / rtt_us
}
