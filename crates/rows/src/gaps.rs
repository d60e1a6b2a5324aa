//! Rows of a table without null, and back: what stands for a missing value is said in `pipefill_core::record::Gaps`.
//!
//! Never: a text within a row taken for a column.

use memchr::memmem;
use pipefill_core::record::Gaps;

const NULL: &str = ":null";
const NUMBER: &str = ":9007199254740991";
const TEXT: &str = ":\"\"";

/// `row`, one flat JSON object, without a null.
pub(super) fn close(gaps: Gaps, row: &mut String) {
    let (mut out, mut copied) = (String::new(), 0);
    for at in memmem::find_iter(row.as_bytes(), NULL) {
        let end = at + NULL.len();
        // The text before it may begin with the member that follows one that was left out.
        let Some(name) = name(&row[copied..at]).filter(|_| row[end..].starts_with([',', '}'])) else {
            continue;
        };
        if out.is_empty() {
            out.reserve(row.len());
        }
        let written = [(gaps.numbers, NUMBER), (gaps.texts, TEXT)];
        if let Some((_, written)) = written.iter().find(|(names, _)| names.contains(&name)) {
            out.extend([&row[copied..at], written]);
            copied = end;
            continue;
        }
        out.push_str(&row[copied..at - name.len() - 2]);
        copied = end;
        if out.ends_with(',') {
            out.pop();
        } else {
            copied += usize::from(row[end..].starts_with(','));
        }
    }
    if copied > 0 {
        out.push_str(&row[copied..]);
        *row = out;
    }
}

/// `row` with null where it has no value, for serde.
pub(super) fn open(gaps: Gaps, row: &mut String) {
    for (names, written) in [(gaps.numbers, NUMBER), (gaps.texts, TEXT)] {
        if names.is_empty() {
            continue;
        }
        let (mut out, mut copied) = (String::new(), 0);
        for at in memmem::find_iter(row.as_bytes(), written) {
            let end = at + written.len();
            let is_whole = row[end..].starts_with([',', '}']);
            if is_whole && name(&row[..at]).is_some_and(|name| names.contains(&name)) {
                out.extend([&row[copied..at], NULL]);
                copied = end;
            }
        }
        if copied > 0 {
            out.push_str(&row[copied..]);
            *row = out;
        }
    }
}

/// The name of the member whose value follows `before`, which may begin with that member. A quote within a text is escaped, so that no text
/// looks like a name.
fn name(before: &str) -> Option<&str> {
    let (rest, name) = before.strip_suffix('"')?.rsplit_once('"')?;
    (rest.is_empty() || rest.ends_with(['{', ','])).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAPS: Gaps = Gaps { numbers: &["a", "b"], texts: &["s"] };

    fn closed(row: &str) -> String {
        let mut row = row.to_owned();
        close(GAPS, &mut row);
        row
    }

    #[test]
    fn no_null_is_left_and_all_come_back() {
        let row = r#"{"a":null,"x":1,"s":null,"b":null}"#;
        let written = closed(row);
        assert_eq!(written, r#"{"a":9007199254740991,"x":1,"s":"","b":9007199254740991}"#);
        let mut back = written;
        open(GAPS, &mut back);
        assert_eq!(back, row);
    }

    #[test]
    fn a_member_that_is_missing_throughout_is_left_out_wherever_it_stands() {
        assert_eq!(closed(r#"{"k":null,"a":1,"l":null,"m":null,"n":2,"o":null}"#), r#"{"a":1,"n":2}"#);
        assert_eq!(closed(r#"{"k":null,"l":null}"#), "{}");
        assert_eq!(closed(r#"{"k":null,"a":null}"#), r#"{"a":9007199254740991}"#);
    }

    #[test]
    fn text_that_looks_like_a_null_stays_as_it_is() {
        let row = r#"{"x":"\"a\":null,","y":":null","z":":9007199254740991"}"#;
        assert_eq!(closed(row), row);
        let mut back = row.to_owned();
        open(GAPS, &mut back);
        assert_eq!(back, row);
    }
}
