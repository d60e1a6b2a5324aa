//! The text of a flow's application, and the table of its parameters.

use super::bounds::{bytes, count_within, duration};
use super::draft::{AppDraft, AppKind, FlowDraft};
use super::parameters::{Parameter, Parameters, parameter};
use crate::parse::{ParseError, count};
use crate::units::Bytes;
use std::time::Duration;

/// Most requests that a client has open.
const OUTSTANDING_MAX: u32 = 1_000;
/// Most writes of a message.
const WRITES_MAX: usize = 64;
/// The largest request, and the largest write of a message.
const WRITE_MAX: u64 = 64 << 20;

/// Kinds and parameters.
pub(super) const APPLICATION: Parameters<AppDraft, AppKind> = Parameters {
    kinds: &[
        ("bulk", AppKind::Bulk),
        ("requests", AppKind::Requests),
        ("bursts", AppKind::Bursts),
        ("window", AppKind::Window),
        ("writes", AppKind::Writes),
    ],
    all: PARAMETERS,
};

/// All of them.
#[rustfmt::skip]
const PARAMETERS: &[Parameter<AppDraft, AppKind>] = &[
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
    let kind = APPLICATION.kind(word)?;
    let mut draft = AppDraft { kind: Some(kind), ..AppDraft::default() };
    APPLICATION.read(kind, rest, &mut draft)?;
    flow.app = draft;
    Ok(())
}

/// Sets the parameter `name`, which the table of keys has as `app.NAME`.
pub(super) fn set_parameter(flow: &mut FlowDraft, name: &str, text: &str) -> Result<(), ParseError> {
    let parameter = PARAMETERS.iter().find(|parameter| parameter.name == name);
    parameter.map_or(Ok(()), |parameter| (parameter.set)(&mut flow.app, text))
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
            "0 is not a valid number of requests",
            "write at least 1, or leave it out for no limit",
        ));
    }
    Ok(number)
}
