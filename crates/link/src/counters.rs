//! What a direction of a path has done so far.

use crate::ip_packet::IpPacket;
use crate::packet::Packet;
use pipefill_core::cell::{Direction, DirectionSpec};
use pipefill_core::record::{Counter, DropReason, Element, PathCount};
use std::ops::{Add, AddAssign, SubAssign};

/// Packets and their bytes (Ethernet frames without FCS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Packets of at most one MTU.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Count {
    /// One packet of `bytes` bytes.
    pub const fn packet(bytes: u32) -> Self {
        Self { packets: 1, bytes: bytes as u64 }
    }
}

impl Add for Count {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

impl SubAssign for Count {
    fn sub_assign(&mut self, other: Self) {
        self.packets -= other.packets;
        self.bytes -= other.bytes;
    }
}

/// Cumulative counters of one direction. Whenever the driver has taken all that is due,
/// `offered + duplicated = delivered + dropped + backlog`, in packets and in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Offered by the driver.
    pub offered: Count,
    /// Taken by the driver.
    pub delivered: Count,
    /// Copies that duplication added.
    pub duplicated: Count,
    /// Packets that left the delay element after one that had reached it later (RFC 4737, type-P-reordered). A copy is a
    /// packet of its own.
    pub reordered: u64,
    /// Marked CE by chance.
    pub marked: Count,
    /// Marked CE by the queue's discipline.
    pub marked_aqm: Count,
    /// Indexed by [`DropReason`].
    dropped: [Count; DropReason::ALL.len()],
    /// Which of the parts that a path usually lacks are there, and counted.
    parts: Parts,
}

/// Parts whose counters are in the records only where the path has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Parts {
    aqm: bool,
    mark: bool,
    policer: bool,
    inner_mtu: bool,
}

impl Counters {
    /// Nothing yet, in the direction `spec`.
    pub fn new(spec: &DirectionSpec) -> Self {
        let parts = Parts {
            aqm: spec.aqm.is_some(),
            mark: !spec.mark.is_none(),
            policer: spec.policer.is_some(),
            inner_mtu: spec.inner_mtu.is_some(),
        };
        Self { parts, ..Self::default() }
    }

    /// Dropped for this reason.
    pub const fn dropped(&self, reason: DropReason) -> Count {
        self.dropped[reason as usize]
    }

    /// Dropped for any reason.
    pub fn dropped_total(&self) -> Count {
        let mut total = Count::default();
        for count in self.dropped {
            total += count;
        }
        total
    }

    /// The counters of records, for the path in `direction`.
    pub fn records(&self, direction: Direction) -> Vec<Counter> {
        let place = Counter::path_place(direction);
        let counter = |name: String, after| Counter { place: place.clone(), name, before: 0, after };
        let packets = |count: PathCount| format!("{}_packets", count.name());
        let mut records = vec![counter(packets(PathCount::Reordered), self.reordered)];
        let is_counted = |reason: &DropReason| match reason {
            DropReason::ExceedsMtu => self.parts.inner_mtu,
            DropReason::Policed => self.parts.policer,
            DropReason::Aqm => self.parts.aqm,
            _ => true,
        };
        let reasons = DropReason::ALL.into_iter().filter(is_counted);
        let dropped = reasons.map(|reason| (PathCount::Dropped(reason), self.dropped(reason)));
        let marked = self.parts.mark.then_some((PathCount::MarkedRandomly, self.marked));
        let marked_aqm = self.parts.aqm.then_some((PathCount::MarkedByAqm, self.marked_aqm));
        let counts = [
            (PathCount::Offered, self.offered),
            (PathCount::Delivered, self.delivered),
            (PathCount::Duplicated, self.duplicated),
        ];
        for (count, value) in counts.into_iter().chain(marked).chain(marked_aqm).chain(dropped) {
            records.push(counter(packets(count), value.packets));
            records.push(counter(format!("{}_bytes", count.name()), value.bytes));
        }
        records
    }

    /// Counts a packet that is dropped, and tells its driver.
    pub(crate) fn drop_packet<T: IpPacket>(&mut self, reason: DropReason, packet: &Packet<T>) {
        self.dropped[reason as usize] += Count::packet(packet.bytes);
        packet.payload.dropped(reason);
    }
}

/// What one element holds now and has dropped so far; a row of `path.jsonl.zst` without its time and direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Which.
    pub element: Element,
    /// Packets in it.
    pub packets: u64,
    /// Bytes in it.
    pub bytes: u64,
    /// Packets that it dropped so far.
    pub dropped_packets: u64,
}
