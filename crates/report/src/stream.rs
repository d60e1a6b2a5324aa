//! What `--json-stream` tells of a running experiment, an event a line.
//!
//! Never: an event that holds what only a later one can know.

use indexmap::IndexMap;
use pipefill_analysis::findings::experiment::CellResult;
use pipefill_core::record::{AnyRow, Invalid};
use schemars::JsonSchema;
use serde::Serialize;

/// The version of the stream.
pub const SCHEMA: u32 = 1;

/// One line of the stream; `event` says which.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// The experiment begins. The first event.
    Started {
        /// [`SCHEMA`].
        schema: u32,
        /// Version of pipefill.
        pipefill: &'a str,
        /// The scenario's name.
        experiment: &'a str,
        /// `lab` or `sim`.
        backend: &'a str,
        /// Where the records go.
        directory: &'a str,
        /// Cells of the plan.
        cells: usize,
        /// Runs of the plan.
        runs: usize,
        /// Runs that have no valid record yet.
        pending: usize,
    },
    /// A run begins.
    RunStarted {
        /// Its directory under `runs`.
        run: &'a str,
        /// Scenario path → value as text.
        axes: &'a IndexMap<&'a str, &'a str>,
        /// Which repetition, from 1.
        repeat: u32,
    },
    /// A row on its way to the record; only where samples were asked for.
    Sample {
        /// The run's directory.
        run: &'a str,
        /// `table`, and `row` as the table has it.
        #[serde(flatten)]
        row: &'a AnyRow,
    },
    /// A run has its record.
    RunFinished {
        /// Its directory under `runs`.
        run: &'a str,
        /// Scenario path → value as text.
        axes: &'a IndexMap<&'a str, &'a str>,
        /// Which repetition, from 1.
        repeat: u32,
        /// What it took on the wall.
        took_ms: u64,
        /// Why it must not be believed; empty = valid.
        invalid: &'a [Invalid],
    },
    /// All runs of a cell have their records.
    CellFinished {
        /// As in the report's `cells`.
        cell: &'a CellResult,
    },
    /// All is done. The last event.
    Finished {
        /// The scenario's name.
        experiment: &'a str,
        /// Where the records are.
        directory: &'a str,
        /// That of the process, if this was its only experiment.
        exit_code: u8,
    },
    /// It ended early. The last event.
    Failed {
        /// Why.
        message: &'a str,
        /// That of the process.
        exit_code: u8,
    },
}

impl Event<'_> {
    /// The event as one line, which ends with a newline.
    ///
    /// # Errors
    /// Those of serde_json.
    pub fn line(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }
}
