//! A name that stays in the directory that it is joined to.
//!
//! Records are read that somebody else wrote: a name in them is checked when it is read, and its type says that it was.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// Longest name, in bytes.
const MAX: usize = 128;

/// The name of a file or directory: 1 to 128 ASCII letters, digits, `.`, `_`, `-` and `=` (which 0.1.0 wrote), no dot first.
/// So it is no path, no `..`, nothing hidden, and holds no control character.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileName(String);

/// A text that is no [`FileName`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{:?} is not a name of a file: it must have 1 to {MAX} letters, digits, \".\", \"_\", \"-\" or \"=\", and not begin with \".\"",
    shortened(.0)
)]
pub struct BadFileName(String);

impl FileName {
    /// `text` as it is.
    ///
    /// # Errors
    /// [`BadFileName`] for anything else than a name.
    pub fn new(text: impl Into<String>) -> Result<Self, BadFileName> {
        let text = text.into();
        let is_name =
            !text.is_empty() && text.len() <= MAX && !text.starts_with('.') && text.chars().all(is_plain);
        if is_name { Ok(Self(text)) } else { Err(BadFileName(text)) }
    }

    /// `text` with `_` in place of each character that a name can't have, cut at the longest length. A name stays as it is.
    pub fn cleaned(text: &str) -> Self {
        let clean = |(at, c): (usize, char)| if is_plain(c) && (at > 0 || c != '.') { c } else { '_' };
        let name: String = text.chars().take(MAX).enumerate().map(clean).collect();
        Self(if name.is_empty() { "_".to_owned() } else { name })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '=')
}

/// What is shown of a bad name: `Debug` escapes what a terminal would obey.
fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

impl TryFrom<String> for FileName {
    type Error = BadFileName;

    fn try_from(text: String) -> Result<Self, BadFileName> {
        Self::new(text)
    }
}

impl From<FileName> for String {
    fn from(name: FileName) -> Self {
        name.0
    }
}

impl Deref for FileName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl PartialEq<str> for FileName {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for FileName {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl JsonSchema for FileName {
    fn schema_name() -> Cow<'static, str> {
        "FileName".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names_and_paths_are_none() {
        for good in ["rtt", "0000-tcp-rtt-10ms-r1", "0000-tcp-rtt=10ms-r1", "a.b_c", "-", "_"] {
            assert_eq!(FileName::new(good).map(String::from), Ok(good.to_owned()));
            assert_eq!(FileName::cleaned(good), good);
        }
        let long = "a".repeat(MAX + 1);
        for bad in [
            "", ".", "..", ".x", "a/b", "/etc", "../x", "a\\b", "a\0", "a\n", "a\x1b[1m", "ä", "a b", "a:b",
            &long,
        ] {
            assert!(FileName::new(bad).is_err(), "{bad:?}");
            assert!(FileName::new(FileName::cleaned(bad).as_str()).is_ok(), "{bad:?}");
        }
        assert_eq!(FileName::cleaned("../a b"), "_._a_b");
    }

    #[test]
    fn a_bad_name_is_refused_when_it_is_read_and_shown_escaped() {
        let error = serde_json::from_str::<FileName>("\"../\\u001b[31m\"").expect_err("a path");
        assert!(error.to_string().starts_with("\"../\\u{1b}[31m\" is not a name of a file"), "{error}");
        let name: FileName = serde_json::from_str("\"rtt\"").expect("a name");
        assert_eq!(serde_json::to_string(&name).expect("text"), "\"rtt\"");
    }
}
