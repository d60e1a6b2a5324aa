//! The scenario: what the user asks for, from TOML text to a plan.
//!
//! The way of the text: `document` reads layers of settings, each with its place in the text, by the one table of keys ([`KEYS`]);
//! `expand` lays variants, `--quick` and `--set` over each other and makes the product of the axes; `resolve` fills in the defaults
//! and judges the rules that bind several keys.

mod application;
mod aqm;
mod axis_number;
mod bounds;
mod document;
mod draft;
mod error;
mod expand;
mod expect;
mod forms;
mod from_tc;
mod key;
mod layer;
mod library;
mod named;
mod parameters;
mod profiles;
mod published;
mod rate_layer;
mod resolve;
mod section;
mod set;
mod table;
mod tc_words;
mod toml;
mod trace_models;
mod trace_text;

pub use axis_number::axis_number;
pub use bounds::TEXT_MAX;
pub use error::{ScenarioError, ScenarioProblem, Style};
pub use from_tc::{TC_TEXT_MAX, TcScenario, from_tc};
pub use key::{Key, KeyKind};
pub use library::{BuiltIn, Library, NamedText};
pub use profiles::{PROFILES, Profile};
pub use section::Section;
pub use table::{KEYS, TOP};
pub use trace_models::{DELAY_MODELS, LOSS_MODELS, TRACE_MODELS, TraceModel, ValueModel};
pub use trace_text::TRACE_TEXT_MAX;

use crate::plan::Plan;
use document::Document;
use error::SourceText;
use expand::{Extent, expand};
use layer::Layer;
use named::Named;
use std::sync::Arc;

/// Where editors find the JSON Schema of a scenario; `#:schema` and this is the first line of a scenario that pipefill brings or writes.
///
/// An address and not a path: records hold a copy of their scenario, from where no path leads to the schema. It is that of the main branch: keys
/// only come within a major version (`docs/releasing.md`), and what this program lacks it says itself.
pub const SCHEMA_URL: &str = "https://raw.githubusercontent.com/pipefill/pipefill/main/schemas/scenario.json";

/// A scenario that has been read and checked: it always has a plan.
#[derive(Debug, Clone)]
pub struct Scenario {
    document: Document,
    sources: Vec<SourceText>,
    set: Layer,
    library: Arc<dyn Library>,
    named: Named,
    plan: Plan,
    quick_plan: Plan,
}

impl Scenario {
    /// Reads a scenario that names nothing but what is built in: see [`Self::parse_with`].
    ///
    /// # Errors
    /// As [`Self::parse_with`].
    pub fn parse(text: &str, file_name: &str) -> Result<Self, ScenarioError> {
        Self::parse_with(text, file_name, Arc::new(BuiltIn))
    }

    /// Reads a scenario and expands it, so that every error shows before anything runs. `file_name` is for messages; `library` has what
    /// the scenario names.
    ///
    /// # Errors
    /// All that is wrong with single keys and values; where nothing is, all that is wrong with their combinations.
    pub fn parse_with(text: &str, file_name: &str, library: Arc<dyn Library>) -> Result<Self, ScenarioError> {
        // No place in a text that is too long is shown.
        let shown = if text.len() > TEXT_MAX { "" } else { text };
        let mut sources = vec![SourceText { name: file_name.to_owned(), text: shown.to_owned() }];
        let set = Layer::default();
        let plans = document::check_length(text).and_then(|()| document::read(text)).and_then(|document| {
            let named = Named::load(&document, &set, &*library, &mut sources)?;
            let plans = plans(&document, &set, &named)?;
            Ok((document, named, plans))
        });
        match plans {
            Ok((document, named, (plan, quick_plan))) => {
                Ok(Self { document, sources, set, library, named, plan, quick_plan })
            }
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
        let mut named_sources = sources.clone();
        let found = if problems.is_empty() {
            Named::load(&self.document, &set, &*self.library, &mut named_sources).and_then(|named| {
                let plans = plans(&self.document, &set, &named)?;
                Ok((named, plans))
            })
        } else {
            Err(problems)
        };
        let (named, (plan, quick_plan)) =
            found.map_err(|problems| ScenarioError::new(problems, named_sources))?;
        (self.sources, self.set, self.named) = (sources, set, named);
        (self.plan, self.quick_plan) = (plan, quick_plan);
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
        let plans = plans(&document, &self.set, &self.named);
        let (plan, quick_plan) =
            plans.map_err(|problems| ScenarioError::new(problems, self.sources.clone()))?;
        (self.document, self.plan, self.quick_plan) = (document, plan, quick_plan);
        Ok(())
    }

    /// The scenario's text with all that it names in its `[files]`, so that it needs no other file.
    pub fn whole_text(&self) -> String {
        self.named.held_in(&self.sources[0].text)
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

fn plans(document: &Document, set: &Layer, named: &Named) -> Result<(Plan, Plan), Vec<ScenarioProblem>> {
    let plan = expand(document, set, named, Extent::Full)?;
    let quick_plan = expand(document, set, named, Extent::Quick)?;
    Ok((plan, quick_plan))
}
