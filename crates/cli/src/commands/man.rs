//! `pipefill man`: manual pages, made from the definitions of the command line.

use crate::args::{Args, ManArgs};
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use pipefill_runs::Failure;
use pipefill_store::write_output;
use std::fs;
use std::io;

/// The section of help that lists exit codes, and its name in a manual page.
const EXIT_CODES: &str = "EXIT CODES";
const EXIT_STATUS: &str = "EXIT STATUS";

/// Prints the page of pipefill, or writes one for each command to a folder.
pub(super) fn man(args: &ManArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let mut root = Args::command().disable_help_subcommand(true);
    root.build();
    let Some(folder) = &args.output else {
        let page = page(&root, &root).map_err(|error| Failure::broken(format!("no manual page: {error}")))?;
        terminal.print_data(&String::from_utf8_lossy(&page))?;
        return Ok(Outcome::Done);
    };
    fs::create_dir_all(folder).map_err(Failure::file("making", folder))?;
    for command in family(&root) {
        let file = folder.join(Man::new(command.clone()).get_filename());
        let written = page(command, &root).and_then(|page| write_output(&file, &page));
        written.map_err(Failure::file("writing", &file))?;
    }
    Ok(Outcome::Done)
}

/// `command` and all commands below it.
fn family(command: &Command) -> Vec<&Command> {
    let below = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()).flat_map(family);
    std::iter::once(command).chain(below).collect()
}

/// The page of `command`. Exit codes that it does not state are those of `root`.
fn page(command: &Command, root: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let own = sections(command);
    let exit_codes = |sections: &[Section]| {
        let found = sections.iter().find(|section| section.heading == EXIT_CODES);
        found.map_or_else(Vec::new, |section| section.lines.clone())
    };
    let codes = match exit_codes(&own) {
        none if none.is_empty() => exit_codes(&sections(root)),
        codes => codes,
    };
    let mut roff = Roff::new();
    exit_status(&mut roff, &codes);
    own.iter()
        .filter(|section| section.heading != EXIT_CODES)
        .for_each(|section| literal(&mut roff, section));
    roff.to_writer(&mut page)?;
    Ok(page)
}

/// A part of the text below a command's help.
struct Section {
    heading: String,
    lines: Vec<String>,
}

/// The parts of the text below the help of `command`: each begins with a line that ends with a colon.
fn sections(command: &Command) -> Vec<Section> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            sections.push(Section { heading: heading.to_owned(), lines: Vec::new() });
        } else if let Some(section) = sections.last_mut().filter(|_| !line.is_empty()) {
            section.lines.push(line.trim().to_owned());
        }
    }
    sections
}

fn exit_status(roff: &mut Roff, codes: &[String]) {
    roff.control("SH", [EXIT_STATUS]);
    for (code, meaning) in codes.iter().filter_map(|line| line.split_once("  ")) {
        roff.control("TP", []);
        roff.text([bold(code)]);
        roff.text([roman(meaning)]);
    }
}

/// Lines as they are.
fn literal(roff: &mut Roff, section: &Section) {
    roff.control("SH", [section.heading.as_str()]);
    roff.control("nf", []);
    for line in &section.lines {
        roff.text([roman(line.as_str())]);
    }
    roff.control("fi", []);
}
