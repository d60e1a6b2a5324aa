//! Which part of a plan an experiment is, and what it keeps of each run.

use crate::{StoreError, checksum};
use pipefill_core::plan::{Conclusion, Plan, Published, Shard};
use serde::{Deserialize, Serialize};

/// What is kept of each run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Records {
    /// A directory of its own, with every row.
    #[default]
    Rows,
    /// Its manifest and figures, in one file with those of all others.
    Summary,
}

impl Records {
    /// `rows` or `summary`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Summary => "summary",
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn is_rows(&self) -> bool {
        *self == Self::Rows
    }
}

/// Which part of a plan an experiment is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Which of how many.
    pub shard: Shard,
    /// SHA-256 of the whole plan's JSON: parts with the same one belong together.
    pub whole: String,
    /// Cells of the whole plan.
    pub cells: usize,
    /// What the whole plan says of its cells, those of other parts too.
    pub published: Vec<Published>,
    /// The same.
    pub conclusions: Vec<Conclusion>,
}

impl Part {
    /// `shard` of the plan `whole`.
    pub(super) fn new(shard: Shard, whole: &Plan) -> Result<Self, StoreError> {
        Ok(Self {
            shard,
            whole: fingerprint(whole)?,
            cells: whole.cells.len(),
            published: whole.published.clone(),
            conclusions: whole.conclusions.clone(),
        })
    }
}

/// The SHA-256 of `plan` as JSON, in hex.
///
/// # Errors
/// [`StoreError::Json`].
pub(crate) fn fingerprint(plan: &Plan) -> Result<String, StoreError> {
    let json = serde_json::to_vec(plan).map_err(StoreError::Json)?;
    Ok(checksum::sha256(&json))
}
