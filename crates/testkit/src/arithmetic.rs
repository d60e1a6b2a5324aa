//! The figures of a sentence, recomputed from what is printed: products and quotients have to hold within the rounding of the printed digits.

use regex::Regex;
use std::sync::LazyLock;

/// What a printed figure may stand for, in seconds, bytes, bits per second or of one.
#[derive(Debug, Clone, Copy)]
struct Printed {
    from: f64,
    to: f64,
}

impl Printed {
    /// Of a number with its unit, as `59.2 kB`; of a number alone, exactly that.
    fn of(text: &str) -> Self {
        let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
        let value: f64 = number.parse().expect("a number");
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let error = if unit.is_empty() { 0.0 } else { 0.501 * 10_f64.powi(-(decimals as i32)) };
        let factor = match unit.strip_suffix("bit/s").or(unit.strip_suffix('B')).or(unit.strip_suffix('s')) {
            Some("n") => 1e-9,
            Some("µ") => 1e-6,
            Some("m") => 1e-3,
            Some("k") => 1e3,
            Some("M") => 1e6,
            Some("G") => 1e9,
            Some("T") => 1e12,
            None if unit == "%" => 1e-2,
            _ => 1.0,
        };
        Self { from: (value - error) * factor, to: (value + error) * factor }
    }

    fn times(self, other: Self) -> Self {
        Self { from: self.from * other.from, to: self.to * other.to }
    }

    fn over(self, other: Self) -> Self {
        Self { from: self.from / other.to, to: self.to / other.from.max(f64::MIN_POSITIVE) }
    }

    /// What is left of one.
    fn rest(self) -> Self {
        Self { from: 1.0 - self.to, to: 1.0 - self.from }
    }

    fn fits(self, other: Self) -> bool {
        self.from <= other.to && other.from <= self.to
    }
}

const BITS: Printed = Printed { from: 8.0, to: 8.0 };

/// A form of words with figures, and whether these hold.
struct Form {
    pattern: Regex,
    holds: fn(&[Printed]) -> bool,
}

/// `#` is a figure with a unit, `@` a count.
fn form(pattern: &str, holds: fn(&[Printed]) -> bool) -> Form {
    let figure = r"(\d+(?:\.\d+)? (?:[nµm]?s|[kMGT]?B|[kMGT]?bit/s|%))";
    let pattern = pattern.replace('#', figure).replace('@', r"(\d+)");
    Form { pattern: Regex::new(&pattern).expect("a pattern"), holds }
}

static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    vec![
        // Little's law, the window law.
        form("# / # gives #", |of| of[0].times(BITS).over(of[1]).fits(of[2])),
        form("# per # round trip allows #", |of| of[0].times(BITS).over(of[1]).fits(of[2])),
        form("# / #, less the # of the time[^,]*, gives #", |of| {
            of[0].times(BITS).over(of[1]).times(of[2].rest()).fits(of[3])
        }),
        form("# each # = #", |of| of[0].times(BITS).over(of[1]).fits(of[2])),
        // A part of the path.
        form(r"at most # of payload \(# with headers\)", |of| of[0].from <= of[1].to),
        form(r"at most # of payload \([^)]*\); # were measured, so this flow fills # of it", |of| {
            of[1].over(of[0]).fits(of[2])
        }),
        form(r"at most # of payload \([^)]*\); # were measured, so this flow fills it", |of| {
            of[1].to >= of[0].from
        }),
        // A part of the time, and how often.
        form("^Limited by [^:]* # of the time: for # of #", |of| of[1].over(of[2]).fits(of[0])),
        form("^Limited by [^:]* # of the time: [^;]* (?:take|ACK:) # of #", |of| {
            of[1].over(of[2]).fits(of[0])
        }),
        form("@ turns of # each take #", |of| of[0].times(of[1]).fits(of[2])),
        form("@ times [^;.]* waited # for a delayed ACK: #", |of| of[0].times(of[1]).fits(of[2])),
        form("once [^;.]* waited # for a delayed ACK: #", |of| of[0].fits(of[1])),
        // What was measured in a part is in the whole.
        form("^Limited by [^:]* # of the time: .* # were measured in that time, # in all", |of| {
            of[0].from * of[1].from <= 1.02 * of[2].to
        }),
    ]
});

/// The parts of `sentence` whose figures do not multiply out.
pub fn wrong_figures(sentence: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for form in &*FORMS {
        for found in form.pattern.captures_iter(sentence) {
            let figures: Vec<Printed> =
                found.iter().skip(1).flatten().map(|figure| Printed::of(figure.as_str())).collect();
            if !(form.holds)(&figures) {
                wrong.push(found[0].to_owned());
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::wrong_figures;

    #[test]
    fn figures_hold_within_the_rounding_of_their_digits() {
        for right in [
            "59.2 kB were in flight on average; 59.2 kB / 594 ms gives 796 kbit/s, 840 kbit/s were measured",
            "an advertised window of 32.0 kB per 100 ms round trip allows 2.56 Mbit/s",
            "1.00 MB / 100 ms, less the 20 % of the time in which nothing came back, gives 64.0 Mbit/s",
            "it carries at most 3.23 Mbit/s of payload (3.39 Mbit/s with headers); 2.74 Mbit/s were measured, so this flow fills 85 % of it",
            "Limited by the application (slow to answer) 43 % of the time: for 73.4 s of 170 s it had been asked",
            "Limited by the application 96 % of the time: 25 turns of 1.46 ms each take 36.5 ms of 38.0 ms",
            "49 times at most two segments were out and waited 37.2 ms for a delayed ACK: 1.82 s of 2.00 s",
        ] {
            assert!(wrong_figures(right).is_empty(), "{right}");
        }
    }

    #[test]
    fn figures_that_do_not_are_found() {
        for wrong in [
            "an advertised window of 4.10 kB per 3.23 ms round trip allows 11.1 Mbit/s",
            "1.00 MB / 100 ms, less the 20 % of the time in which nothing came back, gives 80.0 Mbit/s",
            "64.0 kB each 20.0 ms = 20.6 Mbit/s",
            "it carries at most 3.39 Mbit/s of payload (3.23 Mbit/s with headers)",
            "it carries at most 95.6 Mbit/s of payload (100 Mbit/s with headers); 96.2 Mbit/s were measured, so this flow fills 100 % of it",
            "it carries at most 95.6 Mbit/s of payload (100 Mbit/s with headers); 90.2 Mbit/s were measured, so this flow fills it",
            "it carries at most 3.23 Mbit/s of payload (3.39 Mbit/s with headers); 2.74 Mbit/s were measured, so this flow fills 81 % of it",
            "Limited by the application (slow to answer) 100 % of the time: for 73.4 s of 170 s it had been asked",
            "Limited by the application 96 % of the time: 25 turns of 1.46 ms each take 36.5 ms of 40.5 ms",
            "25 turns of 1.46 ms each take 42.0 ms",
            "49 times at most two segments were out and waited 37.2 ms for a delayed ACK: 2.82 s",
            "Limited by the application 94 % of the time: and so on; 2.87 Mbit/s were measured in that time, 304 kbit/s in all",
        ] {
            assert!(!wrong_figures(wrong).is_empty(), "{wrong}");
        }
    }
}
