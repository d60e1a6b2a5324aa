//! Experiment directories: write, resume, lock, read; the only place that knows the layout on disk.
//!
//! ```text
//! DIR/scenario.toml  experiment.json  runs/NAME/{manifest.json, tcp.jsonl.zst, …, artifacts/NAME}
//! DIR/runs/.NAME.partial-PID-START/   a run in the making; renamed when it is complete
//! DIR/summary.jsonl.zst  in place of runs/NAME/, where only the figures of runs are kept
//! DIR/damaged/NAME/  what `--resume` found damaged and made anew
//! DIR/.lock          held by the process that writes DIR
//! .DIR.partial-PID-START/  an experiment that has not begun; renamed to DIR
//! .DIR.aside.partial-PID-START/  files that are written before DIR appears, and moved into it
//! ```
//! Never: a half-written run under its final name, the removal of anything that is not provably ours, or a figure that was not
//! measured.
#![forbid(unsafe_code)]

mod artifacts;
mod aside;
mod checksum;
mod codec;
mod damage;
mod error;
mod experiment;
mod field;
pub mod files;
mod leftover;
mod lock;
mod owner;
mod partial;
mod place;
mod record;
mod registry;
mod removed;
mod shards;
mod staged;
mod summary;
mod tables;
#[cfg(test)]
mod tiny;

pub use artifacts::path as artifact_path;
pub use aside::Aside;
pub use codec::{
    RecordError, TableReader, TableWriter, decode_manifest, decode_table, encode_manifest, encode_table,
};
pub use damage::{Damage, DamagedRun};
pub use error::StoreError;
pub use experiment::{ExperimentDirectory, Part, Records, Request, StoredExperiment};
pub use files::{OutputFile, write_output};
pub use leftover::Leftover;
pub use lock::{Attempt, LEASE, Lock};
pub use owner::Owner;
pub use partial::Partial;
pub use place::{ExperimentPlace, choose, fresh, newest};
pub use record::{RecordReader, RecordState, read_manifest, state, undisturbed};
pub use registry::{Registry, RegistryEntry};
pub use removed::Removed;
pub use shards::{Shards, ShardsError, Sources};
pub use staged::Staged;
pub use summary::{Summary, SummaryWriter, summaries};

/// Name of the experiment's description.
const EXPERIMENT: &str = "experiment.json";
/// Name of the scenario's copy.
const SCENARIO: &str = "scenario.toml";
/// Name of the folder of runs.
const RUNS: &str = "runs";
/// Name of the folder of runs that were found damaged.
const DAMAGED: &str = "damaged";
/// Name of the file of all runs, where only their summaries are kept.
const SUMMARY: &str = "summary.jsonl.zst";
/// Name of a run's manifest.
const MANIFEST: &str = "manifest.json";
/// Name of the file that says who is writing a run.
const OWNER: &str = "owner.json";
