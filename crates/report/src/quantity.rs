//! Numbers for people: three significant digits and a prefix.
//!
//! A column has one unit where all its values are readable in it; otherwise each value carries its own prefix. Never: a
//! digit that the figure does not have, or a 0 for a missing value.

/// What stands for a missing value.
pub const MISSING: &str = "–";

/// What a number measures: decides prefixes and unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuantityKind {
    /// Bits per second, powers of 1000.
    Rate,
    /// Bytes, powers of 1000, as the arithmetic of rates needs them.
    Bytes,
    /// Nanoseconds, shown as ns, µs, ms or s.
    Time,
    /// Events; whole numbers.
    Count,
    /// Per cent.
    Percent,
    /// A quotient.
    Ratio,
}

/// The prefix that a column shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// All values in this prefix (an index into [`QuantityKind::prefixes`]).
    Shared(usize),
    /// Each value with its own.
    Own,
}

/// Milliseconds for a column of [`QuantityKind::Time`], whatever its values.
pub(crate) const MILLISECONDS: Scale = Scale::Shared(2);

/// Below this the shared prefix would hide a value.
const READABLE: f64 = 0.01;

/// Bits per second: `251 Mbit/s`.
pub(crate) fn rate(bps: u64) -> String {
    QuantityKind::Rate.whole(bps)
}

/// Bytes: `3.15 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    QuantityKind::Bytes.whole(bytes)
}

/// Microseconds: `100 ms`.
pub(crate) fn duration(us: u64) -> String {
    QuantityKind::Time.alone(us as f64 * 1e3)
}

/// Microseconds that are known exactly, as the resolution of a clock: `10 ms`, `15.625 ms`, `1 s`.
pub(crate) fn whole_ms(us: u64) -> String {
    if us.is_multiple_of(1_000_000) {
        format!("{} s", us / 1_000_000)
    } else {
        format!("{} ms", us as f64 / 1e3)
    }
}

/// A share of one: `97 %`; below one per cent with a second digit.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 1.0 { format!("{percent:.2} %") } else { format!("{percent:.0} %") }
}

/// A share of one in per cent, one digit behind the point where there is one: `75 %`, `93.8 %`.
pub(crate) fn share(of_one: f64) -> String {
    let digits = format!("{:.1}", of_one * 100.0);
    format!("{} %", digits.strip_suffix(".0").unwrap_or(&digits))
}

/// A count and what is counted; `(s)` in `what` is an s for all counts but one: `1 zero window`, `2 ACKs with ECE`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {}", what.replace("(s)", if count == 1 { "" } else { "s" }))
}

impl QuantityKind {
    /// Prefixes, smallest first, each a thousand times the one before.
    fn prefixes(self) -> &'static [&'static str] {
        match self {
            Self::Rate | Self::Bytes => &["", "k", "M", "G", "T"],
            Self::Time => &["n", "µ", "m", ""],
            Self::Count | Self::Percent | Self::Ratio => &[""],
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Rate => "bit/s",
            Self::Bytes => "B",
            Self::Time => "s",
            Self::Count | Self::Ratio => "",
            Self::Percent => "%",
        }
    }

    /// The scale under which all of `values` are readable.
    pub(crate) fn scale(self, values: &[f64]) -> Scale {
        let sizes = || values.iter().map(|v| v.abs()).filter(|&v| v > 0.0);
        let largest = self.level(sizes().fold(0.0, f64::max));
        let smallest = sizes().fold(f64::INFINITY, f64::min);
        if smallest / factor(largest) < READABLE { Scale::Own } else { Scale::Shared(largest) }
    }

    /// What the heading of a column in `scale` says, e.g. `Mbit/s`; empty where there is nothing to say.
    pub(crate) fn heading_unit(self, scale: Scale) -> String {
        match scale {
            Scale::Shared(level) => format!("{}{}", self.prefixes()[level], self.unit()),
            Scale::Own => self.unit().to_owned(),
        }
    }

    /// `value` as a column in `scale` shows it.
    pub(crate) fn in_column(self, value: f64, scale: Scale) -> String {
        match scale {
            Scale::Shared(level) => self.digits(value / factor(level)),
            Scale::Own => {
                let level = self.level(value.abs());
                let number = self.digits(value / factor(level));
                join(&number, self.prefixes()[level])
            }
        }
    }

    /// `value` by itself without digits that say nothing, for an axis: `10 ms`.
    pub(crate) fn on_axis(self, value: f64) -> String {
        if value == 0.0 {
            return "0".to_owned();
        }
        let text = self.alone(value);
        let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
        let number =
            if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
        join(number, unit)
    }

    /// `value` by itself, with unit: `956 Mbit/s`, `1.25 MB`, `10.4 ms`.
    pub fn alone(self, value: f64) -> String {
        let level = self.level(value.abs());
        let unit = format!("{}{}", self.prefixes()[level], self.unit());
        join(&self.digits(value / factor(level)), &unit)
    }

    /// The same of a whole number, which has no digits behind the point: `12 B`.
    fn whole(self, value: u64) -> String {
        if value < 1000 { join(&value.to_string(), self.unit()) } else { self.alone(value as f64) }
    }

    /// The largest prefix in which `value` (not negative) is at least one, once rounded.
    fn level(self, value: f64) -> usize {
        let mut level = 0;
        while level + 1 < self.prefixes().len() && value / factor(level) >= 999.5 {
            level += 1;
        }
        level
    }

    fn digits(self, value: f64) -> String {
        if self == Self::Count { format!("{value:.0}") } else { three_digits(value) }
    }
}

/// What the prefix at `level` stands for.
fn factor(level: usize) -> f64 {
    (0..level).fold(1.0, |factor, _| factor * 1000.0)
}

/// `value` to three significant digits, more where the integer part has more; never in exponent form.
fn three_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.2e}");
    let exponent = scientific.split_once('e').and_then(|(_, e)| e.parse::<i32>().ok());
    let decimals = usize::try_from(2 - exponent.unwrap_or(0)).unwrap_or(0);
    format!("{value:.decimals$}")
}

fn join(number: &str, unit: &str) -> String {
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_stay_three() {
        let cases = [
            (2.333, "2.33"),
            (99.96, "100"),
            (9.996, "10.0"),
            (224.4, "224"),
            (1023.4, "1023"),
            (0.0141, "0.0141"),
            (0.0, "0"),
            (-5.0, "-5.00"),
        ];
        for (value, want) in cases {
            assert_eq!(three_digits(value), want, "{value}");
        }
    }

    #[test]
    fn a_sentence_has_three_digits_and_a_unit() {
        assert_eq!(rate(251_300_000), "251 Mbit/s");
        assert_eq!(rate(2_330_000_000), "2.33 Gbit/s");
        assert_eq!(
            (bytes(3_145_728), bytes(12), rate(41)),
            ("3.15 MB".into(), "12 B".into(), "41 bit/s".into())
        );
        assert_eq!(duration(100_070), "100 ms");
        assert_eq!(duration(10_500), "10.5 ms");
        assert_eq!((percent(0.974), percent(0.0021)), ("97 %".to_owned(), "0.21 %".to_owned()));
    }

    #[test]
    fn one_is_counted_without_an_s() {
        assert_eq!(
            [0, 1, 2].map(|count| counted(count, "ACK(s) with ECE")),
            ["0 ACKs with ECE", "1 ACK with ECE", "2 ACKs with ECE"]
        );
        assert_eq!(counted(1, "in fast recovery"), "1 in fast recovery");
    }

    #[test]
    fn prefixes_follow_the_rounded_value() {
        assert_eq!(QuantityKind::Rate.alone(65.6e9), "65.6 Gbit/s");
        assert_eq!(QuantityKind::Rate.alone(999_600.0), "1.00 Mbit/s");
        assert_eq!(QuantityKind::Rate.alone(999_400.0), "999 kbit/s");
        assert_eq!(QuantityKind::Bytes.alone(1_250_000.0), "1.25 MB");
        assert_eq!(QuantityKind::Time.alone(10_400_000.0), "10.4 ms");
        assert_eq!(QuantityKind::Time.alone(3.6e12), "3600 s");
        assert_eq!(QuantityKind::Count.alone(11_524.0), "11524");
        assert_eq!(QuantityKind::Rate.alone(0.0), "0 bit/s");
    }

    #[test]
    fn a_column_shares_its_unit_where_it_can() {
        let close = [2.33e9, 224e6];
        let scale = QuantityKind::Rate.scale(&close);
        assert_eq!(QuantityKind::Rate.heading_unit(scale), "Gbit/s");
        assert_eq!(close.map(|v| QuantityKind::Rate.in_column(v, scale)), ["2.33", "0.224"]);
        let apart = [65.6e9, 5.23e6];
        let scale = QuantityKind::Rate.scale(&apart);
        assert_eq!(QuantityKind::Rate.heading_unit(scale), "bit/s");
        assert_eq!(apart.map(|v| QuantityKind::Rate.in_column(v, scale)), ["65.6 G", "5.23 M"]);
    }
}
