//! How a value that was not measured is written in a table, so that every reader of line-JSON finds the same columns and types.
//!
//! Readers infer a column's type from the first rows (polars from 100 of them) and refuse, or drop, what comes in another type later. A
//! table therefore holds no null. A column that may be without a value for a while has [`NO_VALUE`] there, or an empty text where it holds
//! text. Any other member without a value is left out: these are missing in a whole run or not at all, since it is the kernel that has them
//! or has them not. In memory all of them are `None`; so are nulls, which records of pipefill 0.1.0 have.

/// What stands for "no value" in a column of numbers: the largest integer that every reader has, 2⁶³ − 1.
pub const NO_VALUE: i64 = i64::MAX;

const NULL: &str = ":null";
const NUMBER: &str = ":9223372036854775807";
const TEXT: &str = ":\"\"";

/// A table's columns that can be without a value in some rows and have one in others.
#[derive(Debug, Clone, Copy)]
pub struct Gaps {
    /// Those of numbers.
    pub numbers: &'static [&'static str],
    /// Those of text.
    pub texts: &'static [&'static str],
}

impl Gaps {
    /// For a table whose rows have no such column.
    pub const NONE: Self = Self { numbers: &[], texts: &[] };

    /// `row`, one flat JSON object, without a null.
    pub(super) fn close(self, row: &mut String) {
        if !row.contains(NULL) {
            return;
        }
        let mut out = String::with_capacity(row.len());
        let mut rest = row.as_str();
        while let Some(at) = rest.find(NULL) {
            let (before, after) = (&rest[..at], &rest[at + NULL.len()..]);
            rest = after;
            match name(before).filter(|_| after.starts_with([',', '}'])) {
                Some(name) if self.numbers.contains(&name) => out.extend([before, NUMBER]),
                Some(name) if self.texts.contains(&name) => out.extend([before, TEXT]),
                Some(name) => {
                    out.push_str(&before[..before.len() - name.len() - 2]);
                    if out.ends_with(',') {
                        out.pop();
                    } else {
                        rest = rest.strip_prefix(',').unwrap_or(rest);
                    }
                }
                None => out.extend([before, NULL]),
            }
        }
        out.push_str(rest);
        *row = out;
    }

    /// `row` with null where it has no value, for serde.
    pub(super) fn open(self, row: &mut String) {
        for (names, written) in [(self.numbers, NUMBER), (self.texts, TEXT)] {
            if names.is_empty() || !row.contains(written) {
                continue;
            }
            for name in names {
                for end in [",", "}"] {
                    let (from, to) = (format!("\"{name}\"{written}{end}"), format!("\"{name}\":null{end}"));
                    if row.contains(&from) {
                        *row = row.replace(&from, &to);
                    }
                }
            }
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
    use crate::record::{StreamEnd, TcpSample, decode_table, encode_table};
    use crate::tcp_info::TcpInfo;

    const GAPS: Gaps = Gaps { numbers: &["a", "b"], texts: &["s"] };

    fn closed(row: &str) -> String {
        let mut row = row.to_owned();
        GAPS.close(&mut row);
        row
    }

    #[test]
    fn no_null_is_left_and_all_come_back() {
        let row = r#"{"a":null,"x":1,"s":null,"b":null}"#;
        let written = closed(row);
        assert_eq!(written, r#"{"a":9223372036854775807,"x":1,"s":"","b":9223372036854775807}"#);
        let mut back = written;
        GAPS.open(&mut back);
        assert_eq!(back, row);
    }

    #[test]
    fn a_table_holds_no_null_and_its_rows_come_back() {
        let sample = |srtt_us| TcpSample {
            t_us: 1,
            stream: 0,
            end: StreamEnd::Sender,
            info: TcpInfo { srtt_us, ..TcpInfo::default() },
            wmem_queued_bytes: None,
            sndbuf_bytes: Some(2),
            rmem_alloc_bytes: None,
            rcvbuf_bytes: None,
            raw: None,
        };
        let rows = [sample(None), sample(Some(7))];
        let mut bytes = Vec::new();
        encode_table(&rows, &mut bytes).expect("a table");
        let text = zstd::decode_all(bytes.as_slice()).expect("text");
        let text = String::from_utf8(text).expect("UTF-8");
        assert!(!text.contains("null") && text.contains(r#""srtt_us":9223372036854775807"#), "{text}");
        assert_eq!(decode_table::<TcpSample>(bytes.as_slice()).expect("rows"), rows);
        let with_nulls: String =
            rows.iter().map(|row| serde_json::to_string(row).expect("JSON") + "\n").collect();
        assert!(with_nulls.contains(r#""srtt_us":null"#), "as pipefill 0.1.0 wrote it");
        let old = zstd::encode_all(with_nulls.as_bytes(), 0).expect("bytes");
        assert_eq!(decode_table::<TcpSample>(old.as_slice()).expect("rows"), rows);
    }

    #[test]
    fn a_member_that_is_missing_throughout_is_left_out_wherever_it_stands() {
        assert_eq!(closed(r#"{"k":null,"a":1,"l":null,"m":null,"n":2,"o":null}"#), r#"{"a":1,"n":2}"#);
        assert_eq!(closed(r#"{"k":null,"l":null}"#), "{}");
        assert_eq!(closed(r#"{"k":null,"a":null}"#), r#"{"a":9223372036854775807}"#);
    }

    #[test]
    fn text_that_looks_like_a_null_stays_as_it_is() {
        let row = r#"{"x":"\"a\":null,","y":":null","z":":9223372036854775807"}"#;
        assert_eq!(closed(row), row);
        let mut back = row.to_owned();
        GAPS.open(&mut back);
        assert_eq!(back, row);
    }
}
