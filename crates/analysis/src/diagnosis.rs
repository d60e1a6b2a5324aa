//! Why a run was as fast as it was: what limited each stream, when, and for what share of the time.
//!
//! Samples become epochs of at least a round trip ([`epochs`]), each epoch gets a cause ([`rules`]), the congestion window is
//! refined ([`refine`]), and what is left is counted. `docs/guide/verdicts.md` explains every rule. Never: a rule that asks
//! who made the record, or a verdict from one witness alone where there are several (see [`Witness`]).

mod epochs;
mod facts;
mod refine;
mod rules;
mod testbed;
mod udp;
mod witness;

pub use refine::CwndCause;
pub use witness::Witness;

use crate::experiment::LimitedBy;
use crate::metrics::window::{self, streams_of};
use facts::Facts;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::record::RunRecord;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What limited one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The category with the largest share of the time.
    pub limited_by: LimitedBy,
    /// Where that is the congestion window: why it was no larger.
    pub cwnd_cause: Option<CwndCause>,
    /// Category → share of the measured time, all streams; the shares add up to one.
    pub limited_fraction: BTreeMap<LimitedBy, f64>,
    /// Every stream's spans in order of time; neighbours with the same cause are one.
    pub timeline: Vec<Span>,
    /// What the figures of the verdict come from, medians over the epochs of its cause.
    pub figures: Figures,
    /// Others who have an opinion on the cause.
    pub witnesses: Vec<Witness>,
    /// What is wrong with the testbed, a sentence each.
    #[serde(default)]
    pub faults: Vec<String>,
}

/// A cause that stood for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Stream of the run.
    pub stream: u32,
    /// Since when, microseconds.
    pub from_us: u64,
    /// Until when.
    pub to_us: u64,
    /// The cause.
    pub limited_by: LimitedBy,
    /// Where it is the congestion window: why.
    pub cwnd_cause: Option<CwndCause>,
}

/// What the arithmetic of a verdict needs; medians over the epochs of its cause, sums over the streams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Peak of `snd_nxt − snd_una` in a round trip.
    pub flight_bytes: Option<u64>,
    /// Mean over the time.
    pub flight_mean_bytes: Option<u64>,
    /// Congestion window.
    pub cwnd_bytes: Option<u64>,
    /// Window that the receivers advertised.
    pub rwnd_bytes: Option<u64>,
    /// Memory of the send queues.
    pub wmem_queued_bytes: Option<u64>,
    /// Its limit.
    pub sndbuf_bytes: Option<u64>,
    /// Smoothed round trip.
    pub srtt_us: Option<u64>,
    /// Least round trip.
    pub min_rtt_us: Option<u64>,
    /// Pacing rate.
    pub pacing_rate_bps: Option<u64>,
    /// Payload of a full segment.
    pub mss_bytes: Option<u64>,
    /// Segments lost of those sent, in the measured time.
    pub loss_share: Option<f64>,
    /// What the path's rate lets through as payload.
    pub path_goodput_bps: Option<u64>,
    /// Payload acknowledged, all streams of the direction, over what the path lets through.
    pub utilisation: Option<f64>,
}

/// The diagnosis of `record`; `None` where nothing was sampled.
pub fn diagnose(record: &RunRecord) -> Option<Diagnosis> {
    let spec = &record.manifest.run.cell.spec;
    if streams_of(spec, &record.manifest.streams, Protocol::Tcp).next().is_none() {
        return udp::diagnose(record);
    }
    let facts = Facts::of(record);
    let mut judged = Vec::new();
    let mut direction = Direction::Forward;
    for (flow, summary) in streams_of(spec, &record.manifest.streams, Protocol::Tcp) {
        let epochs = epochs::cut(record, summary, window::life(summary));
        let measured = window::measured(spec, summary);
        direction = flow.direction;
        let busy = facts.busy(flow.direction);
        let mut refiner = refine::Refiner::new(&facts);
        for epoch in epochs {
            let limited_by = rules::limiter(&epoch, &rules::Stream { flow, summary }, &facts, &busy);
            let cwnd_cause = refiner.see(&epoch, limited_by);
            let is_ours = testbed::is_to_blame(facts.drops, flow, limited_by, cwnd_cause);
            let (limited_by, cwnd_cause) =
                if is_ours { (LimitedBy::Testbed, None) } else { (limited_by, cwnd_cause) };
            let counts_us =
                epoch.to_us.min(measured.to_us).saturating_sub(epoch.from_us.max(measured.from_us));
            judged.push(Judged { stream: summary.stream, epoch, counts_us, limited_by, cwnd_cause });
        }
    }
    let counted: Vec<&Judged> = judged.iter().filter(|one| one.counts_us > 0).collect();
    let (limited_fraction, limited_by) = shares(&counted)?;
    let of_cause: Vec<&Judged> = counted.iter().copied().filter(|one| one.limited_by == limited_by).collect();
    Some(Diagnosis {
        limited_by,
        cwnd_cause: dominant_cause(&of_cause),
        figures: figures(&of_cause, &facts),
        witnesses: witness::all(record, limited_by),
        limited_fraction,
        timeline: timeline(&judged),
        faults: testbed::faults(spec, direction, facts.drops),
    })
}

/// An epoch with its verdict.
struct Judged {
    stream: u32,
    epoch: epochs::Epoch,
    /// How much of it lies in the measured time.
    counts_us: u64,
    limited_by: LimitedBy,
    cwnd_cause: Option<CwndCause>,
}

fn shares(counted: &[&Judged]) -> Option<(BTreeMap<LimitedBy, f64>, LimitedBy)> {
    let total: u64 = counted.iter().map(|one| one.counts_us).sum();
    let mut spans: BTreeMap<LimitedBy, u64> = BTreeMap::new();
    for one in counted {
        *spans.entry(one.limited_by).or_default() += one.counts_us;
    }
    let (&dominant, _) = spans.iter().max_by_key(|&(_, span)| *span)?;
    let share = |(cause, span): (LimitedBy, u64)| (cause, span as f64 / total as f64);
    Some((spans.into_iter().map(share).collect(), dominant))
}

fn dominant_cause(of_cause: &[&Judged]) -> Option<CwndCause> {
    let mut spans: BTreeMap<CwndCause, u64> = BTreeMap::new();
    for one in of_cause {
        *spans.entry(one.cwnd_cause?).or_default() += one.counts_us;
    }
    spans.into_iter().max_by_key(|&(_, span)| span).map(|(cause, _)| cause)
}

fn timeline(judged: &[Judged]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for one in judged {
        let Judged { stream, limited_by, cwnd_cause, .. } = *one;
        let is_same = |span: &&mut Span| {
            (span.stream, span.limited_by, span.cwnd_cause) == (stream, limited_by, cwnd_cause)
        };
        match spans.last_mut().filter(is_same) {
            Some(span) => span.to_us = one.epoch.to_us,
            None => spans.push(Span {
                stream,
                from_us: one.epoch.from_us,
                to_us: one.epoch.to_us,
                limited_by,
                cwnd_cause,
            }),
        }
    }
    spans
}

/// Sum over the streams of each one's mean, weighted with the time: Little's law knows no median.
fn flight_mean(of_cause: &[&Judged]) -> u64 {
    let mut streams: BTreeMap<u32, (u128, u128)> = BTreeMap::new();
    for one in of_cause {
        let (area, span) = streams.entry(one.stream).or_default();
        *area += u128::from(one.epoch.unacked_mean) * u128::from(one.counts_us);
        *span += u128::from(one.counts_us);
    }
    let means = streams.values().map(|&(area, span)| u64::try_from(area / span.max(1)).unwrap_or(u64::MAX));
    means.sum()
}

/// Sums over the streams of each stream's median.
fn figures(of_cause: &[&Judged], facts: &Facts<'_>) -> Figures {
    let mut streams: BTreeMap<u32, Vec<&epochs::Epoch>> = BTreeMap::new();
    for one in of_cause {
        streams.entry(one.stream).or_default().push(&one.epoch);
    }
    let medians = |field: &dyn Fn(&epochs::Epoch) -> Option<u64>| -> Vec<u64> {
        let of_stream = |epochs: &Vec<&epochs::Epoch>| {
            let values: Vec<f64> = epochs.iter().filter_map(|epoch| field(epoch)).map(|v| v as f64).collect();
            crate::statistics::median(&values).map(crate::statistics::rounded)
        };
        streams.values().filter_map(of_stream).collect()
    };
    let sum = |field: &dyn Fn(&epochs::Epoch) -> Option<u64>| {
        let all = medians(field);
        (!all.is_empty()).then(|| all.iter().sum())
    };
    let least = |field: &dyn Fn(&epochs::Epoch) -> Option<u64>| medians(field).into_iter().min();
    Figures {
        flight_bytes: sum(&|e| Some(e.unacked_peak)),
        flight_mean_bytes: Some(flight_mean(of_cause)),
        cwnd_bytes: sum(&|e| Some(e.cwnd)),
        rwnd_bytes: sum(&|e| e.rwnd),
        wmem_queued_bytes: sum(&|e| e.wmem_peak),
        sndbuf_bytes: sum(&|e| e.sndbuf),
        pacing_rate_bps: sum(&|e| e.pacing_rate_bps),
        srtt_us: least(&|e| e.srtt_us),
        min_rtt_us: least(&|e| e.min_rtt_us),
        mss_bytes: least(&|e| Some(e.mss)),
        loss_share: facts.loss_share,
        path_goodput_bps: facts.path_goodput_bps,
        utilisation: facts.utilisation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(limited_by: LimitedBy, counts_us: u64, unacked_mean: u64) -> Judged {
        let epoch = epochs::Epoch { unacked_mean, ..epochs::Epoch::default() };
        Judged { stream: 0, epoch, counts_us, limited_by, cwnd_cause: None }
    }

    #[test]
    fn shares_are_of_the_measured_time_and_add_up_to_one() {
        use LimitedBy::{App, Cwnd, Path, Rwnd};
        let all: Vec<Judged> = (1..50)
            .map(|n: u64| judged([App, Cwnd, Path, Rwnd][(n * 7 % 4) as usize], n * 1_237, 0))
            .chain([judged(Path, 1_000_000, 0)])
            .collect();
        let (shares, dominant) = shares(&all.iter().collect::<Vec<_>>()).expect("something was counted");
        assert!((shares.values().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
        assert_eq!((dominant, shares.len()), (Path, 4));
    }

    #[test]
    fn the_mean_in_flight_is_weighted_with_the_time() {
        let (short, long) = (judged(LimitedBy::Sndbuf, 1, 4_000), judged(LimitedBy::Sndbuf, 3, 0));
        assert_eq!(flight_mean(&[&short, &long]), 1_000);
    }
}
