//! What the figures of a verdict were while each holder held: sums and medians over the epochs of one flow.
//!
//! Never: an epoch kept, or one from outside of the measured time.

use super::ledger::Holding;
use super::rule::OTHER;
use super::{Figures, QuotaFigures};
use crate::ground::statistics::rounded;
use crate::ground::weighted_values::WeightedValues;
use pipefill_core::evidence::{Evidence, QuotaUse, SenderEvidence};
use pipefill_core::limit::{Cause, LimitedBy};
use pipefill_core::record::StreamEnd;
use std::collections::BTreeMap;

/// The figures of one flow by who held it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HolderFigures {
    held: BTreeMap<(LimitedBy, Option<Cause>), FiguresOfStreams>,
}

/// The figures of one holder, stream by stream.
#[derive(Debug, Clone, Default, PartialEq)]
struct FiguresOfStreams {
    streams: BTreeMap<u32, Values>,
    /// Mean wait of ACKs in the queue of their way, microseconds.
    ack_wait_us: Mean,
    /// How the busiest thread of the flow spent its time.
    computed: Mean,
    waited: Mean,
    /// Of the sending process and of the receiving one.
    quotas: [QuotaMeans; 2],
}

/// What a CPU quota did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct QuotaMeans {
    periods: Mean,
    held: Mean,
    used: Mean,
}

/// A mean over time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Mean {
    sum: f64,
    time_us: f64,
}

/// The figures of one stream's epochs.
#[derive(Debug, Clone, Default, PartialEq)]
struct Values {
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
    /// In the order of [`of_epoch`].
    values: OfEpoch<WeightedValues>,
}

/// One for each figure of an epoch whose median counts.
type OfEpoch<T> = [T; 10];

fn of_epoch(sender: &SenderEvidence) -> OfEpoch<Option<u64>> {
    [
        Some(sender.unacked_peak),
        sender.cwnd,
        sender.rwnd,
        sender.wmem_peak,
        sender.sndbuf,
        sender.pacing_rate_bps,
        sender.cwnd_before_idle,
        sender.srtt_us,
        sender.min_rtt_us,
        Some(sender.mss),
    ]
}

impl HolderFigures {
    /// Whether nothing was counted.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Counts the evidence on `stream` in an interval of which `counts_us` count. ACKs waited for `ack_wait_us` meanwhile.
    pub(super) fn add(
        &mut self,
        stream: u32,
        evidence: &Evidence,
        counts_us: u64,
        holding: Holding,
        ack_wait_us: Option<u64>,
    ) {
        if counts_us == 0 {
            return;
        }
        let held = self.held.entry((holding.limited_by, holding.cause)).or_default();
        held.streams.entry(stream).or_default().add(evidence, counts_us);
        if let Some(wait_us) = ack_wait_us {
            held.ack_wait_us.add(wait_us as f64, evidence.length_us());
        }
        if let Some(used) = evidence.endpoint_thread() {
            held.computed.add(used.computed, evidence.length_us());
            held.waited.add(used.waited, evidence.length_us());
        }
        for (means, quota) in held.quotas.iter_mut().zip([evidence.sender_quota, evidence.receiver_quota]) {
            quota.into_iter().for_each(|quota| means.add(quota, evidence.length_us()));
        }
    }

    /// Counts what was held by a holding that `revised` names another for as that one's.
    pub(super) fn revise(&mut self, revised: impl Fn(Holding) -> Option<Holding>) {
        for ((limited_by, cause), held) in std::mem::take(&mut self.held) {
            let before = Holding { limited_by, cause, rule: OTHER };
            let after = revised(before).unwrap_or(before);
            self.held.entry((after.limited_by, after.cause)).or_default().absorb(&held);
        }
    }

    /// The figures while `limited_by` held.
    pub(super) fn of(&self, limited_by: LimitedBy) -> Figures {
        self.held_by(limited_by).figures()
    }

    /// How long ACKs waited while the congestion window held and what that was before idle times, and how threads spent the time in which the CPU
    /// did: into `figures`.
    pub(super) fn means(&self, figures: Figures) -> Figures {
        let (cwnd, cpu) = (self.held_by(LimitedBy::Cwnd), self.held_by(LimitedBy::Cpu));
        Figures {
            ack_wait_us: cwnd.ack_wait_us.get().map(rounded),
            cwnd_before_idle_bytes: cwnd.figures().cwnd_before_idle_bytes,
            cpu_share: cpu.computed.get().map(|share| share.min(1.0)),
            cpu_wait_share: cpu.waited.get().map(|share| share.min(1.0)),
            quota: self.held.get(&(LimitedBy::Cpu, Some(Cause::Quota))).and_then(FiguresOfStreams::quota),
            ..figures
        }
    }

    fn held_by(&self, limited_by: LimitedBy) -> FiguresOfStreams {
        let mut sum = FiguresOfStreams::default();
        let its = self.held.iter().filter(|((holder, _), _)| *holder == limited_by);
        its.for_each(|(_, held)| sum.absorb(held));
        sum
    }
}

impl FiguresOfStreams {
    fn absorb(&mut self, other: &Self) {
        for (&stream, values) in &other.streams {
            self.streams.entry(stream).or_default().absorb(values);
        }
        self.ack_wait_us = self.ack_wait_us.plus(other.ack_wait_us);
        self.computed = self.computed.plus(other.computed);
        self.waited = self.waited.plus(other.waited);
        for (own, others) in self.quotas.iter_mut().zip(other.quotas) {
            *own = own.plus(others);
        }
    }

    /// Of the quota that ran out in more of its periods.
    fn quota(&self) -> Option<QuotaFigures> {
        let both = StreamEnd::BOTH.into_iter().zip(&self.quotas);
        let figures = both.filter_map(|(end, means)| {
            Some(QuotaFigures {
                end,
                periods_share: means.periods.get()?,
                held_share: means.held.get()?,
                used_share: means.used.get(),
            })
        });
        figures.max_by(|a, b| a.periods_share.total_cmp(&b.periods_share))
    }

    /// Sums over the streams of each stream's median.
    fn figures(&self) -> Figures {
        // The receiver's socket has none of them.
        if self.streams.values().all(|values| values.span_us == 0) {
            return Figures::default();
        }
        let medians = |at: usize| {
            self.streams.values().filter_map(move |values| values.values[at].median().map(rounded))
        };
        let sum = |at: usize| medians(at).reduce(|sum, median| sum + median);
        let [peak, cwnd, rwnd, wmem, sndbuf, pacing, cwnd_before_idle, ..]: OfEpoch<_> =
            std::array::from_fn(sum);
        let [.., srtt, min_rtt, mss]: OfEpoch<_> = std::array::from_fn(|at| medians(at).min());
        Figures {
            flight_bytes: peak.map(|peak| peak.max(self.flight_mean())),
            flight_mean_bytes: Some(self.flight_mean()),
            stalled_share: Some(self.stalled_share()),
            rtt_mean_us: self.rtt_mean_us(),
            // The sockets of a receiver tell nothing of it.
            acked_bps: Some(self.acked_bps()).filter(|&bps| bps > 0),
            cwnd_bytes: cwnd,
            rwnd_bytes: rwnd,
            wmem_queued_bytes: wmem,
            sndbuf_bytes: sndbuf,
            pacing_rate_bps: pacing,
            cwnd_before_idle_bytes: cwnd_before_idle,
            srtt_us: srtt,
            min_rtt_us: min_rtt,
            mss_bytes: mss,
            changing_share: Some(self.changing_share()),
            ..Figures::default()
        }
    }

    /// Sum over the streams of each one's mean, weighted with the time: Little's law knows no median.
    fn flight_mean(&self) -> u64 {
        self.streams.values().map(|stream| quotient(stream.flight_area, stream.moving_us)).sum()
    }

    fn stalled_share(&self) -> f64 {
        let sum = |time: fn(&Values) -> u128| self.streams.values().map(time).sum::<u128>();
        1.0 - sum(|stream| stream.moving_us) as f64 / sum(|stream| stream.span_us).max(1) as f64
    }

    /// By which part of its peak what was in flight changed from one end of an epoch to the other, in the mean.
    fn changing_share(&self) -> f64 {
        let sum = |area: fn(&Values) -> u128| self.streams.values().map(area).sum::<u128>();
        sum(|stream| stream.change_area) as f64 / sum(|stream| stream.peak_area).max(1) as f64
    }

    /// The round trip by which what the streams had in flight gives the sum of their rates.
    fn rtt_mean_us(&self) -> Option<u64> {
        let rate = |stream: &Values| {
            let rtt_us = stream.rtt_area as f64 / stream.timed_us as f64;
            (stream.timed_us > 0).then(|| quotient(stream.flight_area, stream.moving_us) as f64 / rtt_us)
        };
        let total = self.streams.values().filter_map(rate).sum::<f64>();
        (total > 0.0).then(|| rounded(self.flight_mean() as f64 / total))
    }

    /// Sum over the streams of what was acknowledged in each one's time.
    fn acked_bps(&self) -> u64 {
        self.streams.values().map(|stream| quotient(stream.acked * 8_000_000, stream.span_us)).sum()
    }
}

fn quotient(whole: u128, by: u128) -> u64 {
    u64::try_from(whole / by.max(1)).unwrap_or(u64::MAX)
}

impl Mean {
    fn add(&mut self, value: f64, time_us: u64) {
        self.sum += value * time_us as f64;
        self.time_us += time_us as f64;
    }

    fn plus(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, time_us: self.time_us + other.time_us }
    }

    fn get(self) -> Option<f64> {
        (self.time_us > 0.0).then(|| self.sum / self.time_us)
    }
}

impl QuotaMeans {
    fn add(&mut self, quota: QuotaUse, time_us: u64) {
        self.periods.add(quota.periods, time_us);
        self.held.add(quota.held, time_us);
        quota.used.into_iter().for_each(|used| self.used.add(used, time_us));
    }

    fn plus(self, other: Self) -> Self {
        Self {
            periods: self.periods.plus(other.periods),
            held: self.held.plus(other.held),
            used: self.used.plus(other.used),
        }
    }
}

impl Values {
    fn absorb(&mut self, other: &Self) {
        self.flight_area += other.flight_area;
        self.moving_us += other.moving_us;
        self.rtt_area += other.rtt_area;
        self.timed_us += other.timed_us;
        self.change_area += other.change_area;
        self.peak_area += other.peak_area;
        self.acked += other.acked;
        self.span_us += other.span_us;
        for (own, others) in self.values.iter_mut().zip(&other.values) {
            own.absorb(others);
        }
    }

    fn add(&mut self, evidence: &Evidence, counts_us: u64) {
        let Some(sender) = &evidence.sender else { return };
        self.span_us += u128::from(counts_us);
        let length_us = evidence.length_us();
        let stalled = u128::from(counts_us) * u128::from(sender.stalled_us) / u128::from(length_us.max(1));
        let moving_us = u128::from(counts_us).saturating_sub(stalled);
        self.flight_area += u128::from(sender.in_flight_mean) * moving_us;
        self.moving_us += moving_us;
        self.change_area += u128::from(sender.flight_change) * u128::from(counts_us);
        self.peak_area += u128::from(sender.unacked_peak) * u128::from(counts_us);
        self.acked += u128::from(sender.acked) * u128::from(counts_us) / u128::from(length_us.max(1));
        if let Some(srtt_us) = sender.srtt_mean_us {
            self.rtt_area += u128::from(srtt_us) * moving_us;
            self.timed_us += moving_us;
        }
        for (own, value) in self.values.iter_mut().zip(of_epoch(sender)) {
            value.into_iter().for_each(|value| own.add(value, 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(to_us: u64, sender: SenderEvidence) -> Evidence {
        Evidence { to_us, sender: Some(sender), ..Evidence::default() }
    }

    fn holding(limited_by: LimitedBy) -> Holding {
        Holding { limited_by, cause: None, rule: OTHER }
    }

    #[test]
    fn over_the_mean_round_trip_what_the_streams_had_in_flight_gives_the_sum_of_their_rates() {
        let mut figures = HolderFigures::default();
        for (stream, in_flight_mean, rtt) in [(0, 1_000, 10_000), (1, 1_000, 40_000)] {
            let sender = SenderEvidence {
                in_flight_mean,
                srtt_mean_us: Some(rtt),
                acked: 40_000_000 / rtt,
                ..SenderEvidence::default()
            };
            figures.add(stream, &evidence(40_000, sender), 20_000, holding(LimitedBy::Cwnd), None);
        }
        let of = figures.of(LimitedBy::Cwnd);
        assert_eq!((of.flight_mean_bytes, of.rtt_mean_us), (Some(2_000), Some(16_000)));
        assert_eq!(of.acked_bps, Some(1_000_000));
    }

    #[test]
    fn the_mean_in_flight_is_weighted_with_the_time_and_revised_holders_count_under_their_new_one() {
        let mut figures = HolderFigures::default();
        for (counts_us, in_flight_mean, limited_by) in
            [(1, 4_000, LimitedBy::Sndbuf), (3, 0, LimitedBy::Sndbuf), (4, 3_000, LimitedBy::Pacing)]
        {
            let sender = SenderEvidence { in_flight_mean, ..SenderEvidence::default() };
            figures.add(0, &evidence(9, sender), counts_us, holding(limited_by), None);
        }
        assert_eq!(figures.of(LimitedBy::Sndbuf).flight_mean_bytes, Some(1_000));
        figures.revise(|_| Some(holding(LimitedBy::Sndbuf)));
        assert_eq!(figures.of(LimitedBy::Sndbuf).flight_mean_bytes, Some(2_000));
    }
}
