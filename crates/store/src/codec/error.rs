//! What is wrong with the bytes of a record, with the table and the line, in words for a person.

use pipefill_core::record::{RECORD_VERSION, RECORD_VERSION_MIN, Row};

/// Longest row, bytes with its line break: ours have some 1,200.
pub(super) const ROW_MAX: usize = 1 << 16;
/// Empty lines of a table at most: pipefill writes none, and an editor leaves a few.
pub(super) const EMPTY_LINES_MAX: u64 = 1 << 10;
/// Longest manifest, bytes: one of 10,000 streams has some 30 MB.
pub(super) const MANIFEST_MAX: u64 = 1 << 26;

/// A record that can't be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Writing or reading failed, or the compression is damaged or cut short.
    #[error("{table}.jsonl.zst, near line {line}: {source}")]
    Io {
        /// The table.
        table: &'static str,
        /// The line, from 1.
        line: usize,
        /// The cause.
        source: std::io::Error,
    },
    /// A line is not a row of its table.
    #[error("{table}.jsonl.zst, line {line}: {source}")]
    Row {
        /// The table.
        table: &'static str,
        /// The line, from 1.
        line: usize,
        /// The cause.
        source: serde_json::Error,
    },
    /// The time goes back from one row to the next.
    #[error("{table}.jsonl.zst: a row of {t_us} µs follows one of {before_us} µs")]
    Order {
        /// The table.
        table: &'static str,
        /// The row before, microseconds.
        before_us: u64,
        /// The row, microseconds.
        t_us: u64,
    },
    /// A line is longer than any row.
    #[error("{table}.jsonl.zst, line {line}: more than {ROW_MAX} bytes, which no row has")]
    LongRow {
        /// The table.
        table: &'static str,
        /// The line, from 1.
        line: usize,
    },
    /// A table has more empty lines than anything leaves there: it may never end.
    #[error("{table}.jsonl.zst, line {line}: more than {EMPTY_LINES_MAX} empty lines, which no table has")]
    EmptyLines {
        /// The table.
        table: &'static str,
        /// The line, from 1.
        line: usize,
    },
    /// The table has fewer or more rows than its manifest lists.
    #[error("{table}.jsonl.zst: {}, and the manifest lists {listed}", rows_found(.found, .listed))]
    RowCount {
        /// The table.
        table: &'static str,
        /// Rows that the manifest lists.
        listed: u64,
        /// Rows read; one more than listed where reading stopped there.
        found: u64,
    },
    /// `manifest.json` can't be written, or holds no manifest.
    #[error("manifest.json: {}{source}", at_field(.field))]
    Manifest {
        /// The field, e.g. `run.directory`; empty where the text is no JSON.
        field: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// `manifest.json` can't be read.
    #[error("manifest.json: {0}")]
    ManifestIo(std::io::Error),
    /// `manifest.json` is longer than any manifest.
    #[error("manifest.json: more than {MANIFEST_MAX} bytes, which no manifest has")]
    LongManifest,
    /// The record is of another version.
    #[error(
        "manifest.json: records of version {found}, and this pipefill reads versions {RECORD_VERSION_MIN} to {RECORD_VERSION}; \
         read them with {reader}"
    )]
    Version {
        /// The version that the manifest states.
        found: u64,
        /// What reads it: the pipefill that wrote it, or a newer one.
        reader: String,
    },
}

/// `run.directory: `; nothing for the whole document.
fn at_field(field: &str) -> String {
    if field.is_empty() || field == "." { String::new() } else { format!("{field}: ") }
}

fn rows_found(found: &u64, listed: &u64) -> String {
    if found > listed { "it has more rows".to_owned() } else { format!("it has {found} rows") }
}

pub(super) fn io_error<R: Row>(line: usize, source: std::io::Error) -> RecordError {
    RecordError::Io { table: R::TABLE, line, source }
}

pub(super) fn row_error<R: Row>(line: usize, source: serde_json::Error) -> RecordError {
    RecordError::Row { table: R::TABLE, line, source }
}
