//! The wall clock's time of a run, for forms that print a date.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The last millisecond of the year 9999: dates have four digits for the year (RFC 3339, RFC 9110).
pub(crate) const LAST_UNIX_MS: u64 = 253_402_300_799_999;

/// The moment so many milliseconds after 1970 began; `None` beyond the year 9999, which no date can say.
pub(crate) fn moment(unix_ms: u64) -> Option<SystemTime> {
    (unix_ms <= LAST_UNIX_MS).then(|| UNIX_EPOCH + Duration::from_millis(unix_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_year_9999_is_the_last() {
        let date = |unix_ms| moment(unix_ms).map(|time| humantime::format_rfc3339_millis(time).to_string());
        assert_eq!(date(LAST_UNIX_MS).as_deref(), Some("9999-12-31T23:59:59.999Z"));
        assert!(moment(LAST_UNIX_MS).map(httpdate::fmt_http_date).is_some());
        assert_eq!(date(LAST_UNIX_MS + 1), None);
        assert_eq!(date(u64::MAX), None);
    }
}
