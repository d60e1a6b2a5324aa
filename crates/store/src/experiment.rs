//! An experiment's directory: what was asked, and the runs.
//!
//! Never: a result; whoever wants one reads the records again.

mod part;

pub(crate) use part::fingerprint;
pub use part::{Part, Records};

use crate::checksum::{self, Checksum};
use crate::field::field;
use crate::files::{self, below};
use crate::leftover::{self, Leftover};
use crate::lock::LOCK;
use crate::summary::mend;
use crate::{
    DAMAGED, EXPERIMENT, RUNS, RecordState, Removed, SCENARIO, SUMMARY, StoreError, state, summaries,
};
use pipefill_core::file_name::FileName;
use pipefill_core::plan::{CELLS_MAX, Cell, Plan, Run, Shard};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The version of `experiment.json`.
const SCHEMA: u32 = 1;

/// An experiment as it is asked for, on a backend.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// `lab` or `sim`.
    pub backend: &'a str,
    /// The built-in study, where it is one.
    pub study: Option<&'a str>,
    /// The scenario's text.
    pub scenario: &'a str,
    /// `--set`, in order.
    pub set: &'a [String],
    /// `--only`, in order.
    pub only: &'a [String],
    /// `--quick`.
    pub quick: bool,
    /// Everything to run.
    pub plan: &'a Plan,
    /// The plan that `plan` is a part of, where it is one.
    pub part_of: Option<(Shard, &'a Plan)>,
    /// What is kept of each run.
    pub records: Records,
}

/// `experiment.json`: what was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredExperiment {
    /// 1.
    pub schema: u32,
    /// Version of the pipefill that began it.
    pub pipefill: String,
    /// `lab` or `sim`.
    pub backend: String,
    /// Milliseconds since the Unix epoch.
    pub created_unix_ms: Option<u64>,
    /// The built-in study, where it is one.
    pub study: Option<String>,
    /// `--set`, in order.
    pub set: Vec<String>,
    /// `--only`, in order.
    pub only: Vec<String>,
    /// `--quick`.
    pub quick: bool,
    /// Everything to run.
    pub plan: Plan,
    /// What `plan` is a part of; absent where it is the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// What is kept of each run; absent where it is all rows.
    #[serde(default, skip_serializing_if = "Records::is_rows")]
    pub records: Records,
}

impl StoredExperiment {
    /// What is stored of what is `asked`, from now on.
    fn new(asked: &Request<'_>) -> Result<Self, StoreError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let part = asked.part_of.map(|(shard, whole)| Part::new(shard, whole)).transpose()?;
        Ok(Self {
            part,
            records: asked.records,
            schema: SCHEMA,
            pipefill: env!("CARGO_PKG_VERSION").to_owned(),
            backend: asked.backend.to_owned(),
            created_unix_ms: now.and_then(|now| u64::try_from(now.as_millis()).ok()),
            study: asked.study.map(str::to_owned),
            set: asked.set.to_vec(),
            only: asked.only.to_vec(),
            quick: asked.quick,
            plan: asked.plan.clone(),
        })
    }

    /// As it is stored.
    fn text(&self) -> Result<String, StoreError> {
        serde_json::to_string_pretty(self)
            .map(|json| checksum::with_checksum(&json))
            .map_err(StoreError::Json)
    }

    /// What in the plan does not fit the rest of it; no plan that was made here has any.
    fn inconsistency(&self) -> Option<String> {
        let plan = &self.plan;
        let numbers = || plan.cells.iter().map(|cell| cell.index);
        let are_in_order = numbers().zip(numbers().skip(1)).all(|(number, next)| number < next);
        if !are_in_order || numbers().any(|number| number >= CELLS_MAX) {
            return Some("plan.cells: the cells are not numbered in order".to_owned());
        }
        let claims = plan.conclusions.iter().flat_map(|conclusion| &conclusion.claims);
        let pairs = claims.flat_map(|claim| &claim.pairs);
        let of_pairs = pairs.flat_map(|pair| [Some(pair.cell), pair.other]).flatten();
        let mut named = plan.published.iter().map(|figures| figures.cell).chain(of_pairs);
        let beyond = named.find(|&cell| plan.find(cell).is_none())?;
        Some(format!("plan: something is said of cell {beyond}, which it does not have"))
    }

    /// Which part of a plan it is; `None` for the whole.
    pub fn shard(&self) -> Option<Shard> {
        self.part.as_ref().map(|part| part.shard)
    }

    /// Why what is `asked` is not this experiment; `None` where it is.
    pub fn difference(&self, asked: &Request<'_>) -> Option<String> {
        let backend = asked.backend;
        let part_of = asked.part_of.map(|(shard, _)| shard);
        if self.plan.experiment != asked.plan.experiment {
            Some(format!("it is called {}, not {}", self.plan.experiment, asked.plan.experiment))
        } else if self.backend != backend {
            Some(format!("it was run on {}, not on {backend}", self.backend))
        } else if self.records != asked.records {
            Some(format!("it was run with --records {}", self.records.as_str()))
        } else if self.shard() != part_of {
            let told =
                |shard: Option<Shard>| shard.map_or("the whole".to_owned(), |shard| format!("shard {shard}"));
            Some(format!("it is {}, not {}", told(self.shard()), told(part_of)))
        } else if !has_runs_of(&self.plan, asked.plan) {
            let size = |plan: &Plan| (plan.run_count(), plan.cells.len());
            let ((runs, cells), (asked_runs, asked_cells)) = (size(&self.plan), size(asked.plan));
            Some(format!("it has other runs: {runs} of {cells} cells against {asked_runs} of {asked_cells}"))
        } else {
            let names = |plan: &Plan| plan.runs().into_iter().map(|run| (run.id, run.directory));
            let own: BTreeMap<String, FileName> = names(&self.plan).collect();
            let renamed = names(asked.plan).find(|(id, name)| own.get(id).is_some_and(|own| own != name));
            let old = |id: &String| own.get(id).map(FileName::to_string).unwrap_or_default();
            renamed
                .map(|(id, name)| format!("it has the same runs under other names: {}, not {name}", old(&id)))
        }
    }
}

/// Whether `stored` has the runs that are `asked` for. An earlier version ran a deterministic cell more than once.
fn has_runs_of(stored: &Plan, asked: &Plan) -> bool {
    let is_same = |(stored, asked): (&Cell, &Cell)| {
        let (had, wanted) = (stored.spec.run.repeat, asked.spec.run.repeat);
        stored.id == asked.id && (had == wanted || (asked.deterministic && had > wanted))
    };
    stored.cells.len() == asked.cells.len() && stored.cells.iter().zip(&asked.cells).all(is_same)
}

/// What every version of `experiment.json` has.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: serde_json::Value,
    #[serde(default)]
    pipefill: serde_json::Value,
}

/// A directory that holds an experiment.
#[derive(Debug, Clone)]
pub struct ExperimentDirectory {
    /// As the user named it.
    pub path: PathBuf,
    /// What was asked.
    pub stored: StoredExperiment,
}

impl ExperimentDirectory {
    /// Writes what was asked into the existing, empty directory `path`. `experiment.json` comes last and whole: with it the
    /// directory is an experiment.
    ///
    /// # Errors
    /// [`StoreError::File`]; that there is such a file already is one.
    pub fn create(path: &Path, asked: &Request<'_>) -> Result<Self, StoreError> {
        let stored = StoredExperiment::new(asked)?;
        let (scenario, runs, file) = (path.join(SCENARIO), path.join(RUNS), path.join(EXPERIMENT));
        files::create(&scenario, asked.scenario.as_bytes())
            .map_err(StoreError::file("writing", &scenario))?;
        fs::create_dir(&runs).map_err(StoreError::file("making", &runs))?;
        files::replace(&file, stored.text()?.as_bytes())?;
        Ok(Self { path: path.to_owned(), stored })
    }

    /// The experiment in `path`; `None` where there is none.
    ///
    /// # Errors
    /// [`StoreError`] for an `experiment.json` that can't be read or is none, and where `runs` is a link.
    pub fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        let file = path.join(EXPERIMENT);
        let text = match files::read(&file, files::DOCUMENT_MAX) {
            Ok(text) => text,
            Err(error) if files::is_absent(&error) => return Ok(None),
            Err(error) => return Err(StoreError::file("reading", &file)(error)),
        };
        let damaged = |why: String| StoreError::DamagedExperiment { file: file.clone(), why };
        if text.is_empty() {
            return Err(damaged("it is empty".to_owned()));
        }
        let head: Head = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if head.schema != SCHEMA {
            let (found, pipefill) = (head.schema.to_string(), head.pipefill.to_string());
            return Err(StoreError::Schema { file, found, reads: SCHEMA, pipefill });
        }
        if checksum::check(&text) == Checksum::Wrong {
            return Err(damaged("it has changed since it was written: its checksum does not fit".to_owned()));
        }
        let stored: StoredExperiment = serde_json::from_slice(&text)
            .map_err(|error| damaged(format!("{}: {error}", field::<StoredExperiment>(&text, &error))))?;
        if let Some(why) = stored.inconsistency() {
            return Err(damaged(why));
        }
        let runs = path.join(RUNS);
        files::is_directory(&runs).map_err(StoreError::file("reading", &runs))?;
        Ok(Some(Self { path: path.to_owned(), stored }))
    }

    /// The same experiment with the expectations, the title and the published figures that are `asked` for now; kept from
    /// now on. Its runs have to be the same: see [`StoredExperiment::difference`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn renewed(self, asked: &Request<'_>) -> Result<Self, StoreError> {
        let StoredExperiment { pipefill, backend, created_unix_ms, .. } = self.stored;
        let asked = Request { backend: &backend, ..*asked };
        let stored = StoredExperiment { pipefill, created_unix_ms, ..StoredExperiment::new(&asked)? };
        replace(&self.path.join(SCENARIO), asked.scenario)?;
        replace(&self.path.join(EXPERIMENT), &stored.text()?)?;
        Ok(Self { stored, ..self })
    }

    /// Removes the runs in the making of dead processes. Returns these, and those of which nobody can tell.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub fn sweep(&self) -> Result<(Vec<Removed>, Vec<Leftover>), StoreError> {
        leftover::sweep(&self.path, &self.runs())
    }

    /// The copy of the scenario.
    pub fn scenario(&self) -> PathBuf {
        self.path.join(SCENARIO)
    }

    /// The folder of runs.
    pub fn runs(&self) -> PathBuf {
        self.path.join(RUNS)
    }

    /// The text of [`ExperimentDirectory::scenario`]; `None` where somebody took it away.
    ///
    /// # Errors
    /// [`StoreError::File`] for what is no file of such a size.
    pub fn scenario_text(&self) -> Result<Option<String>, StoreError> {
        let path = self.scenario();
        match files::read_text(&path, files::DOCUMENT_MAX) {
            Err(error) if files::is_absent(&error) => Ok(None),
            other => other.map(Some).map_err(StoreError::file("reading", &path)),
        }
    }

    /// Where `run` is, once it is complete: under its name, or under the one that 0.1.0 gave it.
    pub fn run_path(&self, run: &Run) -> PathBuf {
        let path = below(&self.runs(), &run.directory);
        let former = self.former_path(run);
        if fs::symlink_metadata(&path).is_err() && fs::symlink_metadata(&former).is_ok() {
            former
        } else {
            path
        }
    }

    /// Where 0.1.0 would have put it.
    fn former_path(&self, run: &Run) -> PathBuf {
        below(&self.runs(), &self.stored.plan.directory_of_0_1_0(run))
    }

    /// Removes the record of `run` that 0.1.0 made, once there is a new one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove_former(&self, run: &Run) -> Result<(), StoreError> {
        let former = self.former_path(run);
        if former == below(&self.runs(), &run.directory) {
            return Ok(());
        }
        match state(&former, &run.id)? {
            RecordState::Valid | RecordState::Invalid => {
                fs::remove_dir_all(&former).map_err(StoreError::file("removing", &former))
            }
            RecordState::Missing | RecordState::Damaged(_) => Ok(()),
        }
    }

    /// Moves a damaged run out of the way, into the folder `damaged`; where it is then.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub fn set_aside(&self, run: &Path) -> Result<PathBuf, StoreError> {
        let name = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let free = self.place_for_damaged(&name)?;
        fs::rename(run, &free).map_err(StoreError::file("moving", run))?;
        Ok(free)
    }

    /// A free name in the folder `damaged`, which is made.
    fn place_for_damaged(&self, name: &str) -> Result<PathBuf, StoreError> {
        let folder = self.path.join(DAMAGED);
        if !files::is_directory(&folder).map_err(StoreError::file("reading", &folder))? {
            fs::create_dir(&folder).map_err(StoreError::file("making", &folder))?;
        }
        let numbered = (2..).map(|number| folder.join(format!("{name}-{number}")));
        let mut places = std::iter::once(folder.join(name)).chain(numbered);
        let free = places.find(|place| fs::symlink_metadata(place).is_err()).unwrap_or(folder);
        Ok(free)
    }

    /// Mends the file of summaries where a block of it has changed: what is whole stays, and the file as it was is kept in the folder
    /// `damaged`; where, if it was.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn mend_summaries(&self) -> Result<Option<PathBuf>, StoreError> {
        match summaries(&self.path).map(drop) {
            Err(StoreError::Damaged(_)) => {
                let kept = self.place_for_damaged(SUMMARY)?;
                mend(&self.path, &kept)?;
                Ok(Some(kept))
            }
            other => other.map(|()| None),
        }
    }

    /// Every complete run's directory, sorted by name; runs in the making (hidden) are left out.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub fn run_directories(&self) -> Result<Vec<PathBuf>, StoreError> {
        let runs = self.runs();
        let list = || -> io::Result<Vec<PathBuf>> {
            let mut paths = Vec::new();
            for entry in fs::read_dir(&runs)? {
                let entry = entry?;
                let hidden = entry.file_name().to_string_lossy().starts_with('.');
                if !hidden && entry.file_type()?.is_dir() {
                    paths.push(entry.path());
                }
            }
            paths.sort();
            Ok(paths)
        };
        list().map_err(StoreError::file("reading", &runs))
    }

    /// Removes the directory where it holds no run: nothing but the two files of [`ExperimentDirectory::create`] and an
    /// empty folder. True where it is gone.
    pub fn remove_if_empty(path: &Path) -> bool {
        let is_known = |entry: &fs::DirEntry| {
            let name = entry.file_name();
            let is_empty = || entry.metadata().is_ok_and(|found| found.is_file() && found.len() == 0);
            [SCENARIO, EXPERIMENT, RUNS, LOCK].into_iter().any(|known| name == known)
                || (name == SUMMARY && is_empty())
        };
        let Ok(entries) = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>) else {
            return false;
        };
        if !entries.iter().all(is_known) {
            return false;
        }
        // Fails where a run is inside, and then nothing else goes.
        match fs::remove_dir(path.join(RUNS)) {
            Err(error) if !files::is_absent(&error) => return false,
            _ => {}
        }
        let gone = [SCENARIO, EXPERIMENT, SUMMARY, LOCK].map(|name| fs::remove_file(path.join(name)));
        let removed = gone.iter().all(|result| result.as_ref().err().is_none_or(files::is_absent));
        removed && fs::remove_dir(path).is_ok()
    }
}

/// Writes `text` in place of what `file` holds; a file that holds it already is left alone.
fn replace(file: &Path, text: &str) -> Result<(), StoreError> {
    if files::read_text(file, files::DOCUMENT_MAX).is_ok_and(|old| old == text) {
        return Ok(());
    }
    files::replace(file, text.as_bytes())
}
