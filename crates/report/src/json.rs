//! The report's JSON, schema 1: what other programs read.

use crate::explain::{ExplainedCapture, ExplainedOutput, Explanation};
use pipefill_analysis::findings::changes::Changes;
use pipefill_analysis::findings::connections::{Captured, PastedOutput};
use pipefill_analysis::findings::experiment::{Experiment, SCHEMA};
use pipefill_analysis::findings::fix::Proof;
use pipefill_analysis::ground::calculator::Calculation;
use pipefill_core::plan::Plan;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Result;
use std::io::Write;

/// A document about cells: what `explain` and `fix` print.
#[derive(Debug, JsonSchema, Serialize)]
pub struct OfCells<'a, T> {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The scenario's name.
    pub experiment: &'a str,
    /// In plan order.
    pub cells: &'a [T],
}

/// `{"schema": 1, "experiment": …, "environment": …, "cells": […], "plan": …}`, indented. Ends with a newline.
///
/// # Errors
/// Those of serde_json; none for a value that came from records.
pub fn render(experiment: &Experiment) -> Result<String> {
    Ok(serde_json::to_string_pretty(experiment)? + "\n")
}

/// The same, piece by piece into `writer`: of very many runs the text is larger than the result.
///
/// # Errors
/// Those of serde_json, and of `writer`.
pub fn write(experiment: &Experiment, mut writer: impl Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut writer, experiment)?;
    writer.write_all(b"\n").and_then(|()| writer.flush()).map_err(serde_json::Error::io)
}

/// A [`Calculation`], indented. Ends with a newline.
///
/// # Errors
/// Those of serde_json.
pub fn calculation(calculation: &Calculation) -> Result<String> {
    Ok(serde_json::to_string_pretty(calculation)? + "\n")
}

/// `{"schema": 1, "experiment": …, "cells": […]}` with an [`Explanation`] for each cell, indented. Ends with a newline.
///
/// # Errors
/// Those of serde_json.
pub fn explanations(experiment: &Experiment) -> Result<String> {
    let cells: Vec<Explanation<'_>> = experiment.cells.iter().map(Explanation::of).collect();
    let document = OfCells { schema: SCHEMA, experiment: &experiment.experiment, cells: &cells };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// An [`ExplainedCapture`], indented. Ends with a newline.
///
/// # Errors
/// Those of serde_json.
pub fn explained_capture(found: &Captured) -> Result<String> {
    Ok(serde_json::to_string_pretty(&ExplainedCapture::of(found))? + "\n")
}

/// An [`ExplainedOutput`], indented. Ends with a newline.
///
/// # Errors
/// Those of serde_json.
pub fn explained_output(found: &PastedOutput) -> Result<String> {
    Ok(serde_json::to_string_pretty(&ExplainedOutput::of(found))? + "\n")
}

/// `{"schema": 1, "experiment": …, "cells": […]}` with a [`Proof`] for each cell, indented. Ends with a newline.
///
/// # Errors
/// Those of serde_json.
pub fn proofs(experiment: &str, proofs: &[Proof]) -> Result<String> {
    let document = OfCells { schema: SCHEMA, experiment, cells: proofs };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// [`Changes`], indented. Ends with a newline.
///
/// # Errors
/// Those of serde_json.
pub fn changes(changes: &Changes) -> Result<String> {
    Ok(serde_json::to_string_pretty(changes)? + "\n")
}

/// A [`Plan`], indented. Ends with a newline.
///
/// # Errors
/// Those of serde_json.
pub fn plan(plan: &Plan) -> Result<String> {
    Ok(serde_json::to_string_pretty(plan)? + "\n")
}
