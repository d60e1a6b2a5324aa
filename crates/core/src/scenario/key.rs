//! What a key is: where it stands, what it takes, and where its value goes.

use super::bounds::CHANGES_MAX;
use super::draft::{ChangeDraft, Draft, FlowDraft, HostDraft, HostsDraft, PathDraft, RunDraft};
use super::section::Section;
use crate::cell::Expectation;
use crate::parse::ParseError;

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// `"10ms"`
    Duration,
    /// `"100mbit"`
    Rate,
    /// `"256KiB"`
    Bytes,
    /// `"256KiB"`, `"1000p"`, `"1bdp"`
    Queue,
    /// `"1%"`
    Ratio,
    /// `3`
    Count,
    /// `true`
    Flag,
    /// One of a few words, or a name.
    Word,
    /// `"1%"`, `"gilbert-elliott p=1% r=20%"`, `"packets 3,7,9-12"`
    Loss,
    /// `"4096 131072 6MiB"`
    Buffers,
    /// `"64B 1400B 65500B"`
    Sizes,
    /// `"bulk"`, `{ kind = "requests", response = "64KiB" }`
    Application,
    /// `"fq_codel"`, `{ kind = "codel", target = "5ms" }`
    Aqm,
    /// `["300B", "1200B"]`
    Writes,
    /// A rate over time: `"lte-driving"`, or a file's name.
    Trace,
    /// A delay over time: `"starlink"`, or a file's name.
    DelayTrace,
    /// A loss over time: `"lte-handover"`, or a file's name.
    LossTrace,
    /// `"lte"`
    Profile,
    /// A sysctl's value, in its own form.
    Sysctl,
    /// `">= 95% of rate"`
    Expectation,
}

impl KeyKind {
    /// With its article, for messages and the reference.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Duration => "a duration, e.g. \"10ms\"",
            Self::Rate => "a rate, e.g. \"100mbit\"",
            Self::Bytes => "a size, e.g. \"256KiB\"",
            Self::Queue => "a limit in bytes, packets or BDPs, e.g. \"256KiB\", \"1000p\", \"1bdp\"",
            Self::Ratio => "a share in per cent, e.g. \"1%\"",
            Self::Count => "a whole number",
            Self::Flag => "true or false",
            Self::Word => "a word",
            Self::Loss => "\"1%\", \"gilbert-elliott p=1% r=20%\" or \"packets 3,7,9-12\"",
            Self::Buffers => "minimum, default and maximum, e.g. \"4096 131072 6MiB\"",
            Self::Sizes => "sizes separated by spaces, e.g. \"64B 1400B 65500B\"",
            Self::Application => "\"bulk\", or a table, e.g. { kind = \"requests\", response = \"64KiB\" }",
            Self::Aqm => "\"fq_codel\", or a table, e.g. { kind = \"codel\", target = \"5ms\" }",
            Self::Writes => "a list of sizes, e.g. [\"300B\", \"1200B\"]",
            Self::Trace => "the name of a trace or of a file, e.g. \"lte-driving\"",
            Self::DelayTrace => "the name of a trace or of a file, e.g. \"starlink\"",
            Self::LossTrace => "the name of a trace or of a file, e.g. \"lte-handover\"",
            Self::Profile => "the name of a profile, e.g. \"lte\"",
            Self::Sysctl => "the sysctl's value in its own form",
            Self::Expectation => "a comparison, e.g. \">= 95% of rate\"",
        }
    }
}

/// One key of the scenario.
#[derive(Debug)]
pub struct Key {
    /// Where it may stand.
    pub sections: &'static [Section],
    /// Its name; `sysctl.` stands for every name below it.
    pub name: &'static str,
    /// What it takes.
    pub kind: KeyKind,
    /// What holds where it is absent; `None` = see `doc`.
    pub default: Option<&'static str>,
    /// A value that it takes.
    pub example: &'static str,
    /// What it means, in one or two sentences.
    pub doc: &'static str,
    /// Whether a list of values makes an axis of the matrix.
    pub axis: bool,
    pub(super) set: Setter,
}

/// Where a key's value goes: parses the text into the draft of its section.
#[derive(Debug)]
pub(super) enum Setter {
    Path(fn(&mut PathDraft, &str) -> Result<(), ParseError>),
    /// A key of a `[[path.change]]`, whose number is in the slot's name.
    Change(fn(&mut ChangeDraft, &str) -> Result<(), ParseError>),
    Host(fn(&mut HostDraft, &str) -> Result<(), ParseError>),
    Sysctl(fn(&mut HostDraft, name: &str, &str) -> Result<(), ParseError>),
    Flow(fn(&mut FlowDraft, &str) -> Result<(), ParseError>),
    /// A parameter of a flow's application, by its name behind `app.`.
    Application(fn(&mut FlowDraft, name: &str, &str) -> Result<(), ParseError>),
    Run(fn(&mut RunDraft, &str) -> Result<(), ParseError>),
    Expect(fn(&str) -> Result<Expectation, ParseError>),
    Hosts(fn(&mut HostsDraft, &str) -> Result<(), ParseError>),
}

/// The prefix of the free table of sysctls.
pub(super) const SYSCTL: &str = "sysctl.";
/// The prefix of the parameters of an application.
pub(super) const APP: &str = "app.";
/// The prefix of the keys of a `[[path.change]]`.
pub(super) const CHANGE: &str = "change.";

/// The number and the key of a slot's name such as `change.0.rate`.
pub(super) fn numbered_change(name: &str) -> Option<(usize, &str)> {
    let (number, key) = name.strip_prefix(CHANGE)?.split_once('.')?;
    Some((number.parse().ok().filter(|number| *number < CHANGES_MAX)?, key))
}

/// The place of one value: a section, the flow where it is one of several, and a key's name (with the sysctl's own).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) section: Section,
    /// `None`: not in a flow, or in every flow.
    pub(super) flow: Option<usize>,
    pub(super) name: String,
}

impl Slot {
    pub(super) fn new(section: Section, name: &str) -> Self {
        Self { section, flow: None, name: name.to_owned() }
    }

    pub(super) fn in_flow(flow: usize, name: &str) -> Self {
        Self { flow: Some(flow), ..Self::new(Section::Flow, name) }
    }

    /// The path in axes and messages: `path.rtt`, `flow.bitrate`, or `flow.1.bitrate` where there are several flows.
    pub(super) fn path(&self, flows: usize) -> String {
        match self.flow {
            Some(flow) if flows > 1 => format!("flow.{flow}.{}", self.name),
            _ => format!("{}.{}", self.section, self.name),
        }
    }

    /// Parses `text` into the draft.
    pub(super) fn apply(&self, key: &Key, text: &str, draft: &mut Draft) -> Result<(), ParseError> {
        match key.set {
            Setter::Path(set) => set(&mut draft.path, text),
            Setter::Change(set) => {
                let (number, _) = numbered_change(&self.name).unwrap_or_default();
                let changes = &mut draft.path.changes;
                changes.resize(changes.len().max(number + 1), ChangeDraft::default());
                set(&mut changes[number], text)
            }
            Setter::Run(set) => set(&mut draft.run, text),
            Setter::Expect(parse) => draft.expect(parse(text)?),
            Setter::Hosts(set) => set(&mut draft.hosts, text),
            Setter::Host(set) => set(draft.host(self.section), text),
            Setter::Sysctl(set) => {
                let name = self.name.strip_prefix(SYSCTL).unwrap_or(&self.name);
                set(draft.host(self.section), name, text)
            }
            Setter::Flow(set) => self.in_flows(draft, |flow| set(flow, text)),
            Setter::Application(set) => {
                let name = self.name.strip_prefix(APP).unwrap_or(&self.name);
                self.in_flows(draft, |flow| set(flow, name, text))
            }
        }
    }

    /// Does `set` to the slot's flow, or to all.
    fn in_flows(
        &self,
        draft: &mut Draft,
        set: impl Fn(&mut FlowDraft) -> Result<(), ParseError>,
    ) -> Result<(), ParseError> {
        match self.flow {
            Some(flow) => draft.flows.get_mut(flow).map_or(Ok(()), set),
            None => draft.flows.iter_mut().try_for_each(set),
        }
    }

    /// Whether a value of this slot takes the place of one of `other`: the same place, or a parameter of what this one replaces.
    pub(super) fn replaces(&self, other: &Self) -> bool {
        let is_name = other.name == self.name
            || (other.section == Section::Flow
                && self.name == APP.trim_end_matches('.')
                && other.name.starts_with(APP));
        let is_flow = self.flow.is_none() || self.flow == other.flow;
        self.section == other.section && is_flow && is_name
    }
}
