//! What the path dropped, as it counted.

use pipefill_core::cell::Direction;
use pipefill_core::record::{DatagramSample, DropReason, LossKind, Manifest, PathCount, PathFacts};

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
    /// Of the run that `manifest` is about.
    pub(crate) fn of(manifest: &Manifest, direction: Direction) -> Self {
        if let Some(observed) = manifest.subject.observed() {
            return Self::of_emulated(&observed.emulated, direction);
        }
        let count = |count| manifest.path_count(direction, count);
        Self {
            offered: count(PathCount::Offered),
            reordered: count(PathCount::Reordered),
            ..Self::by_reason(|reason| count(PathCount::Dropped(reason)))
        }
    }

    /// Of all connections that take an emulated path.
    pub(crate) fn of_emulated(path: &PathFacts, direction: Direction) -> Self {
        path.way(direction).counted.map_or_else(Self::default, |counted| Self {
            offered: Some(counted.offered_packets),
            reordered: Some(counted.reordered_packets),
            ..Self::by_reason(|reason| counted.dropped(reason))
        })
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

    /// Why segments of data were lost, where the path has counted: one part of it alone dropped some. `None` where several did, or none.
    pub(crate) fn only_kind(self) -> Option<LossKind> {
        let kinds = [
            (self.random?, LossKind::Chance),
            (self.queue?, LossKind::Queue),
            (self.policed.unwrap_or(0), LossKind::Policer),
        ];
        let mut dropped = kinds.into_iter().filter(|&(packets, _)| packets > 0).map(|(_, kind)| kind);
        dropped.next().filter(|_| dropped.next().is_none())
    }

    /// Whether the path has counted, and dropped nothing.
    pub(crate) fn have_none(self) -> bool {
        self.by_the_path() == Some(0) && self.by_the_testbed() == 0
    }

    /// Whether losses may be of `kind`: the path has not counted, or it dropped some so.
    pub(crate) fn may_be(self, kind: LossKind) -> bool {
        let dropped = match kind {
            LossKind::Chance => self.random,
            LossKind::Queue => self.queue,
            LossKind::Policer => self.random.and(Some(self.policed.unwrap_or(0))),
            LossKind::Reordering | LossKind::Acks => None,
        };
        dropped.is_none_or(|packets| packets > 0)
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
    fn the_only_part_of_an_emulated_path_that_dropped_is_why_segments_were_lost() {
        let drops = |random, queue, policed| Drops {
            random: Some(random),
            queue: Some(queue),
            policed,
            ..Drops::default()
        };
        assert_eq!(drops(3, 0, None).only_kind(), Some(LossKind::Chance));
        assert_eq!(drops(0, 3, Some(0)).only_kind(), Some(LossKind::Queue));
        assert_eq!(drops(0, 0, Some(3)).only_kind(), Some(LossKind::Policer));
        assert_eq!([drops(1, 3, None), drops(0, 0, None), Drops::default()].map(Drops::only_kind), [None; 3]);
        let mixed = drops(1, 3, None);
        let may_be = |drops: Drops| {
            [LossKind::Chance, LossKind::Queue, LossKind::Policer].map(|kind| drops.may_be(kind))
        };
        assert_eq!((may_be(mixed), may_be(Drops::default())), ([true, true, false], [true; 3]));
    }

    #[test]
    fn what_a_policer_or_an_inner_link_dropped_was_dropped_by_the_path() {
        let drops = Drops { random: Some(1), queue: Some(2), offered: Some(100), ..Drops::default() };
        assert_eq!(drops.by_the_path(), Some(3));
        let more = Drops { policed: Some(4), exceeds_mtu: Some(5), ..drops };
        assert_eq!((more.by_the_path(), more.share()), (Some(12), Some(0.12)));
    }
}
