//! What holds the far end's sender back, as the sizes and times of what arrives tell.
//!
//! PSH shows an application that offers no more. A rate that stays the same, without a loss and without a queue in the round trip, is no
//! congestion window's, which would grow, and no path's, which would make a queue: where data come evenly they are paced, where they
//! come in bursts a round trip apart a buffer is emptied and filled again.

use super::look::{Look, unevenness};
use super::sender::{estimate, length_by};
use crate::tcp::Side;
use pipefill_core::limit::LimitedBy;

/// An application shows for so much of the time.
const MOSTLY: f64 = 0.5;
/// Spans of a rate that stays the same: so many at least, and so much of the time.
const FEWEST_SPANS: usize = 3;
/// From this part of the median rate on, the start is over.
const STARTED: f64 = 0.9;
/// No rate differs from the median by more than this part, nor the last third's mean from the first one's by more than the other.
const SAME: f64 = 0.12;
const SAME_TREND: f64 = 0.04;
/// Round trips that are no longer than this, over the least, have no queue in them; those of bursts wait for each other.
const FLAT: f64 = 1.10;
const FLAT_OF_BURSTS: f64 = 1.25;
/// Standard deviation over mean of what comes in each look: no more than the first where it is paced, at least the second in bursts.
const EVEN: f64 = 0.2;
const BURSTS: f64 = 0.5;

/// A span of some round trips.
struct Span {
    rate: f64,
    uneven: f64,
    rtt_us: u32,
    disordered: u32,
    ns: u64,
}

/// What holds the other end than `near` back, and in which share of the time; `None` where that can't be told.
pub(super) fn limit(looks: &[Look], near: Side) -> Option<(LimitedBy, f64)> {
    let estimates = estimate(looks, near.other());
    let dry = estimates.iter().filter(|one| one.is_the_applications()).count();
    let dry = dry as f64 / estimates.len().max(1) as f64;
    if dry >= MOSTLY {
        return Some((LimitedBy::App, dry));
    }
    steady(&spans(looks, near))
}

fn spans(looks: &[Look], near: Side) -> Vec<Span> {
    let rtt_us = looks.iter().filter_map(|look| look.of_side(near).answer_us).min();
    let (mut spans, mut rest) = (Vec::new(), looks);
    while !rest.is_empty() {
        let (own, later) = rest.split_at(length_by(rest, rtt_us));
        rest = later;
        spans.extend(span(own, near));
    }
    // What is left over at the end says little.
    let whole = spans.first().map_or(0, |first| first.ns);
    spans.pop_if(|last| 2 * last.ns < whole);
    spans
}

fn span(looks: &[Look], near: Side) -> Option<Span> {
    let far = near.other();
    let (first, last) = (looks.first()?, looks.last()?);
    let bytes: u64 = looks.iter().skip(1).map(|look| look.of_side(far).new_bytes()).sum();
    let ns = last.time_ns.checked_sub(first.time_ns).filter(|&ns| ns > 0)?;
    Some(Span {
        rate: bytes as f64 / ns as f64,
        uneven: unevenness(looks, far)?,
        rtt_us: looks.iter().filter_map(|look| look.of_side(near).answer_us).max()?,
        disordered: last.of_side(far).disordered - first.of_side(far).disordered,
        ns,
    })
}

/// What a rate that stays the same says.
fn steady(spans: &[Span]) -> Option<(LimitedBy, f64)> {
    let usual = middle(spans.iter().map(|span| span.rate))?;
    let least_us = spans.iter().map(|span| span.rtt_us).min()?;
    let started = spans.iter().position(|span| span.rate >= STARTED * usual)?;
    let settled = &spans[started..];
    let is_same = |span: &Span| (span.rate - usual).abs() <= SAME * usual && span.disordered == 0;
    if settled.len() < FEWEST_SPANS || !settled.iter().all(is_same) || has_trend(settled) {
        return None;
    }
    let risen = || settled.iter().map(|span| f64::from(span.rtt_us) / f64::from(least_us.max(1)));
    let uneven = middle(settled.iter().map(|span| span.uneven))?;
    let limit = match () {
        () if uneven <= EVEN && risen().all(|by| by <= FLAT) => LimitedBy::Pacing,
        () if uneven >= BURSTS && middle(risen())? <= FLAT_OF_BURSTS => LimitedBy::Sndbuf,
        () => return None,
    };
    let time = |spans: &[Span]| spans.iter().map(|span| span.ns).sum::<u64>() as f64;
    let share = time(settled) / time(spans);
    (share >= MOSTLY).then_some((limit, share))
}

/// A congestion window grows.
fn has_trend(spans: &[Span]) -> bool {
    let third = spans.len() / 3;
    let mean = |spans: &[Span]| spans.iter().map(|span| span.rate).sum::<f64>() / spans.len() as f64;
    let (first, last) = (mean(&spans[..third]), mean(&spans[spans.len() - third..]));
    (last - first).abs() > SAME_TREND * first
}

fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(say: impl Fn(usize, &mut Span)) -> Option<(LimitedBy, f64)> {
        let span = |at| {
            let mut span = Span { rate: 1.0, uneven: 0.0, rtt_us: 20_000, disordered: 0, ns: 100_000_000 };
            say(at, &mut span);
            span
        };
        steady(&(0..20).map(span).collect::<Vec<_>>())
    }

    #[test]
    fn a_rate_that_stays_the_same_without_a_queue_is_paced_or_a_buffers() {
        assert_eq!(spans(|_, _| ()), Some((LimitedBy::Pacing, 1.0)));
        assert_eq!(spans(|_, one| one.uneven = 1.3), Some((LimitedBy::Sndbuf, 1.0)));
        assert_eq!(
            spans(|at, one| one.rate = if at == 0 { 0.2 } else { 1.0 }),
            Some((LimitedBy::Pacing, 0.95))
        );
    }

    #[test]
    fn a_queue_a_loss_or_a_rate_that_grows_is_something_else() {
        assert_eq!(spans(|at, one| one.rtt_us += at as u32 * 200), None, "a queue grows");
        assert_eq!(spans(|at, one| one.disordered = u32::from(at == 9)), None, "a loss");
        assert_eq!(spans(|at, one| one.rate += at as f64 / 200.0), None, "a window that grows");
        assert_eq!(spans(|at, one| one.rate += (at % 2) as f64), None, "now more, now less");
    }
}
