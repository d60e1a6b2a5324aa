//! Why a command was not started.

use std::ffi::OsStr;
use std::io;

/// A shell's exit codes for a command that it does not find, and for one that it can't execute.
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;
/// Our own failures.
pub(super) const FAILED: i32 = 2;
/// What this machine can't do.
const MACHINE: i32 = 3;

/// Why the command did not start, and the exit code for that.
pub(super) struct Refusal {
    pub(super) code: i32,
    pub(super) why: String,
}

impl Refusal {
    pub(super) fn new(why: String) -> Self {
        Self { code: FAILED, why }
    }

    pub(super) fn of_machine(why: String) -> Self {
        Self { code: MACHINE, why }
    }

    pub(super) fn of_command(word: &OsStr, error: &io::Error) -> Self {
        let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
        Self { code, why: format!("{}: {error}", word.to_string_lossy()) }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::new(format!("starting the command: {error}"))
    }
}
