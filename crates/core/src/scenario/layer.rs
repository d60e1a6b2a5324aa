//! Settings with their origins, in layers: the scenario, a variant over it, `--quick`, `--set`.

use super::draft::Draft;
use super::error::{Origin, ScenarioProblem};
use super::key::{CHANGE, Key, SYSCTL, Slot};
use super::section::Section;
use super::table::TOP;
use crate::parse::nearest;
use std::collections::BTreeSet;

/// A text and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Text {
    pub(super) text: String,
    pub(super) origin: Origin,
}

/// One key with its value, or with several that make an axis.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) slot: Slot,
    pub(super) key: &'static Key,
    /// At least one.
    pub(super) values: Vec<Text>,
    /// Written as a list: an axis, even of one value.
    pub(super) is_axis: bool,
}

impl Setting {
    /// A setting whose every value its key takes.
    ///
    /// # Errors
    /// What is wrong with the values.
    pub(super) fn checked(
        slot: Slot,
        key: &'static Key,
        values: Vec<Text>,
        is_axis: bool,
        at: &Origin,
    ) -> Result<Self, Vec<ScenarioProblem>> {
        let setting = Self { slot, key, values, is_axis };
        let mut problems = setting.list_problems(at);
        problems.extend(setting.values.iter().filter_map(|value| setting.value_problem(value)));
        if problems.is_empty() { Ok(setting) } else { Err(problems) }
    }

    /// The path for messages where the number of flows isn't known.
    fn path(&self) -> String {
        self.slot.path(1)
    }

    fn list_problems(&self, at: &Origin) -> Vec<ScenarioProblem> {
        let path = self.path();
        if !self.is_axis {
            return Vec::new();
        }
        if !self.key.axis {
            let help = format!("write one value: {}", self.key.kind.describe());
            return vec![ScenarioProblem::new(at, format!("{path} takes one value, not a list"), help)];
        }
        if self.values.is_empty() {
            let help = format!("write at least one value, e.g. [\"{}\"]", self.key.example);
            return vec![ScenarioProblem::new(at, format!("{path}: the list is empty"), help)];
        }
        let mut seen = BTreeSet::new();
        self.values
            .iter()
            .filter(|value| !seen.insert(&value.text))
            .map(|value| {
                ScenarioProblem::new(
                    &value.origin,
                    format!("{path}: \"{}\" is in the list twice", value.text),
                    "leave one out; run.repeat says how often a cell is run",
                )
            })
            .collect()
    }

    fn value_problem(&self, value: &Text) -> Option<ScenarioProblem> {
        let slot = Slot { flow: None, ..self.slot.clone() };
        let error = slot.apply(self.key, &value.text, &mut Draft::new(1)).err()?;
        let message = format!("{}: {}", self.path(), error.message);
        Some(ScenarioProblem::new(&value.origin, message, error.help))
    }
}

/// Settings in file order.
#[derive(Debug, Clone, Default)]
pub(super) struct Layer {
    pub(super) settings: Vec<Setting>,
    /// Number of flow tables, where the layer lists flows.
    pub(super) flows: Option<usize>,
    /// Whether the layer lists changes of the path.
    pub(super) lists_changes: bool,
}

impl Layer {
    /// Lays `top` over this layer. A list of flows replaces the flows, a list of changes the changes; any other key replaces the same key where it
    /// stands; a key for every flow replaces that of each; an application replaces the parameters of another.
    pub(super) fn overlay(&mut self, top: &Self) {
        if top.flows.is_some() {
            self.flows = top.flows;
            self.settings.retain(|setting| setting.slot.section != Section::Flow);
        }
        if top.lists_changes {
            self.settings.retain(|setting| !setting.slot.name.starts_with(CHANGE));
        }
        for setting in &top.settings {
            self.put(setting.clone());
        }
    }

    /// Number of flows; one where none is listed.
    pub(super) fn flow_count(&self) -> usize {
        self.flows.unwrap_or(1)
    }

    /// The setting that decides a slot: its own, or that for every flow; the later one where both are.
    pub(super) fn deciding(&self, slot: &Slot) -> Option<&Setting> {
        self.settings.iter().rfind(|setting| {
            setting.slot == *slot
                || (setting.slot.flow.is_none()
                    && setting.slot.section == slot.section
                    && setting.slot.name == slot.name)
        })
    }

    fn put(&mut self, setting: Setting) {
        let slot = setting.slot.clone();
        let replaces = |old: &Setting| slot.replaces(&old.slot);
        match self.settings.iter().position(replaces) {
            Some(at) => {
                let mut index = 0;
                self.settings.retain(|old| {
                    index += 1;
                    index - 1 == at || !replaces(old)
                });
                self.settings[at] = setting;
            }
            None => self.settings.push(setting),
        }
    }
}

/// What to say of a key that `section` doesn't have: message and help.
pub(super) fn unknown_key(section: Section, name: &str) -> (String, String) {
    let message = format!("unknown key \"{name}\" in [{section}]");
    let known: Vec<&str> = Key::of(section).map(|key| key.name.trim_end_matches('.')).collect();
    if let Some(word) = nearest(name, &known) {
        return (message, format!("did you mean \"{word}\"?"));
    }
    let elsewhere =
        Section::ALL.into_iter().find(|other| name != SYSCTL && Key::find(*other, name).is_some());
    let help = match elsewhere {
        Some(other) => format!("\"{name}\" belongs in [{other}]"),
        None => format!("the keys of [{section}] are: {}", known.join(", ")),
    };
    (message, help)
}

/// What to say of an unknown name at the top of a scenario, a variant or `--set`; `extra` are names allowed beside the
/// sections.
pub(super) fn unknown_table(name: &str, extra: &[&'static str]) -> (String, String) {
    let message = format!("unknown key \"{name}\"");
    let known: Vec<&str> = extra.iter().copied().chain(Section::ALL.map(Section::name)).collect();
    let help = if let Some(word) = nearest(name, &known) {
        format!("did you mean \"{word}\"?")
    } else if let Some(section) = Section::ALL.into_iter().find(|section| Key::find(*section, name).is_some())
    {
        format!("\"{name}\" belongs in [{section}]")
    } else if TOP.iter().any(|(top, _)| *top == name) {
        format!("\"{name}\" belongs at the top of the scenario")
    } else {
        format!("the keys here are: {}", known.join(", "))
    };
    (message, help)
}
