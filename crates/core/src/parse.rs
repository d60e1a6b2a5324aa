//! Strict text of units: what a person writes in a scenario or behind an option, and the same text back.
//!
//! Every error says what is wrong *and* what to write instead. Decimal text is scaled exactly, never through a float.

mod decimal;
mod quantity;
mod show;
pub mod tc;

pub use show::duration_text;

use crate::units::{Bytes, QueueLimit, Rate, Ratio};
use decimal::Decimal;
use quantity::{BYTES, DURATION, RATE};
use std::time::Duration;

/// A text that isn't what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct ParseError {
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

impl ParseError {
    /// An error with its remedy.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

/// A rate: `500bit`, `8kbit`, `100mbit`, `1.5gbit`, `1tbit`; powers of ten, as `tc` has them. Never zero.
///
/// # Errors
/// No unit, an unknown one, a part of a bit per second, zero, or more than 64 bits hold.
pub fn rate(text: &str) -> Result<Rate, ParseError> {
    match rate_or_zero(text)? {
        rate if rate.bps() == 0 => Err(ParseError::new(
            format!("\"{text}\": a rate must be above zero"),
            "write a rate above zero, or leave the key out for no limit",
        )),
        rate => Ok(rate),
    }
}

/// A rate as [`rate`] has it, or zero: nothing passes.
///
/// # Errors
/// No unit, an unknown one, a part of a bit per second, or more than 64 bits hold.
pub fn rate_or_zero(text: &str) -> Result<Rate, ParseError> {
    RATE.parse(text).map(Rate::from_bps)
}

/// A size: `1448B`, `256KiB`, `6MiB`, `1GiB` (powers of two), `kB`, `MB`, `GB` (powers of ten).
///
/// # Errors
/// No unit, an unknown one, a part of a byte, or more than 64 bits hold.
pub fn bytes(text: &str) -> Result<Bytes, ParseError> {
    BYTES.parse(text).map(Bytes::new)
}

/// A span of time: `100ns`, `250us`, `10ms`, `1.5s`, `1min`, `1h`.
///
/// # Errors
/// No unit, an unknown one, a part of a nanosecond, or more than 2^64 ns.
pub fn duration(text: &str) -> Result<Duration, ParseError> {
    DURATION.parse(text).map(Duration::from_nanos)
}

/// A share or probability in per cent: `1%`, `0.01%`, at most `100%`.
///
/// # Errors
/// No `%`, not a number, or above 100 %.
pub fn ratio(text: &str) -> Result<Ratio, ParseError> {
    let number = text.strip_suffix('%').unwrap_or(text);
    let Some(decimal) = Decimal::parse(number) else {
        return Err(ParseError::new(
            format!("\"{text}\" is not a share in per cent"),
            "write e.g. \"1%\" or \"0.01%\"",
        ));
    };
    let fraction = decimal.over_power_of_ten(2);
    if !text.ends_with('%') {
        let help = match fraction * 100.0 {
            // Ten digits are left of what f64 makes of it.
            share @ ..=1.0 => {
                let percent = (share * 1e10).round() / 1e8;
                format!("write \"{percent}%\" for a share of {text}, or \"{text}%\" for {text} per cent")
            }
            _ => format!("write \"{text}%\""),
        };
        return Err(ParseError::new(format!("\"{text}\": a share needs a per cent sign"), help));
    }
    if fraction > 1.0 {
        return Err(ParseError::new(format!("\"{text}\" is more than 100%"), "write at most \"100%\""));
    }
    Ok(Ratio::from_fraction(fraction))
}

/// What a queue may hold: a size (`312500B`, `256KiB`), packets (`1000p`) or BDPs (`1bdp`, `0.5bdp`). Never zero.
///
/// # Errors
/// No unit, an unknown one, part of a packet, or zero.
pub fn queue_limit(text: &str) -> Result<QueueLimit, ParseError> {
    let limit = if let Some(number) = text.strip_suffix("bdp") {
        QueueLimit::Bdp(multiple(text, number)?)
    } else if let Some(number) = text.strip_suffix('p') {
        QueueLimit::Packets(packets(text, number)?)
    } else if Decimal::parse(text).is_some() {
        return Err(ParseError::new(
            format!("\"{text}\": a queue's limit needs a unit"),
            format!("write \"{text}p\" (packets), \"{text}B\" (bytes) or \"{text}bdp\" (rate × rtt)"),
        ));
    } else {
        QueueLimit::Bytes(bytes(text).map_err(|error| queue_help(text, error))?)
    };
    match limit {
        QueueLimit::Bytes(bytes) if bytes.get() == 0 => Err(empty_queue(text)),
        QueueLimit::Packets(0) => Err(empty_queue(text)),
        QueueLimit::Bdp(0.0) => Err(empty_queue(text)),
        limit => Ok(limit),
    }
}

/// A whole number, decimal digits only.
///
/// # Errors
/// Anything else, or more than 64 bits hold.
pub fn count(text: &str) -> Result<u64, ParseError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits => Ok(number),
        _ if digits => {
            Err(ParseError::new(format!("\"{text}\" is too large"), format!("write at most {}", u64::MAX)))
        }
        _ => Err(ParseError::new(format!("\"{text}\" is not a whole number"), "write digits only, e.g. 3")),
    }
}

/// `true` or `false`.
///
/// # Errors
/// Any other word.
pub fn flag(text: &str) -> Result<bool, ParseError> {
    one_of(text, &[("true", true), ("false", false)])
}

/// Three sizes as a sysctl has them, `"4096 131072 6MiB"`: minimum ≤ default ≤ maximum. Here alone a bare number is bytes.
/// Returned in the kernel's form: `4096 131072 6291456`.
///
/// # Errors
/// Not three values, a value that isn't a size, values out of order, or above the kernel's `INT_MAX`.
pub fn sysctl_triple(text: &str) -> Result<String, ParseError> {
    const HELP: &str = "write minimum, default and maximum, e.g. \"4096 131072 6MiB\"";
    let sizes: Vec<u64> = text
        .split_ascii_whitespace()
        .map(|part| count(part).or_else(|_| bytes(part).map(Bytes::get)))
        .collect::<Result<_, _>>()?;
    let [min, default, max] = sizes[..] else {
        return Err(ParseError::new(format!("\"{text}\" has {} of 3 values", sizes.len()), HELP));
    };
    if min > default || default > max {
        return Err(ParseError::new(
            format!("\"{text}\": the values must be ascending: minimum ≤ default ≤ maximum"),
            HELP,
        ));
    }
    if min == 0 || max > i32::MAX.unsigned_abs().into() {
        return Err(ParseError::new(format!("\"{text}\": each value must be 1 to {} bytes", i32::MAX), HELP));
    }
    Ok(format!("{min} {default} {max}"))
}

/// One of a fixed set of words.
///
/// # Errors
/// Any other word; the help names the nearest one, or all.
pub fn one_of<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, ParseError> {
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(*value);
    }
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let help = nearest(text, &known).map_or_else(
        || format!("write one of: {}", known.join(", ")),
        |word| format!("did you mean \"{word}\"? The values are: {}", known.join(", ")),
    );
    Err(ParseError::new(format!("unknown value \"{text}\""), help))
}

/// Nothing longer is taken for a mistyped word, in bytes.
const LONGEST_WORD: usize = 100;

/// The word of `known` that `text` most likely stands for: within a third of its letters by Damerau and Levenshtein's
/// distance, ties by Jaro and Winkler's, which favours the same beginning. `None` where nothing is near.
pub fn nearest<'a>(text: &str, known: &[&'a str]) -> Option<&'a str> {
    // No word is as long; comparing takes time and memory in proportion to the text.
    if text.len() > LONGEST_WORD {
        return None;
    }
    let lower = text.to_lowercase();
    let scored = known.iter().map(|word| {
        let other = word.to_lowercase();
        let distance = strsim::damerau_levenshtein(&lower, &other);
        (distance, 1.0 - strsim::jaro_winkler(&lower, &other), *word)
    });
    let (distance, _, word) = scored.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))?;
    (distance <= word.chars().count().div_ceil(3)).then_some(word)
}

fn multiple(text: &str, number: &str) -> Result<f64, ParseError> {
    Decimal::parse(number).map(|decimal| decimal.over_power_of_ten(0)).ok_or_else(|| {
        ParseError::new(
            format!("\"{text}\" is not a multiple of the BDP"),
            "write e.g. \"1bdp\" or \"0.5bdp\"",
        )
    })
}

fn packets(text: &str, number: &str) -> Result<u64, ParseError> {
    count(number).map_err(|_| {
        ParseError::new(format!("\"{text}\" is not a whole number of packets"), "write e.g. \"1000p\"")
    })
}

fn queue_help(text: &str, error: ParseError) -> ParseError {
    let starts_with_digit = text.starts_with(|c: char| c.is_ascii_digit());
    if starts_with_digit {
        return ParseError::new(
            error.message,
            format!("{}; packets are \"1000p\", multiples of rate × rtt \"0.5bdp\"", error.help),
        );
    }
    ParseError::new(
        format!("\"{text}\" is not a queue's limit"),
        "write e.g. \"256KiB\", \"1000p\" (packets) or \"1bdp\" (rate × rtt)",
    )
}

fn empty_queue(text: &str) -> ParseError {
    ParseError::new(
        format!("\"{text}\": a queue must hold at least one packet"),
        "write at least one packet, e.g. \"1p\"",
    )
}

#[cfg(test)]
mod tests;
