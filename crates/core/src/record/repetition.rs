//! How bursts of a stream arrive again and again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bursts that arrive, and how many of them came a round trip after another one. A window that is all there is lets out what its ACKs make room for, so that
/// whatever pattern the bursts have repeats each round trip (self-clocking: V. Jacobson, "Congestion Avoidance and Control", 1988). An application's own clock
/// knows no round trip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Repetition {
    /// Bursts with silence before them, from the second round trip on.
    pub bursts: u32,
    /// Share of them that came a round trip after another one, in thousandths.
    pub repeated_permille: u32,
    /// The largest share that came after another one by the same shorter time, likewise: 1000 where all come evenly.
    pub otherwise_permille: u32,
}
