//! The time ledger: a stream's time in spans, each with one holder, found by one rule. The spans add up to the time to the microsecond.

use super::rule::RuleId;
use super::rules::app;
use super::rules::unknown::NOT_SAMPLED;
use crate::ground::interval::TimeInterval;
use crate::ground::step_function::{Step, StepFunction};
use crate::ground::thresholds::{SPANS_MAX, THIRDS};
use crate::ground::weighted_values::WeightedValues;
use pipefill_core::limit::{Cause, LimitedBy};
use std::collections::BTreeMap;

/// Margins are kept in parts of a million.
const MARGIN_PARTS: f64 = 1e6;

/// Who holds a span, why, and by which rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Holding {
    pub(crate) limited_by: LimitedBy,
    pub(crate) cause: Option<Cause>,
    pub(crate) rule: RuleId,
}

impl Holding {
    /// Whether the connection is active then: neither is it unasked, nor pauses an application by itself.
    fn is_active(&self) -> bool {
        ![app::REQUEST.id, app::RATE.id].contains(&self.rule)
    }
}

/// A span as it was judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JudgedSpan {
    /// The time of its evidence.
    pub(crate) interval: TimeInterval,
    pub(crate) holding: Holding,
    /// See [`super::decision::Decision::margin`].
    pub(crate) margin: Option<f64>,
    /// Where segments were lost, or marked: the cause of that, if the one before had the same.
    pub(crate) losses: Option<Option<Cause>>,
}

/// Owns the partition of one stream's life.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    life: TimeInterval,
    measured: TimeInterval,
    /// The last span, and the time that it covers: it may become longer.
    last: Option<(JudgedSpan, TimeInterval)>,
    spans: StepFunction<Holding>,
    /// Where the spans that are counted end.
    spans_end_us: u64,
    sums: LedgerSums,
    /// Growth of the congestion window since the last loss.
    grown: BTreeMap<RuleId, Held>,
}

/// A ledger to which nothing is added any more.
#[derive(Debug, Clone)]
pub(crate) struct FinishedLedger {
    /// In order of time, without gaps; the shortest are joined where there are too many.
    pub(crate) spans: Vec<Step<Holding>>,
    pub(crate) sums: LedgerSums,
}

/// Times of one or several ledgers by who holds them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LedgerSums {
    held: BTreeMap<Holding, Held>,
    margins: BTreeMap<LimitedBy, Margins>,
}

/// Time that is held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Held {
    /// Of the whole lives.
    life_us: u64,
    /// Of it, time of which there is evidence: without the gaps, less than a round trip, that spans cover beside.
    judged_us: u64,
    /// Of that, what lies in the measured time.
    measured_us: u64,
}

/// Margins of the spans of a holder, weighted with the time of each.
#[derive(Debug, Clone, Default, PartialEq)]
struct Margins {
    decided: WeightedValues,
    /// Time that no threshold decides.
    firm_us: u64,
}

impl Ledger {
    /// Of a stream that lives and is measured at these times; none of it is judged yet.
    pub(crate) fn new(life: TimeInterval, measured: TimeInterval) -> Self {
        Self {
            life,
            measured,
            last: None,
            spans: StepFunction::of(SPANS_MAX),
            spans_end_us: life.from_us,
            sums: LedgerSums::default(),
            grown: BTreeMap::new(),
        }
    }

    /// Whether nothing was judged.
    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_none() && self.sums.held.is_empty()
    }

    /// Adds the next span, in order of time. A gap before it that is no longer than the span before belongs to that one, a gap before the
    /// first to the first; a longer gap has no holder that is known.
    pub(crate) fn push(&mut self, mut span: JudgedSpan) {
        let end_us = self.end_us();
        span.interval.from_us = span.interval.from_us.max(end_us);
        span.interval.to_us = span.interval.to_us.min(self.life.to_us);
        if span.interval.length_us() == 0 {
            return;
        }
        let gap = TimeInterval { from_us: end_us, to_us: span.interval.from_us };
        let mut covers = span.interval;
        if self.last.is_none() && gap.length_us() <= span.interval.length_us() {
            covers.from_us = gap.from_us;
        } else {
            self.fill(gap);
        }
        self.settle();
        if let Some(recurred) = span.losses {
            self.end_growth(recurred);
        }
        self.last = Some((span, covers));
    }

    /// Gives the last span what follows it up to `to_us`: samples of an interval that did not end, which is a part of a round trip, however
    /// long that takes.
    pub(crate) fn extend_last_to(&mut self, to_us: u64) {
        if let Some((_, covers)) = &mut self.last {
            covers.to_us = covers.to_us.max(to_us.min(self.life.to_us));
        }
    }

    /// The spans so far, up to the last one that was judged.
    pub(crate) fn spans_so_far(&self) -> Vec<Step<Holding>> {
        let mut so_far = self.clone();
        so_far.settle();
        so_far.spans.into_steps()
    }

    /// All spans and their sums; what is left at the end belongs to the last span, or to nobody who is known.
    pub(crate) fn finish(mut self) -> FinishedLedger {
        self.fill(TimeInterval { from_us: self.end_us(), to_us: self.life.to_us });
        self.settle();
        FinishedLedger { spans: self.spans.into_steps(), sums: self.sums }
    }

    fn end_us(&self) -> u64 {
        self.last.map_or(self.spans_end_us, |(_, covers)| covers.to_us)
    }

    /// Gives `gap` to the last span, or to nobody who is known where it is longer than that.
    fn fill(&mut self, gap: TimeInterval) {
        match &mut self.last {
            _ if gap.length_us() == 0 => {}
            Some((last, covers)) if gap.length_us() <= last.interval.length_us() => covers.to_us = gap.to_us,
            _ => {
                self.settle();
                self.count(not_sampled(gap), gap);
            }
        }
    }

    fn settle(&mut self) {
        if let Some((last, covers)) = self.last {
            self.count(last, covers);
        }
    }

    /// Counts `span`, which covers no more than that.
    fn count(&mut self, span: JudgedSpan, covers: TimeInterval) {
        let JudgedSpan { interval, holding, margin, .. } = span;
        let held = Held {
            life_us: covers.length_us(),
            judged_us: interval.length_us(),
            // A stream that is measured from its start on is measured all of its life.
            measured_us: if self.measured == self.life { covers } else { interval.within(self.measured) }
                .length_us(),
        };
        self.spans.push(Step { from_us: covers.from_us, to_us: covers.to_us, value: holding });
        self.spans_end_us = covers.to_us;
        self.sums.held.entry(holding).or_default().add(held);
        self.sums.margins.entry(holding.limited_by).or_default().add(margin, covers.length_us());
        if holding.cause == Some(Cause::Growth) {
            self.grown.entry(holding.rule).or_default().add(held);
        }
        self.last = None;
    }

    /// The revision [`super::revisions::RECURRING_LOSSES`]: growth since the loss before belongs to the cause of both losses.
    fn end_growth(&mut self, recurred: Option<Cause>) {
        for (rule, held) in std::mem::take(&mut self.grown) {
            let Some(cause) = recurred else { continue };
            let holding = |cause: Cause| Holding { limited_by: LimitedBy::Cwnd, cause: Some(cause), rule };
            if let Some(growth) = self.sums.held.get_mut(&holding(Cause::Growth)) {
                growth.life_us -= held.life_us;
                growth.judged_us -= held.judged_us;
                growth.measured_us -= held.measured_us;
            }
            self.sums.held.entry(holding(cause)).or_default().add(held);
        }
    }
}

impl LedgerSums {
    /// Adds another ledger's: a flow's ledger is the sum of its streams'.
    pub(crate) fn absorb(&mut self, other: Self) {
        for (holding, held) in other.held {
            self.held.entry(holding).or_default().add(held);
        }
        for (limited_by, margins) in other.margins {
            let own = self.margins.entry(limited_by).or_default();
            own.firm_us += margins.firm_us;
            own.decided.absorb(&margins.decided);
        }
    }

    /// Gives what `revised` names another holding; no threshold decides on such a one.
    pub(crate) fn revise(&mut self, revised: impl Fn(Holding) -> Option<Holding>) {
        for (before, held) in std::mem::take(&mut self.held) {
            let after = revised(before).unwrap_or(before);
            self.held.entry(after).or_default().add(held);
            if after.limited_by != before.limited_by {
                self.margins.entry(after.limited_by).or_default().firm_us += held.life_us;
            }
        }
        let remain: Vec<LimitedBy> = self.held.keys().map(|holding| holding.limited_by).collect();
        self.margins.retain(|limited_by, _| remain.contains(limited_by));
    }

    /// The time of all lives by holder and cause, the longest first.
    pub(crate) fn times(&self) -> Vec<(LimitedBy, Option<Cause>, u64)> {
        let mut times: BTreeMap<(LimitedBy, Option<Cause>), u64> = BTreeMap::new();
        for (holding, held) in &self.held {
            *times.entry((holding.limited_by, holding.cause)).or_default() += held.life_us;
        }
        let mut times: Vec<_> = times.into_iter().map(|((holder, cause), us)| (holder, cause, us)).collect();
        times.retain(|&(.., us)| us > 0);
        times.sort_by_key(|&(.., us)| std::cmp::Reverse(us));
        times
    }

    /// Of the time of all lives what is active, microseconds.
    pub(crate) fn active_us(&self) -> u64 {
        self.held.iter().filter(|(holding, _)| holding.is_active()).map(|(_, held)| held.life_us).sum()
    }

    /// The time of all lives, microseconds.
    pub(crate) fn life_us(&self) -> u64 {
        self.held.values().map(|held| held.life_us).sum()
    }

    /// Each holder's share of the measured time, of the whole lives where nothing of them was measured; they add up to one. `None` of nothing.
    pub(crate) fn shares(&self) -> Option<BTreeMap<LimitedBy, f64>> {
        let by_holder = self.by_holder();
        let all: u64 = by_holder.values().sum();
        (all > 0)
            .then(|| by_holder.into_iter().map(|(holder, us)| (holder, us as f64 / all as f64)).collect())
    }

    /// Who has the most of the active time, and why.
    pub(crate) fn main_active(&self) -> Option<(LimitedBy, Option<Cause>)> {
        let mut by_holder: BTreeMap<LimitedBy, BTreeMap<Option<Cause>, u64>> = BTreeMap::new();
        let its = |(holding, us): &(Holding, u64)| *us > 0 && holding.is_active();
        for (holding, us) in self.clipped().filter(its) {
            *by_holder.entry(holding.limited_by).or_default().entry(holding.cause).or_default() += us;
        }
        let (holder, causes) =
            by_holder.into_iter().max_by_key(|(_, causes)| causes.values().sum::<u64>())?;
        Some((holder, most_of(holder, causes)))
    }

    /// Who has the most time.
    pub(crate) fn main_holder(&self) -> Option<LimitedBy> {
        self.by_holder().into_iter().max_by_key(|&(_, us)| us).map(|(holder, _)| holder)
    }

    /// The time of each holder that has any.
    fn by_holder(&self) -> BTreeMap<LimitedBy, u64> {
        let mut times = BTreeMap::new();
        for (holding, us) in self.clipped().filter(|&(_, us)| us > 0) {
            *times.entry(holding.limited_by).or_default() += us;
        }
        times
    }

    /// The cause with the most time of what `limited_by` holds.
    pub(crate) fn main_cause(&self, limited_by: LimitedBy) -> Option<Cause> {
        let mut causes: BTreeMap<Option<Cause>, u64> = BTreeMap::new();
        for (holding, us) in
            self.clipped().filter(|&(holding, us)| holding.limited_by == limited_by && us > 0)
        {
            *causes.entry(holding.cause).or_default() += us;
        }
        most_of(limited_by, causes)
    }

    /// The rule with the most time of what `limited_by` holds.
    pub(crate) fn main_rule(&self, limited_by: LimitedBy) -> Option<RuleId> {
        self.largest(limited_by, |holding| Some(holding.rule))
    }

    /// The median of the margins of what `limited_by` holds, weighted with the time; `None` where no threshold decides on most of it.
    pub(crate) fn margin(&self, limited_by: LimitedBy) -> Option<f64> {
        let Margins { decided, firm_us } = self.margins.get(&limited_by)?;
        // What no threshold decides is further away than any that one does.
        let all = decided.total() + u128::from(*firm_us);
        let middle = all.checked_sub(1)? / 2;
        (middle < decided.total()).then(|| decided.at(middle) as f64 / MARGIN_PARTS)
    }

    /// Time of the whole lives whose margin is less than `by`: at `by` itself a comparison has not turned yet.
    pub(crate) fn within_margin_us(&self, by: f64) -> u64 {
        let most = ((by * MARGIN_PARTS).round() as u64).saturating_sub(1);
        self.margins.values().map(|margins| margins.decided.weight_up_to(most)).sum()
    }

    fn largest<T: Ord + Copy>(&self, limited_by: LimitedBy, of: impl Fn(&Holding) -> Option<T>) -> Option<T> {
        let mut times: BTreeMap<T, u64> = BTreeMap::new();
        for (holding, us) in self.clipped().filter(|(holding, _)| holding.limited_by == limited_by) {
            if let Some(key) = of(&holding) {
                *times.entry(key).or_default() += us;
            }
        }
        times.into_iter().filter(|&(_, us)| us > 0).max_by_key(|&(_, us)| us).map(|(key, _)| key)
    }

    fn clipped(&self) -> impl Iterator<Item = (Holding, u64)> {
        let is_measured = self.held.values().any(|held| held.measured_us > 0);
        self.held.iter().map(move |(&holding, held)| {
            (holding, if is_measured { held.measured_us } else { held.judged_us })
        })
    }
}

/// The cause with the most time. Where most of it has none, the one that is known for a third of it, since a window, a buffer or a pacing rate is the same one
/// all the time; an application waits for different things. Of a congestion window it is then the most of what came with losses or marks: these are
/// seldom, and hold the time after them.
fn most_of(limited_by: LimitedBy, mut causes: BTreeMap<Option<Cause>, u64>) -> Option<Cause> {
    let most = |causes: &BTreeMap<Option<Cause>, u64>| {
        causes.iter().max_by_key(|(_, us)| **us).map(|(cause, _)| *cause)
    };
    let all: u64 = causes.values().sum();
    let comes_alone = [Cause::Startup, Cause::HystartExit, Cause::IdleRestart, Cause::Growth];
    if most(&causes) == Some(None) {
        causes.retain(|cause, us| match limited_by {
            LimitedBy::Cwnd => cause.is_some_and(|cause| !comes_alone.contains(&cause)),
            LimitedBy::App => cause.is_none(),
            _ => cause.is_some() && us.saturating_mul(THIRDS as u64) >= all,
        });
    }
    most(&causes).flatten()
}

impl Held {
    const fn add(&mut self, other: Self) {
        self.life_us += other.life_us;
        self.judged_us += other.judged_us;
        self.measured_us += other.measured_us;
    }
}

impl Margins {
    fn add(&mut self, margin: Option<f64>, us: u64) {
        match margin {
            Some(margin) => self.decided.add((margin * MARGIN_PARTS).ceil() as u64, us),
            None => self.firm_us += us,
        }
    }
}

const fn not_sampled(interval: TimeInterval) -> JudgedSpan {
    let holding = Holding { limited_by: LimitedBy::Unknown, cause: None, rule: NOT_SAMPLED };
    JudgedSpan { interval, holding, margin: None, losses: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULE: RuleId = RuleId::new("test.rule");

    fn interval(from_us: u64, to_us: u64) -> TimeInterval {
        TimeInterval { from_us, to_us }
    }

    fn span(from_us: u64, to_us: u64, limited_by: LimitedBy, cause: Option<Cause>) -> JudgedSpan {
        let holding = Holding { limited_by, cause, rule: RULE };
        JudgedSpan { interval: interval(from_us, to_us), holding, margin: Some(0.5), losses: None }
    }

    fn held(ledger: Ledger) -> Vec<(u64, u64, LimitedBy)> {
        let steps = ledger.finish().spans;
        steps.into_iter().map(|step| (step.from_us, step.to_us, step.value.limited_by)).collect()
    }

    #[test]
    fn short_gaps_belong_to_the_span_beside_them_and_long_ones_to_nobody_known() {
        use LimitedBy::{Cwnd, Path, Unknown};
        let mut ledger = Ledger::new(interval(100, 1_000), interval(100, 1_000));
        [span(150, 200, Path, None), span(220, 300, Cwnd, None), span(500, 600, Path, None)]
            .into_iter()
            .for_each(|span| ledger.push(span));
        let told = [
            (100, 220, Path),
            (220, 300, Cwnd),
            (300, 500, Unknown),
            (500, 600, Path),
            (600, 1_000, Unknown),
        ];
        assert_eq!(held(ledger), told);
        let mut sampled = Ledger::new(interval(0, 1_000), interval(0, 1_000));
        sampled.push(span(0, 100, Cwnd, None));
        sampled.extend_last_to(950);
        assert_eq!(held(sampled), [(0, 1_000, Cwnd)], "a round trip of 900 us was sampled to its end");
        let mut late = Ledger::new(interval(0, 100), interval(0, 100));
        late.push(span(60, 95, Path, None));
        assert_eq!(held(late), [(0, 60, Unknown), (60, 100, Path)]);
        assert_eq!(held(Ledger::new(interval(0, 9), interval(0, 9))), [(0, 9, Unknown)]);
    }

    /// The gap beside a span is its holder's in either account.
    #[test]
    fn shares_of_a_life_that_is_measured_whole_are_those_of_its_time() {
        let mut ledger = Ledger::new(interval(0, 100), interval(0, 100));
        ledger.push(span(20, 50, LimitedBy::Cwnd, None));
        ledger.push(span(65, 100, LimitedBy::App, None));
        let sums = ledger.finish().sums;
        assert_eq!(sums.shares(), Some([(LimitedBy::Cwnd, 0.65), (LimitedBy::App, 0.35)].into()));
        assert_eq!(sums.times(), [(LimitedBy::Cwnd, None, 65), (LimitedBy::App, None, 35)]);
        assert_eq!(sums.main_holder(), Some(LimitedBy::Cwnd));
    }

    #[test]
    fn growth_between_losses_of_one_cause_is_that_causes() {
        use Cause::{Growth, QueueLoss, RandomLoss};
        let mut ledger = Ledger::new(interval(0, 100), interval(0, 100));
        let mut push = |from_us, to_us, cause: Cause, losses| {
            ledger.push(JudgedSpan { losses, ..span(from_us, to_us, LimitedBy::Cwnd, Some(cause)) });
        };
        push(0, 10, QueueLoss, Some(None));
        push(10, 40, Growth, None);
        push(40, 45, QueueLoss, Some(Some(QueueLoss)));
        push(45, 70, Growth, None);
        push(70, 80, RandomLoss, Some(None));
        push(80, 100, Growth, None);
        let sums = ledger.finish().sums;
        let of = |cause: Cause| {
            let its = |(holding, _): &(Holding, u64)| holding.cause == Some(cause);
            sums.clipped().filter(its).map(|(_, us)| us).sum::<u64>()
        };
        assert_eq!([of(QueueLoss), of(Growth), of(RandomLoss)], [45, 45, 10]);
    }

    #[test]
    fn a_cause_is_that_of_most_of_the_time_or_none() {
        let cause = |limited_by, times: &[(Option<Cause>, u64)]| {
            let all_us = times.iter().map(|(_, us)| us).sum();
            let (mut ledger, mut at_us) = (Ledger::new(interval(0, all_us), interval(0, all_us)), 0);
            for &(cause, us) in times {
                ledger.push(span(at_us, at_us + us, limited_by, cause));
                at_us += us;
            }
            ledger.finish().sums.main_cause(limited_by)
        };
        assert_eq!(cause(LimitedBy::App, &[(None, 90), (Some(Cause::DelayedAck), 10)]), None);
        assert_eq!(cause(LimitedBy::App, &[(None, 10), (Some(Cause::Turns), 90)]), Some(Cause::Turns));
        assert_eq!(cause(LimitedBy::Cwnd, &[(None, 90), (Some(Cause::Ecn), 10)]), Some(Cause::Ecn));
        assert_eq!(cause(LimitedBy::Cwnd, &[(None, 90), (Some(Cause::Startup), 10)]), None, "over long ago");
        let paced = |known| cause(LimitedBy::Pacing, &[(None, 100 - known), (Some(Cause::Program), known)]);
        assert_eq!([paced(34), paced(33)], [Some(Cause::Program), None]);
    }

    #[test]
    fn a_margin_is_the_median_over_the_holders_time() {
        let mut ledger = Ledger::new(interval(0, 100), interval(0, 100));
        for (from_us, to_us, margin) in [(0, 30, Some(0.2)), (30, 60, None), (60, 100, Some(0.4))] {
            ledger.push(JudgedSpan { margin, ..span(from_us, to_us, LimitedBy::Path, None) });
        }
        let sums = ledger.finish().sums;
        assert_eq!((sums.margin(LimitedBy::Path), sums.margin(LimitedBy::App)), (Some(0.4), None));
        assert_eq!(
            [sums.within_margin_us(0.2), sums.within_margin_us(0.21), sums.within_margin_us(0.5)],
            [0, 30, 70]
        );
    }

    proptest! {
        #[test]
        fn spans_and_sums_add_up_to_the_life(
            lengths in proptest::collection::vec((0_u64..50, 0_u64..50, 0_usize..9), 0..60),
            (from_us, life_us, warm_up_us) in (0_u64..100, 1_u64..2_000, 0_u64..500),
        ) {
            let life = interval(from_us, from_us + life_us);
            let measured = interval(from_us + warm_up_us, life.to_us.max(from_us + warm_up_us));
            let mut ledger = Ledger::new(life, measured);
            let mut at_us = 0;
            for (gap_us, length_us, holder) in lengths {
                let from_us = at_us + gap_us;
                at_us = from_us + length_us;
                ledger.push(span(from_us, at_us, LimitedBy::ALL[holder], None));
            }
            let FinishedLedger { spans: steps, sums } = ledger.finish();
            prop_assert_eq!(sums.life_us(), life_us);
            prop_assert_eq!(steps.first().map(|step| step.from_us), Some(life.from_us));
            prop_assert_eq!(steps.last().map(|step| step.to_us), Some(life.to_us));
            prop_assert!(steps.windows(2).all(|pair| pair[0].to_us == pair[1].from_us));
            let shares = sums.shares().expect("a life has time");
            prop_assert!((shares.values().sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }
}
