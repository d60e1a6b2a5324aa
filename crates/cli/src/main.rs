//! The binary `pipefill`: arguments, progress, signals, exit codes.
//!
//! Everything that the user's machine has and the crates below must not know — terminal, signals, arguments — is here.
#![forbid(unsafe_code)]

mod again;
mod args;
mod asked;
mod between;
mod capture_flows;
mod capture_graphs;
mod capture_reading;
mod catalogue_scenarios;
mod claim;
mod commands;
mod condense;
mod console;
mod estimate;
mod evaluation;
mod events;
mod failure;
mod fix_file;
#[cfg(test)]
mod hostile_tests;
mod hosts;
mod live;
mod outcome;
mod page;
mod pictures;
mod progress;
mod reproduction;
mod results;
mod runner;
mod select;
mod session;
mod signals;
mod signals_of_commands;
mod studies;
mod sweep;
#[cfg(test)]
mod synthetic;
mod terminal;
mod watch;
mod wording;

use args::Args;
use clap::Parser;
use std::process::ExitCode;
use terminal::Terminal;

fn main() -> ExitCode {
    if let Some(code) = pipefill_lab::inside().or_else(|| hosts::inside(std::env::args_os())) {
        return code;
    }
    let args = Args::parse();
    let terminal = Terminal::detect(args.color);
    let prepared = signals::end_with(args.ends_with).and_then(|()| signals::survive_file_limit());
    match prepared.and_then(|()| commands::carry_out(args.command, &terminal)) {
        Ok(outcome) => outcome.exit_code(),
        Err(failure) => {
            terminal.say(&failure.render(terminal.error_style()));
            failure.exit_code()
        }
    }
}
