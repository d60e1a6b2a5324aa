//! The last retransmissions of a direction, to find out which were for nothing: by D-SACK (RFC 2883, RFC 3708) or by timestamps (Eifel,
//! RFC 3522).
//!
//! Memory: at most 1024 of a direction.

use super::event::Kind;
use std::collections::VecDeque;

const KEPT_MAX: usize = 1024;

/// How it is known that a retransmission was for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownBy {
    /// The receiver reported the bytes as received twice.
    Dsack,
    /// The ACK echoes a transmission before the retransmission.
    Timestamps,
    /// The bytes had been acknowledged, at the capture point, before they were sent again.
    Acknowledged,
}

/// A retransmission of something that had arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spurious {
    /// Its first sequence number, from the connection's first.
    pub seq_from: u64,
    /// The one behind its last.
    pub seq_to: u64,
    /// When it passed the capture point.
    pub sent_ns: u64,
    /// When that was known.
    pub known_ns: u64,
    /// Why it was sent.
    pub kind: Kind,
    /// Segments in it.
    pub segments: u32,
    /// How it is known.
    pub known_by: KnownBy,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    from: u64,
    to: u64,
    sent_ns: u64,
    kind: Kind,
    segments: u32,
    is_spurious: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Resent(VecDeque<Entry>);

impl Resent {
    pub(super) fn push(&mut self, from: u64, to: u64, sent_ns: u64, kind: Kind, segments: u32) {
        if self.0.len() == KEPT_MAX {
            self.0.pop_front();
        }
        self.0.push_back(Entry { from, to, sent_ns, kind, segments, is_spurious: false });
    }

    /// The earliest retransmission within `from..to` not yet known as spurious is one.
    pub(super) fn find(&mut self, from: u64, to: u64, known_ns: u64, known_by: KnownBy) -> Option<Spurious> {
        let is_it = |entry: &&mut Entry| !entry.is_spurious && entry.from < to && from < entry.to;
        let entry = self.0.iter_mut().find(is_it)?;
        entry.is_spurious = true;
        Some(Spurious {
            seq_from: entry.from,
            seq_to: entry.to,
            sent_ns: entry.sent_ns,
            known_ns,
            kind: entry.kind,
            segments: entry.segments,
            known_by,
        })
    }

    pub(super) fn memory(&self) -> usize {
        self.0.capacity() * size_of::<Entry>()
    }
}
