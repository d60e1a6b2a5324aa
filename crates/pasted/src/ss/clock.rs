//! Times that stand between readings, or before each line: of `date`, `date +%s.%N`, `ts`.

/// The time of the last line that has one, microseconds of a clock that starts anywhere.
#[derive(Debug, Default)]
pub(super) struct Clock {
    now_us: Option<u64>,
    /// Days that passed at midnight.
    days: u64,
    /// Whether it is seconds since 1970.
    is_unix: bool,
}

/// Microseconds of a day.
const DAY_US: u64 = 86_400_000_000;

impl Clock {
    /// See [`Self`].
    pub(super) const fn now_us(&self) -> Option<u64> {
        self.now_us
    }

    /// Takes a line. Of a socket's line only a time of day before the socket counts: `is_alone` is whether the line is none's.
    pub(super) fn note(&mut self, line: &str, is_alone: bool) {
        if is_alone && let Some(us) = unix(line) {
            (self.is_unix, self.now_us) = (true, Some(us));
            return;
        }
        let words = line.split_whitespace().take(if is_alone { 12 } else { 4 });
        if let Some(of_day_us) = words.filter_map(of_day).next().filter(|_| !self.is_unix) {
            let before_us = self.now_us.map_or(0, |us| us % DAY_US);
            // It goes back at midnight.
            self.days += u64::from(before_us > of_day_us + DAY_US / 2);
            self.now_us = Some(self.days * DAY_US + of_day_us);
        }
    }
}

/// `1795591232`, `1795591232.123456789`: alone on its line.
fn unix(line: &str) -> Option<u64> {
    /// 2001 and 2096.
    const SECONDS: std::ops::Range<u64> = 1_000_000_000..4_000_000_000;
    let (seconds, part) = decimal(line.trim())?;
    SECONDS.contains(&seconds).then_some(seconds * 1_000_000 + part)
}

/// `07:20:32`, `07:20:32.123`, also within `2026-11-25T07:20:32.123Z`, and behind a bracket.
fn of_day(word: &str) -> Option<u64> {
    let word = word.rsplit('T').next().unwrap_or(word).trim_matches(|letter: char| !letter.is_ascii_digit());
    let mut parts = word.splitn(3, ':');
    let [hours, minutes] =
        [parts.next()?, parts.next()?].map(|part| (part.len() == 2).then(|| part.parse().ok()));
    let (hours, minutes): (u64, u64) = (hours.flatten()?, minutes.flatten()?);
    let seconds = parts.next()?;
    let end = seconds.find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != ',');
    let (seconds, part) = decimal(seconds.get(..end.unwrap_or(seconds.len()))?)?;
    (hours < 24 && minutes < 60 && seconds < 61)
        .then_some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + part)
}

/// Whole seconds, and microseconds.
fn decimal(text: &str) -> Option<(u64, u64)> {
    let (whole, part) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(whole) && is_number(part) && !whole.is_empty() && whole.len() <= 10).then_some(())?;
    let micros: String = part.chars().chain("000000".chars()).take(6).collect();
    Some((whole.parse().ok()?, micros.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lines: &[&str]) -> Option<u64> {
        let mut clock = Clock::default();
        lines.iter().for_each(|line| clock.note(line, true));
        clock.now_us()
    }

    #[test]
    fn times_of_date_and_ts_and_of_a_log() {
        let noon = 12 * 3_600 * 1_000_000;
        assert_eq!(after(&["Thu Nov 26 12:00:01 UTC 2026"]), Some(noon + 1_000_000));
        assert_eq!(after(&["2026-11-26T12:00:01.250+00:00"]), Some(noon + 1_250_000));
        assert_eq!(after(&["[12:00:01,5]"]), Some(noon + 1_500_000));
        assert_eq!(after(&["1795591232.5"]), Some(1_795_591_232_500_000));
        assert_eq!(after(&["State Recv-Q Send-Q", "12", "-1:00:00", "99:00:00"]), None);
    }

    #[test]
    fn midnight_is_between_two_readings() {
        let (evening, morning) = (after(&["23:59:59"]).unwrap(), after(&["23:59:59", "00:00:04"]).unwrap());
        assert_eq!(morning - evening, 5_000_000);
    }
}
