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

/// A connection that added most to a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorstConnection {
    /// Address and port of this host.
    pub local: SocketAddr,
    /// Address and port of the peer.
    pub remote: SocketAddr,
    /// What it added at once.
    pub amount: u64,
    /// When.
    pub at: SystemTime,
    at_us: u64,
}

/// A sum, and who added most to it lately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// All of it.
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
        let is_worst = self
            .worst
            .is_none_or(|worst| amount >= worst.amount || of.at_us.saturating_sub(worst.at_us) > WORST_OF_US);
        if amount > 0 && is_worst {
            let Addition { local, remote, at, at_us } = *of;
            self.worst = Some(WorstConnection { local, remote, amount, at, at_us });
        }
    }
}

impl RttCounts {
    pub(crate) fn add(&mut self, rtt_us: u64) {
        let at = RTT_BOUNDS_US.partition_point(|&bound| bound < rtt_us);
        self.counts[at] += 1;
        self.sum_us += rtt_us;
    }
}

/// All groups.
#[derive(Debug)]
pub(crate) struct Groups {
    most: usize,
    groups: BTreeMap<Vec<String>, Group>,
    other: GroupFigures,
}

#[derive(Debug, Default)]
struct Group {
    figures: GroupFigures,
    used_us: u64,
}

impl Groups {
    /// At most `most` of them, and one for all others.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, groups: BTreeMap::new(), other: GroupFigures::default() }
    }

    /// The figures of the group with these labels at `now_us`, and whether they are those of all others.
    pub(crate) fn of(&mut self, labels: Vec<String>, now_us: u64) -> (&mut GroupFigures, bool) {
        // A process may be called so too.
        if labels.iter().all(|label| label == OTHER) {
            return (&mut self.other, true);
        }
        if !self.groups.contains_key(&labels) && self.groups.len() >= self.most {
            let oldest = self.groups.iter().min_by_key(|(_, group)| group.used_us);
            let unused = oldest.filter(|(_, group)| now_us.saturating_sub(group.used_us) > KEPT_US);
            match unused.map(|(labels, _)| labels.clone()) {
                Some(unused) => self.groups.remove(&unused),
                None => return (&mut self.other, true),
            };
        }
        let group = self.groups.entry(labels).or_default();
        group.used_us = now_us;
        (&mut group.figures, false)
    }

    /// No connection is busy, until it is counted again.
    pub(crate) fn clear_busy(&mut self) {
        self.other.busy = 0;
        self.groups.values_mut().for_each(|group| group.figures.busy = 0);
    }

    /// Each group's labels and figures.
    pub(crate) fn all(&self) -> Vec<(Vec<String>, GroupFigures)> {
        self.groups.iter().map(|(labels, group)| (labels.clone(), group.figures.clone())).collect()
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
            counts.add(rtt_us);
            assert_eq!(counts.counts[at], before + 1, "{rtt_us}");
        }
        assert_eq!((counts.counts.iter().sum::<u64>(), counts.sum_us), (6, 13_000_102));
    }

    #[test]
    fn a_group_that_was_not_used_for_long_makes_room_and_one_that_was_does_not() {
        let mut groups = Groups::new(1);
        let label = |name: &str| vec![name.to_owned()];
        groups.of(label("a"), 0).0.sent_bytes = 1;
        assert!(groups.of(label("b"), KEPT_US).1);
        groups.of(label("b"), KEPT_US).0.sent_bytes += 2;
        assert!(!groups.of(label("c"), KEPT_US + 1).1, "a was not used since 0");
        assert_eq!(groups.all().into_iter().map(|(labels, _)| labels).collect::<Vec<_>>(), [label("c")]);
        assert_eq!(groups.other().sent_bytes, 2);
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
                groups.of(vec![name.to_string()], at as u64).0.received_bytes += bytes;
            }
            let all = groups.all();
            prop_assert!(all.len() <= most);
            let sum: u64 = all.iter().map(|(_, figures)| figures.received_bytes).sum();
            let added: u64 = additions.iter().map(|(_, bytes)| bytes).sum();
            prop_assert_eq!(sum + groups.other().received_bytes, added);
        }
    }
}
