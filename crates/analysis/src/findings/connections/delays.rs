//! How far apart the clocks of a test's two hosts are, and how long packets took each way.

use crate::ground::statistics::percentile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server's clock beside this host's.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ClockOffset {
    /// The server's clock less this host's in the middle of the test, microseconds.
    pub offset_us: i64,
    /// How far that may be from the truth, microseconds: half of the least round trip, and what the clocks may have run apart since.
    pub offset_error_us: u64,
    /// How fast the server's clock gains on this host's, parts per million; null where that was not measured.
    pub drift_ppm: Option<f64>,
    /// The error of that, parts per million.
    pub drift_error_ppm: Option<f64>,
    /// The least round trip of a question and its answer, microseconds.
    pub round_trip_us: u64,
}

/// One-way delays of a test.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TestDelays {
    /// From this host to the server.
    pub to_server: TestDelay,
    /// From the server to this host.
    pub to_client: TestDelay,
    /// How far each may be from the truth, microseconds: the error of the offset. What load adds has no such error.
    pub error_us: u64,
}

/// One direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TestDelay {
    /// The least one before the test, microseconds.
    pub idle_us: Option<i64>,
    /// While the test ran, microseconds: the median; null where nothing was measured then.
    pub loaded_us_p50: Option<i64>,
    /// The 95th percentile, microseconds.
    pub loaded_us_p95: Option<i64>,
    /// The longest, microseconds.
    pub loaded_us_max: Option<i64>,
    /// How many were measured while the test ran.
    pub samples: u64,
    /// What was measured then.
    pub of: DelayOf,
}

/// What a one-way delay is that of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DelayOf {
    /// Small messages on the control connection, beside the data.
    #[default]
    Messages,
    /// The test's own datagrams.
    Datagrams,
}

impl TestDelay {
    /// Of nanoseconds: before the test, and while it ran.
    pub fn new(idle_ns: &[f64], loaded_ns: &[f64], of: DelayOf) -> Self {
        let micros = |ns: f64| (ns / 1e3).round() as i64;
        let at = |share| percentile(loaded_ns, share).map(micros);
        Self {
            idle_us: percentile(idle_ns, 0.0).map(micros),
            loaded_us_p50: at(0.5),
            loaded_us_p95: at(0.95),
            loaded_us_max: at(1.0),
            samples: loaded_ns.len() as u64,
            of,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_none_and_the_rest_is_in_order() {
        let nothing = TestDelay::new(&[], &[], DelayOf::Messages);
        assert_eq!((nothing.idle_us, nothing.loaded_us_p50, nothing.samples), (None, None, 0));
        let loaded: Vec<f64> = (0..=100).map(|ms| f64::from(ms) * 1e6 - 2e6).collect();
        let found = TestDelay::new(&[9e6, 5e6], &loaded, DelayOf::Datagrams);
        assert_eq!((found.idle_us, found.loaded_us_p50), (Some(5_000), Some(48_000)));
        assert_eq!(
            (found.loaded_us_p95, found.loaded_us_max, found.samples),
            (Some(93_000), Some(98_000), 101)
        );
    }
}
