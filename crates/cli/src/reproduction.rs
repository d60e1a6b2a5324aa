//! The scenario that reproduces the largest flow of a capture, fitted to it by runs of the simulator.

use crate::terminal::Terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pipefill_analysis::findings::connections::Captured;
use pipefill_analysis::findings::experiment::ExperimentBuilder;
use pipefill_analysis::findings::reproduce::{Draft, Simulated, fit};
use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::file_name::FileName;
use pipefill_core::scenario::Scenario;
use pipefill_report::words;
use pipefill_runs::Failure;
use pipefill_sim::Sim;
use pipefill_store::write_output;
use std::fs::{self, OpenOptions};
use std::path::Path;

/// Writes the scenario of `found` into `file`, which has to be new; fitted where it `is_fitted`.
///
/// # Errors
/// [`Failure`] where nothing was captured that could be reproduced, and where the file can't be written.
pub(crate) fn write(
    found: &Captured,
    file: &Path,
    is_fitted: bool,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let stem = file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let Some(draft) = Draft::of(found, FileName::cleaned(&stem).as_str()) else {
        return Err(Failure::broken(
            "no TCP connection of the capture carried anything in a time that is known: there is no scenario",
        ));
    };
    // Before the time that fitting takes.
    let unusable = |error: std::io::Error| {
        Failure::usage(
            format!("{}: {error}", file.display()),
            "choose a file that is not there yet: --scenario OTHER.toml",
        )
    };
    let reserved = OpenOptions::new().write(true).create_new(true).open(file).map_err(unusable)?;
    let text = if is_fitted { fitted(&draft, terminal) } else { draft.text(None, None) };
    drop(reserved);
    let written = write_output(file, text.as_bytes());
    if written.is_err() {
        // The file is empty; the first error is returned.
        let _left = fs::remove_file(file);
    }
    written.map_err(|error| Failure::broken(format!("{}: {error}", file.display())))
}

/// Prints the outcome of the fit. A scenario that could not be run is written as it is.
fn fitted(draft: &Draft<'_>, terminal: &Terminal) -> String {
    let bar = bar(terminal);
    let found = fit(draft, &mut |text| {
        let result = simulate(text);
        bar.inc(1);
        bar.set_message(format!("fitting the scenario: {} runs of the simulator", bar.position()));
        result
    });
    bar.finish_and_clear();
    match found {
        Ok(fit) => {
            let note = words::fitted(&fit);
            terminal.say(&format!("scenario: {note} Runs of the simulator: {}.", fit.runs));
            draft.text(fit.setting, Some(&note))
        }
        Err(why) => {
            terminal.say(&format!("note: the scenario was not fitted: {why}"));
            draft.text(None, None)
        }
    }
}

fn bar(terminal: &Terminal) -> ProgressBar {
    let target =
        if terminal.is_interactive() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(None, target);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

/// Runs a scenario with one cell, all its repetitions, and keeps no record.
fn simulate(text: &str) -> Result<Simulated, String> {
    let scenario = Scenario::parse(text, "the scenario").map_err(|error| error.to_string())?;
    let mut builder = ExperimentBuilder::new(scenario.plan().clone());
    let mut bytes = 0;
    for run in scenario.plan().runs() {
        let record = Sim::new().run(&run, &Unwatched).map_err(|error| error.to_string())?;
        builder.add(&record).map_err(|error| error.to_string())?;
        let received = |stream| record.delivery.iter().rfind(|row| row.stream == stream);
        let streams = record.manifest.streams.iter();
        bytes +=
            streams.filter_map(|summary| received(summary.stream)).map(|row| row.received_bytes).sum::<u64>();
    }
    let result = builder.finish();
    let first = result.cells.first().and_then(|cell| cell.flows.first());
    let goodput_bps = first.and_then(|flow| flow.figures.goodput_bps).ok_or("a run has no result")?;
    Ok(Simulated { goodput_bps: goodput_bps as f64, bytes })
}
