//! Lines of a scenario.

use std::fmt::{Display, Write};

/// `key = value`.
pub(super) fn line(text: &mut String, key: &str, value: impl Display) {
    let _written = writeln!(text, "{key} = {value}");
}

/// `key = "value"`.
pub(super) fn quoted(text: &mut String, key: &str, value: impl Display) {
    let _written = writeln!(text, "{key} = \"{value}\"");
}
