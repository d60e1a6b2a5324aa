//! What the path dropped, as it counted.

use pipefill_core::cell::Direction;
use pipefill_core::record::{DropReason, Manifest, PathCount};

/// Packets that the path dropped in one direction, by reason; `None` where nobody counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    pub(crate) random: Option<u64>,
    /// Absent where the path has no inner link.
    pub(crate) exceeds_mtu: Option<u64>,
    /// Absent where the path has no policer.
    pub(crate) policed: Option<u64>,
    pub(crate) queue: Option<u64>,
    pub(crate) delay_limit: Option<u64>,
    pub(crate) exceeds_burst: Option<u64>,
    pub(crate) offered: Option<u64>,
    pub(crate) reordered: Option<u64>,
}

impl Drops {
    pub(crate) fn of(manifest: &Manifest, direction: Direction) -> Self {
        let count = |count| manifest.path_count(direction, count);
        let dropped = |reason| count(PathCount::Dropped(reason));
        Self {
            random: dropped(DropReason::RandomLoss),
            exceeds_mtu: dropped(DropReason::ExceedsMtu),
            policed: dropped(DropReason::Policed),
            queue: dropped(DropReason::QueueFull),
            delay_limit: dropped(DropReason::DelayLimit),
            exceeds_burst: dropped(DropReason::ExceedsBurst),
            offered: count(PathCount::Offered),
            reordered: count(PathCount::Reordered),
        }
    }

    /// What the path that was asked for dropped: by chance, by its queue, its policer and its inner link. `None` where one of the first two
    /// was not counted.
    pub(crate) fn by_the_path(self) -> Option<u64> {
        let others = self.policed.unwrap_or(0).saturating_add(self.exceeds_mtu.unwrap_or(0));
        Some(self.random?.saturating_add(self.queue?).saturating_add(others))
    }

    /// What the instrument dropped.
    pub(crate) fn by_the_testbed(self) -> u64 {
        self.delay_limit.unwrap_or(0).saturating_add(self.exceeds_burst.unwrap_or(0))
    }

    /// Most of what was lost was lost by the instrument, not by the path that was asked for.
    pub(crate) fn are_the_testbeds(self) -> bool {
        self.by_the_testbed() > self.by_the_path().unwrap_or(0)
    }

    /// Share of what was offered that did not get through; `None` where nobody counted.
    pub(crate) fn share(self) -> Option<f64> {
        let lost = self.by_the_path()?.saturating_add(self.by_the_testbed());
        let offered = self.offered.filter(|&offered| offered > 0)?;
        Some(lost as f64 / offered as f64)
    }
}
