//! How runs and spans of time are called on a terminal.

use crate::terminal::visible;
use pipefill_core::plan::Run;
use std::time::Duration;

/// The coordinates of a run, fit for a terminal: `variant=tcp path.rtt=10ms, run 1 of 3`.
pub(crate) fn label(run: &Run) -> String {
    let axes: Vec<String> = run.cell.axes.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    let of = format!("run {} of {}", run.repeat, run.cell.spec.run.repeat);
    if axes.is_empty() { of } else { format!("{}, {of}", visible(&axes.join(" "), false)) }
}

/// `2 h 5 min`, `5 min 20 s`, `12 s`; rounded up to the second.
pub(crate) fn span(span: Duration) -> String {
    let seconds = span.as_secs().saturating_add(u64::from(span.subsec_nanos() > 0));
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}
