//! How long connections are waited for, and datagrams that are still in the path when all of them have been sent.

use crate::cell::{FlowSpec, PathSpec};
use crate::units::Time;
use std::time::Duration;

/// Connections get this long, plus ten round trips.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// After the last datagram is due, this much is waited for stragglers.
pub const DRAIN_MARGIN: Duration = Duration::from_millis(100);
/// A queue that takes longer than this to empty is left.
pub const LONGEST_DRAIN: Duration = Duration::from_secs(30);

/// How long the connections through `path` may take.
pub fn connect_timeout(path: &PathSpec) -> Duration {
    CONNECT_TIMEOUT + 10 * path.rtt()
}

/// When all that `flow` sends should have arrived, if no queue holds it up; `zero` is the traffic's start.
pub fn earliest_end(flow: &FlowSpec, path: &PathSpec, zero: Time) -> Time {
    zero.after(flow.start).after(flow.duration).after(path.way(flow.direction).delay).after(DRAIN_MARGIN)
}
