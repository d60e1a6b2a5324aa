//! The one way to standard output and standard error: colours only where somebody sees them, control characters of other people's
//! text made visible, no panic where nobody reads.

pub(crate) use pipefill_report::visible::visible;

use console::Term;
use pipefill_core::problem::Problem;
use pipefill_core::scenario::Style as ErrorStyle;
use pipefill_report::table::Style as TableStyle;
use pipefill_runs::Reporter;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Columns of a table that goes into a pipe or a file.
const PIPED: u16 = 120;

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Standard output and error, and what they can show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    colour_out: bool,
    colour_error: bool,
    /// Whether standard output is a terminal.
    shows_output: bool,
    width: Option<u16>,
    interactive: bool,
}

impl Terminal {
    /// Looks at both streams and the environment.
    pub(crate) fn detect(when: ColorWhen) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let coloured = |is_terminal: bool| match when {
            ColorWhen::Auto => is_terminal && !set("NO_COLOR") && !dumb,
            ColorWhen::Always => true,
            ColorWhen::Never => false,
        };
        Self {
            colour_out: coloured(io::stdout().is_terminal()),
            colour_error: coloured(io::stderr().is_terminal()),
            shows_output: io::stdout().is_terminal(),
            width: Term::stdout().size_checked().map(|(_, columns)| columns),
            interactive: io::stderr().is_terminal() && !dumb && is_foreground(),
        }
    }

    /// Output that is discarded: for tests.
    #[cfg(test)]
    pub(crate) fn blind() -> Self {
        Self { colour_out: false, colour_error: false, shows_output: false, width: None, interactive: false }
    }

    /// Whether a view of what goes on is of use.
    pub(crate) fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// Whether the view may use colours.
    pub(crate) fn has_colour(&self) -> bool {
        self.colour_error
    }

    /// How tables on standard output are drawn.
    pub(crate) fn table_style(&self) -> TableStyle {
        TableStyle { width: self.width.unwrap_or(PIPED), colour: self.colour_out }
    }

    /// How tables on standard error are drawn.
    pub(crate) fn error_table_style(&self) -> TableStyle {
        let width = Term::stderr().size_checked().map_or(PIPED, |(_, columns)| columns);
        TableStyle { width, colour: self.colour_error }
    }

    /// How lists on standard output are drawn: into a pipe a line is never broken, so that `grep` finds it whole.
    pub(crate) fn list_style(&self) -> TableStyle {
        TableStyle { width: self.width.unwrap_or(u16::MAX), colour: self.colour_out }
    }

    /// How tables in files are drawn, whatever the terminal is like.
    pub(crate) fn file_style(&self) -> TableStyle {
        TableStyle { width: PIPED, colour: false }
    }

    /// How errors are drawn.
    pub(crate) fn error_style(&self) -> ErrorStyle {
        if self.colour_error { ErrorStyle::Coloured } else { ErrorStyle::Plain }
    }

    /// Text for people, on standard output. Closing the pipe (`| head`) is no error.
    ///
    /// # Errors
    /// [`Problem`] where it can't be written, e.g. on a full disk.
    pub(crate) fn print(&self, text: &str) -> Result<(), Problem> {
        write(&visible(text, self.colour_out)).map(drop)
    }

    /// JSON, CSV and the like, on standard output: byte for byte, unless a terminal shows it.
    ///
    /// # Errors
    /// As [`Self::print`].
    pub(crate) fn print_data(&self, text: &str) -> Result<(), Problem> {
        self.print_while_read(text).map(drop)
    }

    /// Prints a part of an endless stream; false where the reader has closed the pipe (`| head`).
    ///
    /// # Errors
    /// As [`Self::print`].
    pub(crate) fn print_while_read(&self, text: &str) -> Result<bool, Problem> {
        if self.shows_output { write(&visible(text, false)) } else { write(text) }
    }

    /// A command's result: data where `is_data`, otherwise text.
    ///
    /// # Errors
    /// As [`Self::print`].
    pub(crate) fn print_result(&self, text: &str, is_data: bool) -> Result<(), Problem> {
        if is_data { self.print_data(text) } else { self.print(text) }
    }

    /// A line for the user, on standard error.
    pub(crate) fn say(&self, line: &str) {
        say(line, self.colour_error);
    }
}

impl Reporter for Terminal {
    fn say(&self, line: &str) {
        say(line, self.colour_error);
    }
}

/// A line of a log, on standard error.
pub(crate) fn log(line: &str) {
    say(line, false);
}

/// A line on standard error, in which our own colours are kept where it `has_colour`. Nothing can be done if it is closed.
pub(crate) fn say(line: &str, has_colour: bool) {
    let _closed = writeln!(io::stderr().lock(), "{}", visible(line, has_colour));
}

/// False where the reader has closed the pipe.
fn write(text: &str) -> Result<bool, Problem> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Problem::file("writing", Path::new("standard output"))(error)),
    }
}

/// A job in the background that touches the terminal's settings is suspended.
fn is_foreground() -> bool {
    match rustix::termios::tcgetpgrp(io::stderr()) {
        Ok(group) => group == rustix::process::getpgrp(),
        // The terminal's group is of another PID namespace, where its number is 0: `exec` has started this program and waits for it.
        Err(error) => error == rustix::io::Errno::OPNOTSUPP,
    }
}
