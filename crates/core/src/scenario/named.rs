//! What a scenario names and does not hold: its traces and profiles, each read once.

use super::document::{self, Document, FILES};
use super::draft::{Draft, PathDraft};
use super::error::{Origin, ScenarioProblem, SourceText};
use super::key::KeyKind;
use super::layer::{Layer, Text};
use super::library::Library;
use super::profiles::{PROFILES, Profile};
use super::trace_models::{DELAY_MODELS, LOSS_MODELS, TRACE_MODELS};
use super::trace_text::{self, TraceProblem};
use crate::cell::{RateTrace, StepTrace};
use crate::parse::nearest;
use crate::units::Ratio;
use std::collections::BTreeMap;

/// Everything that the settings of a scenario name.
#[derive(Debug, Clone, Default)]
pub(super) struct Named {
    traces: BTreeMap<String, RateTrace>,
    /// Round trips, nanoseconds.
    delays: BTreeMap<String, StepTrace<u64>>,
    losses: BTreeMap<String, StepTrace<Ratio>>,
    profiles: BTreeMap<String, PathDraft>,
    /// Texts that neither the scenario nor the program holds, by their names in `[files]`.
    outside: BTreeMap<String, String>,
}

impl Named {
    /// Reads what the settings of `document` and `set` name. The texts that problems point at are added to `sources`.
    ///
    /// # Errors
    /// What is not there, and what is wrong with what is.
    pub(super) fn load(
        document: &Document,
        set: &Layer,
        library: &dyn Library,
        sources: &mut Vec<SourceText>,
    ) -> Result<Self, Vec<ScenarioProblem>> {
        let mut loader = Loader { document, library, sources, named: Self::default(), problems: Vec::new() };
        document.layers().chain([set]).for_each(|layer| loader.layer(layer));
        if loader.problems.is_empty() { Ok(loader.named) } else { Err(loader.problems) }
    }

    /// The trace of rates called `name`, which was loaded.
    pub(super) fn trace(&self, name: &str) -> Option<&RateTrace> {
        self.traces.get(name)
    }

    /// The trace of round trips called `name`, nanoseconds, which was loaded.
    pub(super) fn delays(&self, name: &str) -> Option<&StepTrace<u64>> {
        self.delays.get(name)
    }

    /// The trace of losses called `name`, which was loaded.
    pub(super) fn losses(&self, name: &str) -> Option<&StepTrace<Ratio>> {
        self.losses.get(name)
    }

    /// The path that the profile `name` stands for, which was loaded.
    pub(super) fn profile(&self, name: &str) -> PathDraft {
        self.profiles.get(name).cloned().unwrap_or_default()
    }

    /// `text` of a scenario, with all that it names in its `[files]`.
    pub(super) fn held_in(&self, text: &str) -> String {
        let parsed = text.parse::<toml_edit::DocumentMut>();
        let Ok(mut document) = parsed else { return text.to_owned() };
        if self.outside.is_empty() {
            return text.to_owned();
        }
        let files = document.entry(FILES).or_insert(toml_edit::table());
        for (name, text) in &self.outside {
            files[name] = toml_edit::value(text);
        }
        document.to_string()
    }
}

struct Loader<'a> {
    document: &'a Document,
    library: &'a dyn Library,
    sources: &'a mut Vec<SourceText>,
    named: Named,
    problems: Vec<ScenarioProblem>,
}

impl Loader<'_> {
    /// What the settings of `layer` name.
    fn layer(&mut self, layer: &Layer) {
        for setting in &layer.settings {
            match setting.key.kind {
                KeyKind::Trace => setting.values.iter().for_each(|value| self.rates(value)),
                KeyKind::DelayTrace => setting.values.iter().for_each(|value| self.delays(value)),
                KeyKind::LossTrace => setting.values.iter().for_each(|value| self.losses(value)),
                KeyKind::Profile => setting.values.iter().for_each(|value| self.profile(value)),
                _ => {}
            }
        }
    }

    fn profile(&mut self, value: &Text) {
        let name = &value.text;
        if self.named.profiles.contains_key(name) {
            return;
        }
        let file = profile_file(name);
        let (shown, text) = if let Some(text) = self.document.files.get(&file) {
            (format!("{file} in [{FILES}]"), text.clone())
        } else {
            match self.library.profile(name) {
                Ok(Some(found)) => {
                    self.named.outside.insert(file, found.text.clone());
                    (found.name, found.text)
                }
                Ok(None) => match Profile::find(name) {
                    Some(profile) => (file, profile.text.to_owned()),
                    None => {
                        let help = self.unknown_profile(name);
                        return self.report(value, format!("there is no profile \"{name}\""), help);
                    }
                },
                Err(error) => {
                    let help = "make the file readable, or take it away";
                    return self.report(value, format!("the profile \"{name}\": {error}"), help);
                }
            }
        };
        let read = document::read_profile(&text, self.sources.len());
        self.sources.push(SourceText { name: shown, text });
        match read {
            Ok(layer) => {
                self.layer(&layer);
                let mut draft = Draft::default();
                // What its key refuses was found as it was read.
                for setting in &layer.settings {
                    let text = setting.values.first().map_or("", |value| &value.text);
                    let _ = setting.slot.apply(setting.key, text, &mut draft);
                }
                self.named.profiles.insert(name.clone(), draft.path);
            }
            Err(problems) => self.problems.extend(problems),
        }
    }

    fn unknown_profile(&self, name: &str) -> String {
        let own = self.library.profiles();
        let known: Vec<&str> = nearest_first(
            name,
            PROFILES.iter().map(|profile| profile.name).chain(own.iter().map(String::as_str)),
        );
        let meant =
            nearest(name, &known).map_or_else(String::new, |word| format!("did you mean \"{word}\"? "));
        format!("{meant}The profiles are: {}", known.join(", "))
    }

    fn rates(&mut self, value: &Text) {
        let models = TRACE_MODELS.iter().map(|model| (model.name, || model.trace()));
        if !self.named.traces.contains_key(&value.text)
            && let Some(trace) = self.trace(value, models, trace_text::read)
        {
            self.named.traces.insert(value.text.clone(), trace);
        }
    }

    fn delays(&mut self, value: &Text) {
        let models = DELAY_MODELS.iter().map(|model| (model.name, || model.trace()));
        if !self.named.delays.contains_key(&value.text)
            && let Some(trace) = self.trace(value, models, trace_text::read_delays)
        {
            self.named.delays.insert(value.text.clone(), trace);
        }
    }

    fn losses(&mut self, value: &Text) {
        let models = LOSS_MODELS.iter().map(|model| (model.name, || model.trace()));
        if !self.named.losses.contains_key(&value.text)
            && let Some(trace) = self.trace(value, models, trace_text::read_losses)
        {
            self.named.losses.insert(value.text.clone(), trace);
        }
    }

    /// The trace that `value` names: a text of the scenario, one of `models`, or a text from elsewhere; `None` where a problem is reported.
    fn trace<T, M: Fn() -> T>(
        &mut self,
        value: &Text,
        models: impl Iterator<Item = (&'static str, M)> + Clone,
        read: fn(&str) -> Result<T, TraceProblem>,
    ) -> Option<T> {
        let name = &value.text;
        let (shown, text) = if let Some(text) = self.document.files.get(name) {
            (format!("{name} in [{FILES}]"), text.clone())
        } else if let Some((_, make)) = models.clone().find(|(model, _)| model == name) {
            return Some(make());
        } else {
            match self.library.trace(name) {
                Ok(Some(found)) => {
                    self.named.outside.insert(name.clone(), found.text.clone());
                    (found.name, found.text)
                }
                Ok(None) => {
                    let help = unknown_trace(name, models.map(|(model, _)| model));
                    self.report(value, format!("there is no trace \"{name}\""), help);
                    return None;
                }
                Err(error) => {
                    let help = "write the name of a file that can be read, relative to the scenario";
                    self.report(value, format!("the trace \"{name}\": {error}"), help);
                    return None;
                }
            }
        };
        match read(&text) {
            Ok(trace) => Some(trace),
            Err(problem) => {
                let origin = Origin { source: self.sources.len(), span: problem.span };
                self.sources.push(SourceText { name: shown, text });
                self.problems.push(ScenarioProblem::new(&origin, problem.message, problem.help));
                None
            }
        }
    }

    fn report(&mut self, value: &Text, message: impl Into<String>, help: impl Into<String>) {
        self.problems.push(ScenarioProblem::new(&value.origin, message, help));
    }
}

/// The name of a profile's text in `[files]`.
fn profile_file(name: &str) -> String {
    format!("profiles/{name}.toml")
}

/// Words without repeats, that which `name` most likely stands for first.
fn nearest_first<'a>(name: &str, words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut words: Vec<&str> = words.collect();
    words.sort_by_key(|word| strsim::damerau_levenshtein(name, word));
    words.dedup();
    words
}

fn unknown_trace(name: &str, models: impl Iterator<Item = &'static str>) -> String {
    let known: Vec<&str> = models.collect();
    let meant = nearest(name, &known).map_or_else(String::new, |word| format!("did you mean \"{word}\"? "));
    format!(
        "{meant}The traces are: {}; or write the name of a file, relative to the scenario",
        known.join(", ")
    )
}
