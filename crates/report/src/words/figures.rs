//! Quantities in sentences: three digits and a unit.

use std::time::Duration;

/// Bits per second, decimal prefixes: `251 Mbit/s`.
pub(super) fn rate(bps: u64) -> String {
    scaled(bps, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"])
}

/// Bytes, decimal prefixes, as the window law's arithmetic needs them: `3.15 MB`.
pub(super) fn bytes(bytes: u64) -> String {
    scaled(bytes, ["B", "kB", "MB", "GB"])
}

/// A duration: `100 ms`.
pub(super) fn duration(us: u64) -> String {
    scaled(us, ["µs", "ms", "s"])
}

/// The same of a [`Duration`].
pub(super) fn span(span: Duration) -> String {
    duration(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
}

/// A share of one: `97 %`; below one per cent with a second digit.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 1.0 { format!("{percent:.2} %") } else { format!("{percent:.0} %") }
}

/// In the largest of the `units` that it reaches, each a thousand times the one before.
fn scaled<const N: usize>(value: u64, units: [&str; N]) -> String {
    let powers = units.into_iter().zip(0..);
    let (unit, power) =
        powers.filter(|&(_, power)| value >= 1000_u64.pow(power)).last().unwrap_or((units[0], 0));
    format!("{} {unit}", digits(value as f64 / 1000_f64.powi(power as i32)))
}

/// Three significant digits.
fn digits(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        assert_eq!(rate(251_300_000), "251 Mbit/s");
        assert_eq!(rate(2_330_000_000), "2.33 Gbit/s");
        assert_eq!(bytes(3_145_728), "3.15 MB");
        assert_eq!(duration(100_070), "100 ms");
        assert_eq!(duration(10_500), "10.5 ms");
        assert_eq!((percent(0.974), percent(0.0021)), ("97 %".to_owned(), "0.21 %".to_owned()));
    }
}
