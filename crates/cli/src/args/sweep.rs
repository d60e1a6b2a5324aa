//! The arguments of `pipefill sweep`.

use super::examples::SWEEP_EXAMPLES;
use super::{BackendName, RecordsOf, SelectionArgs};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What schedules the shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Engine {
    /// Processes on this machine
    Local,
    /// An array job of Slurm, by its sbatch
    Slurm,
    /// An Indexed Job of Kubernetes: its manifest is printed, for kubectl
    Kubernetes,
    /// A task of Ray for each shard, by the Python package pipefill with ray
    Ray,
}

impl Engine {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Slurm => "slurm",
            Self::Kubernetes => "kubernetes",
            Self::Ray => "ray",
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = SWEEP_EXAMPLES)]
pub(crate) struct SweepArgs {
    /// A scenario file or - for standard input to begin a sweep; the directory of a sweep to show or continue it
    #[arg(value_name = "FILE|DIR")]
    pub(crate) file: PathBuf,
    /// What schedules the shards; needed to begin
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub(crate) engine: Option<Engine>,
    /// Number of shards, each a part of the matrix; needed to begin
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) shards: Option<u32>,
    /// New directory for the sweep, which every node reaches by this path; with kubernetes, a folder of the volume
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Run again what is neither done nor queued, in the directory of a sweep
    #[arg(long, conflicts_with_all = ["engine", "shards", "out", "merge"])]
    pub(crate) resume: bool,
    /// Merge the shards of the directory of a sweep into its folder `merged`, and print the table
    #[arg(long, conflicts_with_all = ["engine", "shards", "out"])]
    pub(crate) merge: bool,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Where to run
    #[arg(long, value_enum, default_value = "lab", value_name = "BACKEND")]
    pub(crate) on: BackendName,
    /// Capture packets at both ends, as run.capture=true does
    #[arg(long)]
    pub(crate) capture: bool,
    /// What to keep of each run, as run --records
    #[arg(long, value_enum, value_name = "WHAT", default_value = "rows")]
    pub(crate) records: RecordsOf,
    /// CPUs of a shard, which are asked of the engine; a shard has as many runs at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) cpus: u16,
    /// Largest number of shards at once; not with ray [default: local, as many as this machine has CPUs for, and 1 with --on lab; others, what the engine grants]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) at_once: Option<u32>,
    /// Slurm: wait for the job, then merge. The other engines do so anyway
    #[arg(long)]
    pub(crate) wait: bool,
    /// Slurm: an argument for sbatch, e.g. --engine-arg=--partition=long. May be repeated
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) engine_arg: Vec<String>,
    /// Kubernetes: the image [default: pipefill:VERSION]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// Kubernetes: the PersistentVolumeClaim that holds the records
    #[arg(long, value_name = "NAME", default_value = "pipefill")]
    pub(crate) claim: String,
    /// Print the state of the shards as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
