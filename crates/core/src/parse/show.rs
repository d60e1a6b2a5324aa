//! Units as text. Whatever is printed here, [`super`] reads back as the same value.

use crate::units::{Bytes, QueueLimit, Rate, Ratio};
use std::fmt;
use std::time::Duration;

/// A duration in the largest unit that it reaches: `10ms`, `1.5s`, `250us`; zero is `0s`. Above 2^64 ns it saturates.
pub fn duration_text(value: Duration) -> String {
    let nanos = u64::try_from(value.as_nanos()).unwrap_or(u64::MAX);
    let (exponent, unit) = match nanos {
        0 | 1_000_000_000.. => (9, "s"),
        1_000_000.. => (6, "ms"),
        1_000.. => (3, "us"),
        _ => (0, "ns"),
    };
    format!("{}{unit}", shifted(nanos, exponent))
}

impl fmt::Display for Rate {
    /// In the largest unit that it reaches, exact: `1.5gbit`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (exponent, unit) = match self.bps() {
            1_000_000_000_000.. => (12, "tbit"),
            1_000_000_000.. => (9, "gbit"),
            1_000_000.. => (6, "mbit"),
            1_000.. => (3, "kbit"),
            _ => (0, "bit"),
        };
        write!(f, "{}{unit}", shifted(self.bps(), exponent))
    }
}

impl fmt::Display for Bytes {
    /// In the largest power of two that divides it (`6MiB`), otherwise in bytes (`312500B`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.get();
        let (shift, unit) = match bytes.trailing_zeros() {
            _ if bytes == 0 => (0, "B"),
            30.. => (30, "GiB"),
            20.. => (20, "MiB"),
            10.. => (10, "KiB"),
            _ => (0, "B"),
        };
        write!(f, "{}{unit}", bytes >> shift)
    }
}

impl fmt::Display for Ratio {
    /// In per cent, exact: `0.01%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The shortest decimal of the fraction, its point moved by two places: no second rounding.
        let text = format!("{}", self.fraction());
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let digits = format!("{whole}{fraction:0<2}");
        let (whole, fraction) = digits.split_at(whole.len() + 2);
        let whole = whole.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole };
        let point = if fraction.is_empty() { "" } else { "." };
        write!(f, "{whole}{point}{fraction}%")
    }
}

impl fmt::Display for QueueLimit {
    /// `256KiB`, `1000p`, `0.5bdp`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Packets(packets) => write!(f, "{packets}p"),
            Self::Bdp(multiple) => write!(f, "{multiple}bdp"),
        }
    }
}

/// `value ÷ 10^exponent` in decimal, without trailing zeros.
fn shifted(value: u64, exponent: u32) -> String {
    let unit = 10_u64.pow(exponent);
    let (whole, rest) = (value / unit, value % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let width = exponent as usize;
    let fraction = format!("{rest:0width$}");
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}
