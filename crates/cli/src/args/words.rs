//! Words that a shell can complete where any text is taken: the error of an unknown one comes from whoever reads it, with what is
//! known there.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
use pipefill_core::scenario::{KEYS, PROFILES, TRACE_MODELS};
use pipefill_runs::own_profiles;
use pipefill_runs::studies::{ALL, STUDIES};
use std::ffi::OsStr;

/// Takes any text, and offers `words` to completions.
#[derive(Debug, Clone)]
pub(crate) struct Words(fn() -> Vec<String>);

/// For `--set`: every key of a scenario, with its `=`.
pub(super) const fn set_words() -> Words {
    Words(assignments)
}

/// For `study`: the built-in studies.
pub(super) const fn study_words() -> Words {
    Words(studies)
}

/// For `--profile`: the built-in profiles.
pub(super) const fn profile_words() -> Words {
    Words(profiles)
}

/// For `--rate-trace`: the built-in traces; a file's name is completed too.
pub(super) const fn trace_words() -> Words {
    Words(traces)
}

fn profiles() -> Vec<String> {
    let own = own_profiles().into_iter();
    let mut names: Vec<String> = PROFILES.iter().map(|profile| profile.name.to_owned()).chain(own).collect();
    names.sort();
    names.dedup();
    names
}

fn traces() -> Vec<String> {
    TRACE_MODELS.iter().map(|model| model.name.to_owned()).collect()
}

fn assignments() -> Vec<String> {
    KEYS.iter()
        .flat_map(|key| key.sections.iter().map(move |section| (section, key.name)))
        .map(
            |(section, name)| {
                if name.ends_with('.') { format!("{section}.{name}") } else { format!("{section}.{name}=") }
            },
        )
        .collect()
}

fn studies() -> Vec<String> {
    STUDIES.iter().map(|study| study.name).chain([ALL]).map(str::to_owned).collect()
}

impl TypedValueParser for Words {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}
