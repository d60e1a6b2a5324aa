//! How runs are called on a terminal.

use crate::terminal::visible;
use pipefill_core::plan::Run;

/// The coordinates of a run, fit for a terminal: `variant=tcp path.rtt=10ms, run 1 of 3`.
pub(crate) fn label(run: &Run) -> String {
    let axes: Vec<String> = run.cell.axes.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    let of = format!("run {} of {}", run.repeat, run.cell.spec.run.repeat);
    if axes.is_empty() { of } else { format!("{}, {of}", visible(&axes.join(" "), false)) }
}
