//! What a manifest says of its files, so that a lost, changed or exchanged one is noticed.

use crate::file_name::FileName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One table of a run as it was written.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TableSummary {
    /// The table: its file is `{table}.jsonl.zst`.
    pub table: String,
    /// Rows in it.
    pub rows: u64,
    /// Size of the file, bytes.
    pub bytes: u64,
    /// SHA-256 of the file, 64 hex digits: what `sha256sum` prints.
    pub sha256: String,
}

/// A file of a run that is no table, as it was written: below `artifacts/`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ArtifactSummary {
    /// Its name.
    pub name: FileName,
    /// Size, bytes.
    pub bytes: u64,
    /// SHA-256, 64 hex digits.
    pub sha256: String,
}
