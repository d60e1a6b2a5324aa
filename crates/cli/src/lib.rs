//! The program `pipefill`: arguments, screens, signals, exit codes.
//!
//! Everything that the user's machine has and the crates below must not know — terminal, signals, arguments — is here.
#![forbid(unsafe_code)]

mod args;
mod capture_graphs;
mod commands;
mod console;
mod estimate;
mod events;
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
