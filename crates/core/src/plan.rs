//! Every run of the matrix, resolved, with a stable id and a seed. Printable without any privilege.
//!
//! Never: anything about a machine, a clock or a directory tree beyond the *name* of a run's directory.

use crate::cell::CellSpec;
use crate::units::Seed;
use serde::{Deserialize, Serialize};

/// A whole experiment: the product of the axes (one product per variant, in file order).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The scenario's `name`.
    pub experiment: String,
    /// The scenario's `title`, where it has one.
    pub title: Option<String>,
    /// In file order: the last axis varies fastest.
    pub cells: Vec<Cell>,
    /// Published figures that the scenario names, each already matched to its cell.
    pub published: Vec<Published>,
    /// Where the published figures come from; one line.
    pub published_source: Option<String>,
}

/// One point of the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Position in the plan, from 0.
    pub index: usize,
    /// 12 hex digits, a hash of the resolved cell without `repeat`: equal cells have equal ids in every plan.
    pub id: String,
    /// The coordinates: scenario path → value as written (e.g. `path.rtt` → `10ms`; `variant` → its name).
    pub axes: Vec<(String, String)>,
    /// The resolved values.
    pub spec: CellSpec,
}

/// One repetition of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The scenario's `name`.
    pub experiment: String,
    /// The cell.
    pub cell: Cell,
    /// Which repetition, from 1.
    pub repeat: u32,
    /// `{cell id}-{repeat}`.
    pub id: String,
    /// Derived from the experiment's seed, the cell's id and the repetition.
    pub seed: Seed,
    /// Name of the run's directory: sorts in plan order, tells the axes, is safe on every file system.
    pub directory: String,
}

/// One published figure set: what somebody else measured in the same cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Index of the cell.
    pub cell: usize,
    /// Goodput at the receiver.
    pub goodput_bps: Option<f64>,
    /// UDP loss.
    pub lost_percent: Option<f64>,
    /// Retransmitted segments.
    pub retransmits: Option<f64>,
}
