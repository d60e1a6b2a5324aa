//! `pipefill fix`: applies the advice to the scenario, and measures both variants in turn.

use super::explain::keep;
use super::report::named_or_newest;
use super::run::{backend, say_chosen, tidy};
use crate::args::{BackendName, FixArgs};
use crate::outcome::Outcome;
use crate::page;
use crate::run_reporter::RunReporter;
use crate::signals::stop_on_signals;
use crate::terminal::Terminal;
use clap::ValueEnum;
use pipefill_analysis::findings::connections::BACKEND;
use pipefill_analysis::findings::experiment::CellResult;
use pipefill_analysis::findings::finding::Advice;
use pipefill_analysis::findings::fix::{End, Proof, Round, Search};
use pipefill_analysis::findings::headline::diagnosis;
use pipefill_core::file_name::FileName;
use pipefill_core::plan::{Cell, Plan};
use pipefill_report::words::{quoted, repeat_command};
use pipefill_report::{fix as text, json};
use pipefill_runs::{Failure, Finished, PlannedScenario, Session, ensure_directory, fix_file, result_of};
use pipefill_store::{ExperimentDirectory, Registry, fresh};
use std::fs;
use std::path::{Path, PathBuf};

/// Tries the advice of every cell and prints the outcome. An advice that does not help is a result, not a failure.
pub(super) fn fix(args: &FixArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let directory = &*named_or_newest(args.directory.as_deref(), terminal)?;
    let experiment = experiment_of(directory)?;
    if experiment.stored.backend == BACKEND {
        return Err(Failure::usage(
            "these connections come from no scenario: there is nothing to run again",
            "pipefill watch and explain give the advice for both machines; change one of them and watch again",
        ));
    }
    let on = backend_of(args, &experiment)?;
    let mut result = result_of(directory, None, terminal)?;
    keep(&mut result, &args.only)?;
    let registry = Registry::locate()?.optional(on == BackendName::Sim);
    // The process has one thread until here, and has to: see `acquire`.
    let backend = backend(on)?;
    let stop = stop_on_signals()?;
    tidy(&registry, terminal)?;
    let base = Path::new("");
    let session = Session { backend: &*backend, registry: &registry, stop: &stop, base };
    let name = FileName::cleaned(&format!("{}-fix", experiment.stored.plan.experiment));
    let out = fresh(session.base, args.out.as_deref(), &name)?;
    let work = Work { args, directory, session: &session, experiment: &experiment, out: &out, terminal };
    let mut found = Vec::new();
    let mut is_invalid = false;
    for cell in result.cells.iter().filter(|cell| is_of(cell, &experiment)) {
        let (proof, invalid) = work.prove(cell, &result.plan)?;
        found.push(proof);
        is_invalid |= invalid;
    }
    fix_file::write(&out, &result.experiment, &found)?;
    leave(&experiment, &result.experiment, &found, &out, terminal);
    match args.json {
        true => terminal.print_data(&json::proofs(&result.experiment, &found).map_err(Failure::json)?)?,
        false => terminal.print(&text::render(&result.experiment, &found, terminal.table_style()))?,
    }
    if args.quiet {
        say_chosen(&out, args.out.as_deref(), terminal);
    } else {
        terminal.say(&format!("\nrecords: {}", out.display()));
    }
    Ok(if is_invalid { Outcome::Invalid } else { Outcome::Done })
}

/// Leaves the proofs beside the records that they are about, and makes the page there anew. What was proven stays proven where
/// somebody else owns these records.
fn leave(experiment: &ExperimentDirectory, name: &str, found: &[Proof], out: &Path, terminal: &Terminal) {
    let added = fix_file::add(&experiment.path, name, found, out, terminal);
    if let Err(failure) = added.and_then(|()| page::renew(experiment, terminal)) {
        terminal.say(&format!("note: the report page does not show it: {failure}"));
    }
}

/// The rounds of a cell up to now.
#[derive(Default)]
struct Tried {
    rounds: Vec<Round>,
    is_invalid: bool,
}

/// What all cells share.
struct Work<'a> {
    args: &'a FixArgs,
    session: &'a Session<'a>,
    experiment: &'a ExperimentDirectory,
    out: &'a Path,
    terminal: &'a Terminal,
    /// The directory of the experiment, or of one of its runs.
    directory: &'a Path,
}

impl Work<'_> {
    /// Proves a cell's advice round by round; true where a run was invalid. A failure is the cell's result, unless it would stop every cell.
    fn prove(&self, result: &CellResult, plan: &Plan) -> Result<(Proof, bool), Failure> {
        let cell = plan.cell(result.index);
        let mut search = Search::of(result);
        let mut tried = Tried::default();
        let failure = match self.search(cell, plan, &mut search, &mut tried) {
            Ok(()) => None,
            Err(failure) if failure.ends_all() => return Err(failure),
            Err(failure) => Some(failure.to_string()),
        };
        let command = format!("pipefill fix {}", quoted(&self.directory.to_string_lossy()));
        let proof = Proof {
            index: result.index,
            id: result.id.clone(),
            axes: result.axes.clone(),
            backend: self.session.backend.name().to_owned(),
            rounds: tried.rounds,
            set: search.set().to_vec(),
            path_goodput_bps: path_goodput(result),
            end: if failure.is_some() { End::Failed } else { search.end() },
            why: failure.or_else(|| search.why().map(str::to_owned)),
            repeat_command: repeat_command(&command, cell, Some(self.session.backend.name())),
        };
        Ok((proof, tried.is_invalid))
    }

    fn search(
        &self,
        cell: &Cell,
        plan: &Plan,
        search: &mut Search,
        tried: &mut Tried,
    ) -> Result<(), Failure> {
        while let Some(advice) = search.next_change() {
            let place =
                PathBuf::from(label(plan, cell).as_str()).join(format!("round-{}", tried.rounds.len() + 1));
            let [before, after] = self.pair(cell, search.set(), &advice, &place)?;
            let sides = [&before, &after].map(|side| side.result.cells.first());
            let [Some(cell_before), Some(cell_after)] = sides else {
                return Err(Failure::broken(format!("{} has no result", place.display())));
            };
            tried.is_invalid |= [cell_before, cell_after].into_iter().any(|side| side.valid < side.runs);
            let mut round = Round::of(search.set().to_vec(), advice, cell_before, cell_after);
            round.before_directory = place.join(BEFORE).to_string_lossy().into_owned();
            round.after_directory = place.join(AFTER).to_string_lossy().into_owned();
            search.observe(&round, cell_after);
            tried.rounds.push(round);
        }
        Ok(())
    }

    /// Runs `cell` under `base`, without and with the advice.
    fn pair(
        &self,
        cell: &Cell,
        base: &[String],
        advice: &Advice,
        place: &Path,
    ) -> Result<[Finished; 2], Failure> {
        let repeat = format!("run.repeat={}", self.args.repeat);
        let under = |sets: &[&[String]]| {
            let set: Vec<String> = std::iter::once(repeat.clone()).chain(sets.concat()).collect();
            PlannedScenario::cell(self.experiment, cell, &set)
        };
        let (before, after) = (under(&[base])?, under(&[base, &advice.set])?);
        self.session.check(&before)?;
        self.session.check(&after)?;
        let parent = self.out.join(place);
        fs::create_dir_all(&parent).map_err(Failure::file("making", &parent))?;
        let pair = [(BEFORE, &before), (AFTER, &after)];
        let reporter = RunReporter::of_progress(self.terminal, self.session.stop, self.args.quiet);
        self.session.perform_in_turn(&parent, pair, &reporter)
    }
}

const BEFORE: &str = "before";
const AFTER: &str = "after";

/// The experiment in `directory`, or that around the run in it: an advice is laid over a scenario.
fn experiment_of(directory: &Path) -> Result<ExperimentDirectory, Failure> {
    ensure_directory(directory)?;
    let around = directory.parent().and_then(Path::parent);
    for place in [Some(directory), around].into_iter().flatten() {
        if let Some(experiment) = ExperimentDirectory::open(place)? {
            return Ok(experiment);
        }
    }
    Err(Failure::usage(
        format!("{} holds no experiment", directory.display()),
        "give the directory that `pipefill run` named; a run alone has no scenario to change",
    ))
}

fn backend_of(args: &FixArgs, experiment: &ExperimentDirectory) -> Result<BackendName, Failure> {
    let stored = &experiment.stored.backend;
    args.on.map_or_else(
        || {
            BackendName::from_str(stored, false).map_err(|_| {
                Failure::usage(format!("the records were made on {stored}"), "choose a backend with --on")
            })
        },
        Ok,
    )
}

/// A cell that records of two backends exist of is tried once.
fn is_of(cell: &CellResult, experiment: &ExperimentDirectory) -> bool {
    cell.backend.as_ref().is_some_and(|backend| *backend == experiment.stored.backend)
}

/// What the path lets through, as the cell's runs have it; `None` where other flows share it, so that no one flow could have it all.
fn path_goodput(result: &CellResult) -> Option<u64> {
    let flow = &result.headline()?.figures;
    let mut flows = result.flows.iter().map(|flow| &flow.figures);
    let is_shared = flows.any(|known| known.flow != flow.flow && known.direction == flow.direction);
    let goodput = || result.run_values.iter().find_map(|run| diagnosis(run)?.figures.path_goodput_bps);
    if is_shared { None } else { goodput() }
}

/// The cell's name: the name of its runs' directories without the repetition.
fn label(plan: &Plan, cell: &Cell) -> FileName {
    let run = plan.runs().into_iter().find(|run| run.cell.id == cell.id);
    let name = run.map_or_else(|| cell.id.clone(), |run| run.directory.to_string());
    FileName::cleaned(name.rsplit_once("-r").map_or(name.as_str(), |(head, _)| head))
}
