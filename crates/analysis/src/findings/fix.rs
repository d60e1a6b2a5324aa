//! Whether an advice was right: rounds of runs before and after it, and what to try next.
//!
//! Another crate runs the rounds; this module decides on the next one and reports the outcome. Never: a change that is kept although it
//! did not help and the limit stayed the same, or a round without its own measurement of how it was before.

use crate::findings::experiment::CellResult;
use crate::findings::finding::{Advice, Goal};
use crate::findings::metrics::RunMetrics;
use crate::findings::paired_runs::{Comparison, CountComparison, Difference, RttComparison};
use crate::findings::times::FlowTimes;
use crate::judge::FULL;
use indexmap::IndexMap;
use pipefill_core::limit::LimitedBy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Rounds of a cell at most: a limit, the one behind it, and one more.
pub const ROUNDS: usize = 3;

/// After the first round a change is tried only where it promises this much more.
const WORTH: f64 = 1.05;

/// What was tried in one cell, and what came of it.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Proof {
    /// Position in the plan.
    pub index: usize,
    /// The cell's id, as it was.
    pub id: String,
    /// Scenario path → value as text.
    pub axes: IndexMap<String, String>,
    /// `lab` or `sim`.
    pub backend: String,
    /// What was done, in order; at most [`ROUNDS`].
    pub rounds: Vec<Round>,
    /// The assignments that stay in the end; empty where nothing helped, or nothing was tried.
    pub set: Vec<String>,
    /// What the path lets through as payload; null where it has no rate.
    pub path_goodput_bps: Option<u64>,
    /// Why it ended.
    pub end: End,
    /// In words, where nothing in the scenario helps: the advice that says so; or what failed.
    pub why: Option<String>,
    /// The command that repeats it.
    pub repeat_command: String,
}

/// One change, measured.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Round {
    /// Assignments that both sides have, from earlier rounds.
    pub base: Vec<String>,
    /// The change.
    pub advice: Advice,
    /// Before and after; null where no pair is valid. Goodput, or payload over the active time where the advice predicts that.
    pub comparison: Option<Comparison>,
    /// The flow's median round trip under load, where the change is for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaded_rtt: Option<RttComparison>,
    /// The flow's retransmitted segments, where the change is for fewer of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<CountComparison>,
    /// What limited it before.
    pub limited_by_before: Option<LimitedBy>,
    /// What limits it after.
    pub limited_by_after: Option<LimitedBy>,
    /// The verdict before.
    pub verdict_before: Option<String>,
    /// The verdict after.
    pub verdict_after: Option<String>,
    /// Predicted over measured, less one.
    pub prediction_error: Option<f64>,
    /// Whether the change stays.
    pub kept: bool,
    /// Where the records are, from the proof's directory.
    pub before_directory: String,
    /// Where those after it are.
    pub after_directory: String,
}

/// Why no further round follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The path is the limit, and nearly all of its rate is used: the pipe is full.
    PipeFull,
    /// The limit is nothing that a scenario can change, or nothing was measured.
    NothingToChange,
    /// What could be changed was tried, or promises less than a twentieth more.
    NothingLeft,
    /// [`ROUNDS`] are over.
    RoundsUsed,
    /// It failed; `why` says how.
    Failed,
}

impl Round {
    /// What two sides of `advice` say of the flow that the verdict before is about. Pairs are the runs of the same repetition; one of which
    /// either run is invalid is left out.
    pub fn of(base: Vec<String>, advice: Advice, before: &CellResult, after: &CellResult) -> Self {
        let of_flow = |run: &RunMetrics, flow: u32| {
            let flow = run.flow(flow)?;
            let goodput_bps = flow.figures.goodput_bps;
            // Of an application that sends at its own pace only the active time can become shorter; a warm-up may end within a burst.
            match (advice.predicted_active_bps, &flow.diagnosis) {
                (Some(_), Some(diagnosis)) => {
                    let whole_bps = run.goodput_whole_bps.filter(|_| run.flows.len() == 1).or(goodput_bps);
                    FlowTimes::of(diagnosis, whole_bps).active_bps
                }
                _ => goodput_bps,
            }
        };
        let goodput = |run: &RunMetrics| match before.headline_flow {
            Some(flow) => of_flow(run, flow),
            None => run.goodput_bps,
        };
        let loaded_rtt_us = |run: &RunMetrics| run.flow(before.headline_flow?)?.latency.loaded_rtt_us_p50;
        let resent = |run: &RunMetrics| run.flow(before.headline_flow?)?.figures.retransmits;
        let pairs = pairs_of(before, after, goodput);
        let loaded_rtt = RttComparison::of(pairs_of(before, after, loaded_rtt_us))
            .filter(|_| advice.goal == Goal::Latency);
        let retransmits =
            CountComparison::of(pairs_of(before, after, resent)).filter(|_| advice.goal == Goal::Losses);
        let comparison = Comparison::of(&pairs, before.runs.max(after.runs));
        let measured = comparison.as_ref().map(|comparison| comparison.after.bps).filter(|&bps| bps > 0.0);
        let predicted = advice.predicted_bps.or(advice.predicted_active_bps);
        let error = |measured: f64| Some(predicted? as f64 / measured - 1.0);
        Self {
            prediction_error: measured.and_then(error),
            kept: match advice.goal {
                Goal::Throughput => is_kept(comparison.as_ref(), before, after),
                Goal::Latency => is_less(comparison.as_ref(), loaded_rtt.as_ref().map(|rtt| rtt.verdict)),
                Goal::Losses => {
                    is_less(comparison.as_ref(), retransmits.as_ref().map(|resent| resent.verdict))
                }
            },
            loaded_rtt,
            retransmits,
            limited_by_before: before.verdict.limited_by,
            limited_by_after: after.verdict.limited_by,
            verdict_before: before.verdict.sentence.clone(),
            verdict_after: after.verdict.sentence.clone(),
            comparison,
            base,
            advice,
            before_directory: String::new(),
            after_directory: String::new(),
        }
    }
}

/// The figures of the runs of the same repetition, before and after; of those that are valid and have one.
fn pairs_of(
    before: &CellResult,
    after: &CellResult,
    figure: impl Fn(&RunMetrics) -> Option<u64>,
) -> Vec<(u64, u64)> {
    let pair = |earlier: &RunMetrics| {
        let later = after.run_values.iter().find(|later| later.repeat == earlier.repeat)?;
        (earlier.is_valid() && later.is_valid()).then_some((figure(earlier)?, figure(later)?))
    };
    before.run_values.iter().filter_map(pair).collect()
}

/// The round trip is shorter, or less is sent again, and goodput is not less by a twentieth.
fn is_less(goodput: Option<&Comparison>, figure: Option<Difference>) -> bool {
    let is_as_fast = goodput.and_then(Comparison::gain).is_none_or(|gain| (1.0 + gain) * WORTH >= 1.0);
    is_as_fast && figure == Some(Difference::Less)
}

/// It helped; or it lifted a limit behind which another one stood at the same height.
fn is_kept(comparison: Option<&Comparison>, before: &CellResult, after: &CellResult) -> bool {
    match comparison.map(|comparison| comparison.verdict) {
        Some(Difference::More) => true,
        Some(Difference::NotShown) => before.verdict.limited_by != after.verdict.limited_by,
        _ => false,
    }
}

/// What to try next.
#[derive(Debug, Clone)]
pub struct Search {
    set: Vec<String>,
    candidates: VecDeque<Advice>,
    tried: Vec<Vec<String>>,
    /// The flow that the proof is about: that of the first verdict.
    flow: Option<u32>,
    is_full: bool,
    why: Option<String>,
}

impl Search {
    /// Begins with the advice of a cell that was measured.
    pub fn of(cell: &CellResult) -> Self {
        let mut search = Self {
            set: Vec::new(),
            candidates: VecDeque::new(),
            tried: Vec::new(),
            flow: cell.headline_flow,
            is_full: false,
            why: None,
        };
        search.take(cell, 1.0);
        search
    }

    /// The next change to measure, if there is one. After [`ROUNDS`] there is none.
    pub fn next_change(&mut self) -> Option<Advice> {
        if self.tried.len() == ROUNDS {
            return None;
        }
        let advice = self.candidates.pop_front()?;
        self.tried.push(advice.set.clone());
        Some(advice)
    }

    /// Learns from `round`, whose side after the change is `after`: goes on from there, or tries the next of the same advice.
    pub fn observe(&mut self, round: &Round, after: &CellResult) {
        if round.kept {
            self.set.extend(round.advice.set.iter().cloned());
            self.take(after, WORTH);
        }
    }

    /// The assignments that have helped.
    pub fn set(&self) -> &[String] {
        &self.set
    }

    /// Why there is no next round.
    pub fn end(&self) -> End {
        if self.is_full {
            End::PipeFull
        } else if self.tried.is_empty() {
            End::NothingToChange
        } else if self.candidates.is_empty() {
            End::NothingLeft
        } else {
            End::RoundsUsed
        }
    }

    /// The sentence of the last advice, where that names no change.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// Whether an earlier round set the key of `line`: a change that is taken back by the next one goes in a circle.
    fn has_set(&self, line: &str) -> bool {
        let key = |line: &str| line.split('=').next().map(str::to_owned);
        self.set.iter().any(|old| key(old) == key(line))
    }

    fn take(&mut self, cell: &CellResult, worth: f64) {
        let advice = cell.verdict.advice.as_deref().unwrap_or_default();
        let goodput_bps = cell.headline().map_or(cell.goodput_bps, |flow| flow.figures.goodput_bps);
        let promises = |advice: &Advice| match (advice.predicted_bps, goodput_bps) {
            (Some(predicted), Some(measured)) => predicted as f64 >= measured as f64 * worth,
            _ => true,
        };
        let is_new = |advice: &&Advice| {
            !advice.set.is_empty()
                && !self.tried.contains(&advice.set)
                && !advice.set.iter().any(|line| self.has_set(line))
        };
        let of_goal = |goal| advice.iter().filter(is_new).filter(move |advice| advice.goal == goal);
        let faster = of_goal(Goal::Throughput).filter(|advice| promises(advice)).cloned().collect();
        // A flow that can't be faster may wait less.
        let shorter = of_goal(Goal::Latency).filter(|_| self.tried.is_empty()).cloned().collect();
        // And one that neither of these helps may lose less.
        let without_loss = of_goal(Goal::Losses).cloned().collect();
        let candidates: [VecDeque<Advice>; 3] = [faster, shorter, without_loss];
        self.candidates =
            candidates.into_iter().find(|candidates| !candidates.is_empty()).unwrap_or_default();
        self.is_full = cell.verdict.limited_by == Some(LimitedBy::Path) && is_full(cell, self.flow);
        self.why = advice.iter().find(|advice| advice.set.is_empty()).map(|advice| advice.why.clone());
    }
}

/// Whether the path of `flow` was used up in every valid run: by what passed, and by what was read of the flows that share it.
fn is_full(cell: &CellResult, flow: Option<u32>) -> bool {
    let valid = cell.run_values.iter().filter(|run| run.is_valid());
    valid.filter_map(|run| used(run, flow?)).all(|share| share >= FULL)
}

/// The share of the path that the flows of `flow`'s direction got in one run; `None` where the path has no rate.
fn used(run: &RunMetrics, flow: u32) -> Option<f64> {
    let metrics = run.flow(flow)?;
    let figures = &metrics.diagnosis.as_ref()?.figures;
    let beside = run.flows.iter().filter(|other| other.figures.direction == metrics.figures.direction);
    let read: u64 = beside.filter_map(|other| other.figures.goodput_bps).sum();
    Some((read as f64 / figures.path_goodput_bps? as f64).min(figures.utilisation?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::verdict::Verdict;

    fn advice(set: &str, predicted_mbit: u64) -> Advice {
        Advice {
            change: set.to_owned(),
            set: vec![set.to_owned()],
            commands: Vec::new(),
            why: "because".to_owned(),
            predicted_bps: Some(predicted_mbit * 1_000_000),
            ..Advice::default()
        }
    }

    fn cell(limited_by: LimitedBy, mbit: u64, advice: Vec<Advice>) -> CellResult {
        CellResult {
            verdict: Verdict { limited_by: Some(limited_by), advice: Some(advice), ..Verdict::default() },
            goodput_bps: Some(mbit * 1_000_000),
            ..CellResult::default()
        }
    }

    fn round(search: &Search, advice: &Advice, kept: bool) -> Round {
        let nothing = CellResult::default();
        Round { kept, ..Round::of(search.set().to_vec(), advice.clone(), &nothing, &nothing) }
    }

    #[test]
    fn a_shorter_round_trip_is_tried_where_nothing_is_faster() {
        let shorter = Advice { goal: Goal::Latency, ..advice("path.aqm=fq_codel", 100) };
        let full = cell(LimitedBy::Path, 100, vec![shorter.clone()]);
        let mut search = Search::of(&full);
        assert_eq!(search.next_change().map(|advice| advice.set), Some(shorter.set.clone()));
        let faster = cell(LimitedBy::Rwnd, 100, vec![advice("receiver.tcp_rmem=1", 300), shorter]);
        let mut search = Search::of(&faster);
        assert_eq!(
            search.next_change().map(|advice| advice.set),
            Some(vec!["receiver.tcp_rmem=1".to_owned()])
        );
        assert_eq!(search.next_change(), None);
    }

    #[test]
    fn a_shorter_round_trip_may_cost_a_little_goodput() {
        let of = |bps: u64| Comparison::of(&[(100, bps), (101, bps), (102, bps)], 3);
        let rtt = |after| RttComparison::of(vec![(50_000, after), (51_000, after), (50_500, after)]);
        let is_shorter = |bps, after| is_less(of(bps).as_ref(), rtt(after).map(|rtt| rtt.verdict));
        assert_eq!(
            [is_shorter(99, 25_000), is_shorter(90, 25_000), is_shorter(99, 50_600), is_shorter(99, 90_000)],
            [true, false, false, false]
        );
    }

    #[test]
    fn fewer_losses_are_tried_where_a_shorter_round_trip_was_found() {
        let shorter = Advice { goal: Goal::Latency, ..advice("path.aqm=fq_codel", 100) };
        let without_loss = Advice { goal: Goal::Losses, ..advice("sender.tcp_ecn=1", 100) };
        let mut search = Search::of(&cell(LimitedBy::Path, 100, vec![shorter]));
        let first = search.next_change().unwrap();
        let after = cell(LimitedBy::Path, 100, vec![without_loss.clone()]);
        search.observe(&round(&search, &first, true), &after);
        assert_eq!(search.next_change(), Some(without_loss));
        assert_eq!(search.next_change(), None);
    }

    #[test]
    fn a_limit_behind_a_limit_is_tried_next() {
        let mut search = Search::of(&cell(LimitedBy::Rwnd, 100, vec![advice("receiver.tcp_rmem=1", 300)]));
        let first = search.next_change().unwrap();
        let after = cell(LimitedBy::Sndbuf, 200, vec![advice("sender.tcp_wmem=1", 300)]);
        search.observe(&round(&search, &first, true), &after);
        let second = search.next_change().unwrap();
        assert_eq!(second.set, ["sender.tcp_wmem=1"]);
        search.observe(&round(&search, &second, true), &cell(LimitedBy::Path, 300, Vec::new()));
        assert_eq!((search.next_change(), search.end()), (None, End::PipeFull));
        assert_eq!(search.set(), ["receiver.tcp_rmem=1", "sender.tcp_wmem=1"]);
    }

    #[test]
    fn what_did_not_help_is_dropped_and_the_next_of_the_same_advice_tried() {
        let both = vec![advice("sender.congestion_control=bbr", 300), advice("flow.parallel=4", 250)];
        let mut search = Search::of(&cell(LimitedBy::Cwnd, 100, both));
        let first = search.next_change().unwrap();
        search.observe(&round(&search, &first, false), &cell(LimitedBy::Cwnd, 90, Vec::new()));
        assert_eq!(search.next_change().unwrap().set, ["flow.parallel=4"]);
        assert!(search.set().is_empty());
        assert_eq!((search.next_change(), search.end()), (None, End::NothingLeft));
    }

    #[test]
    fn what_promises_little_or_was_tried_is_left() {
        let mut search = Search::of(&cell(LimitedBy::Cwnd, 100, vec![advice("path.queue=1bdp", 300)]));
        let first = search.next_change().unwrap();
        let again = vec![advice("path.queue=1bdp", 300), advice("flow.parallel=4", 300)];
        search.observe(&round(&search, &first, true), &cell(LimitedBy::Cwnd, 290, again));
        assert_eq!((search.next_change(), search.end()), (None, End::NothingLeft));
    }

    #[test]
    fn three_rounds_are_enough() {
        let mut search =
            Search::of(&cell(LimitedBy::Cwnd, 1, (0..9).map(|n| advice(&format!("a={n}"), 9)).collect()));
        assert_eq!(std::iter::from_fn(|| search.next_change()).count(), ROUNDS);
        assert_eq!(search.end(), End::RoundsUsed);
    }

    #[test]
    fn nothing_to_change_says_why() {
        let nothing = Advice { set: Vec::new(), ..advice("nothing", 100) };
        let mut search = Search::of(&cell(LimitedBy::App, 100, vec![nothing]));
        assert_eq!(
            (search.next_change(), search.end(), search.why()),
            (None, End::NothingToChange, Some("because"))
        );
    }
}
