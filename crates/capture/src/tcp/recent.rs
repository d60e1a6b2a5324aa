//! The last packets with data of a direction, of which a capture may have copies.
//!
//! In two generations: the older one goes as a whole, so that no packet is looked at before another one takes its place. Memory: 24 bytes for each
//! packet of the last 20 ms, and room for at most three times as many more; at most 1024 packets.

use super::data::Data;

/// A copy of a packet comes within this: SPAN ports and routers send it on some milliseconds later.
pub(super) const COPY_NS: u64 = 20_000_000;
/// Packets of a generation.
const PACKETS_MAX: usize = 512;

/// When a packet passed, and the fields in which a retransmission of the same bytes differs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Passed {
    pub(super) at_ns: u64,
    pub(super) tsval: u32,
    pub(super) ip_id: u16,
}

#[derive(Debug, Clone, Copy)]
struct Packet {
    at_ns: u64,
    /// The lower half: no path carries 4 GB in 20 ms.
    from: u32,
    length: u32,
    tsval: u32,
    ip_id: u16,
}

#[derive(Debug, Clone, Default)]
pub(super) struct RecentPackets {
    newer: Vec<Packet>,
    older: Vec<Packet>,
}

impl RecentPackets {
    #[inline(always)]
    pub(super) fn push(&mut self, data: &Data<'_>) {
        if self.newer.len() == self.newer.capacity() {
            self.make_room(data.now());
        }
        self.newer.push(Packet {
            at_ns: data.now(),
            from: data.from as u32,
            length: length(data),
            tsval: data.tsval().unwrap_or(0),
            ip_id: data.segment.ip_id,
        });
    }

    /// A generation begins where the older one is no longer wanted, or the newer one may not grow; else that doubles.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, now: u64) {
        let is_over = self.older.last().is_none_or(|last| now.saturating_sub(last.at_ns) >= COPY_NS);
        if is_over || self.newer.len() >= PACKETS_MAX {
            std::mem::swap(&mut self.newer, &mut self.older);
            self.newer.clear();
        }
        if self.newer.len() == self.newer.capacity() {
            self.newer.reserve_exact(self.newer.len().max(1));
        }
    }

    /// The packets of the last 20 ms with the same bytes as `data`.
    pub(super) fn find(&self, data: &Data<'_>) -> impl Iterator<Item = Passed> + '_ {
        let (from, length, now) = (data.from as u32, length(data), data.now());
        let is_same = move |packet: &&Packet| {
            packet.from == from && packet.length == length && now.saturating_sub(packet.at_ns) < COPY_NS
        };
        let passed =
            |packet: &Packet| Passed { at_ns: packet.at_ns, tsval: packet.tsval, ip_id: packet.ip_id };
        self.older.iter().chain(&self.newer).filter(is_same).map(passed)
    }

    /// Bytes on the heap.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>() + (self.newer.capacity() + self.older.capacity()) * size_of::<Packet>()
    }
}

#[inline(always)]
const fn length(data: &Data<'_>) -> u32 {
    (data.to - data.from) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::Segment;
    use crate::tcp::data::SegmentSize;

    /// What is found of each packet by a copy of it that comes behind all of them, which pass at these times.
    fn found(times_ns: &[u64], copies_ns: u64) -> (Vec<usize>, RecentPackets) {
        let mut recent = RecentPackets::default();
        let with = |time_ns: u64, at: usize, then: &mut dyn FnMut(&Data<'_>)| {
            let segment = Segment { time_ns, payload: 1_000, ..Segment::default() };
            let (from, size) = (at as u64 * 1_000, SegmentSize { mss: 1_000, largest: 1_000 });
            let to = from + 1_000;
            then(&Data {
                segment: &segment,
                from,
                to,
                size,
                has_sack: true,
                opening: None,
                full_rtt_us: None,
                is_first: false,
            });
        };
        for (at, &time_ns) in times_ns.iter().enumerate() {
            with(time_ns, at, &mut |data| recent.push(data));
        }
        let counts = (0..times_ns.len()).map(|at| {
            let mut count = 0;
            with(copies_ns, at, &mut |data| count = recent.find(data).count());
            count
        });
        (counts.collect(), recent)
    }

    /// Whatever came before: a burst behind a pause has more packets than there was room for.
    #[test]
    fn of_the_last_20_ms_each_packet_is_known_and_no_other() {
        for (before, burst) in [(0, 1), (1, 2), (3, 500), (100, 300), (513, 400)] {
            let mut times_ns: Vec<u64> = (0..before).map(|at| at * 100_000).collect();
            let begin_ns = before * 100_000 + COPY_NS;
            times_ns.extend((0..burst).map(|at| begin_ns + at * 20_000));
            let (counts, _) = found(&times_ns, begin_ns + COPY_NS - 1);
            let (of_before, of_burst) = counts.split_at(before as usize);
            assert!(of_before.iter().all(|&count| count == 0), "{before} {burst}");
            assert!(of_burst.iter().all(|&count| count == 1), "{before} {burst}: {of_burst:?}");
        }
    }

    #[test]
    fn memory_is_that_of_the_packets_of_20_ms() {
        let slow: Vec<u64> = (0..10_000).map(|at| at * 1_000_000).collect();
        assert!(found(&slow, 0).1.memory() <= 64 + 4 * 21 * 24, "{}", found(&slow, 0).1.memory());
        let fast: Vec<u64> = (0..10_000).map(|at| at * 1_000).collect();
        assert!(found(&fast, 0).1.memory() <= 64 + 2 * PACKETS_MAX * 24);
    }
}
