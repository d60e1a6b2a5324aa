//! The names that settings have in a scenario.

use pipefill_core::cell::{CellSpec, Direction, FlowSpec};

/// The name of a flow's key in an assignment: `flow.parallel` for a single flow, else with its index as in `flow.1.parallel`. Flows of one table
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
    if sends == (flow.direction == Direction::Forward) { "sender" } else { "receiver" }
}
