//! JSON documents one after another, and what breaks off in the middle of one.

use crate::output::ReadError;
use serde::de::DeserializeOwned;

/// Begins each record of JSON-SEQ (RFC 7464).
pub(crate) const RECORD_SEPARATOR: char = '\u{1e}';

/// Hands each document of `text` to `take`; returns whether the last one broke off. What was complete of it was handed over too.
pub(crate) fn each<T: DeserializeOwned>(text: &str, mut take: impl FnMut(T)) -> Result<bool, ReadError> {
    let spaced;
    let text = if text.contains(RECORD_SEPARATOR) {
        spaced = text.replace(RECORD_SEPARATOR, "\n");
        &spaced
    } else {
        text
    };
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<T>();
    let mut count = 0;
    loop {
        let from = documents.byte_offset();
        match documents.next() {
            None => return Ok(false),
            Some(Ok(document)) => {
                count += 1;
                take(document);
            }
            Some(Err(error)) if error.is_eof() => {
                let whole = closed(text.get(from..).unwrap_or_default());
                if let Some(document) = whole.and_then(|text| serde_json::from_str(&text).ok()) {
                    take(document);
                }
                return Ok(true);
            }
            // What stands behind a whole document is another program's.
            Some(Err(_)) if count > 0 => return Ok(true),
            Some(Err(error)) => return Err(ReadError::Json { message: error.to_string() }),
        }
    }
}

/// `text`, which ends early, up to its last complete object or list, and closed there.
fn closed(text: &str) -> Option<String> {
    let (mut open, mut is_in_string, mut is_escaped) = (Vec::new(), false, false);
    let mut whole: Option<(usize, usize)> = None;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_in_string => is_escaped = true,
            b'"' => is_in_string = !is_in_string,
            _ if is_in_string => {}
            b'{' => open.push('}'),
            b'[' => open.push(']'),
            b'}' | b']' => {
                open.pop()?;
                whole = Some((at + 1, open.len()));
            }
            _ => {}
        }
    }
    let (to, depth) = whole?;
    let mut text = text.get(..to)?.to_owned();
    text.extend(open.get(..depth)?.iter().rev());
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_document_that_breaks_off_is_closed_behind_its_last_whole_part() {
        let whole = closed(r#"{"a": [{"b": "}"}, {"c": 1}, {"d": "x"#).unwrap();
        assert_eq!(whole, r#"{"a": [{"b": "}"}, {"c": 1}]}"#);
        assert_eq!(closed("{\"a\": 1"), None);
    }

    #[test]
    fn documents_follow_each_other_on_lines_and_behind_separators() {
        for text in
            ["{\"a\":1}\n{\"a\":2}", "\u{1e}{\"a\":1}\n\u{1e}{\"a\":2}\n", "{\"a\":1}{\"a\":2} iperf Done."]
        {
            let mut found = Vec::new();
            each(text, |document: Value| found.push(document["a"].clone())).unwrap();
            assert_eq!(found, [Value::from(1), Value::from(2)], "{text}");
        }
    }

    #[test]
    fn what_nests_too_deep_is_an_error() {
        let deep = "[".repeat(1 << 20);
        assert!(matches!(each(&deep, |_: Value| ()), Err(ReadError::Json { .. })));
    }
}
