//! A rate of data that arrive, where it stays the same: how evenly they come, and how long the round trips are meanwhile.
//!
//! Without a loss and without a queue in the round trip that is no congestion window's, which would grow, and no path's, which would make a queue.

use super::span::{length, new_bytes_unevenness};
use pipefill_core::record::PacketSample;

/// Spans of a rate that stays the same.
const FEWEST_SPANS: usize = 3;
/// From this part of the median rate on, the start is over.
const STARTED: f64 = 0.9;
/// No rate differs from the median by more than this part, nor the last third's mean from the first one's by more than the other.
const SAME: f64 = 0.12;
const SAME_TREND: f64 = 0.04;

/// What arrives at a rate that stays the same until the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SteadyRate {
    /// Since when.
    pub(crate) from_us: u64,
    /// Over which share of the time.
    pub(crate) share: f64,
    /// Standard deviation over mean of what arrives in each sample: the median over the spans.
    pub(crate) unevenness: f64,
    /// The receiver's round trip over the least one: at most, and the median over the spans.
    pub(crate) rtt_risen_most: f64,
    pub(crate) rtt_risen: f64,
}

/// A span of some round trips.
#[derive(Debug, Clone, Copy)]
struct ArrivalSpan {
    from_us: u64,
    to_us: u64,
    rate: f64,
    unevenness: f64,
    rtt_us: u32,
    out_of_order: u32,
}

/// `None` where the rate does not stay the same.
pub(crate) fn steady_rate(samples: &[PacketSample]) -> Option<SteadyRate> {
    let rtt_us = samples.iter().filter_map(|sample| sample.receiver_rtt_us).min();
    let (mut spans, mut rest) = (Vec::new(), samples);
    while !rest.is_empty() {
        let (own, later) = rest.split_at(length(rest, rtt_us));
        rest = later;
        spans.extend(ArrivalSpan::of(own));
    }
    // What is left over at the end says little.
    let whole_us = spans.first().map_or(0, ArrivalSpan::length_us);
    spans.pop_if(|last| 2 * last.length_us() < whole_us);
    steady(&spans)
}

fn steady(spans: &[ArrivalSpan]) -> Option<SteadyRate> {
    let usual = middle(spans.iter().map(|span| span.rate))?;
    let least_us = spans.iter().map(|span| span.rtt_us).min()?;
    let started = spans.iter().position(|span| span.rate >= STARTED * usual)?;
    let settled = &spans[started..];
    let is_same = |span: &ArrivalSpan| (span.rate - usual).abs() <= SAME * usual && span.out_of_order == 0;
    if settled.len() < FEWEST_SPANS || !settled.iter().all(is_same) || has_trend(settled) {
        return None;
    }
    let risen = || settled.iter().map(|span| f64::from(span.rtt_us) / f64::from(least_us.max(1)));
    let time = |spans: &[ArrivalSpan]| spans.iter().map(ArrivalSpan::length_us).sum::<u64>() as f64;
    Some(SteadyRate {
        from_us: settled.first()?.from_us,
        share: time(settled) / time(spans),
        unevenness: middle(settled.iter().map(|span| span.unevenness))?,
        rtt_risen_most: risen().fold(0.0, f64::max),
        rtt_risen: middle(risen())?,
    })
}

impl ArrivalSpan {
    fn of(samples: &[PacketSample]) -> Option<Self> {
        let (first, last) = (samples.first()?, samples.last()?);
        let bytes: f64 = samples.iter().skip(1).map(|sample| sample.new_bytes() as f64).sum();
        let length_us = last.t_us.checked_sub(first.t_us).filter(|&us| us > 0)?;
        Some(Self {
            from_us: first.t_us,
            to_us: last.t_us,
            rate: bytes / length_us as f64,
            unevenness: new_bytes_unevenness(samples)?,
            rtt_us: samples.iter().filter_map(|sample| sample.receiver_rtt_us).max()?,
            out_of_order: last.out_of_order_segments.saturating_sub(first.out_of_order_segments),
        })
    }

    const fn length_us(&self) -> u64 {
        self.to_us - self.from_us
    }
}

/// A congestion window grows.
fn has_trend(spans: &[ArrivalSpan]) -> bool {
    let third = spans.len() / 3;
    let mean = |spans: &[ArrivalSpan]| spans.iter().map(|span| span.rate).sum::<f64>() / spans.len() as f64;
    let (first, last) = (mean(&spans[..third]), mean(&spans[spans.len() - third..]));
    (last - first).abs() > SAME_TREND * first
}

/// Of an even number of values the upper one.
fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(change: impl Fn(usize, &mut ArrivalSpan)) -> Option<SteadyRate> {
        let span = |at: usize| {
            let from_us = at as u64 * 100_000;
            let mut span = ArrivalSpan {
                from_us,
                to_us: from_us + 100_000,
                rate: 1.0,
                unevenness: 0.0,
                rtt_us: 20_000,
                out_of_order: 0,
            };
            change(at, &mut span);
            span
        };
        steady(&(0..20).map(span).collect::<Vec<_>>())
    }

    #[test]
    fn a_rate_that_stays_the_same_is_found_from_its_start_on() {
        let whole =
            SteadyRate { from_us: 0, share: 1.0, unevenness: 0.0, rtt_risen_most: 1.0, rtt_risen: 1.0 };
        assert_eq!(found(|_, _| ()), Some(whole));
        assert_eq!(found(|_, span| span.unevenness = 1.3), Some(SteadyRate { unevenness: 1.3, ..whole }));
        assert_eq!(
            found(|at, span| span.rate = if at == 0 { 0.2 } else { 1.0 }),
            Some(SteadyRate { from_us: 100_000, share: 0.95, ..whole })
        );
        let risen = found(|at, span| span.rtt_us += at as u32 * 200).map(|rate| rate.rtt_risen_most);
        assert_eq!(risen, Some(1.19), "a queue grows");
    }

    #[test]
    fn a_loss_or_a_rate_that_grows_is_not_steady() {
        assert_eq!(found(|at, span| span.out_of_order = u32::from(at == 9)), None, "a loss");
        assert_eq!(found(|at, span| span.rate += at as f64 / 200.0), None, "a window that grows");
        assert_eq!(found(|at, span| span.rate += (at % 2) as f64), None, "now more, now less");
    }
}
