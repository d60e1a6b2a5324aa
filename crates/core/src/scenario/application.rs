//! The text of a flow's application, and the table of its parameters.

use super::bounds::{bytes, count_within, duration};
use super::draft::{AppDraft, AppKind, FlowDraft};
use crate::parse::{ParseError, count, nearest, one_of};
use crate::units::Bytes;
use std::time::Duration;

/// Most requests that a client has open.
const OUTSTANDING_MAX: u32 = 1_000;
/// Most writes of a message.
const WRITES_MAX: usize = 64;
/// The largest request, and the largest write of a message.
const WRITE_MAX: u64 = 64 << 20;

/// The kinds by their words.
const KINDS: &[(&str, AppKind)] = &[
    ("bulk", AppKind::Bulk),
    ("requests", AppKind::Requests),
    ("bursts", AppKind::Bursts),
    ("window", AppKind::Window),
    ("writes", AppKind::Writes),
];

impl AppKind {
    /// Its word.
    pub(super) fn name(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// Its parameters.
    fn parameters(self) -> impl Iterator<Item = &'static Parameter> {
        PARAMETERS.iter().filter(move |parameter| parameter.kinds.contains(&self))
    }
}

/// A parameter of an application.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kinds: &'static [AppKind],
    set: fn(&mut AppDraft, &str) -> Result<(), ParseError>,
    pub(super) is_given: fn(&AppDraft) -> bool,
}

/// A row of [`PARAMETERS`].
macro_rules! parameter {
    ($name:ident, $kinds:expr, $parse:expr) => {
        Parameter {
            name: stringify!($name),
            kinds: $kinds,
            set: |draft, text| {
                draft.$name = Some($parse(text)?);
                Ok(())
            },
            is_given: |draft| draft.$name.is_some(),
        }
    };
}

/// All of them.
#[rustfmt::skip]
pub(super) const PARAMETERS: &[Parameter] = &[
    parameter!(request, &[AppKind::Requests], write_size),
    parameter!(response, &[AppKind::Requests, AppKind::Writes], size),
    parameter!(think, &[AppKind::Requests, AppKind::Writes], duration),
    parameter!(outstanding, &[AppKind::Requests], |text| count_within(text, 1, OUTSTANDING_MAX)),
    parameter!(count, &[AppKind::Requests], positive),
    parameter!(pause, &[AppKind::Requests], duration),
    parameter!(size, &[AppKind::Bursts, AppKind::Window], size),
    parameter!(every, &[AppKind::Bursts], interval),
    parameter!(sizes, &[AppKind::Writes], sizes),
];

/// `bulk`, `requests response=64KiB think=20ms`: replaces all that was said about the application.
pub(super) fn set(flow: &mut FlowDraft, text: &str) -> Result<(), ParseError> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let kind = one_of(word, KINDS)?;
    let mut draft = AppDraft { kind: Some(kind), ..AppDraft::default() };
    for part in rest.split_ascii_whitespace() {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let Some(parameter) = kind.parameters().find(|parameter| parameter.name == name) else {
            return Err(ParseError::new(
                format!("\"{part}\" is not a parameter of {}", kind.name()),
                parameters_help(kind, name),
            ));
        };
        if (parameter.is_given)(&draft) {
            return Err(ParseError::new(format!("\"{name}\" is given twice"), "leave one out"));
        }
        (parameter.set)(&mut draft, value)
            .map_err(|error| ParseError::new(format!("{name}: {}", error.message), error.help))?;
    }
    flow.app = draft;
    Ok(())
}

/// Sets the parameter `name`, which the table of keys has as `app.NAME`.
pub(super) fn set_parameter(flow: &mut FlowDraft, name: &str, text: &str) -> Result<(), ParseError> {
    let parameter = PARAMETERS.iter().find(|parameter| parameter.name == name);
    parameter.map_or(Ok(()), |parameter| (parameter.set)(&mut flow.app, text))
}

/// What a kind takes, with the parameter that `name` most likely stands for first.
fn parameters_help(kind: AppKind, name: &str) -> String {
    let known: Vec<&str> = kind.parameters().map(|parameter| parameter.name).collect();
    match nearest(name, &known) {
        Some(word) => format!("did you mean \"{word}\"?"),
        None if known.is_empty() => format!("{} has none", kind.name()),
        None => format!("the parameters of {} are: {}", kind.name(), known.join(", ")),
    }
}

/// At least one byte.
fn size(text: &str) -> Result<Bytes, ParseError> {
    let size = bytes(text)?;
    if size.get() == 0 {
        return Err(ParseError::new(format!("\"{text}\" is nothing to send"), "write at least \"1B\""));
    }
    Ok(size)
}

/// What one write hands over: 1 byte to 64 MiB.
fn write_size(text: &str) -> Result<Bytes, ParseError> {
    let size = size(text)?;
    if size.get() > WRITE_MAX {
        return Err(ParseError::new(format!("\"{text}\" is too large"), "write at most \"64MiB\""));
    }
    Ok(size)
}

/// `300B,1200B`, or with spaces.
fn sizes(text: &str) -> Result<Vec<Bytes>, ParseError> {
    let parts = text.split([',', ' ']).filter(|part| !part.is_empty());
    let sizes: Vec<Bytes> = parts.map(write_size).collect::<Result<_, _>>()?;
    if sizes.is_empty() || sizes.len() > WRITES_MAX {
        return Err(ParseError::new(
            format!("a message is 1 to {WRITES_MAX} writes, not {}", sizes.len()),
            "write e.g. [\"300B\", \"1200B\"]",
        ));
    }
    Ok(sizes)
}

fn interval(text: &str) -> Result<Duration, ParseError> {
    let interval = duration(text)?;
    if interval.is_zero() {
        return Err(ParseError::new(
            format!("\"{text}\" is no interval"),
            "write e.g. \"2s\"; for bursts without a pause leave app out",
        ));
    }
    Ok(interval)
}

fn positive(text: &str) -> Result<u64, ParseError> {
    let number = count(text)?;
    if number == 0 {
        return Err(ParseError::new(
            "0 is no number of requests",
            "write at least 1, or leave it out for no limit",
        ));
    }
    Ok(number)
}
