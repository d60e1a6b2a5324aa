//! The last packets with data of a direction, of which a capture may have copies.
//!
//! Memory: 32 bytes for each packet of the last 20 ms, at most 1024 of them.

use super::data::Data;

/// A copy of a packet comes within this: SPAN ports and routers send it on some milliseconds later.
pub(super) const COPY_NS: u64 = 20_000_000;
const PACKETS_MAX: usize = 1024;

/// When a packet passed, and the fields in which a retransmission of the same bytes differs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Passed {
    pub(super) at_ns: u64,
    pub(super) tsval: u32,
    pub(super) ip_id: u16,
}

#[derive(Debug, Clone, Copy)]
struct Packet {
    from: u64,
    length: u32,
    passed: Passed,
}

/// A ring: `at` is behind the newest, and the oldest follows.
#[derive(Debug, Clone, Default)]
pub(super) struct RecentPackets {
    packets: Vec<Packet>,
    at: usize,
}

impl RecentPackets {
    #[inline(always)]
    pub(super) fn push(&mut self, data: &Data<'_>) {
        let passed =
            Passed { at_ns: data.now(), tsval: data.tsval().unwrap_or(0), ip_id: data.segment.ip_id };
        let packet = Packet { from: data.from, length: length(data), passed };
        if self.at == self.packets.len() {
            self.at = 0;
        }
        match self.packets.get_mut(self.at) {
            Some(oldest) if data.now().saturating_sub(oldest.passed.at_ns) >= COPY_NS => *oldest = packet,
            _ => self.insert(packet),
        }
        self.at += 1;
    }

    /// Where there is none to replace, or the oldest is still wanted.
    #[cold]
    #[inline(never)]
    fn insert(&mut self, packet: Packet) {
        if self.packets.len() < PACKETS_MAX {
            self.packets.insert(self.at, packet);
        } else {
            self.packets[self.at] = packet;
        }
    }

    /// The packets of the last 20 ms with the same bytes as `data`.
    pub(super) fn find(&self, data: &Data<'_>) -> impl Iterator<Item = Passed> + '_ {
        let (from, length, now) = (data.from, length(data), data.now());
        let has_same = move |packet: &&Packet| packet.from == from && packet.length == length;
        let is_recent = move |passed: &Passed| now.saturating_sub(passed.at_ns) < COPY_NS;
        self.packets.iter().filter(has_same).map(|packet| packet.passed).filter(is_recent)
    }

    /// Bytes on the heap.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>() + self.packets.capacity() * size_of::<Packet>()
    }
}

#[inline(always)]
const fn length(data: &Data<'_>) -> u32 {
    (data.to - data.from) as u32
}
