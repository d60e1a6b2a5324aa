//! What the live view shows: how it is sorted, and what the keys go to.

use pipefill_analysis::findings::connections::ConnectionFinding;
use std::cmp::Reverse;

/// Intervals in the small curve of a line.
pub(super) const CURVE: usize = 10;

/// What the table is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Rate,
    RoundTrip,
    Retransmits,
    Limit,
}

impl Sort {
    /// Its name at the head of the table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::RoundTrip => "round trip",
            Self::Retransmits => "retransmits",
            Self::Limit => "limit",
        }
    }

    pub(super) const fn next(self) -> Self {
        match self {
            Self::Rate => Self::RoundTrip,
            Self::RoundTrip => Self::Retransmits,
            Self::Retransmits => Self::Limit,
            Self::Limit => Self::Rate,
        }
    }

    pub(super) fn apply(self, connections: &mut [ConnectionFinding]) {
        match self {
            Self::Rate => connections.sort_by_key(|connection| Reverse(connection.rate_bps)),
            Self::RoundTrip => connections.sort_by_key(|connection| Reverse(connection.rtt_us)),
            Self::Retransmits => connections.sort_by_key(|connection| Reverse(connection.retransmits)),
            Self::Limit => connections
                .sort_by_key(|connection| (connection.verdict.limited_by, Reverse(connection.rate_bps))),
        }
    }
}

/// What the keys go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    /// The table.
    Table,
    /// One connection, by its ends.
    Connection(String, String),
    /// A new filter that is being typed, and what is wrong with it.
    Filter(String, Option<String>),
    /// The help.
    Help,
}
