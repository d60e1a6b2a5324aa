//! Figures of groups of connections, for a metrics endpoint: they only grow, and there is a bounded number of them.
//!
//! A group keeps its place while it is used. One that was not used for [`KEPT_US`] makes room for a new one; where there is no room, what a
//! connection adds goes to one group for all others.

use pipefill_core::cell::Direction;
use pipefill_core::limit::{Cause, LimitedBy};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::SystemTime;

/// A group that was not used for so long may give its place to another one.
const KEPT_US: u64 = 600_000_000;
/// The worst connection of a series is the worst one of so long.
const WORST_OF_US: u64 = 60_000_000;
/// Upper bounds of the round trips that are counted together, microseconds: three for each power of ten, from a host's own to a satellite's.
pub const RTT_BOUNDS_US: [u64; 15] = [
    50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
    2_000_000,
];

/// Who held a connection, and which way its data went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldBy {
    /// Whether this host sends most of the data.
    pub direction: Direction,
    /// The holder.
    pub limited_by: LimitedBy,
    /// What refines it.
    pub cause: Option<Cause>,
}

/// A connection that added most to a sum, or whose round trip was the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorstConnection {
    /// Address and port of this host.
    pub local: SocketAddr,
    /// Address and port of the peer.
    pub remote: SocketAddr,
    /// What it added at once; its round trip, microseconds.
    pub amount: u64,
    /// When.
    pub at: SystemTime,
    at_us: u64,
}

impl WorstConnection {
    /// Of a connection between `local` and `remote`, at `at`.
    pub fn new(
        local: impl Into<SocketAddr>,
        remote: impl Into<SocketAddr>,
        amount: u64,
        at: SystemTime,
    ) -> Self {
        Self { local: local.into(), remote: remote.into(), amount, at, at_us: 0 }
    }
}

/// A sum, and who added most to it lately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// The sum.
    pub total: u64,
    /// The connection that added most at once, of the last minute or so.
    pub worst: Option<WorstConnection>,
}

/// Round trips, counted by [`RTT_BOUNDS_US`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RttCounts {
    /// How many were at most the bound of the same index, and more than the one before; the last one counts all longer ones.
    pub counts: [u64; RTT_BOUNDS_US.len() + 1],
    /// Of all, microseconds.
    pub sum_us: u64,
    /// The connection with the longest one lately.
    pub worst: Option<WorstConnection>,
}

/// What a group of connections did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupFigures {
    /// Time by who held the connections, microseconds, summed over connections.
    pub held_us: BTreeMap<HeldBy, Sum>,
    /// Payload that peers acknowledged.
    pub sent_bytes: u64,
    /// Payload that came from peers.
    pub received_bytes: u64,
    /// Segments sent again.
    pub retransmits: Sum,
    /// Smoothed round trips of busy connections, one of each at each look.
    pub rtt: RttCounts,
    /// Connections that were busy at the last look.
    pub busy: u64,
    /// Datagrams that UDP sockets dropped for want of room.
    pub udp_drops: u64,
}

/// Every label of the group of all others.
pub const OTHER: &str = "other";

/// Where and when something is added.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addition {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) at: SystemTime,
    pub(crate) at_us: u64,
}

impl Sum {
    pub(crate) fn add(&mut self, amount: u64, of: &Addition) {
        self.total += amount;
        if amount > 0 {
            of.replace_worst(&mut self.worst, amount);
        }
    }
}

impl RttCounts {
    pub(crate) fn add(&mut self, rtt_us: u64, of: &Addition) {
        self.counts[Self::bucket(rtt_us)] += 1;
        self.sum_us += rtt_us;
        of.replace_worst(&mut self.worst, rtt_us);
    }

    /// Where in `counts` a round trip is counted.
    pub fn bucket(rtt_us: u64) -> usize {
        RTT_BOUNDS_US.partition_point(|&bound| bound < rtt_us)
    }
}

impl Addition {
    /// Replaces `worst` where `amount` is at least as large, or where `worst` is too old.
    fn replace_worst(&self, worst: &mut Option<WorstConnection>, amount: u64) {
        let Self { local, remote, at, at_us } = *self;
        if worst.is_none_or(|worst| amount >= worst.amount || at_us.saturating_sub(worst.at_us) > WORST_OF_US)
        {
            *worst = Some(WorstConnection { local, remote, amount, at, at_us });
        }
    }
}

/// All groups.
#[derive(Debug)]
pub(crate) struct Groups {
    most: usize,
    /// Where the group with these labels is in `groups`.
    slots: BTreeMap<Vec<String>, usize>,
    groups: Vec<Group>,
    other: GroupFigures,
    /// Groups that there ever were.
    created: u64,
    /// No group gives up its place before or at this time.
    full_until_us: u64,
}

#[derive(Debug)]
struct Group {
    figures: GroupFigures,
    used_us: u64,
    /// How many there had ever been when this one came.
    number: u64,
}

/// The group of a connection, which saves making its labels at each look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupPlace {
    /// None for the group of all others.
    slot: Option<usize>,
    /// [`Group::number`]; of the group of all others, how many groups there had ever been.
    number: u64,
}

/// The group that a connection was counted in last, and its process then: with another one it may be in another group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MeteredGroup {
    pub(crate) place: GroupPlace,
    pub(crate) pid: Option<u32>,
}

impl GroupPlace {
    pub(crate) const fn is_other(self) -> bool {
        self.slot.is_none()
    }
}

impl Groups {
    /// At most `most` of them, and one for all others.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            slots: BTreeMap::new(),
            groups: Vec::new(),
            other: GroupFigures::default(),
            created: 0,
            full_until_us: 0,
        }
    }

    /// The group with these labels at `now_us`; the group of all others where there is no room for a new one.
    pub(crate) fn find_or_add(&mut self, labels: Vec<String>, now_us: u64) -> GroupPlace {
        let of_all_others = GroupPlace { slot: None, number: self.created };
        // A process may be called so too.
        if labels.iter().all(|label| label == OTHER) {
            return of_all_others;
        }
        if let Some(&slot) = self.slots.get(&labels) {
            return GroupPlace { slot: Some(slot), number: self.groups[slot].number };
        }
        let Some(slot) = self.free_slot(now_us) else { return of_all_others };
        self.created += 1;
        let group = Group { figures: GroupFigures::default(), used_us: now_us, number: self.created };
        match self.groups.get_mut(slot) {
            Some(unused) => {
                self.slots.retain(|_, taken| *taken != slot);
                *unused = group;
            }
            None => self.groups.push(group),
        }
        self.slots.insert(labels, slot);
        GroupPlace { slot: Some(slot), number: self.created }
    }

    /// Where a new group goes: behind all others, or in place of one that was not used for long.
    fn free_slot(&mut self, now_us: u64) -> Option<usize> {
        if self.groups.len() < self.most {
            return Some(self.groups.len());
        }
        if now_us <= self.full_until_us {
            return None;
        }
        let (slot, oldest) = self.groups.iter().enumerate().min_by_key(|(_, group)| group.used_us)?;
        self.full_until_us = oldest.used_us.saturating_add(KEPT_US);
        (now_us > self.full_until_us).then_some(slot)
    }

    /// Whether `place` is still where its connection belongs at `now_us`.
    pub(crate) fn is_current(&self, place: GroupPlace, now_us: u64) -> bool {
        match place.slot {
            Some(slot) => self.groups[slot].number == place.number,
            None => self.created == place.number && now_us <= self.full_until_us,
        }
    }

    /// The figures of a group that [`Self::find_or_add`] has named, or that is current, at `now_us`.
    pub(crate) fn at(&mut self, place: GroupPlace, now_us: u64) -> &mut GroupFigures {
        let Some(slot) = place.slot else { return &mut self.other };
        let group = &mut self.groups[slot];
        group.used_us = now_us;
        &mut group.figures
    }

    /// No connection is busy, until it is counted again.
    pub(crate) fn clear_busy(&mut self) {
        self.other.busy = 0;
        self.groups.iter_mut().for_each(|group| group.figures.busy = 0);
    }

    /// Each group's labels and figures.
    pub(crate) fn all(&self) -> Vec<(Vec<String>, GroupFigures)> {
        let figures = |slot: usize| self.groups[slot].figures.clone();
        self.slots.iter().map(|(labels, &slot)| (labels.clone(), figures(slot))).collect()
    }

    /// The figures of what has no group of its own.
    pub(crate) const fn other(&self) -> &GroupFigures {
        &self.other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn addition(port: u16, at_us: u64) -> Addition {
        let local = "192.0.2.1:80".parse().unwrap();
        Addition { local, remote: ([192, 0, 2, 2], port).into(), at: SystemTime::UNIX_EPOCH, at_us }
    }

    #[test]
    fn the_worst_connection_is_the_one_that_added_most_in_the_last_minute() {
        let mut sum = Sum::default();
        let worst = |sum: &Sum| sum.worst.map(|worst| worst.remote.port());
        sum.add(0, &addition(1, 0));
        assert_eq!(worst(&sum), None, "who added nothing is not the worst");
        sum.add(5, &addition(2, 0));
        sum.add(9, &addition(3, 1));
        sum.add(7, &addition(4, 2));
        assert_eq!((sum.total, worst(&sum)), (21, Some(3)));
        sum.add(1, &addition(5, WORST_OF_US + 2));
        assert_eq!(worst(&sum), Some(5), "the other one was a minute ago");
    }

    #[test]
    fn a_round_trip_is_counted_at_the_first_bound_that_it_does_not_exceed() {
        let mut counts = RttCounts::default();
        for (rtt_us, at) in [(0, 0), (50, 0), (51, 1), (2_000_000, 14), (2_000_001, 15), (9_000_000, 15)] {
            let before = counts.counts[at];
            counts.add(rtt_us, &addition(at as u16, 0));
            assert_eq!(counts.counts[at], before + 1, "{rtt_us}");
        }
        assert_eq!((counts.counts.iter().sum::<u64>(), counts.sum_us), (6, 13_000_102));
        counts.add(7, &addition(1, WORST_OF_US));
        let worst = |counts: &RttCounts| counts.worst.map(|worst| (worst.remote.port(), worst.amount));
        assert_eq!(worst(&counts), Some((15, 9_000_000)));
        counts.add(8, &addition(2, WORST_OF_US + 1));
        assert_eq!(worst(&counts), Some((2, 8)), "the other one was a minute ago");
    }

    #[test]
    fn a_group_that_was_not_used_for_long_makes_room_and_one_that_was_does_not() {
        let mut groups = Groups::new(1);
        let label = |name: &str| vec![name.to_owned()];
        let a = groups.find_or_add(label("a"), 0);
        groups.at(a, 0).sent_bytes = 1;
        let b = groups.find_or_add(label("b"), KEPT_US);
        groups.at(b, KEPT_US).sent_bytes += 2;
        assert!(!a.is_other() && b.is_other());
        assert!(groups.is_current(a, KEPT_US) && groups.is_current(b, KEPT_US));
        assert!(!groups.is_current(b, KEPT_US + 1), "there may be room for it");
        assert!(!groups.find_or_add(label("c"), KEPT_US + 1).is_other(), "a was not used since 0");
        assert!(!groups.is_current(a, KEPT_US + 1), "its place is another one's");
        assert_eq!(groups.all().into_iter().map(|(labels, _)| labels).collect::<Vec<_>>(), [label("c")]);
        assert_eq!(groups.other().sent_bytes, 2);
        let used = groups.find_or_add(label("c"), KEPT_US + 2);
        groups.at(used, KEPT_US + 2);
        assert!(groups.find_or_add(label("d"), 2 * KEPT_US + 2).is_other(), "c was used since");
        assert!(!groups.find_or_add(label("d"), 2 * KEPT_US + 3).is_other());
    }

    proptest! {
        /// The number of groups stays within its bound, and what was added is in one of them as long as none was dropped.
        #[test]
        fn groups_are_bounded_and_lose_nothing(
            most in 0_usize..4,
            additions in prop::collection::vec((0_u8..6, 0_u64..1_000), 0..100),
        ) {
            let mut groups = Groups::new(most);
            for (at, (name, bytes)) in additions.iter().enumerate() {
                let place = groups.find_or_add(vec![name.to_string()], at as u64);
                groups.at(place, at as u64).received_bytes += bytes;
            }
            let all = groups.all();
            prop_assert!(all.len() <= most);
            let sum: u64 = all.iter().map(|(_, figures)| figures.received_bytes).sum();
            let added: u64 = additions.iter().map(|(_, bytes)| bytes).sum();
            prop_assert_eq!(sum + groups.other().received_bytes, added);
        }
    }
}
