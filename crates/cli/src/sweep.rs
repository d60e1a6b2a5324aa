//! A matrix in shards, which an engine schedules: the sweep's directory, what each task runs, and how far the shards are.
//!
//! Never: a decision when or where a shard runs, or another try of one that failed; that is the engine's.

mod engine_ray;
mod kubernetes;
mod local;
mod slurm;

pub(crate) use kubernetes::{ClusterVolume, manifest};

use crate::args::{BackendName, Engine, RecordsOf, SweepArgs};
use crate::terminal::Terminal;
use clap::ValueEnum;
use pipefill_report::sweep::{SCHEMA, ShardState, ShardStatus, SweepStatus};
use pipefill_report::words::quoted;
use pipefill_runs::{Failure, PlannedScenario, Stop, pending};
use pipefill_store::{ExperimentDirectory, write_output};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What the directory of a sweep holds.
const DESCRIPTION: &str = "sweep.json";
const SCENARIO: &str = "scenario.toml";
const SHARDS: &str = "shards";
const LOGS: &str = "logs";
const MERGED: &str = "merged";

/// What a task does: `sweep.json` of the directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Description {
    schema: u32,
    /// Version of the pipefill that began it.
    pipefill: String,
    experiment: String,
    engine: Engine,
    shards: u32,
    cpus: u16,
    at_once: Option<u32>,
    /// For sbatch.
    engine_arg: Vec<String>,
    /// The options of `pipefill run`, without shard and directory.
    options: Vec<String>,
    /// Slurm's ids of the array jobs, in order.
    jobs: Vec<String>,
}

impl Description {
    /// What `args` ask for.
    ///
    /// # Errors
    /// Without an engine or a number of shards, or with more shards than cells.
    pub(crate) fn new(args: &SweepArgs, asked: &PlannedScenario) -> Result<Self, Failure> {
        let (Some(engine), Some(shards)) = (args.engine, args.shards) else {
            return Err(Failure::usage(
                "a sweep needs an engine and a number of shards",
                "write e.g. --engine local --shards 8; or name the directory of a sweep that was begun",
            ));
        };
        let cells = asked.plan.cells.len();
        if usize::try_from(shards).is_ok_and(|shards| shards > cells) {
            return Err(Failure::usage(
                format!("the plan has {cells} cells, and each of {shards} shards needs one"),
                format!("write --shards {cells}, or less"),
            ));
        }
        // Measurements on one machine disturb each other.
        let disturb = engine == Engine::Local && args.on == BackendName::Lab;
        if engine == Engine::Ray && args.at_once.is_some() {
            return Err(Failure::usage(
                "Ray has as many shards at once as it has CPUs for",
                "leave --at-once out; --cpus says how many a shard takes",
            ));
        }
        Ok(Self {
            schema: SCHEMA,
            pipefill: env!("CARGO_PKG_VERSION").to_owned(),
            experiment: asked.plan.experiment.to_string(),
            engine,
            shards,
            cpus: args.cpus,
            at_once: args.at_once.or(disturb.then_some(1)),
            engine_arg: args.engine_arg.clone(),
            options: options(args, asked),
            jobs: Vec::new(),
        })
    }

    /// The words after `pipefill` that run `shard` (a number, or a shell's word for it) of the scenario in `folder`.
    fn words(&self, folder: &Path, shard: &str, out: &Path) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut words = vec!["run".to_owned(), text(&folder.join(SCENARIO))];
        words.extend(self.options.iter().cloned());
        words.extend(["--quiet", "--resume", "--shard"].map(str::to_owned));
        words.extend([format!("{shard}/{}", self.shards), "--out".to_owned()]);
        words.push(text(&out.join(SHARDS).join(shard)));
        words
    }
}

fn options(args: &SweepArgs, asked: &PlannedScenario) -> Vec<String> {
    let mut words = vec!["--on".to_owned(), word(&args.on), "--jobs".to_owned(), args.cpus.to_string()];
    if args.records == RecordsOf::Summary {
        words.extend(["--records".to_owned(), word(&args.records)]);
    }
    let pairs = |name: &'static str, values: &[String]| -> Vec<String> {
        values.iter().flat_map(|value| [name.to_owned(), value.clone()]).collect()
    };
    words.extend(pairs("--set", &asked.selection.set));
    words.extend(pairs("--only", &asked.selection.only));
    words.extend(asked.selection.quick.then(|| "--quick".to_owned()));
    words
}

/// As it is written on the command line.
fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// A sweep with its directory.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// Absolute: tasks have another working directory.
    path: PathBuf,
    description: Description,
}

/// Whether a shard is with the engine; `None` where the engine can't tell.
type Queued = Option<BTreeSet<u32>>;

impl Sweep {
    /// Makes the directory `path`, which must not exist.
    ///
    /// # Errors
    /// [`Failure`] where it exists or can't be made.
    pub(crate) fn create(path: &Path, description: Description, scenario: &str) -> Result<Self, Failure> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Failure::file("making", parent))?;
        }
        fs::create_dir(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Failure::usage(
                format!("{} exists already", path.display()),
                format!(
                    "go on with `pipefill sweep {} --resume`, or choose another directory with --out OTHER",
                    quoted(&path.to_string_lossy())
                ),
            ),
            _ => Failure::file("making", path)(error),
        })?;
        let path = fs::canonicalize(path).map_err(Failure::file("reading", path))?;
        for folder in [SHARDS, LOGS].map(|name| path.join(name)) {
            fs::create_dir(&folder).map_err(Failure::file("making", &folder))?;
        }
        write(&path.join(SCENARIO), scenario)?;
        let sweep = Self { path, description };
        sweep.store()?;
        Ok(sweep)
    }

    /// The sweep in the directory `path`; `None` where there is none.
    ///
    /// # Errors
    /// [`Failure`] for a description that can't be read.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, Failure> {
        let file = path.join(DESCRIPTION);
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(Failure::file("reading", &file)(error)),
        };
        let description = serde_json::from_slice(&text).map_err(|error| {
            Failure::usage(
                format!("{}: {error}", file.display()),
                "begin the sweep anew in another directory: pipefill sweep FILE --out OTHER",
            )
        })?;
        let path = fs::canonicalize(path).map_err(Failure::file("reading", path))?;
        Ok(Some(Self { path, description }))
    }

    /// Hands every shard that is neither done nor queued to the engine. Returns once all have ended, or with Slurm and no `wait`
    /// once they are queued.
    ///
    /// # Errors
    /// [`Failure`] where the engine is not there, or refuses. A shard that fails is none; the state says so.
    pub(crate) fn carry_out(&mut self, wait: bool, stop: &Stop, terminal: &Terminal) -> Result<(), Failure> {
        let lacking = self.status()?.lacking();
        if lacking.is_empty() {
            return Ok(());
        }
        match self.description.engine {
            Engine::Local => local::carry_out(self, &lacking, stop, terminal),
            Engine::Ray => engine_ray::carry_out(self, &lacking, stop, terminal),
            Engine::Slurm => {
                let job = slurm::submit(self, &lacking)?;
                terminal.say(&format!("queued: {} shards as job {job}", lacking.len()));
                self.description.jobs.push(job);
                self.store()?;
                if wait { slurm::wait(self, stop) } else { Ok(()) }
            }
            Engine::Kubernetes => Ok(()),
        }
    }

    /// How far every shard is.
    ///
    /// # Errors
    /// [`Failure`] for records that can't be read.
    pub(crate) fn status(&self) -> Result<SweepStatus<'_>, Failure> {
        let queued = self.queued();
        let shards = (1..=self.description.shards).map(|shard| self.shard(shard, &queued));
        Ok(SweepStatus {
            schema: SCHEMA,
            experiment: &self.description.experiment,
            engine: self.description.engine.name(),
            directory: self.path.to_str().unwrap_or_default(),
            job: self.description.jobs.last().map(String::as_str),
            shards: shards.collect::<Result<_, _>>()?,
            merged: None,
        })
    }

    /// Where the shards' directories are, in order.
    pub(crate) fn shard_directories(&self) -> Vec<PathBuf> {
        (1..=self.description.shards).map(|shard| self.shard_directory(shard)).collect()
    }

    /// Where they are merged to.
    pub(crate) fn merged(&self) -> PathBuf {
        self.path.join(MERGED)
    }

    /// As a word of a shell.
    pub(crate) fn word(&self) -> String {
        quoted(&self.path.to_string_lossy())
    }

    /// What each of `shards` said: the files.
    pub(crate) fn logs(&self, shards: &[u32]) -> Vec<PathBuf> {
        shards.iter().map(|&shard| self.log(shard)).collect()
    }

    fn queued(&self) -> Queued {
        match self.description.engine {
            Engine::Slurm => slurm::queued(&self.description.jobs),
            _ => Some(BTreeSet::new()),
        }
    }

    fn shard(&self, shard: u32, queued: &Queued) -> Result<ShardStatus, Failure> {
        let found = ExperimentDirectory::open(&self.shard_directory(shard))?;
        let (recorded, runs) = match &found {
            None => (0, None),
            Some(experiment) => {
                let runs = experiment.stored.plan.run_count();
                (runs - pending(experiment)?.0.len(), Some(runs))
            }
        };
        let state = if runs == Some(recorded) {
            ShardState::Done
        } else if queued.as_ref().is_some_and(|queued| queued.contains(&shard)) {
            ShardState::Queued
        } else if runs.is_some() {
            ShardState::Unfinished
        } else {
            ShardState::Missing
        };
        Ok(ShardStatus { shard, state, recorded, runs })
    }

    fn shard_directory(&self, shard: u32) -> PathBuf {
        self.path.join(SHARDS).join(shard.to_string())
    }

    fn log(&self, shard: u32) -> PathBuf {
        self.path.join(LOGS).join(format!("{shard}.log"))
    }

    fn words(&self, shard: u32) -> Vec<String> {
        self.description.words(&self.path, &shard.to_string(), &self.path)
    }

    fn store(&self) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(&self.description).map_err(Failure::json)?;
        let (file, whole) = (self.path.join(DESCRIPTION), self.path.join(".sweep.json"));
        write(&whole, &(text + "\n"))?;
        fs::rename(&whole, &file).map_err(Failure::file("writing", &file))
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    write_output(path, text.as_bytes()).map_err(Failure::file("writing", path))
}

/// This very program once more: it ends when this process ends, also by SIGKILL.
///
/// # Errors
/// [`Failure`] where the program's file is not to be found.
pub(crate) fn own_child() -> Result<Command, Failure> {
    let mut command = Command::new(program()?);
    command.args(["--ends-with", &std::process::id().to_string()]).stdin(Stdio::null());
    Ok(command)
}

/// This very program: tasks on this machine, and on nodes that have it at the same path, run it.
fn program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::broken(format!("pipefill does not find its own file: {error}")))
}

/// Asks `child` to stop. One that has ended already is not waited for yet: its number is still its own.
fn end(child: &Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ended_already = kill_process(pid, Signal::TERM);
    }
}

/// What a task's shell does with `words`, in which [`SHARD`] stands for its variable `shard`. An expectation that failed (exit code 1) is a
/// result, judged when all is merged, and no failed task.
fn shell(program: &str, words: &[String]) -> String {
    let word = |word: &String| word.split(SHARD).map(part).collect::<Vec<_>>().join("\"$shard\"");
    let words: Vec<String> = words.iter().map(word).collect();
    format!("{program} {} || [ $? -eq 1 ]", words.join(" "))
}

/// The place of a shard's number in a word: no word of a command line has this character.
const SHARD: &str = "\0";

fn part(text: &str) -> String {
    if text.is_empty() { String::new() } else { quoted(text) }
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
