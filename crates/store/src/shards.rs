//! Shards of one plan, put together.
//!
//! Never: a run that no shard has a whole record of, or a choice that depends on the order in which the shards are given.

use crate::experiment::{Part, fingerprint};
use crate::files::below;
use crate::partial::Partial;
use crate::{
    ExperimentDirectory, Owner, RecordState, Records, Request, StoreError, Summary, SummaryWriter,
    read_manifest, state, summaries,
};
use pipefill_core::plan::{Plan, Run, Shard};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// All shards of a plan, each at least once.
#[derive(Debug)]
pub struct Shards {
    /// In the order of their numbers.
    parts: Vec<ExperimentDirectory>,
    plan: Plan,
    scenario: String,
}

/// Why shards do not make up an experiment.
#[derive(Debug, thiserror::Error)]
pub enum ShardsError {
    /// Nothing was given.
    #[error("no shard was given")]
    None,
    /// Two directories that do not belong together.
    #[error("{} does not belong to {}: {difference}", .path.display(), .other.display())]
    Different {
        /// One of them.
        path: PathBuf,
        /// The other one.
        other: PathBuf,
        /// Why not.
        difference: String,
    },
    /// Shards that nobody gave.
    #[error("{} missing", numbered(.shards))]
    Missing {
        /// Which.
        shards: Vec<Shard>,
    },
    /// The cells are not those of the plan: somebody changed a shard.
    #[error("the shards do not make up the plan that they were cut from")]
    OtherPlan,
    /// A shard that was not run to its end.
    #[error("{} is not complete: {missing} of {runs} runs have no whole record", .directory.display())]
    Unfinished {
        /// Its directory; of several the first.
        directory: PathBuf,
        /// Runs without a record.
        missing: usize,
        /// Its runs.
        runs: usize,
    },
    /// What can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Where the best record of each run of a plan is.
#[derive(Debug)]
pub struct Sources {
    /// The directory of each run, in plan order.
    runs: Vec<(Run, PathBuf)>,
    /// For each run of which the summary is kept: which of the shards has it.
    summaries: BTreeMap<String, usize>,
}

impl Shards {
    /// The shards in `directories`, in any order. One that is given twice, or was run twice, does no harm.
    ///
    /// # Errors
    /// [`ShardsError`].
    pub fn gather(mut directories: Vec<ExperimentDirectory>) -> Result<Self, ShardsError> {
        directories.sort_by_key(|directory| (directory.stored.shard(), directory.path.clone()));
        let first = directories.first().ok_or(ShardsError::None)?;
        for directory in &directories[1..] {
            let (path, other) = (directory.path.clone(), first.path.clone());
            if let Some(difference) = difference(first, directory)? {
                return Err(ShardsError::Different { path, other, difference });
            }
        }
        let missing = missing(&directories);
        if !missing.is_empty() {
            return Err(ShardsError::Missing { shards: missing });
        }
        let plan = whole(&directories)?;
        let texts = directories.iter().map(ExperimentDirectory::scenario_text);
        let scenario = texts.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().next();
        Ok(Self { plan, scenario: scenario.unwrap_or_default(), parts: directories })
    }

    /// The experiment that they are parts of.
    pub fn request(&self) -> Request<'_> {
        let stored = &self.parts[0].stored;
        Request {
            backend: &stored.backend,
            study: stored.study.as_deref(),
            scenario: &self.scenario,
            set: &stored.set,
            only: &stored.only,
            quick: stored.quick,
            plan: &self.plan,
            part_of: None,
            records: stored.records,
        }
    }

    /// How many directories there are.
    pub fn count(&self) -> usize {
        self.parts.len()
    }

    /// Where the record of each run is. Of two that are whole a valid one is taken, then the older one; the order in which the shards were
    /// given decides nothing.
    ///
    /// # Errors
    /// [`ShardsError::Unfinished`] where a run has none; [`StoreError`] for one that can't be read.
    pub fn sources(&self) -> Result<Sources, ShardsError> {
        let mut sources = Sources { runs: Vec::new(), summaries: BTreeMap::new() };
        match self.parts[0].stored.records {
            Records::Rows => sources.runs = self.directories()?,
            Records::Summary => sources.summaries = self.summaries()?,
        }
        Ok(sources)
    }

    /// Copies what is in `sources` into `experiment`, which `owner` writes; what is there already stays. Before each run `go_on` is asked.
    /// Returns how many runs there are then.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn copy(
        &self,
        sources: &Sources,
        experiment: &ExperimentDirectory,
        owner: &Owner,
        mut go_on: impl FnMut() -> Result<bool, StoreError>,
    ) -> Result<usize, StoreError> {
        let mut count = 0;
        for (run, source) in &sources.runs {
            if !go_on()? {
                return Ok(count);
            }
            copy_run(source, run, &experiment.runs(), owner)?;
            count += 1;
        }
        if sources.summaries.is_empty() {
            return Ok(count);
        }
        let present = valid_summaries(&experiment.path)?;
        let mut writer = SummaryWriter::open(&experiment.path)?;
        count += present.len();
        for (place, part) in self.parts.iter().enumerate() {
            for summary in summaries(&part.path)? {
                let summary = summary?;
                let is_wanted = sources.summaries.get(&summary.id) == Some(&place);
                if is_wanted && !present.contains(&summary.id) {
                    if !go_on()? {
                        writer.flush()?;
                        return Ok(count);
                    }
                    writer.copy(&summary)?;
                    count += 1;
                }
            }
        }
        writer.flush()?;
        Ok(count)
    }

    fn directories(&self) -> Result<Vec<(Run, PathBuf)>, ShardsError> {
        let mut found = Vec::with_capacity(self.plan.run_count());
        let mut lacking = Lacking::default();
        for run in self.plan.runs() {
            let mut best: Option<(Rank, PathBuf)> = None;
            for part in self.parts.iter().filter(|part| holds(part, &run)) {
                let path = part.run_path(&run);
                if let Some(rank) = rank(&path, &run)?
                    && best.as_ref().is_none_or(|(other, _)| rank < *other)
                {
                    best = Some((rank, path));
                }
            }
            match best {
                Some((_, path)) => found.push((run, path)),
                None => self.lacks(&run, &mut lacking),
            }
        }
        self.complete(lacking).map(|()| found)
    }

    fn summaries(&self) -> Result<BTreeMap<String, usize>, ShardsError> {
        let mut best: BTreeMap<String, (SummaryRank, usize)> = BTreeMap::new();
        for (place, part) in self.parts.iter().enumerate() {
            for summary in summaries(&part.path)? {
                let summary = summary?;
                let rank = summary.rank();
                let entry = best.entry(summary.id).or_insert((rank, place));
                *entry = (*entry).min((rank, place));
            }
        }
        let mut lacking = Lacking::default();
        let missing = self.plan.runs().into_iter().filter(|run| !best.contains_key(&run.id));
        missing.for_each(|run| self.lacks(&run, &mut lacking));
        let places = best.into_iter().map(|(id, (_, place))| (id, place));
        self.complete(lacking).map(|()| places.collect())
    }

    /// Notes that no shard has a record of `run`.
    fn lacks(&self, run: &Run, lacking: &mut Lacking) {
        let place = self.parts.iter().position(|part| holds(part, run)).unwrap_or(0);
        *lacking.entry(place).or_default() += 1;
    }

    fn complete(&self, mut lacking: Lacking) -> Result<(), ShardsError> {
        let Some((place, missing)) = lacking.pop_first() else { return Ok(()) };
        let ExperimentDirectory { path, stored } = &self.parts[place];
        Err(ShardsError::Unfinished { directory: path.clone(), missing, runs: stored.plan.run_count() })
    }
}

/// Runs without a record, by the first directory that should have one.
type Lacking = BTreeMap<usize, usize>;

fn holds(part: &ExperimentDirectory, run: &Run) -> bool {
    part.stored.plan.find(run.cell.index).is_some()
}

/// Ids of the runs in `directory` whose summary says that they are valid.
fn valid_summaries(directory: &Path) -> Result<BTreeSet<String>, StoreError> {
    let valid = |summary: Result<Summary, StoreError>| match summary {
        Ok(summary) => summary.valid.then_some(Ok(summary.id)),
        Err(error) => Some(Err(error)),
    };
    summaries(directory)?.filter_map(valid).collect()
}

/// Copies the whole record of `run` in `source` into the folder `runs`; one that is there and valid is left alone.
fn copy_run(source: &Path, run: &Run, runs: &Path, owner: &Owner) -> Result<(), StoreError> {
    let target = below(runs, &run.directory);
    if matches!(state(&target, &run.id)?, RecordState::Valid) {
        return Ok(());
    }
    Partial::create(runs, &run.directory, owner)?.copy(source)
}

/// How good a summary is; the least is the best.
type SummaryRank = (bool, Option<u64>, u64);

/// How good a record is; the least is the best. `None` for what is none.
type Rank = (bool, Option<u64>, String);

fn rank(path: &Path, run: &Run) -> Result<Option<Rank>, StoreError> {
    let is_invalid = match state(path, &run.id)? {
        RecordState::Valid => false,
        RecordState::Invalid => true,
        RecordState::Missing | RecordState::Damaged(_) => return Ok(None),
    };
    let Some(manifest) = read_manifest(path)? else { return Ok(None) };
    let hashes = manifest.tables.unwrap_or_default().into_iter().map(|table| table.sha256);
    Ok(Some((is_invalid, manifest.started_unix_ms, hashes.collect())))
}

/// Why two directories are not parts of one plan.
fn difference(
    first: &ExperimentDirectory,
    second: &ExperimentDirectory,
) -> Result<Option<String>, StoreError> {
    let (first, second) = (&first.stored, &second.stored);
    let of = |part: &Option<Part>| part.as_ref().map_or(1, |part| part.shard.of);
    Ok(if first.plan.experiment != second.plan.experiment {
        Some(format!("one is called {}, the other {}", first.plan.experiment, second.plan.experiment))
    } else if first.backend != second.backend {
        Some(format!("one was run on {}, the other on {}", first.backend, second.backend))
    } else if first.records != second.records {
        let [first, second] = [first.records, second.records].map(Records::as_str);
        Some(format!("one was run with --records {first}, the other with --records {second}"))
    } else if of(&first.part) != of(&second.part) {
        Some(format!("one is cut into {} shards, the other into {}", of(&first.part), of(&second.part)))
    } else if plan_hash(first)? != plan_hash(second)? {
        Some("they are shards of different plans".to_owned())
    } else {
        None
    })
}

fn plan_hash(stored: &crate::StoredExperiment) -> Result<String, StoreError> {
    match &stored.part {
        Some(part) => Ok(part.whole.clone()),
        None => fingerprint(&stored.plan),
    }
}

fn missing(directories: &[ExperimentDirectory]) -> Vec<Shard> {
    let given = || directories.iter().filter_map(|directory| directory.stored.shard());
    let all = given().next().into_iter().flat_map(|shard| Shard::all(shard.of));
    all.filter(|shard| !given().any(|other| other == *shard)).collect()
}

/// The plan that the shards were cut from.
fn whole(directories: &[ExperimentDirectory]) -> Result<Plan, ShardsError> {
    let first = &directories[0].stored;
    let Some(part) = &first.part else { return Ok(first.plan.clone()) };
    let all = directories.iter().flat_map(|directory| &directory.stored.plan.cells);
    let cells: BTreeMap<usize, _> = all.map(|cell| (cell.index, cell.clone())).collect();
    let plan = Plan {
        cells: cells.into_values().collect(),
        published: part.published.clone(),
        conclusions: part.conclusions.clone(),
        ..first.plan.clone()
    };
    if fingerprint(&plan)? == part.whole { Ok(plan) } else { Err(ShardsError::OtherPlan) }
}

fn numbered(shards: &[Shard]) -> String {
    let names: Vec<String> = shards.iter().map(Shard::to_string).collect();
    match &names[..] {
        [name] => format!("shard {name} is"),
        _ => format!("shards {} are", names.join(", ")),
    }
}
