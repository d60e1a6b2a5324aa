//! The scenario: what the user asks for, from TOML text to a plan.
//!
//! The way of the text: `document` reads layers of settings, each with its place in the text, by the one table of keys ([`KEYS`]);
//! `expand` lays variants, `--quick` and `--set` over each other and makes the product of the axes; `resolve` fills in the defaults
//! and judges the rules that bind several keys.

mod application;
mod aqm;
mod bounds;
mod document;
mod draft;
mod error;
mod expand;
mod expect;
mod forms;
mod key;
mod layer;
mod published;
mod resolve;
mod section;
mod set;
mod table;
mod toml;

pub use bounds::TEXT_MAX;
pub use error::{ScenarioError, ScenarioProblem, Style};
pub use key::{Key, Kind};
pub use section::Section;
pub use table::{KEYS, TOP};

use crate::plan::Plan;
use document::Document;
use error::SourceText;
use expand::{Extent, expand};
use layer::Layer;

/// A scenario that has been read and checked: it always has a plan.
#[derive(Debug, Clone)]
pub struct Scenario {
    document: Document,
    sources: Vec<SourceText>,
    set: Layer,
    plan: Plan,
    quick_plan: Plan,
}

impl Scenario {
    /// Reads a scenario and expands it, so that every error shows before anything runs. `file_name` is for messages.
    ///
    /// # Errors
    /// All that is wrong with single keys and values; where nothing is, all that is wrong with their combinations.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, ScenarioError> {
        // No place in a text that is too long is shown.
        let shown = if text.len() > TEXT_MAX { "" } else { text };
        let sources = vec![SourceText { name: file_name.to_owned(), text: shown.to_owned() }];
        let set = Layer::default();
        let plans = document::check_length(text).and_then(|()| document::read(text)).and_then(|document| {
            let plans = plans(&document, &set)?;
            Ok((document, plans))
        });
        match plans {
            Ok((document, (plan, quick_plan))) => Ok(Self { document, sources, set, plan, quick_plan }),
            Err(problems) => Err(ScenarioError::new(problems, sources)),
        }
    }

    /// Lays all of `texts` over the scenario, as [`Self::set`] does each; what they say together is checked, whatever their order.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn set_all(&mut self, texts: &[String]) -> Result<(), ScenarioError> {
        let (mut sources, mut set) = (self.sources.clone(), self.set.clone());
        let mut problems = Vec::new();
        for text in texts {
            sources.push(SourceText { name: "--set".to_owned(), text: text.to_owned() });
            match document::check_length(text).and_then(|()| set::read(text, sources.len() - 1)) {
                Ok(setting) => set.overlay(&Layer { settings: vec![setting], ..Layer::default() }),
                Err(found) => problems.extend(found),
            }
        }
        let plans = if problems.is_empty() { plans(&self.document, &set) } else { Err(problems) };
        let (plan, quick_plan) = match plans {
            Ok(plans) => plans,
            Err(problems) => return Err(ScenarioError::new(problems, sources)),
        };
        *self = Self { document: self.document.clone(), sources, set, plan, quick_plan };
        Ok(())
    }

    /// Lays one `KEY=VALUE` over the scenario (`--set`), or `KEY=[VALUE,VALUE]` for an axis. `flow.KEY` sets a key in every
    /// flow, `flow.0.KEY` in one. On top of variants and of `[quick]`; the last one of a key holds. The scenario stays as it
    /// was where this fails.
    ///
    /// # Errors
    /// As [`Scenario::parse`], with the caret in the text of `--set`.
    pub fn set(&mut self, text: &str) -> Result<(), ScenarioError> {
        self.set_all(&[text.to_owned()])
    }

    /// Leaves only the variants called `names`, so that what is set afterwards need not fit the others. Without one of that
    /// name the scenario stays whole.
    ///
    /// # Errors
    /// As [`Scenario::parse`]; none for a scenario that has a plan.
    pub fn keep_variants(&mut self, names: &[&str]) -> Result<(), ScenarioError> {
        let mut document = self.document.clone();
        document.variants.retain(|variant| names.contains(&variant.name.text.as_str()));
        if document.variants.is_empty() {
            return Ok(());
        }
        document.is_part = true;
        let plans = plans(&document, &self.set);
        let (plan, quick_plan) =
            plans.map_err(|problems| ScenarioError::new(problems, self.sources.clone()))?;
        (self.document, self.plan, self.quick_plan) = (document, plan, quick_plan);
        Ok(())
    }

    /// The scenario's `name`.
    pub fn name(&self) -> &str {
        &self.document.name
    }

    /// The whole matrix.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What `--quick` runs: the scenario under its `[quick]` tables; where it has none, one run a cell and 2 s of each flow.
    /// Cells that became equal are run once.
    pub fn quick_plan(&self) -> &Plan {
        &self.quick_plan
    }
}

fn plans(document: &Document, set: &Layer) -> Result<(Plan, Plan), Vec<ScenarioProblem>> {
    let plan = expand(document, set, Extent::Full)?;
    let quick_plan = expand(document, set, Extent::Quick)?;
    Ok((plan, quick_plan))
}
