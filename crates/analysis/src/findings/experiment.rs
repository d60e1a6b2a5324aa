//! The runs of a plan, joined to its cells.
//!
//! Never: a cell's figure from an invalid run.

mod builder;
mod flows;
mod medians;

pub use super::result::{
    CellResult, ClaimResult, ConclusionResult, EnvironmentSummary, ExpectationResult, Experiment, FlowResult,
    InvalidCount, JudgedCell, Opinion, PublishedFigures, SCHEMA, Value, coordinates,
};
pub use builder::{ExperimentBuilder, UnknownCell};
pub use flows::{RunFlows, results as flow_results};
