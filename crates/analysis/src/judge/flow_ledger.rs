//! The ledger of a flow whose streams have ended: revisions change it, and its diagnosis is composed from it.

use super::confidence::Grounds;
use super::figures::HolderFigures;
use super::ledger::{FinishedLedger, Holding, LedgerSums};
use super::{Confidence, Diagnosis, Figures, HeldTime, Span, TestbedFault, Witness};
use crate::ground::interval::TimeInterval;
use crate::ground::statistics::rounded;
use crate::ground::step_function::Step;
use crate::ground::thresholds::Thresholds;
use crate::infer::way::PathDirection;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::flow_event::FlowEvent;
use pipefill_core::limit::{Cause, LimitedBy};
#[cfg(test)]
use {
    super::ledger::{JudgedSpan, Ledger},
    crate::ground::thresholds::STANDARD,
    crate::infer::KnownRun,
    pipefill_core::limit::CwndCause,
};

/// What is known of a flow of TCP at the end: a sum of the ledgers of its streams, never a union of wall time.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowLedger {
    /// Index of the flow in the cell.
    pub(super) flow: u32,
    pub(super) direction: Direction,
    pub(super) timeline: Vec<Span>,
    pub(super) sums: LedgerSums,
    /// Of the measured time.
    pub(super) measured: HolderFigures,
    /// Of the streams' whole lives: for a flow that was shorter than its warm-up.
    pub(super) whole: HolderFigures,
    /// What does not depend on who holds the flow.
    pub(super) of_flow: Figures,
    /// The path in the direction of the data.
    pub(super) way: PathDirection,
    /// From its first measured microsecond to its last.
    pub(super) interval: TimeInterval,
    /// The kernel's counters.
    pub(super) witnesses: Vec<Witness>,
    pub(super) faults: Vec<TestbedFault>,
    pub(super) events: Vec<FlowEvent>,
}

impl FlowLedger {
    /// Index of the flow in the cell.
    pub const fn flow(&self) -> u32 {
        self.flow
    }

    /// Adds the ledger of one of its streams.
    pub(super) fn absorb(&mut self, stream: u32, ledger: FinishedLedger) {
        self.timeline.extend(ledger.spans.into_iter().map(|step| span(stream, step)));
        self.sums.absorb(ledger.sums);
    }

    /// Gives what `revised` names another holding: in the spans, in their sums, and in the figures of each holder.
    pub(super) fn revise(&mut self, revised: impl Fn(Holding) -> Option<Holding>) {
        for own in &mut self.timeline {
            let before = Holding {
                limited_by: own.limited_by,
                cause: own.cause.or(own.cwnd_cause.map(Cause::from)),
                rule: own.rule.unwrap_or(super::rule::OTHER),
            };
            if let Some(value) = revised(before) {
                *own = span(own.stream, Step { from_us: own.from_us, to_us: own.to_us, value });
            }
        }
        self.sums.revise(&revised);
        self.measured.revise(&revised);
        self.whole.revise(&revised);
    }

    /// What limited the flow; `None` where none of its time was judged.
    pub fn diagnosis(&self, thresholds: &Thresholds) -> Option<Diagnosis> {
        let limited_by = self.sums.main_holder()?;
        let limited_fraction = self.sums.shares()?;
        let margin = self.sums.margin(limited_by);
        let active = self.sums.main_active();
        let witnesses: Vec<Witness> =
            self.witnesses.iter().map(|witness| witness.clone().with_verdict(limited_by)).collect();
        let grounds = Grounds {
            limited_by,
            share: limited_fraction[&limited_by],
            margin,
            witnesses: &witnesses,
            is_ambiguous: false,
        };
        Some(Diagnosis {
            flow: self.flow,
            protocol: Protocol::Tcp,
            direction: self.direction,
            limited_by,
            cause: self.sums.main_cause(limited_by),
            cwnd_cause: self
                .sums
                .main_cause(limited_by)
                .filter(|_| limited_by == LimitedBy::Cwnd)
                .and_then(Cause::of_cwnd),
            rule: self.sums.main_rule(limited_by),
            margin,
            figures: self
                .figures(if self.measured.is_empty() { &self.whole } else { &self.measured }.of(limited_by)),
            confidence: Confidence::of(&grounds, thresholds),
            limited_fraction,
            active_limited_by: active.map(|(limited_by, _)| limited_by),
            active_cause: active.and_then(|(_, cause)| cause),
            active_us: Some(self.sums.active_us()),
            time: self.time(),
            timeline: self.timeline.clone(),
            witnesses,
            faults: self.faults.clone(),
            events: self.events.clone(),
        })
    }

    /// Who held each stream when, stream by stream.
    pub fn timeline(&self) -> &[Span] {
        &self.timeline
    }

    /// Its active time, of all streams, microseconds.
    pub fn active_us(&self) -> u64 {
        self.sums.active_us()
    }

    /// Its time by who held it; the microseconds add up to the lives of its streams.
    pub fn time(&self) -> Vec<HeldTime> {
        let all_us = self.sums.life_us().max(1);
        let held =
            |(limited_by, cause, us)| HeldTime { limited_by, cause, us, share: us as f64 / all_us as f64 };
        self.sums.times().into_iter().map(held).collect()
    }

    /// `figures` of the holder, with what is known of the whole flow.
    fn figures(&self, figures: Figures) -> Figures {
        let Figures {
            loss_share,
            random_loss_share,
            spurious_share,
            utilisation,
            base_rtt_us,
            ack_loss_share,
            ce_segments,
            unlimited,
            waits,
            path_rate_bps,
            ..
        } = self.of_flow;
        let payload = figures.mss_bytes.unwrap_or(self.way.headers.mss());
        Figures {
            loss_share,
            random_loss_share,
            spurious_share,
            path_rate_bps: self.way.rate(self.interval).map(|rate| rate.value.bps()).or(path_rate_bps),
            path_goodput_bps: self.way.payload_bps(self.interval, Protocol::Tcp, payload).map(rounded),
            utilisation,
            base_rtt_us: base_rtt_us.or(figures.min_rtt_us),
            ack_loss_share,
            ce_segments,
            unlimited,
            waits,
            ..self.whole.means(figures)
        }
    }
}

pub(super) fn span(stream: u32, step: Step<Holding>) -> Span {
    let Holding { limited_by, cause, rule } = step.value;
    let cwnd_cause = cause.filter(|_| limited_by == LimitedBy::Cwnd).and_then(Cause::of_cwnd);
    Span { stream, from_us: step.from_us, to_us: step.to_us, limited_by, cause, cwnd_cause, rule: Some(rule) }
}

#[cfg(test)]
impl FlowLedger {
    /// Of a flow whose stream was held so, one span after the other: by whom, why, and for how long.
    pub(super) fn held(spans: &[(LimitedBy, Option<CwndCause>, u64)]) -> Self {
        let manifest = crate::infer::synthetic::manifest("[[flow]]\n");
        let life = TimeInterval { from_us: 0, to_us: spans.iter().map(|span| span.2).sum() };
        let (mut ledger, mut from_us) = (Ledger::new(life, life), 0);
        for &(limited_by, cause, us) in spans {
            let interval = TimeInterval { from_us, to_us: from_us + us };
            let holding = Holding { limited_by, cause: cause.map(Cause::from), rule: super::rule::OTHER };
            ledger.push(JudgedSpan { interval, holding, margin: Some(0.5), losses: None });
            from_us += us;
        }
        let mut of_flow = Self {
            flow: 0,
            direction: Direction::Forward,
            timeline: Vec::new(),
            sums: LedgerSums::default(),
            measured: HolderFigures::default(),
            whole: HolderFigures::default(),
            of_flow: Figures::default(),
            way: PathDirection::of(&KnownRun::of(&manifest), Direction::Forward, &STANDARD),
            interval: life,
            witnesses: Vec::new(),
            faults: Vec::new(),
            events: Vec::new(),
        };
        of_flow.absorb(0, ledger.finish());
        of_flow
    }
}
