//! How a value that was not measured is written in a table, so that every reader of line-JSON finds the same columns and types.
//!
//! Readers infer a column's type from the first rows (polars from 100 of them) and refuse, or drop, what comes in another type later. A
//! table therefore holds no null. A column that may be without a value for a while has [`NO_VALUE`] there, or an empty text where it holds
//! text. Any other member without a value is left out: these are missing in a whole run or not at all, since it is the kernel that has them
//! or has them not. In memory all of them are `None`; so are nulls, which records of pipefill 0.1.0 have.

/// What stands for "no value" in a column of numbers: 2⁵³ − 1, the largest integer that every reader of JSON holds exactly.
pub const NO_VALUE: u64 = (1 << 53) - 1;

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
}
