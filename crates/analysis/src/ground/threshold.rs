//! What a threshold is: a number that a rule or an inference compares with, its unit and where its value comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A threshold's value in one judgement. [`super::thresholds::ABOUT`] describes it at its index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    index: u16,
    value: f64,
}

/// What a threshold is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A part of a whole, from 0 to 1.
    Share,
    /// A ratio of two quantities of one kind.
    Times,
    /// A number of things.
    Count,
    /// Round trips.
    RoundTrips,
    /// Microseconds.
    Microseconds,
    /// Bytes.
    Bytes,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A function or constant of Linux.
    Kernel(&'static str),
    /// A section of an RFC.
    Rfc(&'static str),
    /// A publication.
    Paper(&'static str),
    /// The scenarios of the catalogue: the value tells their causes apart.
    Catalogue,
}

/// Who compares with a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// What is inferred from the evidence before a rule is asked.
    Infer,
    /// The rules.
    Judge,
}

/// A threshold as the guide lists it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThresholdAbout {
    /// Its name in `rule` traces, the guide and `catalogue --perturb`.
    pub name: &'static str,
    /// Who compares with it.
    pub layer: Layer,
    /// Its unit.
    pub unit: Unit,
    /// Its value where nothing else is said.
    pub value: f64,
    /// Where that comes from.
    pub source: Source,
    /// What is compared with it, in a sentence or two.
    pub about: &'static str,
}

impl Threshold {
    pub(super) const fn new(index: u16, value: f64) -> Self {
        Self { index, value }
    }

    /// Its index in [`super::thresholds::ABOUT`].
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// Its value, in its unit.
    pub const fn value(self) -> f64 {
        self.value
    }

    /// Its value as a whole number, rounded.
    pub fn whole(self) -> u64 {
        self.value.round() as u64
    }

    /// The same for a number of things.
    pub fn count(self) -> usize {
        usize::try_from(self.whole()).unwrap_or(usize::MAX)
    }

    /// The same threshold with its value `factor` times as large.
    #[must_use]
    pub fn moved(self, factor: f64) -> Self {
        Self { value: self.value * factor, ..self }
    }
}

/// Compares values with thresholds.
pub(crate) trait Compare {
    /// Whether `value` is the threshold or more.
    fn at_least(&mut self, threshold: Threshold, value: f64) -> bool;

    /// Whether `value` is more than the threshold.
    fn above(&mut self, threshold: Threshold, value: f64) -> bool;

    /// Whether `value` is less than the threshold.
    fn below(&mut self, threshold: Threshold, value: f64) -> bool {
        !self.at_least(threshold, value)
    }

    /// Whether `value` is the threshold or less.
    fn at_most(&mut self, threshold: Threshold, value: f64) -> bool {
        !self.above(threshold, value)
    }
}

/// Compares, and records nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Untraced;

impl Compare for Untraced {
    fn at_least(&mut self, threshold: Threshold, value: f64) -> bool {
        value >= threshold.value()
    }

    fn above(&mut self, threshold: Threshold, value: f64) -> bool {
        value > threshold.value()
    }
}

impl Unit {
    /// The unit in a table; empty for a ratio.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Times => "×",
            Self::Count => "",
            Self::RoundTrips => "round trips",
            Self::Microseconds => "µs",
            Self::Bytes => "B",
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kernel(name) => write!(f, "Linux, `{name}`"),
            Self::Rfc(section) => write!(f, "RFC {section}"),
            Self::Paper(name) => f.write_str(name),
            Self::Catalogue => f.write_str("catalogue"),
        }
    }
}
