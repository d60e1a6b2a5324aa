//! pipefill is a laboratory for TCP and UDP throughput: is the pipe full, and if not, why not?
//!
//! This crate is the program, and what other programs may call of it:
//!
//! - [`run_scenario`] carries out the runs of a scenario on a backend ([`Sim`], [`Lab`], [`Hosts`]), keeps their records and judges them.
//! - [`judge_capture`] reads a capture and says what limited each of its flows.
//! - [`judge_text`] reads what iperf3, iperf, netperf, ss or an NDT7 client printed, or a qlog, and says what limited each of its connections.
//! - [`watch_sockets`] says what limits the connections of this host.
//!
//! ```
//! use pipefill::{Options, PlannedScenario, Sim, Stop, Unreported};
//!
//! let text = r#"
//! name = "small"
//! path.rtt = "10ms"
//! path.rate = "50mbit"
//! flow = [{ duration = "1s" }]
//! run.repeat = 1
//! "#;
//! # let folder = tempfile::tempdir()?;
//! # let out = Some(folder.path().join("out"));
//! let planned = PlannedScenario::built_in("small", text, &[])?;
//! let options = Options { out, ..Options::default() };
//! let finished = pipefill::run_scenario(planned, &Sim::new(), &options, &Unreported, &Stop::default())?;
//! assert_eq!(finished.result.cells[0].verdict.limited_by.map(|holder| holder.as_str()), Some("path"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A problem says whose it is, what is wrong and what to do ([`Problem`]); [`Failure`] also has those of scenarios and of records. Exit codes
//! are [`main`]'s alone.
#![forbid(unsafe_code)]

mod args;
mod capture_graphs;
mod commands;
mod console;
mod estimate;
mod events;
mod library;
mod live;
mod outcome;
mod page;
mod pictures;
mod progress;
mod reproduction;
mod run_reporter;
mod signals;
mod signals_of_commands;
mod sweep;
mod terminal;
mod watch;
mod wording;

pub use library::{judge_capture, judge_text, run_scenario, watch_sockets};
pub use pipefill_analysis::findings::connections::{
    Captured, CapturedFlow, ConnectionFinding, Connections, PastedConnection, PastedOutput,
};
pub use pipefill_analysis::findings::experiment::{CellResult, Experiment};
pub use pipefill_core::backend::Backend;
pub use pipefill_core::plan::Selection;
pub use pipefill_core::problem::{Problem, ProblemKind};
pub use pipefill_hosts::{Hosts, HostsOptions};
pub use pipefill_lab::{Lab, privilege};
pub use pipefill_observe::{Filter, WatchRequest};
pub use pipefill_runs::{Failure, Finished, Options, PlannedScenario, Reporter, RunEvent, Stop, Unreported};
pub use pipefill_sim::Sim;

use args::Args;
use clap::Parser;
use std::process::ExitCode;
use terminal::Terminal;

/// Carries out the command line of this process.
pub fn main() -> ExitCode {
    if let Some(code) = pipefill_lab::inside() {
        return code;
    }
    if let Some(ended) = pipefill_hosts::far_end(std::env::args_os(), terminal::log) {
        return if ended.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let args = Args::parse();
    let terminal = Terminal::detect(args.color);
    let prepared = signals::end_with(args.ends_with).and_then(|()| signals::survive_file_limit());
    match prepared.and_then(|()| commands::carry_out(args.command, &terminal)) {
        Ok(outcome) => outcome.exit_code(),
        Err(failure) => {
            terminal.say(&failure.render(terminal.error_style()));
            ExitCode::from(outcome::code_of(&failure))
        }
    }
}
