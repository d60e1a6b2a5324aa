//! A span of some round trips, in figures: how full the windows were, what PSH shows, how evenly data left, and what the round trip did.

use super::conditions::{has_unsent, uses_window, waits_for_cwnd, waits_for_pacer};
use crate::ground::statistics::variation;
use crate::ground::threshold::Untraced;
use crate::ground::thresholds::Thresholds;
use pipefill_core::evidence::{PacketSpan, Risen};
use pipefill_core::record::PacketSample;
use pipefill_core::tcp_info::CaState;
use std::ops::Range;

/// A span and the places of its samples.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CutSpan {
    pub(crate) samples: Range<usize>,
    pub(crate) figures: PacketSpan,
    /// Whether written data wait to be sent.
    pub(crate) has_unsent: bool,
    /// Whether they wait for the congestion window, and whether for a pacing rate.
    pub(super) waits_for_cwnd: bool,
    pub(super) waits_for_pacer: bool,
    /// Whether the advertised window is used up all the time: one that makes a queue is larger than the pipe, and only samples at any time
    /// show whether it is used up.
    has_full_window: bool,
}

/// All of `samples` in spans, which have `flights` around them.
pub(super) fn cut(samples: &[PacketSample], flights: &[u64], t: &Thresholds) -> Vec<CutSpan> {
    let (mut spans, mut from): (Vec<CutSpan>, usize) = (Vec::new(), 0);
    let mut widest = WidestWindow::default();
    let (mut largest, mut flight_before_loss) = (0, 0);
    while from < samples.len() {
        let rest = &samples[from..];
        let to = from + length(rest, rest[0].srtt_us.map(Into::into), t);
        let own = &samples[from..to];
        let (flight, segment) = (largest_flight(own), segment(own));
        let before = spans.last().map(|before| before.figures);
        let since_loss = before.map_or(t.packet_loss_memory.count(), |before| before.since_loss) + 1;
        let is_same = flight.abs_diff(before.map_or(0, |before| before.flight)) <= segment;
        let is_lossy = has_losses(own);
        largest = largest.max(flight);
        flight_before_loss = if is_lossy { largest } else { flight_before_loss };
        let drained = t.packet_drained.value() * flight as f64;
        let figures = PacketSpan {
            segment,
            flight,
            full_window_share: full_window_share(own),
            fill: fill(own, &flights[from..to]),
            bytes_of_a_push: bytes_of_a_push(own),
            pushes_of_burst: pushes_of_burst(own),
            tail_share: sum(own, |sample| sample.tails.into())
                / sum(own, |sample| sample.pushes.into()).max(1.0),
            widest_window: widest.until(samples, from..to),
            drained_share: Some(share(own, |sample| (sample.in_flight_bytes as f64) < drained)),
            fallen_share: fallen_share(samples, from..to, t),
            since_loss: if is_lossy { 0 } else { since_loss },
            flight_most: Some(largest),
            flight_before_loss,
            since_change: if is_same { before.map_or(0, |before| before.since_change) + 1 } else { 0 },
            prompt_share: sum(own, |sample| sample.prompt_bytes.into())
                / sum(own, PacketSample::new_bytes).max(1.0),
            clocked_share: sum(own, |sample| sample.clocked_bytes.into())
                / sum(own, PacketSample::new_bytes).max(1.0),
            clocked_bursts: sum(own, |sample| sample.clocked_bursts.into()) / round_trips(own).max(1.0),
            before_bursts: before_bursts(own, flight),
            unevenness: new_bytes_unevenness(own),
            rtt_risen: rtt_risen(own),
            standing_share: share(own, |sample| has_queue(sample, t)),
            flight_change: flight_change(own),
            round_trips: round_trips(own),
        };
        let compare = &mut Untraced;
        let has_queue = figures.standing_share >= t.packet_queue_share.value();
        spans.push(CutSpan {
            samples: from..to,
            has_unsent: has_unsent(&figures, t, compare),
            waits_for_cwnd: waits_for_cwnd(&figures, t, compare),
            waits_for_pacer: waits_for_pacer(&figures, t, compare),
            has_full_window: !has_queue && uses_window(&figures, t, compare),
            figures,
        });
        from = to;
    }
    spans
}

/// How many samples the first span has where a round trip takes so long.
pub(super) fn length(samples: &[PacketSample], rtt_us: Option<u32>, t: &Thresholds) -> usize {
    let Some(first) = samples.first() else { return 0 };
    let fewest = t.packet_span_samples.count().max(1);
    let least_us =
        t.packet_span.whole().saturating_mul(rtt_us.map_or(0, u64::from)).max(t.packet_span_us.whole());
    let end = samples.partition_point(|sample| sample.t_us < first.t_us.saturating_add(least_us));
    let end = end.max(fewest).min(samples.len());
    // What is left over belongs to the last span.
    if samples.len() - end < fewest { samples.len() } else { end }
}

/// Of what left in each sample but the first, whose interval began before.
pub(super) fn new_bytes_unevenness(samples: &[PacketSample]) -> Option<f64> {
    let bytes: Vec<f64> = samples.iter().skip(1).map(|sample| sample.new_bytes() as f64).collect();
    variation(&bytes)
}

impl CutSpan {
    /// What of the advertised window was out at `sample`, and the window.
    pub(crate) fn window_at(&self, sample: &PacketSample) -> (u64, Option<u64>) {
        let PacketSample { unacked_bytes, rwnd_bytes, unacked_peak_bytes, rwnd_at_peak_bytes, .. } = *sample;
        let (unacked, window) = if self.has_full_window {
            (u64::from(unacked_peak_bytes).max(unacked_bytes), rwnd_at_peak_bytes.or(rwnd_bytes))
        } else {
            (unacked_bytes, rwnd_bytes)
        };
        (unacked, window.map(u64::from))
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

/// Losses, or marks, which cut a congestion window likewise (RFC 3168, 6.1.2).
fn has_losses(samples: &[PacketSample]) -> bool {
    let ends = samples.first().zip(samples.last());
    ends.is_some_and(|(first, last)| last.retransmits > first.retransmits || last.ece_acks > first.ece_acks)
        || samples.iter().any(|sample| sample.ca_state.is_some_and(|state| state >= CaState::Recovery))
}

/// A sender waits until its next packet fits.
fn full_window_share(samples: &[PacketSample]) -> f64 {
    let largest = samples.iter().map(|sample| u64::from(sample.largest_bytes)).max().unwrap_or(0);
    let is_full = |sample: &&PacketSample| sample.least_room_bytes().is_some_and(|room| room < largest);
    let sending = samples.iter().filter(|sample| sample.new_bytes() > 0).count();
    samples.iter().filter(is_full).count() as f64 / sending.max(1) as f64
}

/// A window that nothing is lost from lets out as much as is acknowledged, and soon: what one ACK leaves for a moment is no fall. What is let out
/// to the last byte before anything new follows was all that there was: the end of an answer, and no buffer.
fn fallen_share(samples: &[PacketSample], span: Range<usize>, t: &Thresholds) -> f64 {
    let has_fallen = |&at: &usize| {
        let now = &samples[at];
        let since_us = now.t_us.saturating_sub(now.srtt_us.map_or(0, u64::from));
        let before = samples[..at].iter().rev().take_while(|sample| sample.t_us >= since_us);
        let is_lossy = now.lost_segments > 0
            || before.clone().last().is_some_and(|first| first.retransmits < now.retransmits);
        let most = before.map(PacketSample::most_in_flight_bytes).max().unwrap_or(0);
        let segments = most / u64::from(now.mss_bytes).max(1);
        let still = samples[at + 1..].iter().take_while(|next| next.new_bytes() == 0);
        let is_followed = || at + 1 + still.clone().count() < samples.len();
        let stays = still.clone().next().is_some();
        !is_lossy
            && stays
            && now.in_flight_bytes > 0
            && segments >= t.packet_fallen_segments.whole()
            && (now.in_flight_bytes as f64) < t.packet_fallen.value() * most as f64
            && is_followed()
            && still.clone().last().is_some_and(|last| last.in_flight_bytes > 0)
    };
    let length = span.len().max(1);
    span.filter(has_fallen).count() as f64 / length as f64
}

fn before_bursts(samples: &[PacketSample], most: u64) -> Option<f64> {
    let before =
        sum(samples, |sample| u64::from(sample.segments_before_bursts) * u64::from(sample.mss_bytes));
    (before > 0.0).then(|| before / sum(samples, |sample| sample.bursts.into()) / most.max(1) as f64)
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

fn pushes_of_burst(samples: &[PacketSample]) -> Option<f64> {
    let bursts = sum(samples, |sample| sample.bursts.into());
    (bursts > 0.0).then(|| sum(samples, |sample| sample.pushes.into()) / bursts)
}

fn rtt_risen(samples: &[PacketSample]) -> Risen {
    let rtts = samples.iter().filter_map(|sample| sample.srtt_us.zip(sample.min_rtt_us));
    rtts.fold(Risen::default(), |most, (now, least)| Risen {
        times: most.times.max(f64::from(now) / f64::from(least)),
        above_us: most.above_us.max(f64::from(now) - f64::from(least)),
    })
}

fn has_queue(sample: &PacketSample, t: &Thresholds) -> bool {
    sample.srtt_us.zip(sample.min_rtt_us).is_some_and(|(now, least)| {
        let (now, least) = (f64::from(now), f64::from(least));
        now >= least + t.packet_rtt_risen_us.value() && now >= t.packet_queue_stands.value() * least
    })
}

fn flight_change(samples: &[PacketSample]) -> f64 {
    let (first, second) = samples.split_at(samples.len() / 2);
    let [first, second] = [first, second].map(|half| largest_flight(half) as f64);
    if first == second { 0.0 } else { (second - first).abs() / first }
}

fn round_trips(samples: &[PacketSample]) -> f64 {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return 0.0 };
    let rtt_us = last.srtt_us.map(f64::from).filter(|&rtt_us| rtt_us > 0.0).unwrap_or(f64::MIN_POSITIVE);
    last.t_us.saturating_sub(first.t_us) as f64 / rtt_us
}
