//! Numbers with a unit: the units of each kind, and the errors of all.

use super::ParseError;
use super::decimal::{Decimal, Misfit};
use crate::units::Rate;

/// A kind of quantity: its units and how to speak of it.
pub(super) struct Quantity {
    /// With its article, for messages.
    noun: &'static str,
    /// What the result counts, for messages.
    counted: &'static str,
    /// Name and factor; ascending.
    units: &'static [(&'static str, u64)],
    /// What a bare number most likely meant.
    likely: &'static str,
    /// A remedy for an unknown unit behind a number.
    remedy: fn(number: &str, unit: &str) -> Option<String>,
}

pub(super) const RATE: Quantity = Quantity {
    noun: "a rate",
    counted: "bits per second",
    units: &[
        ("bit", 1),
        ("kbit", 1_000),
        ("mbit", 1_000_000),
        ("gbit", 1_000_000_000),
        ("tbit", 1_000_000_000_000),
    ],
    likely: "mbit",
    remedy: rate_remedy,
};

pub(super) const BYTES: Quantity = Quantity {
    noun: "a size",
    counted: "bytes",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
    ],
    likely: "B",
    remedy: bytes_remedy,
};

pub(super) const DURATION: Quantity = Quantity {
    noun: "a duration",
    counted: "nanoseconds",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    likely: "ms",
    remedy: duration_remedy,
};

impl Quantity {
    /// The value in the smallest unit, exact.
    pub(super) fn parse(&self, text: &str) -> Result<u64, ParseError> {
        let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(at);
        let Some(decimal) = Decimal::parse(number) else {
            return Err(self.not_a_number(text, number));
        };
        if unit.is_empty() {
            return Err(ParseError::new(
                format!("\"{text}\": {} needs a unit", self.noun),
                format!("write \"{text}{}\"", self.likely),
            ));
        }
        let Some((_, factor)) = self.units.iter().find(|(name, _)| *name == unit) else {
            return Err(self.unknown_unit(text, number, unit));
        };
        decimal.times(*factor).map_err(|misfit| self.misfit(text, misfit))
    }

    fn example(&self) -> String {
        format!("write e.g. \"10{}\"", self.likely)
    }

    fn not_a_number(&self, text: &str, number: &str) -> ParseError {
        if text.starts_with('-') {
            return ParseError::new(format!("\"{text}\": {} can't be negative", self.noun), self.example());
        }
        if number.is_empty() {
            return ParseError::new(
                format!("\"{text}\" is not {}: it does not begin with a number", self.noun),
                self.example(),
            );
        }
        ParseError::new(
            format!("\"{text}\": \"{number}\" is not a decimal number of up to 24 digits"),
            self.example(),
        )
    }

    fn unknown_unit(&self, text: &str, number: &str, unit: &str) -> ParseError {
        let names: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
        let bare: String = unit.split_whitespace().collect();
        let help = if names.contains(&bare.as_str()) {
            format!("write it without spaces: \"{number}{bare}\"")
        } else {
            (self.remedy)(number, &bare)
                .unwrap_or_else(|| format!("the units are {}; {}", names.join(", "), self.example()))
        };
        ParseError::new(format!("\"{text}\": \"{}\" is not a unit of {}", unit, self.noun), help)
    }

    fn misfit(&self, text: &str, misfit: Misfit) -> ParseError {
        let message = match misfit {
            Misfit::TooLarge => format!("\"{text}\" is too large"),
            Misfit::Fraction => format!("\"{text}\" is not a whole number of {}", self.counted),
        };
        let (smallest, _) = self.units[0];
        ParseError::new(message, format!("write a whole number of {smallest}, below 2^64"))
    }
}

/// `100Mbit`, `100Mbps`, `100Mbit/s`, `1Gibit`.
fn rate_remedy(number: &str, unit: &str) -> Option<String> {
    let lower = unit.to_ascii_lowercase();
    let prefix = lower.chars().next().filter(|c| "kmgt".contains(*c))?;
    if lower[1..].starts_with("ib") {
        let power = 1 + "kmgt".find(prefix)?;
        let factor = 1024_u64.checked_pow(u32::try_from(power).ok()?)?;
        let bps = Decimal::parse(number)?.times(factor).ok()?;
        return Some(format!("rates are powers of ten here: write \"{}\"", Rate::from_bps(bps)));
    }
    let bytes = lower.ends_with("bps") || unit.ends_with("B/s");
    let note = if bytes { " if bits are meant (tc reads \"bps\" as bytes per second)" } else { "" };
    Some(format!("write \"{number}{prefix}bit\"{note}"))
}

/// `64K`, `64KB`, `64kib`.
fn bytes_remedy(number: &str, unit: &str) -> Option<String> {
    let (binary, decimal) = match unit.to_ascii_lowercase().chars().next()? {
        'k' => ("KiB", "kB"),
        'm' => ("MiB", "MB"),
        'g' => ("GiB", "GB"),
        'b' => return Some(format!("write \"{number}B\"")),
        _ => return None,
    };
    // `print_size()` of iproute2: 1024 bytes are a Kb.
    if unit.len() == 2 && unit.ends_with('b') {
        return Some(format!("write \"{number}{binary}\", which tc calls {number}{unit}"));
    }
    Some(format!("write \"{number}{binary}\" (powers of 1024) or \"{number}{decimal}\" (powers of 1000)"))
}

/// `10sec`, `10µs`, `1m`, `10msec`.
fn duration_remedy(number: &str, unit: &str) -> Option<String> {
    let lower = unit.to_lowercase();
    let meant = match lower.as_str() {
        "hr" | "hrs" | "hour" | "hours" | "h" => "h",
        "m" | "mins" | "minute" | "minutes" | "min" => "min",
        "sec" | "secs" | "second" | "seconds" | "s" => "s",
        "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" | "ms" => "ms",
        "usec" | "usecs" | "µs" | "μs" | "microsecond" | "microseconds" | "us" => "us",
        "nsec" | "nanos" | "nanosecond" | "nanoseconds" | "ns" => "ns",
        _ => return None,
    };
    Some(format!("write \"{number}{meant}\""))
}
