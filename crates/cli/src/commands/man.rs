//! `pipefill man`: manual pages, written from the definitions of the command line.
//!
//! Never: a word that `--help` does not say too.

use crate::args::{Args, ManArgs};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use clap::CommandFactory;
use clap_mangen::Man;
use std::fs;

/// Prints the page of pipefill, or writes one for each command into a folder.
pub(super) fn man(args: &ManArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let Some(folder) = &args.output else {
        let mut page = Vec::new();
        let rendered = Man::new(Args::command()).render(&mut page);
        rendered.map_err(|error| Failure::Other(format!("no manual page: {error}")))?;
        terminal.print(&String::from_utf8_lossy(&page))?;
        return Ok(Outcome::Done);
    };
    fs::create_dir_all(folder).map_err(Failure::file("making", folder))?;
    clap_mangen::generate_to(Args::command(), folder).map_err(Failure::file("writing into", folder))?;
    Ok(Outcome::Done)
}
