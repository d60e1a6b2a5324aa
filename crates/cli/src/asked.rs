//! What the user asked for: a scenario, what is laid over it, and the plan that comes out.
//!
//! Never: anything written, or a question to the machine beyond reading the file.

use crate::args::Selection;
use crate::failure::Failure;
use crate::select;
use crate::store::ExperimentDirectory;
use crate::studies::{self, Study};
use pipefill_core::plan::{Cell, Plan};
use pipefill_core::scenario::Scenario;
use std::fs;
use std::path::Path;

/// A scenario with everything laid over it. It always has a plan of at least one run.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The built-in study, where it is one.
    pub(crate) study: Option<&'static str>,
    /// The scenario as given.
    pub(crate) text: String,
    /// What was laid over it.
    pub(crate) selection: Selection,
    /// What is to be run.
    pub(crate) plan: Plan,
}

impl Asked {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// A file that can't be read, a scenario that is wrong, an `--only` that matches nothing.
    pub(crate) fn file(path: &Path, selection: &Selection) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).map_err(|error| unreadable(path, error))?;
        Self::read(None, text, &path.to_string_lossy(), selection)
    }

    /// A built-in study.
    ///
    /// # Errors
    /// A `--set` or an `--only` that does not fit.
    pub(crate) fn study(study: Study, selection: &Selection) -> Result<Self, Failure> {
        let file_name = format!("{}.toml", study.name);
        Self::read(Some(study.name), study.text.to_owned(), &file_name, selection)
    }

    /// A built-in scenario as it is; its experiment keeps the text, and repeats it from there.
    ///
    /// # Errors
    /// A scenario that is wrong.
    pub(crate) fn built_in(name: &str, text: &str) -> Result<Self, Failure> {
        Self::read(None, text.to_owned(), &format!("{name}.toml"), &Selection::default())
    }

    /// One cell of an experiment that was run, under the assignments `set` besides those of the experiment. An axis that `set`
    /// replaces is none any more.
    ///
    /// # Errors
    /// A copy of the scenario that can't be read, or an assignment that does not fit it.
    pub(crate) fn cell(
        experiment: &ExperimentDirectory,
        cell: &Cell,
        set: &[String],
    ) -> Result<Self, Failure> {
        let path = experiment.scenario();
        let text = experiment.scenario_text()?.ok_or_else(|| {
            Failure::usage(format!("{} is gone", path.display()), "put the scenario there again")
        })?;
        let term = |(axis, value): &(String, String)| format!("{axis}={value}");
        let variant = cell.axes.iter().filter(|(axis, _)| axis == "variant").map(term).collect();
        let set = experiment.stored.set.iter().chain(set).cloned().collect();
        let selection = Selection { set, only: variant, quick: experiment.stored.quick };
        let mut asked = Self::read(None, text, &path.to_string_lossy(), &selection)?;
        let is_axis = |(axis, _): &&(String, String)| {
            asked.plan.cells.iter().any(|other| other.axes.iter().any(|(name, _)| name == axis))
        };
        asked.selection.only = cell.axes.iter().filter(is_axis).map(term).collect();
        select::only(&mut asked.plan, &asked.selection.only)?;
        Ok(asked)
    }

    fn read(
        study: Option<&'static str>,
        text: String,
        name: &str,
        selection: &Selection,
    ) -> Result<Self, Failure> {
        let mut scenario = Scenario::parse(&text, name)?;
        let variants = select::variants(&selection.only);
        scenario.keep_variants(&variants.iter().map(String::as_str).collect::<Vec<_>>())?;
        for set in &selection.set {
            scenario.set(set)?;
        }
        let mut plan = match selection.quick {
            true => scenario.quick_plan().clone(),
            false => scenario.plan().clone(),
        };
        select::only(&mut plan, &selection.only)?;
        Ok(Self { study, text, selection: selection.clone(), plan })
    }
}

fn unreadable(path: &Path, error: std::io::Error) -> Failure {
    let name = path.to_string_lossy();
    if error.kind() == std::io::ErrorKind::NotFound && studies::find(&name).is_some() {
        return Failure::usage(
            format!("there is no file {name}, but a built-in study of that name"),
            format!("write pipefill study {name}"),
        );
    }
    Failure::file("reading", path)(error)
}
