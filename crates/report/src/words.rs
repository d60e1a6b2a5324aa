//! The words of findings: verdicts, advice, evidence, command lines. One function for each document completes it.

mod advice;
mod commands;
mod conclusions;
mod expectations;
mod faults;
mod reasons;
mod test_warnings;
mod verdict;

pub use commands::{quoted, repeat_command};
pub use verdict::verdict_sentence;

use crate::quantity::{percent, rate};
use pipefill_analysis::findings::connections::{Captured, Connections, TestFinding};
use pipefill_analysis::findings::experiment::{CellResult, Experiment};
use pipefill_analysis::findings::reproduce::Fit;
use pipefill_analysis::findings::verdict::Verdict;
use pipefill_analysis::judge::TestbedFault;
use pipefill_core::cell::CellSpec;
use pipefill_core::limit::{CwndCause, LimitedBy};

/// What is said of a limit that is not known.
pub(crate) const UNKNOWN: &str = "What limits it can't be told.";

/// `found` with its words. `command` is what ran it, up to and without `--on`, e.g. `pipefill run rtt.toml`.
pub fn complete_experiment(mut found: Experiment, command: &str) -> Experiment {
    let plan = &found.plan;
    for cell in &mut found.cells {
        let planned = plan.cell(cell.index);
        cell.repeat_command = repeat_command(command, planned, cell.backend.as_deref());
        complete_cell(cell, &planned.spec);
    }
    for (conclusion, result) in plan.conclusions.iter().zip(&mut found.conclusions) {
        let claims = conclusion.claims.iter().zip(&result.claims);
        result.evidence =
            claims.flat_map(|(claim, judged)| conclusions::lines(claim, judged, &found.cells)).collect();
    }
    found
}

fn complete_cell(cell: &mut CellResult, spec: &CellSpec) {
    cell.flows.iter_mut().for_each(|flow| complete(&mut flow.verdict));
    let count = cell.flows.len();
    if let Some(flow) = cell.headline() {
        let of_several = |sentence: String| {
            format!("Flow {} of {count} ({}): {sentence}", flow.figures.flow + 1, flow.describe())
        };
        let mut verdict = flow.verdict.clone();
        verdict.sentence = verdict.sentence.map(|own| if count == 1 { own } else { of_several(own) });
        cell.verdict = verdict;
    }
    let mut expectations = std::mem::take(&mut cell.expectations);
    for (expectation, result) in spec.expect.iter().zip(&mut expectations) {
        result.reason = expectations::why_not_judged(cell, expectation, result);
    }
    cell.expectations = expectations;
    let flows = cell.run_values.iter_mut().flat_map(|run| &mut run.flows);
    for fault in flows.filter_map(|flow| flow.diagnosis.as_mut()).flat_map(|diagnosis| &mut diagnosis.faults)
    {
        *fault = TestbedFault::Told(faults::in_words(fault));
    }
}

fn complete(verdict: &mut Verdict) {
    if let Some(reason) = verdict.reason.take() {
        verdict.sentence = Some(reasons::sentence(&reason));
    }
    verdict.advice.iter_mut().flatten().for_each(advice::complete);
}

/// The connections of a host.
pub fn complete_connections(mut found: Connections) -> Connections {
    found.connections.iter_mut().for_each(|connection| complete(&mut connection.verdict));
    if !found.invalid.is_empty() {
        let why: Vec<&str> = found.invalid.iter().map(|invalid| invalid.detail.as_str()).collect();
        let sentence = format!(
            "Not judged: {}. The path was not the one that was asked for, and these figures do not show what it carries.",
            why.join("; ")
        );
        found.connections.iter_mut().for_each(|one| one.verdict.sentence = Some(sentence.clone()));
    }
    found
}

/// The flows of a capture.
pub fn complete_capture(mut found: Captured) -> Captured {
    found.flows.iter_mut().for_each(|flow| complete(&mut flow.verdict));
    found
}

pub(crate) use test_warnings::warnings;

/// What a test says, and each of its streams.
pub fn complete_test(mut found: TestFinding) -> TestFinding {
    found.connections.iter_mut().for_each(|connection| complete(&mut connection.verdict));
    if !found.invalid.is_empty() {
        found.verdict = test_warnings::invalid(&found.invalid);
    } else if let Some(reason) = found.reason.take() {
        found.verdict = reasons::sentence(&reason);
    } else if found.verdict.is_empty() {
        UNKNOWN.clone_into(&mut found.verdict);
    }
    found.advice.iter_mut().for_each(advice::complete);
    found
}

/// What came of fitting a scenario to its capture.
pub fn fitted(fit: &Fit) -> String {
    let Some(result) = fit.result else {
        return "It was not run on the simulator: that would take too long, or there is no goodput to compare."
            .to_owned();
    };
    let fitted = fit
        .setting
        .map_or_else(String::new, |setting| format!("; {} was fitted to that", setting.knob.key()));
    format!(
        "On the simulator its largest flow has {}, {} were captured{fitted}.",
        rate(result.goodput_bps as u64),
        rate(result.captured_bps as u64)
    )
}

/// The one sentence that names a limit: for which share of the time, where that is known, and why.
fn limited(name: &str, share: Option<f64>, because: &str) -> String {
    let share = share.map_or_else(String::new, |share| format!(" {} of the time", percent(share)));
    format!("Limited by {name}{share}: {because}.")
}

/// A limit in words and, where that is the congestion window, why it is no larger.
pub(crate) const fn limit_name(limited_by: LimitedBy, cwnd_cause: Option<CwndCause>) -> &'static str {
    match (limited_by, cwnd_cause) {
        (LimitedBy::App, _) => "the application",
        (LimitedBy::Sndbuf, _) => "the send buffer",
        (LimitedBy::Rwnd, _) => "the receive window",
        (LimitedBy::Cwnd, Some(CwndCause::Startup)) => "the congestion window (slow start)",
        (LimitedBy::Cwnd, Some(CwndCause::HystartExit)) => "the congestion window (slow start ended early)",
        (LimitedBy::Cwnd, Some(CwndCause::RandomLoss)) => "the congestion window (random loss)",
        (LimitedBy::Cwnd, Some(CwndCause::QueueLoss)) => "the congestion window (drops of the queue)",
        (LimitedBy::Cwnd, Some(CwndCause::Policer)) => "the congestion window (drops of a policer)",
        (LimitedBy::Cwnd, Some(CwndCause::Reordering)) => "the congestion window (reordering)",
        (LimitedBy::Cwnd, Some(CwndCause::AckPath)) => "the congestion window (the path of the ACKs)",
        (LimitedBy::Cwnd, Some(CwndCause::Growth)) => "the congestion window (still growing)",
        (LimitedBy::Cwnd, None) => "the congestion window",
        (LimitedBy::Pacing, _) => "pacing",
        (LimitedBy::Path, _) => "the path",
        (LimitedBy::Receiver, _) => "the receiving application",
        (LimitedBy::Cpu, _) => "the CPU",
        (LimitedBy::Testbed, _) => "the testbed",
        (LimitedBy::Unknown, _) => "something that was not recorded",
    }
}
