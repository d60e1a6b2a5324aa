//! `pipefill completions`: a shell's completion script.

use crate::args::{Args, CompletionsArgs};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use clap::CommandFactory;

/// Prints the script.
pub(super) fn completions(args: &CompletionsArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "pipefill", &mut script);
    terminal.print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
