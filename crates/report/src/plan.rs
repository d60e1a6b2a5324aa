//! `pipefill plan`: every run before it runs.

use crate::quantity::counted;
use crate::sheet::SheetEntry;
use crate::table::{Style, lines};
use pipefill_core::plan::{Plan, Run};
use std::time::Duration;

/// One line for each run: its directory, coordinates and seed; then the totals. `estimate` is for all runs together. Ends
/// with a newline.
pub fn render(plan: &Plan, estimate: Option<Duration>, style: Style) -> String {
    let runs = plan.runs();
    let rows: Vec<Vec<SheetEntry>> = runs.iter().map(row).collect();
    let table = lines(&[("directory", false), ("repeat", true), ("axes", false)], &rows, style, "");
    let title = plan.title.as_ref().map_or_else(String::new, |title| format!("\n{title}"));
    let totals = totals(plan.cells.len(), runs.len(), estimate);
    format!("{}{title}\n\n{table}\n{totals}\n", plan.experiment)
}

fn row(run: &Run) -> Vec<SheetEntry> {
    let axes: Vec<String> = run.cell.axes.iter().map(|(path, value)| format!("{path}={value}")).collect();
    [run.directory.to_string(), run.repeat.to_string(), axes.join(" ")].map(SheetEntry::plain).into()
}

fn totals(cells: usize, runs: usize, estimate: Option<Duration>) -> String {
    let counts = format!("{}, {}", counted(cells as u64, "cell(s)"), counted(runs as u64, "run(s)"));
    match estimate {
        Some(estimate) => format!("{counts}, about {}", span(estimate)),
        None => counts,
    }
}

/// In hours, minutes and seconds, rounded up to the second.
fn span(estimate: Duration) -> String {
    let seconds = estimate.as_secs() + u64::from(estimate.subsec_nanos() > 0);
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest} s"),
        (0, _) => format!("{minutes} min {rest} s"),
        _ => format!("{hours} h {minutes} min"),
    }
}
