//! Where in a JSON document reading failed, as a path of fields.
//!
//! It is looked for once reading has failed: to keep it while reading takes a second copy of the code that reads each type.

use serde::de::DeserializeOwned;
use serde_json::{Deserializer, Value};

/// The field of `text` at which a reader of `T` gave up with `error`, e.g. `run.cell.path.rate`; `.` is the document itself.
///
/// What no JSON has is put there, and the text is read again without regard to types: that fails in the same field.
pub(crate) fn field<T: DeserializeOwned>(text: &[u8], error: &serde_json::Error) -> String {
    let read = if error.is_data() { refused::<T>(text) } else { before(text, error) };
    let text = [without_last(read), b"!"].concat();
    let read: Result<Value, _> = serde_path_to_error::deserialize(&mut Deserializer::from_slice(&text));
    let path = read.map_or_else(|error| error.path().to_string(), |_| UNKNOWN.to_owned());
    let known = path.trim_end_matches(UNKNOWN).trim_end_matches('.');
    if known.is_empty() { ".".to_owned() } else { known.to_owned() }
}

/// A field whose name was not read: the last one, where the text is cut between two.
const UNKNOWN: &str = "?";

/// `text` to the end of the value that `T` refuses: of what is cut before, only the end is missed.
fn refused<T: DeserializeOwned>(text: &[u8]) -> &[u8] {
    let is_refused =
        |end: usize| serde_json::from_slice::<T>(&text[..end]).is_err_and(|error| error.is_data());
    let (mut too_short, mut long_enough) = (0, text.len());
    while too_short + 1 < long_enough {
        let end = too_short.midpoint(long_enough);
        if is_refused(end) {
            long_enough = end;
        } else {
            too_short = end;
        }
    }
    &text[..long_enough]
}

/// `text` to the place of `error`.
fn before<'a>(text: &'a [u8], error: &serde_json::Error) -> &'a [u8] {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    let above: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    &text[..(above + error.column()).min(text.len())]
}

/// `text` without the number or word at its end, or without its last byte.
fn without_last(text: &[u8]) -> &[u8] {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let word = text.iter().rev().take_while(|byte| is_of_word(byte)).count();
    &text[..text.len().saturating_sub(word.max(1))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::file_name::FileName;
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
        kind: FieldKind,
        file: Option<FileName>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "read, not used")]
    #[serde(rename_all = "snake_case")]
    enum FieldKind {
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
            outer(r#"{"count": 1, "file": "a/b", "rate": 5, "kind": "one"}"#),
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
                field::<Outer>(text.as_bytes(), &error),
                kept.unwrap_err().path().to_string(),
                "{text}: {error}"
            );
        }
    }

    fn inner_of_right() -> String {
        r#"{"count": 1, "rate": 5, "kind": {"two": 2}}"#.to_owned()
    }
}
