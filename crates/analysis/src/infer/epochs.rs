//! A stream's samples, cut into epochs of a round trip and more: what was in flight at most, and what it ran against.
//!
//! A window-limited flow is bursty: at one instant the bottleneck is busy, at the next nothing is in flight. Over a round
//! trip the peak of the flight is what the limit allows. Never: a judgement; figures only.

use super::stall::Stall;
use crate::ground::interval::TimeInterval;
use crate::ground::models::window::rwnd_used;
use crate::ground::thresholds::Thresholds;
use pipefill_core::evidence::SenderEvidence;
use pipefill_core::record::{StreamEnd, TcpSample};
use pipefill_core::tcp_info::CaState;

/// What was seen of a stream during at least a round trip.
#[derive(Debug, Clone, Default)]
pub(crate) struct Epoch {
    pub(crate) interval: TimeInterval,
    pub(crate) sender: SenderEvidence,
    /// Largest share of the receive buffer that waits for the application; `None` where the receiver's socket was not sampled.
    pub(crate) unread_share: Option<f64>,
}

/// Cuts one stream's samples into epochs while they pass by. What is left over at the end, less than a round trip, is not
/// judged.
#[derive(Debug)]
pub(crate) struct Cutter {
    life: TimeInterval,
    /// Samples that an epoch has at least.
    fewest: usize,
    open: Option<Open>,
    /// The sender's last sample, without its raw bytes.
    last: Option<TcpSample>,
    unread: Unread,
    stall: Stall,
    /// The largest window that was advertised so far.
    rwnd_widest: Option<u64>,
    /// The pacing rate, and since when it is the same.
    pacing: Option<(u64, u64)>,
}

/// An epoch that has not ended.
#[derive(Debug)]
struct Open {
    from_us: u64,
    /// `tcpi_total_retrans` at its first sample.
    retransmits: u32,
    samples: usize,
    unacked_peak: u64,
    /// Over the samples in which it moved, and their number.
    unacked_sum: u64,
    moving: u64,
    stalled_us: u64,
    srtt_sum_us: u64,
    /// Samples with a round trip.
    timed: u64,
    /// `tcpi_bytes_acked` at its first sample.
    acked: u64,
    /// In flight at its first sample.
    unacked_first: u64,
    /// Samples with written data that was not sent.
    unsent: usize,
    /// Samples in Recovery or Loss.
    repair: usize,
    app_limited: usize,
    /// Share and size at the sample where most of it was used.
    cwnd: Option<(f64, u64)>,
    rwnd: Option<(f64, u64)>,
    /// Share, memory and limit.
    sndbuf: Option<(f64, u64, u64)>,
    sndbuf_least: Option<f64>,
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
    /// For a stream that is alive in `life`.
    pub(crate) fn new(life: TimeInterval, thresholds: &Thresholds) -> Self {
        Self {
            life,
            fewest: thresholds.epoch_samples.count(),
            open: None,
            last: None,
            unread: Unread::default(),
            stall: Stall::default(),
            rwnd_widest: None,
            pacing: None,
        }
    }

    /// Takes the next sample of either end, in order of time; returns the epoch that it ends.
    pub(crate) fn see(&mut self, row: &TcpSample) -> Option<Epoch> {
        if !(self.life.from_us..=self.life.to_us).contains(&row.t_us) {
            return None;
        }
        if row.end == StreamEnd::Receiver {
            self.unread.see(row);
            return None;
        }
        self.last = Some(TcpSample { raw: None, ..row.clone() });
        let stalled_us = self.stall.see(row);
        self.remember(row);
        let Some(open) = self.open.as_mut() else {
            self.open = Some(Open::of(row, false));
            return None;
        };
        open.stalled_us += stalled_us;
        let round_trip = row.info.srtt_us.map_or(0, u64::from);
        if open.samples < self.fewest || row.t_us - open.from_us < round_trip.max(1) {
            open.add(row, stalled_us > 0);
            return None;
        }
        let epoch = open.ended(row, self.unread.until(row.t_us));
        self.open = Some(Open::of(row, stalled_us > 0));
        Some(self.with_the_past(epoch))
    }

    /// What an epoch has to know of those before it.
    fn remember(&mut self, row: &TcpSample) {
        self.rwnd_widest = self.rwnd_widest.max(row.info.rwnd_bytes.map(u64::from));
        let is_same = |(rate, _): &(u64, u64)| row.info.pacing_rate_bps == Some(*rate);
        if !self.pacing.as_ref().is_some_and(is_same) {
            self.pacing = row.info.pacing_rate_bps.map(|rate| (rate, row.t_us));
        }
    }

    fn with_the_past(&self, mut epoch: Epoch) -> Epoch {
        let since_us = self.pacing.map_or(epoch.interval.to_us, |(_, since_us)| since_us);
        epoch.sender.rwnd_widest = self.rwnd_widest;
        epoch.sender.pacing_steady_us = epoch.interval.to_us.saturating_sub(since_us);
        epoch
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
    fn of(first: &TcpSample, is_stalled: bool) -> Self {
        let mut open = Self {
            from_us: first.t_us,
            retransmits: first.info.retransmits,
            samples: 0,
            unacked_peak: 0,
            unacked_sum: 0,
            moving: 0,
            stalled_us: 0,
            srtt_sum_us: 0,
            timed: 0,
            acked: first.info.bytes_acked.unwrap_or(0),
            unacked_first: first.info.unacked_bytes,
            unsent: 0,
            repair: 0,
            app_limited: 0,
            cwnd: None,
            rwnd: None,
            sndbuf: None,
            sndbuf_least: None,
        };
        open.add(first, is_stalled);
        open
    }

    fn add(&mut self, row: &TcpSample, is_stalled: bool) {
        let info = &row.info;
        self.samples += 1;
        self.unacked_peak = self.unacked_peak.max(info.unacked_bytes);
        if !is_stalled {
            self.unacked_sum += info.unacked_bytes;
            self.moving += 1;
        }
        if let Some(srtt_us) = info.srtt_us.filter(|_| !is_stalled) {
            self.srtt_sum_us += u64::from(srtt_us);
            self.timed += 1;
        }
        self.unsent += usize::from(info.may_have_unsent());
        self.repair += usize::from(info.ca_state.is_some_and(|state| state >= CaState::Recovery));
        self.app_limited += usize::from(info.delivery_app_limited == Some(true));
        if let Some((used, cwnd)) = cwnd_used(row)
            && self.cwnd.is_none_or(|(most, _)| used >= most)
        {
            self.cwnd = Some((used, cwnd));
        }
        if let Some((used, window)) = rwnd_used(info).zip(info.rwnd_bytes.map(u64::from))
            && self.rwnd.is_none_or(|(most, _)| used >= most)
        {
            self.rwnd = Some((used, window));
        }
        if let Some((used, ..)) = sndbuf_used(row) {
            self.sndbuf_least = Some(self.sndbuf_least.map_or(used, |least| least.min(used)));
        }
        if let Some((used, queued, limit)) = sndbuf_used(row)
            && self.sndbuf.is_none_or(|(most, ..)| used >= most)
        {
            self.sndbuf = Some((used, queued, limit));
        }
    }

    /// The epoch up to `last`, which is the first sample of the next one.
    fn ended(&self, last: &TcpSample, unread_share: Option<f64>) -> Epoch {
        let share = |samples: usize| samples as f64 / self.samples as f64;
        let sender = SenderEvidence {
            unacked_peak: self.unacked_peak,
            unacked_mean: self.unacked_sum.checked_div(self.moving).unwrap_or(0),
            stalled_us: self.stalled_us,
            srtt_mean_us: self.srtt_sum_us.checked_div(self.timed),
            acked: last.info.bytes_acked.unwrap_or(0).saturating_sub(self.acked),
            flight_change: last.info.unacked_bytes.abs_diff(self.unacked_first),
            cwnd_used: self.cwnd.map(|(used, _)| used),
            cwnd: self.cwnd.map(|(_, cwnd)| cwnd),
            rwnd_used: self.rwnd.map(|(used, _)| used),
            rwnd: self.rwnd.map(|(_, window)| window),
            rwnd_widest: None,
            sndbuf_used: self.sndbuf.map(|(used, ..)| used),
            sndbuf_least: self.sndbuf_least,
            wmem_peak: self.sndbuf.map(|(_, queued, _)| queued),
            sndbuf: self.sndbuf.map(|(.., limit)| limit),
            unsent_share: share(self.unsent),
            repair_share: share(self.repair),
            app_limited_share: share(self.app_limited),
            has_ssthresh: last.info.ssthresh_bytes.is_some(),
            retransmits: last.info.retransmits.saturating_sub(self.retransmits),
            retransmits_so_far: last.info.retransmits,
            dsacks_so_far: last.info.dsack_dups,
            has_seen_reordering: last.info.reord_seen.is_some_and(|times| times > 0),
            pacing_rate_bps: last.info.pacing_rate_bps,
            pacing_steady_us: 0,
            srtt_us: last.info.srtt_us.map(u64::from),
            min_rtt_us: last.info.min_rtt_us.map(u64::from),
            mss: u64::from(last.info.mss_bytes),
        };
        let interval = TimeInterval { from_us: self.from_us, to_us: last.t_us };
        Epoch { interval, sender, unread_share }
    }
}

impl Unread {
    fn see(&mut self, row: &TcpSample) {
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

/// Share and size.
fn cwnd_used(row: &TcpSample) -> Option<(f64, u64)> {
    let (in_flight, cwnd) = (row.info.in_flight_bytes?, row.info.cwnd_bytes?);
    Some((ratio(in_flight, cwnd), cwnd))
}

/// Share, memory and limit.
fn sndbuf_used(row: &TcpSample) -> Option<(f64, u64, u64)> {
    let (queued, limit) = (row.wmem_queued_bytes?, row.sndbuf_bytes?);
    Some((ratio(queued, limit), queued, limit))
}

fn unread(row: &TcpSample) -> Option<f64> {
    Some(ratio(row.rmem_alloc_bytes?, row.rcvbuf_bytes?))
}

/// Of nothing, one byte is all there is.
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
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

    #[test]
    fn an_epoch_has_four_samples_and_a_round_trip_and_the_receivers_rows_before_its_end() {
        let mut cutter = Cutter::new(TimeInterval { from_us: 10, to_us: 100 }, &STANDARD);
        let unread = |t_us, rmem| TcpSample {
            end: StreamEnd::Receiver,
            rmem_alloc_bytes: Some(rmem),
            rcvbuf_bytes: Some(100),
            ..sample(t_us, 0, 0)
        };
        assert!(cutter.see(&sample(0, 1, 1)).is_none(), "before its life");
        let mut ended = Vec::new();
        for t_us in (10..=100).step_by(10) {
            ended.extend(cutter.see(&unread(t_us, t_us)));
            ended.extend(cutter.see(&sample(t_us, 100_000, t_us)));
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
