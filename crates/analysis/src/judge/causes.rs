//! The judged epochs of one flow, added up by cause: their shares of the time, and what their figures were.
//!
//! Never: an epoch kept, or one from outside of the measured time.

use super::Figures;
use super::epochs::Epoch;
use crate::ground::statistics::rounded;
use crate::ground::weighted_values::WeightedValues;
use pipefill_core::limit::{CwndCause, LimitedBy};
use std::collections::BTreeMap;

/// Everything that was counted.
#[derive(Debug, Default)]
pub(super) struct Causes {
    causes: BTreeMap<LimitedBy, OneCause>,
}

/// The epochs of one cause.
#[derive(Debug, Default)]
pub(super) struct OneCause {
    span_us: u64,
    /// Why the congestion window was no larger, and for how long; nothing under another cause.
    cwnd_causes: BTreeMap<CwndCause, u64>,
    streams: BTreeMap<u32, Values>,
}

/// The figures of one stream's epochs.
#[derive(Debug, Default)]
struct Values {
    /// Growth since its last loss.
    grown_us: u64,
    /// Mean in flight × time in which the stream moved, and that time.
    flight_area: u128,
    moving_us: u128,
    /// Mean round trip × time, and that time.
    rtt_area: u128,
    timed_us: u128,
    /// Change of what was in flight × time, and what was in flight at most × time.
    change_area: u128,
    peak_area: u128,
    /// Payload acknowledged.
    acked: u128,
    span_us: u128,
    unacked_peak: WeightedValues,
    cwnd: WeightedValues,
    rwnd: WeightedValues,
    wmem_peak: WeightedValues,
    sndbuf: WeightedValues,
    pacing_rate_bps: WeightedValues,
    srtt_us: WeightedValues,
    min_rtt_us: WeightedValues,
    mss: WeightedValues,
}

impl Causes {
    /// Counts `epoch` of `stream`, of which `counts_us` lie in the measured time.
    pub(super) fn add(
        &mut self,
        stream: u32,
        epoch: &Epoch,
        counts_us: u64,
        cause: (LimitedBy, Option<CwndCause>),
    ) {
        if counts_us == 0 {
            return;
        }
        let one = self.causes.entry(cause.0).or_default();
        one.span_us += counts_us;
        if let Some(cwnd_cause) = cause.1 {
            *one.cwnd_causes.entry(cwnd_cause).or_default() += counts_us;
        }
        let values = one.streams.entry(stream).or_default();
        values.grown_us += if cause.1 == Some(CwndCause::Growth) { counts_us } else { 0 };
        values.add(epoch, counts_us);
    }

    /// Segments of `stream` were lost: its growth since the loss before counts as their cause where that `recurred`.
    pub(super) fn end_growth(&mut self, stream: u32, recurred: Option<CwndCause>) {
        let Some(one) = self.causes.get_mut(&LimitedBy::Cwnd) else { return };
        let Some(values) = one.streams.get_mut(&stream) else { return };
        let grown_us = std::mem::take(&mut values.grown_us);
        if let Some(cause) = recurred {
            *one.cwnd_causes.entry(CwndCause::Growth).or_default() -= grown_us;
            *one.cwnd_causes.entry(cause).or_default() += grown_us;
        }
    }

    /// Whether nothing was counted.
    pub(super) fn is_empty(&self) -> bool {
        self.causes.is_empty()
    }

    /// Each cause's share of the time, and the cause of most of it. `None` where nothing was counted.
    pub(super) fn shares(&self) -> Option<(BTreeMap<LimitedBy, f64>, LimitedBy, &OneCause)> {
        let total: u64 = self.causes.values().map(|one| one.span_us).sum();
        let (&dominant, one) = self.causes.iter().max_by_key(|(_, one)| one.span_us)?;
        let share = |(&cause, one): (&LimitedBy, &OneCause)| (cause, one.span_us as f64 / total as f64);
        Some((self.causes.iter().map(share).collect(), dominant, one))
    }
}

impl OneCause {
    /// Why the congestion window was no larger for most of the time.
    pub(super) fn cwnd_cause(&self) -> Option<CwndCause> {
        self.cwnd_causes.iter().max_by_key(|&(_, span_us)| span_us).map(|(&cause, _)| cause)
    }

    /// Sums over the streams of each stream's median.
    pub(super) fn figures(&self) -> Figures {
        let medians = |field: fn(&Values) -> &WeightedValues| {
            self.streams.values().filter_map(move |values| field(values).median().map(rounded))
        };
        let sum = |field: fn(&Values) -> &WeightedValues| medians(field).reduce(|sum, median| sum + median);
        Figures {
            flight_bytes: sum(|v| &v.unacked_peak).map(|peak| peak.max(self.flight_mean())),
            flight_mean_bytes: Some(self.flight_mean()),
            stalled_share: Some(self.stalled_share()),
            rtt_mean_us: self.rtt_mean_us(),
            // The sockets of a receiver tell nothing of it.
            acked_bps: Some(self.acked_bps()).filter(|&bps| bps > 0),
            cwnd_bytes: sum(|v| &v.cwnd),
            rwnd_bytes: sum(|v| &v.rwnd),
            wmem_queued_bytes: sum(|v| &v.wmem_peak),
            sndbuf_bytes: sum(|v| &v.sndbuf),
            pacing_rate_bps: sum(|v| &v.pacing_rate_bps),
            srtt_us: medians(|v| &v.srtt_us).min(),
            min_rtt_us: medians(|v| &v.min_rtt_us).min(),
            mss_bytes: medians(|v| &v.mss).min(),
            changing_share: Some(self.changing_share()),
            ..Figures::default()
        }
    }

    /// Sum over the streams of each one's mean, weighted with the time: Little's law knows no median.
    fn flight_mean(&self) -> u64 {
        self.streams.values().map(|one| quotient(one.flight_area, one.moving_us)).sum()
    }

    fn stalled_share(&self) -> f64 {
        let sum = |time: fn(&Values) -> u128| self.streams.values().map(time).sum::<u128>();
        1.0 - sum(|one| one.moving_us) as f64 / sum(|one| one.span_us).max(1) as f64
    }

    /// By which part of its peak what was in flight changed from one end of an epoch to the other, in the mean.
    fn changing_share(&self) -> f64 {
        let sum = |area: fn(&Values) -> u128| self.streams.values().map(area).sum::<u128>();
        sum(|one| one.change_area) as f64 / sum(|one| one.peak_area).max(1) as f64
    }

    /// The round trip by which what the streams had in flight gives the sum of their rates.
    fn rtt_mean_us(&self) -> Option<u64> {
        let rate = |one: &Values| {
            let rtt_us = one.rtt_area as f64 / one.timed_us as f64;
            (one.timed_us > 0).then(|| quotient(one.flight_area, one.moving_us) as f64 / rtt_us)
        };
        let total = self.streams.values().filter_map(rate).sum::<f64>();
        (total > 0.0).then(|| rounded(self.flight_mean() as f64 / total))
    }

    /// Sum over the streams of what was acknowledged in each one's time.
    fn acked_bps(&self) -> u64 {
        self.streams.values().map(|one| quotient(one.acked * 8_000_000, one.span_us)).sum()
    }
}

fn quotient(whole: u128, by: u128) -> u64 {
    u64::try_from(whole / by.max(1)).unwrap_or(u64::MAX)
}

impl Values {
    fn add(&mut self, epoch: &Epoch, counts_us: u64) {
        let stalled = u128::from(counts_us) * u128::from(epoch.stalled_us)
            / u128::from((epoch.to_us - epoch.from_us).max(1));
        let moving_us = u128::from(counts_us).saturating_sub(stalled);
        self.flight_area += u128::from(epoch.unacked_mean) * moving_us;
        self.moving_us += moving_us;
        self.span_us += u128::from(counts_us);
        self.change_area += u128::from(epoch.flight_change) * u128::from(counts_us);
        self.peak_area += u128::from(epoch.unacked_peak) * u128::from(counts_us);
        self.acked += u128::from(epoch.acked) * u128::from(counts_us)
            / u128::from((epoch.to_us - epoch.from_us).max(1));
        if let Some(srtt_us) = epoch.srtt_mean_us {
            self.rtt_area += u128::from(srtt_us) * moving_us;
            self.timed_us += moving_us;
        }
        for (values, value) in [
            (&mut self.unacked_peak, Some(epoch.unacked_peak)),
            (&mut self.cwnd, epoch.cwnd),
            (&mut self.rwnd, epoch.rwnd),
            (&mut self.wmem_peak, epoch.wmem_peak),
            (&mut self.sndbuf, epoch.sndbuf),
            (&mut self.pacing_rate_bps, epoch.pacing_rate_bps),
            (&mut self.srtt_us, epoch.srtt_us),
            (&mut self.min_rtt_us, epoch.min_rtt_us),
            (&mut self.mss, Some(epoch.mss)),
        ] {
            if let Some(value) = value {
                values.add(value, 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(causes: &mut Causes, limited_by: LimitedBy, counts_us: u64, unacked_mean: u64) {
        causes.add(0, &Epoch { unacked_mean, ..Epoch::default() }, counts_us, (limited_by, None));
    }

    #[test]
    fn shares_are_of_the_measured_time_and_add_up_to_one() {
        use LimitedBy::{App, Cwnd, Path, Rwnd};
        let mut causes = Causes::default();
        for n in 1..50_u64 {
            add(&mut causes, [App, Cwnd, Path, Rwnd][(n * 7 % 4) as usize], n * 1_237, 0);
        }
        add(&mut causes, Path, 1_000_000, 0);
        add(&mut causes, LimitedBy::Cpu, 0, 0);
        let (shares, dominant, _) = causes.shares().expect("something was counted");
        assert!((shares.values().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
        assert_eq!((dominant, shares.len()), (Path, 4));
    }

    #[test]
    fn growth_between_losses_of_one_cause_is_that_causes() {
        use CwndCause::{Growth, QueueLoss, RandomLoss};
        let mut causes = Causes::default();
        let add = |causes: &mut Causes, counts_us, cause| {
            causes.add(0, &Epoch::default(), counts_us, (LimitedBy::Cwnd, Some(cause)));
        };
        let most = |causes: &Causes| causes.causes[&LimitedBy::Cwnd].cwnd_cause();
        causes.end_growth(0, None);
        add(&mut causes, 2, QueueLoss);
        add(&mut causes, 3, Growth);
        assert_eq!(most(&causes), Some(Growth));
        causes.end_growth(1, Some(RandomLoss));
        assert_eq!(most(&causes), Some(Growth), "another stream's loss");
        causes.end_growth(0, Some(QueueLoss));
        assert_eq!(most(&causes), Some(QueueLoss));
        add(&mut causes, 9, Growth);
        causes.end_growth(0, None);
        causes.end_growth(0, Some(QueueLoss));
        assert_eq!(most(&causes), Some(Growth), "a loss of another cause ended it");
    }

    #[test]
    fn over_the_mean_round_trip_what_the_streams_had_in_flight_gives_the_sum_of_their_rates() {
        let mut causes = Causes::default();
        for (stream, unacked_mean, rtt) in [(0, 1_000, 10_000), (1, 1_000, 40_000)] {
            let epoch = Epoch {
                to_us: 40_000,
                unacked_mean,
                srtt_mean_us: Some(rtt),
                acked: 40_000_000 / rtt,
                ..Epoch::default()
            };
            causes.add(stream, &epoch, 20_000, (LimitedBy::Cwnd, None));
        }
        let one = &causes.causes[&LimitedBy::Cwnd];
        assert_eq!((one.flight_mean(), one.rtt_mean_us()), (2_000, Some(16_000)));
        assert_eq!(one.acked_bps(), 1_000_000);
    }

    #[test]
    fn the_mean_in_flight_is_weighted_with_the_time() {
        let mut causes = Causes::default();
        add(&mut causes, LimitedBy::Sndbuf, 1, 4_000);
        add(&mut causes, LimitedBy::Sndbuf, 3, 0);
        assert_eq!(causes.causes[&LimitedBy::Sndbuf].flight_mean(), 1_000);
    }
}
