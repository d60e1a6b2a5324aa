//! Quantities as `tc` prints and takes them.

use crate::units::{Bytes, Rate};

/// `10Mbit`, `512Kbit`, `1500bit`; `1Mibit` with `-iec`.
pub fn rate(text: &str) -> Option<Rate> {
    let lower = text.to_ascii_lowercase();
    super::rate(&lower).ok().or_else(|| {
        let at = lower.find(|c: char| c.is_ascii_alphabetic())?;
        let shift = ["kibit", "mibit", "gibit", "tibit"].iter().position(|unit| *unit == &lower[at..])? + 1;
        let number: u64 = lower[..at].parse().ok()?;
        Some(Rate::from_bps(number.checked_mul(1024_u64.checked_pow(u32::try_from(shift).ok()?)?)?))
    })
}

/// `1600b`, `32Kb`, `4Mb`: tc's kilo of bytes is 1024.
pub fn size(text: &str) -> Option<Bytes> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let unit = match &text[at..] {
        "" | "b" => "B",
        "k" | "K" | "Kb" => "KiB",
        "m" | "M" | "Mb" => "MiB",
        "g" | "G" | "Gb" => "GiB",
        _ => return None,
    };
    super::bytes(&format!("{}{unit}", &text[..at])).ok()
}
