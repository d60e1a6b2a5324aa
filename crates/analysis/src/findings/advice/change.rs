//! A change being put together: assignments that a scenario takes, and the same as lines for a real machine.

use crate::findings::finding::{Advice, Goal};
use pipefill_core::cell::{CellSpec, FlowSpec};

/// A change being put together.
#[derive(Default)]
pub(super) struct Change {
    pub(super) set: Vec<String>,
    pub(super) commands: Vec<String>,
}

/// The name of a flow's key in an assignment: `flow.parallel` where there is one flow, `flow.1.parallel` beside others. Flows of one table
/// (`direction = "both"`) share their keys.
pub(super) fn flow_key(spec: &CellSpec, index: usize, name: &str) -> String {
    let table = spec.table_of(index);
    let is_alone = (0..spec.flows.len()).all(|other| spec.table_of(other) == table);
    if is_alone { format!("flow.{name}") } else { format!("flow.{table}.{name}") }
}

/// Whether the flow at `index` shares its table with another.
pub(super) fn shares_its_table(spec: &CellSpec, index: usize) -> bool {
    let table = spec.table_of(index);
    (0..spec.flows.len()).any(|other| other != index && spec.table_of(other) == table)
}

/// The name in a scenario of the host that sends the data of `flow`, or receives it.
pub(super) fn host_name(flow: &FlowSpec, sends: bool) -> &'static str {
    if sends == (flow.direction == pipefill_core::cell::Direction::Forward) { "sender" } else { "receiver" }
}

impl Change {
    pub(super) fn sysctl(&mut self, host: &str, name: &str, [least, initial, maximum]: [u64; 3]) {
        self.set.push(format!("{host}.{name}={least} {initial} {maximum}"));
        self.commands.push(format!("sysctl -w net.ipv4.{name}='{least} {initial} {maximum}'    # {host}"));
    }

    pub(super) fn advice(self, why: String, predicted_bps: Option<u64>) -> Advice {
        let change = self.set.join(", ");
        Advice { change, set: self.set, commands: self.commands, why, predicted_bps, ..Advice::default() }
    }

    pub(super) fn for_latency(self, why: String, predicted_bps: Option<u64>, rtt_us: u64) -> Advice {
        let advice = self.advice(why, predicted_bps);
        Advice { goal: Goal::Latency, predicted_rtt_us: Some(rtt_us), ..advice }
    }
}

/// What changes nothing.
pub(super) fn nothing(why: &str, goodput_bps: u64) -> Advice {
    Advice {
        change: "nothing".to_owned(),
        why: why.to_owned(),
        predicted_bps: Some(goodput_bps),
        ..Advice::default()
    }
}
