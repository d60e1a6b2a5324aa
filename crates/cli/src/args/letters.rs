//! Values behind iperf3's letters: as iperf3 reads them, or with this project's own units.

use pipefill_core::parse::{self, ParseError};
use pipefill_core::units::{Bytes, Rate};
use std::time::Duration;

/// `128K`, `1.5M`, `2G` in powers of 1024, a bare number of bytes, or `128KiB`.
pub(super) fn iperf_bytes(text: &str) -> Result<Bytes, ParseError> {
    match scaled(text, 1024.0) {
        Some(bytes) => Ok(Bytes::new(bytes)),
        None => parse::bytes(text),
    }
}

/// `10M` in powers of 1000, a bare number of bits per second (0 for no bound), or `10mbit`.
pub(super) fn iperf_rate(text: &str) -> Result<Rate, ParseError> {
    match scaled(text, 1000.0) {
        Some(bps) => Ok(Rate::from_bps(bps)),
        None => parse::rate(text),
    }
}

/// A bare number of seconds, or `10s`.
pub(super) fn bare_seconds(text: &str) -> Result<Duration, ParseError> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..1e9).contains(seconds));
    seconds.map_or_else(|| parse::duration(text), |seconds| Ok(Duration::from_secs_f64(seconds)))
}

/// The same in whole seconds, as iperf3's protocol has them.
pub(super) fn whole_seconds(text: &str) -> Result<u64, ParseError> {
    let span = bare_seconds(text)?;
    if span.subsec_nanos() == 0 {
        return Ok(span.as_secs());
    }
    Err(ParseError::new(
        format!("\"{text}\" is no whole number of seconds"),
        "write whole seconds, e.g. 10 or 10s",
    ))
}

/// A number of blocks: `1000`, `10K` in powers of 1024.
pub(super) fn blocks(text: &str) -> Result<u64, ParseError> {
    scaled(text, 1024.0).map_or_else(|| parse::count(text), Ok)
}

/// A number with one of iperf3's suffixes (`unit_atof()`); `None` where it has another one.
fn scaled(text: &str, base: f64) -> Option<u64> {
    let (number, suffix) = match text.char_indices().last()? {
        (at, last) if last.is_ascii_alphabetic() => (&text[..at], last.to_ascii_lowercase()),
        _ => (text, ' '),
    };
    let power = " kmgt".find(suffix)?;
    let value = number.parse::<f64>().ok()? * base.powi(i32::try_from(power).ok()?);
    (0.0..1.8e19).contains(&value).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_iperf3_reads_them_and_with_units() {
        assert_eq!(iperf_bytes("128K").unwrap(), Bytes::new(128 << 10));
        assert_eq!(iperf_bytes("1.5m").unwrap(), Bytes::new(3 << 19));
        assert_eq!(iperf_bytes("1448").unwrap(), iperf_bytes("1448B").unwrap());
        assert_eq!(iperf_rate("10M").unwrap(), iperf_rate("10mbit").unwrap());
        assert_eq!(iperf_rate("0").unwrap(), Rate::from_bps(0));
        assert_eq!(bare_seconds("2.5").unwrap(), bare_seconds("2500ms").unwrap());
        assert_eq!(blocks("2K").unwrap(), 2048);
        assert!(iperf_bytes("many").is_err() && bare_seconds("-1").is_err() && iperf_rate("-5M").is_err());
    }
}
