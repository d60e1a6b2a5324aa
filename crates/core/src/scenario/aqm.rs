//! The text of a queue's discipline, and the table of its parameters.

use super::bounds::{bytes, count_within, duration};
use super::draft::{AqmDraft, AqmKind};
use super::parameters::{Parameter, Parameters, parameter};
use crate::parse::{ParseError, flag, ratio};
use crate::units::Bytes;
use std::time::Duration;

/// Most queues that flows are hashed to (`fq_codel_change()`).
const FLOWS_MAX: u32 = 65_536;
/// The shortest time between two updates of a controller.
const UPDATE_MIN: Duration = Duration::from_millis(1);
/// The smallest quantum (`fq_codel_change()`).
const QUANTUM_MIN: u64 = 256;
/// The largest weight of a controller.
const WEIGHT_MAX: f64 = 1_000.0;
/// Most packets of a batch or of a burst.
const PACKETS_MAX: u32 = 1_000_000;

/// Kinds and parameters.
const AQM: Parameters<AqmDraft, AqmKind> = Parameters {
    kinds: &[
        ("droptail", AqmKind::Droptail),
        ("drophead", AqmKind::Drophead),
        ("codel", AqmKind::Codel),
        ("fq_codel", AqmKind::FqCodel),
        ("pie", AqmKind::Pie),
        ("red", AqmKind::Red),
        ("dualpi2", AqmKind::Dualpi2),
    ],
    all: PARAMETERS,
};

const CODELS: &[AqmKind] = &[AqmKind::Codel, AqmKind::FqCodel];
const FQ: &[AqmKind] = &[AqmKind::FqCodel];
const CONTROLLERS: &[AqmKind] = &[AqmKind::Pie, AqmKind::Dualpi2];
const RED: &[AqmKind] = &[AqmKind::Red];
const DUALPI2: &[AqmKind] = &[AqmKind::Dualpi2];
const WITH_TARGET: &[AqmKind] = &[AqmKind::Codel, AqmKind::FqCodel, AqmKind::Pie, AqmKind::Dualpi2];

/// All of them.
#[rustfmt::skip]
const PARAMETERS: &[Parameter<AqmDraft, AqmKind>] = &[
    parameter!(target, WITH_TARGET, positive_duration),
    parameter!(interval, CODELS, positive_duration),
    parameter!(flows, FQ, |text| count_within(text, 1, FLOWS_MAX)),
    parameter!(quantum, FQ, quantum),
    parameter!(memory_limit, FQ, positive_bytes),
    parameter!(drop_batch, FQ, |text| count_within(text, 1, PACKETS_MAX)),
    parameter!(tupdate, CONTROLLERS, update_interval),
    parameter!(alpha, CONTROLLERS, weight),
    parameter!(beta, CONTROLLERS, weight),
    parameter!(min, RED, positive_bytes),
    parameter!(max, RED, positive_bytes),
    parameter!(probability, RED, ratio),
    parameter!(avpkt, RED, positive_bytes),
    parameter!(burst, RED, |text| count_within(text, 1, PACKETS_MAX)),
    parameter!(adaptive, RED, flag),
    parameter!(harddrop, RED, flag),
    parameter!(coupling, DUALPI2, weight),
    parameter!(step, DUALPI2, positive_duration),
];

/// `fq_codel`, `codel target=5ms interval=100ms`.
pub(super) fn parse(text: &str) -> Result<AqmDraft, ParseError> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let kind = kind(word)?;
    let mut draft = AqmDraft { kind, ..AqmDraft::default() };
    for part in rest.split_ascii_whitespace() {
        check_place(kind, part.split('=').next().unwrap_or(part))?;
    }
    AQM.read(kind, rest, &mut draft)?;
    draft.check()?;
    Ok(draft)
}

/// The kind that `word` names.
pub(super) fn kind(word: &str) -> Result<AqmKind, ParseError> {
    AQM.kind(word)
}

/// Checks one parameter by itself.
pub(super) fn check_parameter(kind: AqmKind, name: &str, value: &str) -> Result<(), ParseError> {
    check_place(kind, name)?;
    (AQM.find(kind, name, name)?.set)(&mut AqmDraft::default(), value)
}

/// Refuses what is a key of its own here, or a parameter of other kinds alone, and says where it belongs.
fn check_place(kind: AqmKind, name: &str) -> Result<(), ParseError> {
    let owners = PARAMETERS.iter().find(|parameter| parameter.name == name).map(|parameter| parameter.kinds);
    let help = match (name, owners) {
        ("ecn", _) => "write ecn = true beside aqm".to_owned(),
        ("limit", _) => "write queue = \"1000p\" beside aqm: it is the limit".to_owned(),
        (_, Some(owners)) if !owners.contains(&kind) => {
            let words: Vec<&str> = owners.iter().map(|owner| AQM.word(*owner)).collect();
            format!("leave it out, or write kind = \"{}\"", words.join("\" or \""))
        }
        _ => return Ok(()),
    };
    Err(ParseError::new(format!("\"{name}\" is not a parameter of {}", AQM.word(kind)), help))
}

impl AqmDraft {
    /// Rules between parameters, defaults included where they are constants.
    fn check(&self) -> Result<(), ParseError> {
        let is_codel = CODELS.contains(&self.kind);
        let target = self.target.unwrap_or(CODEL_TARGET);
        let interval = self.interval.unwrap_or(CODEL_INTERVAL);
        if is_codel && target >= interval {
            let text = crate::parse::duration_text;
            return Err(ParseError::new(
                format!("the target {} is not below the interval {}", text(target), text(interval)),
                "write an interval of about a round trip and a target of a twentieth of it, e.g. target = \"5ms\", interval = \"100ms\"",
            ));
        }
        if let (Some(min), Some(max)) = (self.min, self.max)
            && min >= max
        {
            return Err(ParseError::new(
                format!("min {min} is not below max {max}"),
                "write e.g. min = \"30kB\", max = \"90kB\"",
            ));
        }
        Ok(())
    }
}

/// Defaults of `codel_params_init()`.
pub(super) const CODEL_TARGET: Duration = Duration::from_millis(5);
pub(super) const CODEL_INTERVAL: Duration = Duration::from_millis(100);

fn positive_duration(text: &str) -> Result<Duration, ParseError> {
    let span = duration(text)?;
    if span.is_zero() {
        return Err(ParseError::new(format!("\"{text}\" is no time"), "write e.g. \"5ms\""));
    }
    Ok(span)
}

/// No shorter than a jiffy of 1000 Hz.
fn update_interval(text: &str) -> Result<Duration, ParseError> {
    let span = duration(text)?;
    if span < UPDATE_MIN {
        return Err(ParseError::new(
            format!("\"{text}\" is too short"),
            "write at least \"1ms\", e.g. \"15ms\"",
        ));
    }
    Ok(span)
}

fn positive_bytes(text: &str) -> Result<Bytes, ParseError> {
    let size = bytes(text)?;
    if size.get() == 0 {
        return Err(ParseError::new(format!("\"{text}\" is no size"), "write e.g. \"30kB\""));
    }
    Ok(size)
}

fn quantum(text: &str) -> Result<Bytes, ParseError> {
    let size = bytes(text)?;
    if size.get() < QUANTUM_MIN {
        return Err(ParseError::new(
            format!("\"{text}\": a quantum is at least {QUANTUM_MIN} bytes"),
            "write e.g. \"1514B\", or \"300B\" to favour small packets",
        ));
    }
    Ok(size)
}

/// A weight of a controller: a number above 0.
fn weight(text: &str) -> Result<f64, ParseError> {
    text.parse()
        .ok()
        .filter(|value: &f64| value.is_finite() && *value > 0.0 && *value <= WEIGHT_MAX)
        .ok_or_else(|| {
            ParseError::new(
                format!("\"{text}\" is not a number above 0, at most {WEIGHT_MAX}"),
                "write e.g. 2",
            )
        })
}
