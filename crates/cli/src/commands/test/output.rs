//! Where the lines of a test go: to standard output or a file, each behind a title where there is one.

use crate::args::TestArgs;
use crate::terminal::{Terminal, visible};
use pipefill_core::problem::Problem;
use pipefill_report::table::Style;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

/// The place.
pub(super) struct Output<'a> {
    terminal: &'a Terminal,
    title: Option<&'a str>,
    file: Option<(File, PathBuf)>,
}

impl<'a> Output<'a> {
    /// As it is asked for. A file that is there already is written on.
    ///
    /// # Errors
    /// [`Problem`] where the file can't be opened.
    pub(super) fn open(args: &'a TestArgs, terminal: &'a Terminal) -> Result<Self, Problem> {
        let file = args.logfile.as_ref().map(|path| {
            let opened = OpenOptions::new().append(true).create(true).open(path);
            opened.map(|file| (file, path.clone())).map_err(Problem::file("opening", path))
        });
        Ok(Self { terminal, title: args.title.as_deref(), file: file.transpose()? })
    }

    /// How tables are drawn there.
    pub(super) fn style(&self) -> Style {
        if self.file.is_some() { Style::default() } else { self.terminal.table_style() }
    }

    /// Text for people.
    ///
    /// # Errors
    /// [`Problem`] where it can't be written.
    pub(super) fn print(&self, text: &str) -> Result<(), Problem> {
        let titled = self.title.map(|title| titled(text, title));
        let text = titled.as_deref().unwrap_or(text);
        if self.file.is_some() { self.append(&visible(text, false)) } else { self.terminal.print(text) }
    }

    /// JSON.
    ///
    /// # Errors
    /// As [`Self::print`].
    pub(super) fn print_data(&self, text: &str) -> Result<(), Problem> {
        if self.file.is_some() { self.append(text) } else { self.terminal.print_data(text) }
    }

    fn append(&self, text: &str) -> Result<(), Problem> {
        let Some((file, path)) = &self.file else { return Ok(()) };
        let mut file = file;
        file.write_all(text.as_bytes()).map_err(Problem::file("writing", path))
    }
}

/// Each line that is not empty behind the title, as iperf3 has it.
fn titled(text: &str, title: &str) -> String {
    let line =
        |line: &str| if line.trim().is_empty() { line.to_owned() } else { format!("{title}:  {line}") };
    text.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::titled;

    #[test]
    fn every_line_has_the_title_before_it() {
        assert_eq!(titled("one\n\ntwo", "A to B"), "A to B:  one\n\nA to B:  two");
    }
}
