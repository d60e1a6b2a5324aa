//! An experiment's directory: what was asked, and the runs.
//!
//! Never: a result; whoever wants one reads the records again.

use super::leftover::{self, Leftover};
use super::run_directory::suffix;
use super::{EXPERIMENT, Owner, RUNS, Removed, SCENARIO};
use crate::asked::Asked;
use crate::failure::Failure;
use crate::studies;
use pipefill_analysis::experiment::quoted;
use pipefill_core::plan::{Plan, Run};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The version of `experiment.json`.
const SCHEMA: u32 = 1;

/// `experiment.json`: what was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredExperiment {
    /// 1.
    pub(crate) schema: u32,
    /// Version of the pipefill that began it.
    pub(crate) pipefill: String,
    /// `lab` or `sim`.
    pub(crate) backend: String,
    /// Milliseconds since the Unix epoch.
    pub(crate) created_unix_ms: Option<u64>,
    /// The built-in study, where it is one.
    pub(crate) study: Option<String>,
    /// `--set`, in order.
    pub(crate) set: Vec<String>,
    /// `--only`, in order.
    pub(crate) only: Vec<String>,
    /// `--quick`.
    pub(crate) quick: bool,
    /// Everything to run.
    pub(crate) plan: Plan,
}

impl StoredExperiment {
    /// What is stored of `asked`, from now on.
    pub(crate) fn new(asked: &Asked, backend: &str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        Self {
            schema: SCHEMA,
            pipefill: env!("CARGO_PKG_VERSION").to_owned(),
            backend: backend.to_owned(),
            created_unix_ms: now.and_then(|now| u64::try_from(now.as_millis()).ok()),
            study: asked.study.map(str::to_owned),
            set: asked.selection.set.clone(),
            only: asked.selection.only.clone(),
            quick: asked.selection.quick,
            plan: asked.plan.clone(),
        }
    }

    /// Why `asked` on `backend` is not this experiment; `None` where it is.
    pub(crate) fn difference(&self, asked: &Asked, backend: &str) -> Option<String> {
        let ids = |plan: &Plan| -> Vec<String> { plan.runs().into_iter().map(|run| run.id).collect() };
        let names = |plan: &Plan| -> Vec<String> {
            plan.runs().into_iter().map(|run| run.directory.to_string()).collect()
        };
        let renamed = names(&self.plan).into_iter().zip(names(&asked.plan)).find(|(old, new)| old != new);
        if self.plan.experiment != asked.plan.experiment {
            Some(format!("it is called {}, not {}", self.plan.experiment, asked.plan.experiment))
        } else if self.backend != backend {
            Some(format!("it was run on {}, not on {backend}", self.backend))
        } else if ids(&self.plan) != ids(&asked.plan) {
            Some(format!(
                "it has other runs: {} of {} cells against {} of {}",
                ids(&self.plan).len(),
                self.plan.cells.len(),
                ids(&asked.plan).len(),
                asked.plan.cells.len()
            ))
        } else {
            renamed.map(|(old, new)| format!("it has the same runs under other names: {old}, not {new}"))
        }
    }
}

/// A directory that holds an experiment.
#[derive(Debug, Clone)]
pub(crate) struct ExperimentDirectory {
    /// As the user named it.
    pub(crate) path: PathBuf,
    /// What was asked.
    pub(crate) stored: StoredExperiment,
}

impl ExperimentDirectory {
    /// Writes what was asked into the existing, empty directory `path`.
    ///
    /// # Errors
    /// [`Failure::File`].
    pub(crate) fn create(path: &Path, asked: &Asked, backend: &str) -> Result<Self, Failure> {
        let stored = StoredExperiment::new(asked, backend);
        let write = |name: &str, text: &str| {
            let file = path.join(name);
            // Never over a file that is there: of two processes on one directory the second fails here.
            File::create_new(&file)
                .and_then(|mut opened| opened.write_all(text.as_bytes()))
                .map_err(Failure::file("writing", &file))
        };
        let json = serde_json::to_string_pretty(&stored).map_err(Failure::Json)?;
        write(SCENARIO, &asked.text)?;
        write(EXPERIMENT, &(json + "\n"))?;
        let runs = path.join(RUNS);
        fs::create_dir(&runs).map_err(Failure::file("making", &runs))?;
        Ok(Self { path: path.to_owned(), stored })
    }

    /// The experiment in `path`; `None` where there is none.
    ///
    /// # Errors
    /// [`Failure`] for an `experiment.json` that can't be read.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, Failure> {
        let file = path.join(EXPERIMENT);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if absent(&error) => return Ok(None),
            Err(error) => return Err(Failure::file("reading", &file)(error)),
        };
        let damaged = |error: serde_json::Error| Failure::Other(format!("{}: {error}", file.display()));
        let value: serde_json::Value = serde_json::from_str(&text).map_err(damaged)?;
        if value["schema"] != SCHEMA {
            let what = format!(
                "{}: schema {}, and this pipefill reads schema {SCHEMA}",
                file.display(),
                value["schema"]
            );
            return Err(Failure::usage(what, format!("read it with pipefill {}", value["pipefill"])));
        }
        Ok(Some(Self { path: path.to_owned(), stored: serde_json::from_value(value).map_err(damaged)? }))
    }

    /// The same experiment with the expectations, the title and the published figures that are `asked` for now; kept from
    /// now on. Its runs have to be the same: see [`StoredExperiment::difference`].
    ///
    /// # Errors
    /// [`Failure`].
    pub(crate) fn renewed(self, asked: &Asked, owner: &Owner) -> Result<Self, Failure> {
        let StoredExperiment { pipefill, backend, created_unix_ms, .. } = self.stored;
        let stored = StoredExperiment { pipefill, created_unix_ms, ..StoredExperiment::new(asked, &backend) };
        let json = serde_json::to_string_pretty(&stored).map_err(Failure::Json)?;
        replace(&self.path.join(SCENARIO), &asked.text, owner)?;
        replace(&self.path.join(EXPERIMENT), &(json + "\n"), owner)?;
        Ok(Self { stored, ..self })
    }

    /// Removes the runs in the making of dead processes. Returns these, and those of which nobody can tell.
    ///
    /// # Errors
    /// [`Failure::File`].
    pub(crate) fn sweep(&self) -> Result<(Vec<Removed>, Vec<Leftover>), Failure> {
        leftover::sweep(&self.path, &self.runs())
    }

    /// The copy of the scenario.
    pub(crate) fn scenario(&self) -> PathBuf {
        self.path.join(SCENARIO)
    }

    /// The folder of runs.
    pub(crate) fn runs(&self) -> PathBuf {
        self.path.join(RUNS)
    }

    /// Where `run` is, once it is complete: under its name, or under the one that 0.1.0 gave it.
    pub(crate) fn run_path(&self, run: &Run) -> PathBuf {
        let path = self.runs().join(run.directory.as_str());
        let former = self.runs().join(self.stored.plan.directory_of_0_1_0(run).as_str());
        if !path.exists() && former.exists() { former } else { path }
    }

    /// Every complete run's directory, sorted by name; runs in the making (hidden) are left out.
    ///
    /// # Errors
    /// [`Failure::File`].
    pub(crate) fn run_directories(&self) -> Result<Vec<PathBuf>, Failure> {
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
        list().map_err(Failure::file("reading", &runs))
    }

    /// The command that ran it, up to and without `--on`. Built on the copy of the scenario, unless that is the very study
    /// that this pipefill has.
    pub(crate) fn command(&self) -> String {
        let copy = self.scenario();
        let study = self.stored.study.as_deref().and_then(studies::find);
        let same = study.filter(|study| fs::read_to_string(&copy).is_ok_and(|text| text == study.text));
        let mut words = vec!["pipefill".to_owned()];
        match same {
            Some(study) => words.extend(["study".to_owned(), study.name.to_owned()]),
            None => words.extend(["run".to_owned(), copy.to_string_lossy().into_owned()]),
        }
        words.extend(self.stored.quick.then(|| "--quick".to_owned()));
        for set in &self.stored.set {
            words.extend(["--set".to_owned(), set.clone()]);
        }
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// Removes the directory where it holds no run: nothing but the two files of [`ExperimentDirectory::create`] and an
    /// empty folder. True where it is gone.
    pub(crate) fn remove_if_barren(path: &Path) -> bool {
        let is_known = |entry: &fs::DirEntry| {
            let name = entry.file_name();
            name == SCENARIO || name == EXPERIMENT || name == RUNS
        };
        let Ok(entries) = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>) else {
            return false;
        };
        if !entries.iter().all(is_known) {
            return false;
        }
        // Fails where a run is inside, and then nothing else goes.
        match fs::remove_dir(path.join(RUNS)) {
            Err(error) if !absent(&error) => return false,
            _ => {}
        }
        let files = [SCENARIO, EXPERIMENT].map(|name| fs::remove_file(path.join(name)));
        let removed = files.iter().all(|result| result.as_ref().err().is_none_or(absent));
        removed && fs::remove_dir(path).is_ok()
    }
}

/// Writes `text` in place of what `file` holds, at once; a file that holds it already is left alone.
fn replace(file: &Path, text: &str, owner: &Owner) -> Result<(), Failure> {
    if fs::read_to_string(file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let made = file.with_file_name(format!(".{name}{}", suffix(owner)));
    fs::write(&made, text).and_then(|()| fs::rename(&made, file)).map_err(Failure::file("writing", file))
}

fn absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
