//! What the path dropped, as it counted.

use pipefill_core::cell::Direction;
use pipefill_core::record::{DatagramSample, DropReason, Manifest, PathCount};

/// Packets that the path dropped in one direction, by reason; `None` where nobody counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    pub(crate) random: Option<u64>,
    /// Absent where the path has no inner link.
    pub(crate) exceeds_mtu: Option<u64>,
    /// Absent where the path has no policer.
    pub(crate) policed: Option<u64>,
    /// Where the queue has a discipline, what that dropped too.
    pub(crate) queue: Option<u64>,
    pub(crate) delay_limit: Option<u64>,
    pub(crate) exceeds_burst: Option<u64>,
    pub(crate) offered: Option<u64>,
    pub(crate) reordered: Option<u64>,
}

impl Drops {
    pub(crate) fn of(manifest: &Manifest, direction: Direction) -> Self {
        let count = |count| manifest.path_count(direction, count);
        Self {
            offered: count(PathCount::Offered),
            reordered: count(PathCount::Reordered),
            ..Self::by_reason(|reason| count(PathCount::Dropped(reason)))
        }
    }

    /// Of one flow of datagrams alone.
    pub(crate) fn of_datagrams(counted: &DatagramSample) -> Self {
        let dropped = Self::by_reason(|reason| Some(counted.dropped(reason)));
        Self { offered: Some(counted.offered_packets), ..dropped }
    }

    fn by_reason(dropped: impl Fn(DropReason) -> Option<u64>) -> Self {
        Self {
            random: dropped(DropReason::RandomLoss),
            exceeds_mtu: dropped(DropReason::ExceedsMtu),
            policed: dropped(DropReason::Policed),
            queue: dropped(DropReason::QueueFull)
                .map(|full| full.saturating_add(dropped(DropReason::Aqm).unwrap_or(0))),
            delay_limit: dropped(DropReason::DelayLimit),
            exceeds_burst: dropped(DropReason::ExceedsBurst),
            offered: None,
            reordered: None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_aqm_dropped_was_dropped_by_the_queue() {
        let counted = DatagramSample {
            offered_packets: 100,
            dropped_queue_full_packets: 2,
            dropped_aqm_packets: 3,
            ..DatagramSample::default()
        };
        let drops = Drops::of_datagrams(&counted);
        assert_eq!((drops.queue, drops.share()), (Some(5), Some(0.05)));
    }

    #[test]
    fn what_a_policer_or_an_inner_link_dropped_was_dropped_by_the_path() {
        let drops = Drops { random: Some(1), queue: Some(2), offered: Some(100), ..Drops::default() };
        assert_eq!(drops.by_the_path(), Some(3));
        let more = Drops { policed: Some(4), exceeds_mtu: Some(5), ..drops };
        assert_eq!((more.by_the_path(), more.share()), (Some(12), Some(0.12)));
    }
}
