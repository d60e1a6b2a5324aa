//! The distribution of round trips, as figures have it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The per cents of every [`Distribution`].
pub const PERCENTS: [u8; 25] =
    [0, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 98, 99, 100];

/// How round trips are distributed: two lists of the same length.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Distribution {
    /// Per cent of the time, or of the pings.
    pub percent: Vec<u8>,
    /// The round trip that this percentage did not exceed.
    pub rtt_us: Vec<u64>,
}
