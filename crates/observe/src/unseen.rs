//! Connections that opened and closed between two looks: the kernel counts them, and no look shows them.

use pipefill_lab::counters::OpenedConnections;
use std::path::Path;

/// Counts them, in a namespace of which every connection is looked at.
#[derive(Debug)]
pub(crate) struct Unseen {
    opened: OpenedConnections,
    /// At the first look.
    first: Option<Counts>,
    count: u64,
}

#[derive(Debug, Clone, Copy)]
struct Counts {
    /// By the kernel.
    opened: u64,
    /// By the looks.
    appeared: u64,
}

impl Unseen {
    /// `None` where the kernel's counters can't be read.
    pub(crate) fn start(netns: Option<&Path>) -> Option<Self> {
        Some(Self { opened: OpenedConnections::open(netns).ok()?, first: None, count: 0 })
    }

    /// How many connections the kernel has opened: read before a look, so that one opened during the look is never counted as unseen.
    pub(crate) fn opened(&self) -> Option<u64> {
        self.opened.count()
    }

    /// Notes that the looks have shown `appeared` connections, of `opened` ones before the last look. One that opens during the first look may be
    /// in it: the kernel's count at its end is the one to begin with.
    pub(crate) fn note(&mut self, opened: Option<u64>, appeared: u64) {
        match (self.first, opened) {
            (None, _) => {
                self.first = self.opened().map(|opened| Counts { opened, appeared });
            }
            (Some(first), Some(opened)) => {
                let seen = appeared - first.appeared;
                self.count = self.count.max((opened.saturating_sub(first.opened)).saturating_sub(seen));
            }
            (Some(_), None) => {}
        }
    }

    /// How many at least; `None` where the kernel did not count them.
    pub(crate) fn count(&self) -> Option<u64> {
        self.first.map(|_| self.count)
    }
}
