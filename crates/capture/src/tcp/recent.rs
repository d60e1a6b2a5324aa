//! The last packets with data of a direction, of which a capture may have copies.
//!
//! Memory: 32 bytes for each packet of the last 20 ms, at most 1024 of them, and at least the last few.

use super::data::Data;
use super::sender::COPY_NS;

/// Packets that are remembered however old they are: copies come behind so many others.
const PACKETS_MIN: usize = 32;
const PACKETS_MAX: usize = 1024;

/// When a packet passed, and what tells it from the same bytes that are sent again.
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
        if self.at == self.packets.len() && self.at >= PACKETS_MIN {
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

    /// When those with the same bytes as `data` passed.
    pub(super) fn find(&self, data: &Data<'_>) -> impl Iterator<Item = Passed> + '_ {
        let (from, length) = (data.from, length(data));
        let has_same = move |packet: &&Packet| packet.from == from && packet.length == length;
        self.packets.iter().filter(has_same).map(|packet| packet.passed)
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
