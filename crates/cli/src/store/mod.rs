//! Experiments on disk, and who is writing them.
//!
//! ```text
//! DIR/scenario.toml  experiment.json  runs/NAME/{manifest.json, tcp.jsonl.zst, …}
//! DIR/runs/.NAME.partial-PID-START/   a run in the making; renamed when it is complete
//! ```
//! Never: a half-written run under its final name, or the removal of anything that is not provably ours.

mod experiment;
mod leftover;
mod owner;
mod place;
mod registry;
mod run_directory;
mod tables;

pub(crate) use experiment::ExperimentDirectory;
pub(crate) use leftover::Leftover;
pub(crate) use owner::Owner;
pub(crate) use place::{Place, choose, fresh};
pub(crate) use registry::{Registry, Removed, Writer};
pub(crate) use run_directory::{Condensed, Partial, condense, cut, read_manifest};

/// Name of the experiment's description.
const EXPERIMENT: &str = "experiment.json";
/// Name of the scenario's copy.
const SCENARIO: &str = "scenario.toml";
/// Name of the folder of runs.
const RUNS: &str = "runs";
/// Name of a run's manifest.
const MANIFEST: &str = "manifest.json";
/// Name of the file that says who is writing a run.
const OWNER: &str = "owner.json";
