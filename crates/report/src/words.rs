//! The words of findings: verdicts, advice, evidence, command lines. One function for each document completes it.

mod advice;
mod commands;
mod conclusions;
mod datagrams;
mod expectations;
mod faults;
mod reasons;
mod test_warnings;
mod verdict;
mod waits;

pub use commands::{quoted, repeat_command};
pub use verdict::verdict_sentence;

use crate::quantity::{percent, rate};
use pipefill_analysis::findings::connections::{
    Captured, ConnectionFinding, Connections, PastedOutput, TestFinding,
};
use pipefill_analysis::findings::experiment::{CellResult, Experiment};
use pipefill_analysis::findings::reproduce::Fit;
use pipefill_analysis::findings::verdict::Verdict;
use pipefill_analysis::judge::TestbedFault;
use pipefill_core::cell::{CellSpec, Direction, Protocol};
use pipefill_core::limit::{Cause, LimitedBy};

/// Another limit is told from this share of the time on.
const ALSO: f64 = 0.1;

/// What is said of a limit that is not known.
pub(crate) const UNKNOWN: &str = "The limit is unknown.";

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
        *fault = TestbedFault::Sentence(faults::in_words(fault));
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
        found
            .connections
            .iter_mut()
            .for_each(|connection| connection.verdict.sentence = Some(sentence.clone()));
    }
    found
}

/// The flows of a capture.
pub fn complete_capture(mut found: Captured) -> Captured {
    found.flows.iter_mut().for_each(|flow| complete(&mut flow.verdict));
    found
}

/// The connections of another program's output.
pub fn complete_output(mut found: PastedOutput) -> PastedOutput {
    for finding in found.connections.iter_mut().map(|connection| &mut connection.finding) {
        complete(&mut finding.verdict);
        if let (Some(LimitedBy::Unknown), Protocol::Tcp) = (finding.verdict.limited_by, finding.protocol) {
            finding.verdict.sentence = Some(not_shown(finding));
        }
    }
    found
}

/// Why an output does not show the limit; what would, stands below it.
fn not_shown(finding: &ConnectionFinding) -> String {
    let measured = finding.rate_bps.map_or_else(|| "the rate".to_owned(), rate);
    match finding.direction {
        Some(Direction::Reverse) => {
            format!(
                "The limit is unknown: this is the receiver's side, which shows that {measured} arrived, and nothing of the sender."
            )
        }
        _ => format!(
            "The limit is unknown: no window, buffer or queue that this output shows explains {measured}."
        ),
    }
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

/// A list of what else took time; empty where nothing did.
fn the_rest(others: impl Iterator<Item = String>) -> String {
    let others: Vec<String> = others.collect();
    if others.is_empty() { String::new() } else { format!(" The rest: {}.", others.join(", ")) }
}

/// A limit in words and, where that has a name, its cause.
pub(crate) const fn limit_name(limited_by: LimitedBy, cause: Option<Cause>) -> &'static str {
    match (limited_by, cause) {
        (LimitedBy::Path, Some(Cause::Bursts)) => "the path (bursts overflow its queue)",
        (LimitedBy::App, Some(Cause::Request)) => "the application (not asked for anything)",
        (LimitedBy::App, Some(Cause::Response)) => "the application (slow to answer)",
        (LimitedBy::App, Some(Cause::Turns)) => "the application (a round trip for each request)",
        (LimitedBy::App, Some(Cause::Window)) => "the application (a window of its own)",
        (LimitedBy::App, Some(Cause::Nagle)) => "the application (Nagle's algorithm)",
        (LimitedBy::App, Some(Cause::DelayedAck)) => "the application (delayed ACKs)",
        (LimitedBy::App, Some(Cause::Rate)) => "the application (its own pace)",
        (LimitedBy::App, _) => "the application",
        (LimitedBy::Sndbuf, Some(Cause::Program)) => "the send buffer (set by the program)",
        (LimitedBy::Sndbuf, _) => "the send buffer",
        (LimitedBy::Rwnd, Some(Cause::Program)) => "the receive window (set by the program)",
        (LimitedBy::Rwnd, Some(Cause::Clamped)) => "the receive window (limited by the program)",
        (LimitedBy::Rwnd, Some(Cause::RmemMax)) => "the receive window (net.core.rmem_max)",
        (LimitedBy::Rwnd, Some(Cause::Unscaled)) => "the receive window (not scaled)",
        (LimitedBy::Rwnd, Some(Cause::Autotuning)) => "the receive window (still growing)",
        (LimitedBy::Rwnd, _) => "the receive window",
        (LimitedBy::Cwnd, Some(Cause::Startup)) => "the congestion window (slow start)",
        (LimitedBy::Cwnd, Some(Cause::HystartExit)) => "the congestion window (slow start ended early)",
        (LimitedBy::Cwnd, Some(Cause::RandomLoss)) => "the congestion window (random loss)",
        (LimitedBy::Cwnd, Some(Cause::QueueLoss)) => "the congestion window (drops of the queue)",
        (LimitedBy::Cwnd, Some(Cause::Policer)) => "the congestion window (drops of a policer)",
        (LimitedBy::Cwnd, Some(Cause::Reordering)) => "the congestion window (reordering)",
        (LimitedBy::Cwnd, Some(Cause::AckPath)) => "the congestion window (the path of the ACKs)",
        (LimitedBy::Cwnd, Some(Cause::Growth)) => "the congestion window (still growing)",
        (LimitedBy::Cwnd, Some(Cause::IdleRestart)) => "the congestion window (slow start after idle)",
        (LimitedBy::Cwnd, Some(Cause::Timeout)) => "the congestion window (a timer is awaited)",
        (LimitedBy::Cwnd, Some(Cause::Ecn)) => "the congestion window (CE marks)",
        (LimitedBy::Cwnd, _) => "the congestion window",
        (LimitedBy::Pacing, Some(Cause::Program)) => "pacing (set by the program)",
        (LimitedBy::Pacing, Some(Cause::Bbr)) => "pacing (BBR's estimate)",
        (LimitedBy::Pacing, _) => "pacing",
        (LimitedBy::Path, Some(Cause::Silence)) => "the path (no answer)",
        (LimitedBy::Path, Some(Cause::Mtu)) => "the path (its MTU)",
        (LimitedBy::Path, Some(Cause::Shared)) => "the path (shared with others)",
        (LimitedBy::Path, _) => "the path",
        (LimitedBy::Receiver, _) => "the receiving application",
        (LimitedBy::Cpu, Some(Cause::Quota)) => "the CPU (a quota)",
        (LimitedBy::Cpu, Some(Cause::Waiting)) => "the CPU (others use it)",
        (LimitedBy::Cpu, _) => "the CPU",
        (LimitedBy::Testbed, _) => "the testbed",
        (LimitedBy::Unknown, _) => "something that was not recorded",
    }
}
