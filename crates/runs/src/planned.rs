//! What the user asked for: a scenario, the values that override it, and the plan that results.

use crate::failure::Failure;
use crate::library::Folder;
use crate::studies::{self, Study};
use pipefill_core::backend::Backend;
use pipefill_core::plan::{Cell, Plan, Selection, Shard};
use pipefill_core::scenario::{Scenario, TEXT_MAX};
use pipefill_store::{ExperimentDirectory, Records, Request};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The file name that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// A scenario with its overrides. Its plan always has at least one run.
#[derive(Debug, Clone)]
pub struct PlannedScenario {
    /// The built-in study, where it is one.
    pub study: Option<&'static str>,
    /// The scenario as given, with the texts of what it names from elsewhere.
    pub text: String,
    /// The overrides.
    pub selection: Selection,
    /// What is to be run.
    pub plan: Plan,
    /// Where that is a shard: which one, and the whole plan.
    pub whole: Option<(Shard, Plan)>,
    /// What is kept of each run.
    pub records: Records,
}

impl PlannedScenario {
    /// Reads a scenario file, or standard input for `-`.
    ///
    /// # Errors
    /// A file that can't be read, a scenario that is wrong, an `--only` that matches nothing.
    pub fn file(path: &Path, selection: &Selection) -> Result<Self, Failure> {
        if path == Path::new(STANDARD_INPUT) {
            let text =
                read_text(io::stdin()).map_err(Failure::file("reading", Path::new("standard input")))?;
            return Self::read(None, &text, "standard input", selection);
        }
        let text = File::open(path).and_then(read_text).map_err(|error| unreadable(path, error))?;
        Self::read(None, &text, &path.to_string_lossy(), selection)
    }

    /// A built-in study.
    ///
    /// # Errors
    /// A `--set` or an `--only` that does not fit.
    pub fn study(study: Study, selection: &Selection) -> Result<Self, Failure> {
        let file_name = format!("{}.toml", study.name);
        Self::read(Some(study.name), study.text, &file_name, selection)
    }

    /// A built-in scenario as it is; its experiment keeps a copy.
    ///
    /// # Errors
    /// A scenario that is wrong.
    pub fn built_in(name: &str, text: &str, set: &[String]) -> Result<Self, Failure> {
        let selection = Selection { set: set.to_vec(), ..Selection::default() };
        Self::read(None, text, &format!("{name}.toml"), &selection)
    }

    /// One cell of an experiment that was run, under the assignments `set` besides those of the experiment. An axis that `set`
    /// replaces is none any more.
    ///
    /// # Errors
    /// A copy of the scenario that can't be read, or an assignment that does not fit it.
    pub fn cell(experiment: &ExperimentDirectory, cell: &Cell, set: &[String]) -> Result<Self, Failure> {
        let path = experiment.scenario();
        let text = experiment.scenario_text()?.ok_or_else(|| {
            Failure::usage(format!("{} is gone", path.display()), "put the scenario there again")
        })?;
        let term = |(axis, value): &(String, String)| format!("{axis}={value}");
        let variant = cell.axes.iter().filter(|(axis, _)| axis == "variant").map(term).collect();
        let set = experiment.stored.set.iter().chain(set).cloned().collect();
        let selection = Selection { set, only: variant, repeat: None, quick: experiment.stored.quick };
        let mut planned = Self::read(None, &text, &path.to_string_lossy(), &selection)?;
        let is_axis = |(axis, _): &&(String, String)| {
            planned.plan.cells.iter().any(|other| other.axes.iter().any(|(name, _)| name == axis))
        };
        planned.selection.only = cell.axes.iter().filter(is_axis).map(term).collect();
        planned.plan.select(&planned.selection.only)?;
        Ok(planned)
    }

    /// As it is stored, on `backend`.
    pub fn request<'a>(&'a self, backend: &'a str) -> Request<'a> {
        let Selection { set, only, quick, .. } = &self.selection;
        Request {
            backend,
            study: self.study,
            scenario: &self.text,
            set,
            only,
            quick: *quick,
            plan: &self.plan,
            part_of: self.whole.as_ref().map(|(shard, plan)| (*shard, plan)),
            records: self.records,
        }
    }

    /// As `backend` runs it: a cell without any chance in it once.
    pub fn on(mut self, backend: &dyn Backend) -> Self {
        for cell in self.plan.cells.iter_mut().filter(|cell| backend.is_deterministic(&cell.spec)) {
            cell.deterministic = true;
            cell.spec.run.repeat = 1;
        }
        self
    }

    /// The part of it that is `shard`; its cells keep their numbers. To be asked for once it is known where it runs.
    ///
    /// # Errors
    /// There are fewer cells than shards.
    pub fn part(self, shard: Shard, backend: &dyn Backend) -> Result<Self, Failure> {
        let first = self.plan.runs().into_iter().filter(|run| run.repeat == 1);
        let costs: BTreeMap<usize, Duration> =
            first.map(|run| (run.cell.index, backend.estimate(&run) * run.cell.spec.run.repeat)).collect();
        let cost = |cell: &Cell| costs.get(&cell.index).copied().unwrap_or_default();
        let plan = self.plan.part(shard, cost).map_err(|error| {
            let most = error.cells;
            Failure::usage(format!("--shard {shard}: {error}"), format!("cut it into {most} shards at most"))
        })?;
        Ok(Self { whole: Some((shard, self.plan)), plan, ..self })
    }

    fn read(
        study: Option<&'static str>,
        text: &str,
        name: &str,
        selection: &Selection,
    ) -> Result<Self, Failure> {
        let scenario = Scenario::parse_with(text, name, Arc::new(Folder::of(Path::new(name))))?;
        let selection = selection.clone().with_repeat_assigned();
        let variants = selection.variants();
        let mut part = scenario.clone();
        part.keep_variants(&variants.iter().map(String::as_str).collect::<Vec<_>>())?;
        let (mut plan, text) = selected(part, &selection)?;
        if !variants.is_empty() {
            // What is set need not fit the other variants; then there is no whole whose numbers the cells could have.
            let whole = selected(scenario, &selection).ok().map(|(whole, _)| whole);
            plan = whole.filter(|whole| ids(whole) == ids(&plan)).unwrap_or(plan);
        }
        Ok(Self { study, text, selection, plan, whole: None, records: Records::Rows })
    }
}

/// The plan of `scenario` under `selection`, and the scenario's text with all that it names.
fn selected(mut scenario: Scenario, selection: &Selection) -> Result<(Plan, String), Failure> {
    scenario.set_all(&selection.set)?;
    let mut plan = match selection.quick {
        true => scenario.quick_plan().clone(),
        false => scenario.plan().clone(),
    };
    plan.select(&selection.only)?;
    Ok((plan, scenario.whole_text()))
}

fn ids(plan: &Plan) -> Vec<&str> {
    plan.cells.iter().map(|cell| cell.id.as_str()).collect()
}

/// The text, or as much of it as shows that it is too long for a scenario: a device may have no end.
fn read_text(source: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    source.take(TEXT_MAX as u64 + 1).read_to_end(&mut bytes)?;
    match String::from_utf8(bytes) {
        Err(error) if error.as_bytes().len() <= TEXT_MAX => {
            Err(io::Error::new(ErrorKind::InvalidData, error))
        }
        Err(error) => Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        Ok(text) => Ok(text),
    }
}

fn unreadable(path: &Path, error: io::Error) -> Failure {
    let name = path.to_string_lossy();
    match error.kind() {
        ErrorKind::NotFound if studies::find(&name).is_some() => Failure::usage(
            format!("there is no file {name}, but there is a built-in study of that name"),
            format!("write pipefill study {name}"),
        ),
        ErrorKind::NotFound => Failure::usage(
            format!("there is no file {name}"),
            "give a scenario file, or - for standard input; `pipefill study --list` lists the built-in studies",
        ),
        ErrorKind::IsADirectory if path.join("experiment.json").is_file() => Failure::usage(
            format!("{name} is the directory of an experiment, not a scenario file"),
            format!(
                "its scenario is {}; `pipefill report` shows its results",
                path.join("scenario.toml").display()
            ),
        ),
        ErrorKind::IsADirectory => Failure::usage(
            format!("{name} is a directory"),
            "give a scenario file, e.g. scenarios/first.toml",
        ),
        ErrorKind::InvalidData => {
            Failure::usage(format!("{name} is not text"), "a scenario is a TOML file in UTF-8")
        }
        _ => Failure::file("reading", path)(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::scenario::Style;

    #[test]
    fn a_file_without_an_end_is_refused_by_its_length() {
        let refused = PlannedScenario::file(Path::new("/dev/zero"), &Selection::default()).unwrap_err();
        let told = refused.render(Style::Plain);
        assert!(told.contains("the text is longer than 4194304 bytes"), "{}", &told[..told.len().min(500)]);
        assert!(told.len() < 10_000, "{} bytes", told.len());
    }
}
