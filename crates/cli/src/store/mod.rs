//! Experiments on disk, and who is writing them.
//!
//! ```text
//! DIR/scenario.toml  experiment.json  runs/NAME/{manifest.json, tcp.jsonl.zst, …}
//! DIR/runs/.NAME.partial-PID-START/   a run in the making; renamed when it is complete
//! DIR/damaged/NAME/  what `--resume` found damaged and made anew
//! DIR/.lock          held by the process that writes DIR
//! .DIR.partial-PID-START/  an experiment that has not begun; renamed to DIR
//! ```
//! Never: a half-written run under its final name, or the removal of anything that is not provably ours.

mod checksum;
mod damage;
mod experiment;
pub(crate) mod files;
mod leftover;
mod lock;
mod owner;
mod place;
mod registry;
mod run_directory;
mod staged;
mod tables;

pub(crate) use damage::{Damage, DamagedRun};
pub(crate) use experiment::ExperimentDirectory;
pub(crate) use leftover::Leftover;
pub(crate) use lock::{Attempt, Lock};
pub(crate) use owner::Owner;
pub(crate) use place::{Place, choose, fresh};
pub(crate) use registry::{Entry, Registry, Removed};
pub(crate) use run_directory::{Condensed, Partial, State, condense, cut, read_manifest, state};
pub(crate) use staged::Staged;

/// Name of the experiment's description.
const EXPERIMENT: &str = "experiment.json";
/// Name of the scenario's copy.
const SCENARIO: &str = "scenario.toml";
/// Name of the folder of runs.
const RUNS: &str = "runs";
/// Name of the folder of runs that were found damaged.
const DAMAGED: &str = "damaged";
/// Name of a run's manifest.
const MANIFEST: &str = "manifest.json";
/// Name of the file that says who is writing a run.
const OWNER: &str = "owner.json";
