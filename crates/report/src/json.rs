//! The report's JSON, schema 1: what other programs read.
//!
//! Never: a name or a value that the structs of `analysis` do not have.

use pipefill_analysis::calculator::Calculation;
use pipefill_analysis::experiment::Experiment;
use pipefill_core::plan::Plan;
use serde_json::Result;

/// `{"schema": 1, "experiment": …, "environment": …, "cells": […], "plan": …}`, indented. Ends with a newline.
///
/// # Errors
/// Those of serde_json; none for a value that came from records.
pub fn render(experiment: &Experiment) -> Result<String> {
    Ok(serde_json::to_string_pretty(experiment)? + "\n")
}

/// A [`Calculation`], indented. Ends with a newline.
///
/// # Errors
/// Those of serde_json.
pub fn calculation(calculation: &Calculation) -> Result<String> {
    Ok(serde_json::to_string_pretty(calculation)? + "\n")
}

/// A [`Plan`], indented. Ends with a newline.
///
/// # Errors
/// Those of serde_json.
pub fn plan(plan: &Plan) -> Result<String> {
    Ok(serde_json::to_string_pretty(plan)? + "\n")
}
