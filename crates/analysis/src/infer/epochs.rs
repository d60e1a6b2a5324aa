//! A stream's samples, cut into epochs of a round trip and more: what was in flight at most, and what it ran against.
//!
//! A window-limited flow is bursty: at one instant the bottleneck is busy, at the next nothing is in flight. Over a round
//! trip the peak of the flight is what the limit allows. Never: a judgement; figures only.

use super::idle_restart::IdleRestart;
use super::open_window::OpenWindow;
use super::packets::StreamPackets;
use super::sender_sample::{SenderSample, ratio};
use super::stall::Stall;
use super::timer_waits::TimerWaits;
use crate::ground::interval::TimeInterval;
use crate::ground::thresholds::Thresholds;
use pipefill_core::evidence::{SenderEvidence, SentPackets};
use pipefill_core::record::{StreamEnd, TcpSample};
use std::collections::VecDeque;

/// What was seen of a stream during at least a round trip.
#[derive(Debug, Clone, Default)]
pub(crate) struct Epoch {
    pub(crate) interval: TimeInterval,
    pub(crate) sender: SenderEvidence,
    /// What its packets show; `None` where its socket was sampled.
    pub(crate) packets: Option<SentPackets>,
    /// Largest share of the receive buffer that waits for the application; `None` where the receiver's socket was not sampled.
    pub(crate) unread_share: Option<f64>,
}

/// Cuts one stream's samples into epochs while they pass by. What is left over at the end, less than a round trip, is not
/// judged.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    life: TimeInterval,
    /// Samples that an epoch has at least.
    fewest: usize,
    open: Option<Open>,
    /// The sender's last sample.
    last: Option<SenderSample>,
    unread: Unread,
    stall: Stall,
    restart: IdleRestart,
    timer_waits: TimerWaits,
    window: OpenWindow,
    window_is_all: f64,
    /// The largest flights of the last epochs, and the payload segments of the other side in a round trip.
    lately: VecDeque<(u64, Option<f64>)>,
    lately_kept: usize,
    /// The pacing rate, and since when it is the same.
    pacing: Option<(u64, u64)>,
}

/// An epoch that has not ended.
#[derive(Debug, Default)]
struct Open {
    from_us: u64,
    /// `tcpi_total_retrans` at its first sample.
    retransmits: u32,
    /// Segments acknowledged as marked by its first sample.
    ce_segments: u32,
    /// See [`SenderEvidence::cwnd_before_idle`], at its last sample.
    cwnd_before_idle: Option<u64>,
    samples: usize,
    unacked_peak: u64,
    unacked_least: u64,
    has_full_segments_out: bool,
    backoff_least: Option<u8>,
    /// Payload segments of the other side at its first sample.
    heard: Option<u64>,
    /// Over the samples in which it moved, and their number.
    in_flight_sum: u64,
    moving: u64,
    stalled_us: u64,
    srtt_sum_us: u64,
    ack_delay_sum_us: u64,
    ack_delays: u64,
    /// Samples with a round trip.
    timed: u64,
    /// `tcpi_bytes_acked` at its first sample.
    acked: u64,
    /// In flight at its first sample.
    unacked_first: u64,
    /// Samples with written data that was not sent; `None` where that is not known.
    unsent: Option<usize>,
    /// Samples in Recovery or Loss.
    repair: usize,
    app_limited: usize,
    /// Share and size at the sample where most of it was used.
    cwnd: Option<(f64, u64)>,
    /// Likewise, and the largest window by then.
    rwnd: Option<(f64, u64, u64)>,
    /// Samples between two bursts, and the same of them: what keeps the next burst back is used up there.
    resting: usize,
    rwnd_at_rest: Option<(f64, u64, u64)>,
    /// Share, memory and limit.
    sndbuf: Option<(f64, u64, u64)>,
    sndbuf_least: Option<f64>,
    /// The kernel's clocks at its first sample, see [`SenderSample`].
    busy_us: Option<u64>,
    sndbuf_limited_us: Option<u64>,
    rwnd_limited_us: Option<u64>,
    packets: LongestSpan,
}

/// Of the spans of packets that an epoch is part of, the one with most of its samples.
#[derive(Debug, Default)]
struct LongestSpan {
    longest: Option<(usize, SentPackets)>,
    last: Option<(usize, SentPackets)>,
}

/// The largest share of the receive buffer that was not read.
#[derive(Debug, Default)]
struct Unread {
    /// Before the last sample's time.
    share: Option<f64>,
    /// At the last sample's time.
    last: Option<(u64, f64)>,
}

impl Cutter {
    /// For a stream that is alive in `life`; an epoch has at least `fewest` samples.
    pub(crate) fn new(life: TimeInterval, fewest: usize, thresholds: &Thresholds) -> Self {
        let lately_kept = thresholds.app_window_rounds.count();
        Self {
            life,
            fewest,
            lately_kept,
            timer_waits: TimerWaits::new(thresholds),
            restart: IdleRestart::new(thresholds),
            window_is_all: thresholds.window_is_all.value(),
            ..Self::default()
        }
    }

    /// Takes the next sample of either end, in order of time; returns the epoch that it ends.
    pub(crate) fn observe(&mut self, row: &TcpSample) -> Option<Epoch> {
        if !(self.life.from_us..=self.life.to_us).contains(&row.t_us) {
            return None;
        }
        if row.end == StreamEnd::Receiver {
            self.unread.observe(row);
            return None;
        }
        self.observe_sender(SenderSample::of_socket(row))
    }

    /// All epochs of a stream of which only packets were captured, near its sender.
    pub(crate) fn cut(&mut self, packets: &StreamPackets<'_>) -> Vec<Epoch> {
        let life = self.life.from_us..=self.life.to_us;
        let samples = SenderSample::of_packets(packets).filter(|sample| life.contains(&sample.t_us));
        samples.filter_map(|sample| self.observe_sender(sample)).collect()
    }

    fn observe_sender(&mut self, mut sample: SenderSample) -> Option<Epoch> {
        let stalled_us = self.stall.observe(&sample);
        let cwnd_before_idle = self.restart.add(&sample);
        self.timer_waits.add(&sample);
        self.remember(&sample);
        sample.rwnd_widest = self.window.widest();
        let sample = self.last.insert(sample);
        let Some(open) = self.open.as_mut() else {
            self.open = Some(Open::of(sample, false));
            return None;
        };
        open.stalled_us += stalled_us;
        open.cwnd_before_idle = cwnd_before_idle;
        let round_trip = sample.srtt_us.unwrap_or(0);
        if open.samples < self.fewest || sample.t_us.saturating_sub(open.from_us) < round_trip.max(1) {
            open.add(sample, stalled_us > 0);
            return None;
        }
        let epoch = open.ended(sample, self.unread.until(sample.t_us));
        self.open = Some(Open::of(sample, stalled_us > 0));
        Some(self.with_the_past(epoch))
    }

    /// What an epoch has to know of those before it.
    fn remember(&mut self, sample: &SenderSample) {
        self.window.observe(sample.window, sample.acked.unwrap_or(0), self.window_is_all);
        let is_same = |(rate, _): &(u64, u64)| sample.pacing_rate_bps == Some(*rate);
        if !self.pacing.as_ref().is_some_and(is_same) {
            self.pacing = sample.pacing_rate_bps.map(|rate| (rate, sample.t_us));
        }
    }

    fn with_the_past(&mut self, mut epoch: Epoch) -> Epoch {
        // Samples of packets are taken at any time between two bursts.
        let peak = epoch.packets.map_or(epoch.sender.unacked_peak, |packets| packets.flight);
        self.lately.push_back((peak, epoch.sender.heard_in_round_trip));
        if self.lately.len() > self.lately_kept {
            self.lately.pop_front();
            let (most, least) = self
                .lately
                .iter()
                .fold((0, u64::MAX), |(most, least), &(peak, _)| (most.max(peak), least.min(peak)));
            epoch.sender.unacked_spread = Some(ratio(most - least, most));
        }
        let heard: Option<f64> = self.lately.iter().map(|&(_, heard)| heard).sum();
        epoch.sender.heard_in_round_trip = heard.map(|heard| heard / self.lately.len() as f64);
        let since_us = self.pacing.map_or(epoch.interval.to_us, |(_, since_us)| since_us);
        epoch.sender.pacing_steady_us = epoch.interval.to_us.saturating_sub(since_us);
        epoch
    }

    /// Adds to `sender` for which shares of `interval` it waited for a retransmission timer, by the samples so far; for one interval after the other.
    pub(crate) fn add_timer_shares(&mut self, interval: TimeInterval, sender: &mut SenderEvidence) {
        let shares = self.timer_waits.shares(interval);
        (sender.timer_share, sender.answer_timer_share) = (shares.all, shares.answered);
    }

    /// What is left over after the last sample: less than a round trip, or fewer samples than an epoch has. For a stream that has no
    /// whole epoch.
    pub(crate) fn rest(&mut self) -> Option<Epoch> {
        let (open, last) = (self.open.take()?, self.last.take()?);
        let unread = self.unread.until(last.t_us);
        (last.t_us > open.from_us).then(|| self.with_the_past(open.ended(&last, unread)))
    }

    /// Since when there is an epoch that may end after `now_us`.
    pub(crate) fn open_since_us(&self, now_us: u64) -> Option<u64> {
        self.open.as_ref().filter(|_| now_us <= self.life.to_us).map(|open| open.from_us)
    }
}

impl Open {
    fn of(first: &SenderSample, is_stalled: bool) -> Self {
        let mut open = Self {
            from_us: first.t_us,
            retransmits: first.retransmits,
            ce_segments: first.ce_segments,
            acked: first.acked.unwrap_or(0),
            unacked_first: first.unacked,
            unacked_least: first.unacked,
            has_full_segments_out: true,
            backoff_least: first.backoff,
            heard: first.heard,
            busy_us: first.busy_us,
            sndbuf_limited_us: first.sndbuf_limited_us,
            rwnd_limited_us: first.rwnd_limited_us,
            ..Self::default()
        };
        open.add(first, is_stalled);
        open
    }

    fn add(&mut self, sample: &SenderSample, is_stalled: bool) {
        self.samples += 1;
        self.unacked_peak = self.unacked_peak.max(sample.unacked);
        self.unacked_least = self.unacked_least.min(sample.unacked);
        self.has_full_segments_out &= sample.has_full_segments_out;
        self.backoff_least = self.backoff_least.min(sample.backoff);
        if !is_stalled {
            self.in_flight_sum = self.in_flight_sum.saturating_add(sample.in_flight);
            self.moving += 1;
        }
        if let Some(srtt_us) = sample.srtt_us.filter(|_| !is_stalled) {
            self.srtt_sum_us += srtt_us;
            self.timed += 1;
        }
        if let Some(delay_us) = sample.ack_delay_us {
            self.ack_delay_sum_us += delay_us;
            self.ack_delays += 1;
        }
        if let Some(has_unsent) = sample.has_unsent {
            self.unsent = Some(self.unsent.unwrap_or(0) + usize::from(has_unsent));
        }
        self.repair += usize::from(sample.is_repairing);
        self.app_limited += usize::from(sample.is_app_limited);
        if let Some((used, cwnd)) = sample.cwnd
            && self.cwnd.is_none_or(|(most, _)| used >= most)
        {
            self.cwnd = Some((used, cwnd));
        }
        let rwnd = sample.rwnd.map(|(used, window)| (used, window, sample.rwnd_widest.unwrap_or(window)));
        let fuller = |most: Option<(f64, u64, u64)>| {
            rwnd.filter(|(used, ..)| most.is_none_or(|(most, ..)| *used >= most)).or(most)
        };
        self.rwnd = fuller(self.rwnd);
        if sample.is_resting {
            self.resting += 1;
            self.rwnd_at_rest = fuller(self.rwnd_at_rest);
        }
        if let Some((used, queued, limit)) = sample.sndbuf {
            self.sndbuf_least = Some(self.sndbuf_least.map_or(used, |least| least.min(used)));
            if self.sndbuf.is_none_or(|(most, ..)| used >= most) {
                self.sndbuf = Some((used, queued, limit));
            }
        }
        if let Some(packets) = sample.packets {
            self.packets.add(packets);
        }
    }

    /// The epoch up to `last`, which is the first sample of the next one.
    fn ended(&self, last: &SenderSample, unread_share: Option<f64>) -> Epoch {
        let share = |samples: usize| samples as f64 / self.samples as f64;
        // A window may be full for a moment in a burst, until the receiving program reads.
        let rwnd = if 2 * self.resting > self.samples { self.rwnd_at_rest } else { self.rwnd };
        let sender = SenderEvidence {
            is_flight_estimated: false,
            unacked_peak: self.unacked_peak,
            unacked_least: self.unacked_least,
            has_full_segments_out: self.has_full_segments_out,
            unacked_spread: None,
            heard_in_round_trip: self.heard_in_round_trip(last),
            in_flight_mean: self.in_flight_sum.checked_div(self.moving).unwrap_or(0),
            stalled_us: self.stalled_us,
            srtt_mean_us: self.srtt_sum_us.checked_div(self.timed),
            ack_delay_us: self.ack_delay_sum_us.checked_div(self.ack_delays),
            acked: last.acked.unwrap_or(0).saturating_sub(self.acked),
            flight_change: last.unacked.abs_diff(self.unacked_first),
            cwnd_used: self.cwnd.map(|(used, _)| used),
            cwnd: self.cwnd.map(|(_, cwnd)| cwnd),
            rwnd_used: rwnd.map(|(used, ..)| used),
            rwnd: rwnd.map(|(_, window, _)| window),
            rwnd_widest: rwnd.map(|(.., widest)| widest),
            sndbuf_used: self.sndbuf.map(|(used, ..)| used),
            sndbuf_least: self.sndbuf_least,
            sndbuf_limited_share: self.busy_share(last, self.sndbuf_limited_us, last.sndbuf_limited_us),
            rwnd_limited_share: self.busy_share(last, self.rwnd_limited_us, last.rwnd_limited_us),
            wmem_peak: self.sndbuf.map(|(_, queued, _)| queued),
            sndbuf: self.sndbuf.map(|(.., limit)| limit),
            unsent_share: self.unsent.map(share),
            repair_share: share(self.repair),
            ignores_losses: false,
            timer_share: 0.0,
            answer_timer_share: 0.0,
            app_limited_share: share(self.app_limited),
            has_ssthresh: last.has_ssthresh,
            cwnd_before_idle: self.cwnd_before_idle,
            backoff_least: self.backoff_least,
            acked_so_far: last.acked.unwrap_or(0),
            ce_segments: last.ce_segments.saturating_sub(self.ce_segments),
            retransmits: last.retransmits.saturating_sub(self.retransmits),
            retransmits_so_far: last.retransmits,
            spurious_so_far: last.spurious,
            has_seen_reordering: last.has_seen_reordering,
            pacing_rate_bps: last.pacing_rate_bps,
            pacing_steady_us: 0,
            srtt_us: last.srtt_us,
            min_rtt_us: last.min_rtt_us,
            mss: last.mss,
        };
        let interval = TimeInterval { from_us: self.from_us, to_us: last.t_us };
        let packets = self.packets.longest.map(|(_, packets)| packets);
        Epoch { interval, sender, packets, unread_share }
    }

    /// The part of the time with data outstanding up to `last` in which a clock ran that was at `before_us` and is at `now_us`.
    fn busy_share(&self, last: &SenderSample, before_us: Option<u64>, now_us: Option<u64>) -> Option<f64> {
        let busy_us = last.busy_us?.saturating_sub(self.busy_us?);
        let limited_us = now_us?.saturating_sub(before_us?);
        (busy_us > 0).then(|| ratio(limited_us, busy_us))
    }

    /// Up to `last`.
    fn heard_in_round_trip(&self, last: &SenderSample) -> Option<f64> {
        let heard = last.heard?.saturating_sub(self.heard?);
        Some(heard as f64 * last.srtt_us? as f64 / last.t_us.saturating_sub(self.from_us).max(1) as f64)
    }
}

impl LongestSpan {
    fn add(&mut self, sample: SentPackets) {
        let (mut count, mut last) = (1, sample);
        if let Some((before, own)) = self.last.filter(|(_, own)| own.span == sample.span) {
            count += before;
            last.flight_least = own.flight_least.min(sample.flight_least);
            last.is_doubling |= own.is_doubling;
            last.is_doubled |= own.is_doubled;
            if own.flight_used > sample.flight_used {
                (last.flight, last.flight_used) = (own.flight, own.flight_used);
            }
        }
        if self.longest.is_none_or(|(most, longest)| count > most || longest.span == sample.span) {
            self.longest = Some((count, last));
        }
        self.last = Some((count, last));
    }
}

impl Unread {
    fn observe(&mut self, row: &TcpSample) {
        let Some(share) = unread(row) else { return };
        self.settle(row.t_us);
        self.last = Some((row.t_us, self.last.map_or(share, |(_, last)| last.max(share))));
    }

    /// Up to and without `to_us`, since the last call.
    fn until(&mut self, to_us: u64) -> Option<f64> {
        self.settle(to_us);
        self.share.take()
    }

    /// What was seen before `t_us` counts.
    fn settle(&mut self, t_us: u64) {
        if let Some((_, share)) = self.last.take_if(|(at_us, _)| *at_us < t_us) {
            self.share = Some(self.share.map_or(share, |most| most.max(share)));
        }
    }
}

fn unread(row: &TcpSample) -> Option<f64> {
    Some(ratio(row.rmem_alloc_bytes?, row.rcvbuf_bytes?))
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::of_sender;
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use pipefill_core::tcp_info::TcpInfo;

    fn sample(t_us: u64, rwnd_bytes: u32, unacked_bytes: u64) -> TcpSample {
        let info =
            TcpInfo { rwnd_bytes: Some(rwnd_bytes), unacked_bytes, mss_bytes: 1448, ..TcpInfo::default() };
        of_sender(t_us, info)
    }

    /// A window that a burst fills, and that opens again at once, held nothing back.
    #[test]
    fn a_window_is_that_at_rest_where_packets_rest_most_of_the_time() {
        let used = |resting: usize| {
            let mut open = Open::default();
            for at in 0..10 {
                let is_resting = at < resting;
                let rwnd = Some(if is_resting { (0.5, 80_000) } else { (1.0, 60_000) });
                open.add(&SenderSample { is_resting, rwnd, ..SenderSample::default() }, false);
            }
            let sender = open.ended(&SenderSample { t_us: 100, ..SenderSample::default() }, None).sender;
            sender.rwnd_used.zip(sender.rwnd)
        };
        assert_eq!(
            [used(0), used(5), used(6)],
            [Some((1.0, 60_000)), Some((1.0, 60_000)), Some((0.5, 80_000))]
        );
    }

    #[test]
    fn an_epoch_has_four_samples_and_a_round_trip_and_the_receivers_rows_before_its_end() {
        let mut cutter = Cutter::new(TimeInterval { from_us: 10, to_us: 100 }, 4, &STANDARD);
        let unread = |t_us, rmem| TcpSample {
            end: StreamEnd::Receiver,
            rmem_alloc_bytes: Some(rmem),
            rcvbuf_bytes: Some(100),
            ..sample(t_us, 0, 0)
        };
        assert!(cutter.observe(&sample(0, 1, 1)).is_none(), "before its life");
        let mut ended = Vec::new();
        for t_us in (10..=100).step_by(10) {
            ended.extend(cutter.observe(&unread(t_us, t_us)));
            ended.extend(cutter.observe(&sample(t_us, 100_000, t_us)));
        }
        let told: Vec<_> = ended
            .iter()
            .map(|epoch| (epoch.interval, epoch.sender.unacked_peak, epoch.unread_share))
            .collect();
        let interval = |from_us, to_us| TimeInterval { from_us, to_us };
        assert_eq!(told, [(interval(10, 50), 40, Some(0.4)), (interval(50, 90), 80, Some(0.8))]);
        assert_eq!((cutter.open_since_us(100), cutter.open_since_us(101)), (Some(90), None));
    }
}
