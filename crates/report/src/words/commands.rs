//! Command lines that repeat something, quoted for a shell.

use pipefill_core::plan::Cell;
use std::borrow::Cow;

/// The shell command that repeats `cell`: `command`, the backend, and its coordinates as `--only axis=value,axis=value`.
pub fn repeat_command(command: &str, cell: &Cell, backend: Option<&str>) -> String {
    let mut words = vec![command.to_owned()];
    if let Some(backend) = backend {
        words.push(format!("--on {backend}"));
    }
    let axes: Vec<String> = cell.axes.iter().map(|(path, value)| format!("{path}={value}")).collect();
    if !axes.is_empty() {
        words.push(format!("--only {}", quoted(&axes.join(","))));
    }
    words.join(" ")
}

/// `text` as one word of a POSIX shell. No shell can pass a NUL: in its place stands U+FFFD, and the word is quoted all the same, since what is
/// in it was not written by whoever copies the command.
pub fn quoted(text: &str) -> String {
    let passable = text.replace('\0', "\u{fffd}");
    shlex::try_quote(&passable).map_or_else(|_| "''".to_owned(), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_nul_does_not_take_the_quotes_away() {
        assert_eq!(quoted("a\0; reboot"), "'a\u{fffd}; reboot'");
        assert_eq!(quoted("plain"), "plain");
    }
}
