//! Random scenarios, run with every check on; and the smallest part of one that still fails.
//!
//! A scenario is text that the ordinary parser reads, so that whatever is found is a file that a user can run. Never: chance that
//! does not follow from the seed.

mod dice;
mod flows;
mod scenario;
mod shrink;
mod text;

pub use scenario::scenario;

use crate::Sim;
use pipefill_core::backend::{Backend, Watch};
use pipefill_core::problem::Problem;
use pipefill_core::record::{Invalid, RunRecord};
use pipefill_core::scenario::Scenario;
use shrink::shrink;
use std::time::Duration;

/// What runs without a finding came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Examined {
    /// Runs that were carried out.
    pub runs: u64,
    /// Packets offered to the path, both directions.
    pub packets: u64,
    /// Runs in which a connection did not come about, and that said so.
    pub unconnected: u64,
}

/// Runs every run of the scenario `text` with every check on.
///
/// # Errors
/// `Failed` where the scenario isn't one, a check failed, or a record contradicts itself; `Interrupted` where `watch` asked to
/// stop; `Unsupported` where the simulator does not model what is asked.
pub fn examine(text: &str, watch: &dyn Watch) -> Result<Examined, Problem> {
    let scenario =
        Scenario::parse(text, "scenario.toml").map_err(|error| Problem::broken(error.to_string()))?;
    let sim = Sim::new().checked();
    let mut examined = Examined::default();
    for run in scenario.plan().runs() {
        let record = sim.run(&run, watch)?;
        is_sound(&record).map_err(Problem::broken)?;
        examined.runs += 1;
        examined.packets += packets(&record);
        examined.unconnected += u64::from(!record.manifest.invalid.is_empty());
    }
    Ok(examined)
}

/// The scenario made smaller while `fails` still holds: line by line. Parts that would be far more work than the whole (no rate, the
/// usual duration) are not tried.
pub fn smallest(text: &str, mut fails: impl FnMut(&str) -> bool) -> String {
    let most = weight(text).unwrap_or_default() * 2;
    shrink(text, |part| weight(part).is_some_and(|weight| weight <= most) && fails(part))
}

/// How much work a scenario is; `None` where it isn't one.
fn weight(text: &str) -> Option<Duration> {
    let scenario = Scenario::parse(text, "scenario.toml").ok()?;
    Some(scenario.plan().runs().iter().map(|run| Sim::new().estimate(run)).sum())
}

/// What a record says of itself: no time goes back, nothing is received that was not sent.
fn is_sound(record: &RunRecord) -> Result<(), String> {
    let unexplained = |invalid: &&Invalid| invalid.reason != "flow_failed";
    if let Some(Invalid { reason, detail }) = record.manifest.invalid.iter().find(unexplained) {
        return Err(format!("the record is invalid: {reason}, {detail}"));
    }
    if !record.delivery.is_sorted_by_key(|sample| sample.t_us)
        || !record.tcp.is_sorted_by_key(|sample| sample.t_us)
    {
        return Err("the samples are not in order of time".to_owned());
    }
    for stream in &record.manifest.streams {
        let (number, sent, received) = (stream.stream, stream.sent_bytes, stream.received_bytes);
        if received > sent {
            return Err(format!("stream {number}: {received} bytes received, {sent} sent"));
        }
        let last = record.delivery.iter().rfind(|sample| sample.stream == number);
        if last.is_some_and(|last| (last.sent_bytes, last.received_bytes) != (sent, received)) {
            return Err(format!("stream {number}: the last sample and the summary differ"));
        }
    }
    Ok(())
}

fn packets(record: &RunRecord) -> u64 {
    let offered = record.manifest.counters.iter().filter(|counter| counter.name == "offered_packets");
    offered.map(|counter| counter.after).sum()
}
