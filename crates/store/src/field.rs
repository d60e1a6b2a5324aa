//! Where in a JSON document reading failed, as a path of fields.
//!
//! It is looked for once reading has failed: to keep it while reading takes a second copy of the code that reads each type.

use serde_json::{Deserializer, Value};

/// The field of `text` at which a reader gave up with `error`, e.g. `run.cell.path.rate`; `.` is the document itself.
///
/// What no JSON has is put there, and the text is read again without regard to types: that fails in the same field.
pub(crate) fn field(text: &[u8], error: &serde_json::Error) -> String {
    let text = [before(text, error), b"!"].concat();
    let read: Result<Value, _> = serde_path_to_error::deserialize(&mut Deserializer::from_slice(&text));
    let path = read.map_or_else(|error| error.path().to_string(), |_| UNKNOWN.to_owned());
    let known = path.trim_end_matches(UNKNOWN).trim_end_matches('.');
    if known.is_empty() { ".".to_owned() } else { known.to_owned() }
}

/// A field whose name was not read: the last one, where the text is cut between two.
const UNKNOWN: &str = "?";

/// `text` without the value that ends where `error` is, or without its last byte.
fn before<'a>(text: &'a [u8], error: &serde_json::Error) -> &'a [u8] {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    let above: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    let read = &text[..(above + error.column()).min(text.len())];
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let word = read.iter().rev().take_while(|byte| is_of_word(byte)).count();
    &read[..read.len().saturating_sub(word.max(1))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::units::Rate;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "read, not used")]
    struct Outer {
        list: Vec<Inner>,
        name: String,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "read, not used")]
    struct Inner {
        count: u32,
        rate: Option<Rate>,
        kind: Kind,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        One,
        Two(u8),
    }

    /// Beside what the crate finds that keeps the path while it reads.
    #[test]
    fn the_field_is_that_of_a_reader_that_keeps_it() {
        let inner =
            |count: &str, kind: &str| format!(r#"{{"count": {count}, "rate": null, "kind": {kind}}}"#);
        let outer =
            |inner: &str| format!("{{\n  \"list\": [{}, {inner}],\n  \"name\": \"a\"\n}}", inner_of_right());
        let texts = [
            outer(&inner("-1", "\"one\"")),
            outer(&inner("\"x\"", "\"one\"")),
            outer(&inner("true", "\"one\"")),
            outer(&inner("1.5e3", "\"one\"")),
            outer(&inner("{\"a\": 1}", "\"one\"")),
            outer(&inner("[1]", "\"one\"")),
            outer(&inner("5000000000", "\"one\"")),
            outer(&inner("1", "\"three\"")),
            outer(&inner("1", "{\"two\": 300}")),
            outer(&inner("1", "{\"two\": null}")),
            outer(&inner("1", "7")),
            outer(r#"{"count": 1}"#),
            outer("null"),
            outer("\"text\""),
            r#"{"list": {}, "name": "a"}"#.to_owned(),
            r#"{"list": []}"#.to_owned(),
            r#"{"list": [], "name": 5}"#.to_owned(),
            r#"{"list": [], "name": "a"#.to_owned(),
            "7".to_owned(),
            String::new(),
        ];
        for text in texts {
            let kept: Result<Outer, _> =
                serde_path_to_error::deserialize(&mut Deserializer::from_slice(text.as_bytes()));
            let error = serde_json::from_slice::<Outer>(text.as_bytes()).unwrap_err();
            assert_eq!(
                field(text.as_bytes(), &error),
                kept.unwrap_err().path().to_string(),
                "{text}: {error}"
            );
        }
    }

    fn inner_of_right() -> String {
        r#"{"count": 1, "rate": 5, "kind": {"two": 2}}"#.to_owned()
    }
}
