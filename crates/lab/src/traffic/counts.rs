//! What a stream has done so far, written by its own threads and read by the telemetry.

use super::give_way::GiveWay;
use pipefill_core::record::StreamEnd;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter with one writer and any number of readers.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Payload after which the senders of a test stop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal<'a> {
    /// Bytes of all streams together; may be moved while they send.
    pub(crate) bytes: &'a AtomicU64,
    /// All streams that send.
    pub(crate) of: &'a [StreamCounts],
}

impl Goal<'_> {
    /// Bytes that are still to be sent.
    pub(crate) fn left(self) -> u64 {
        let sent: u64 = self.of.iter().map(|counts| counts.sent_bytes.get()).sum();
        self.bytes.load(Ordering::Relaxed).saturating_sub(sent)
    }
}

/// Counts of one stream.
#[derive(Debug, Default)]
pub(crate) struct StreamCounts {
    /// Payload bytes that the sending socket took.
    pub(crate) sent_bytes: Count,
    /// Payload bytes that the receiving application read.
    pub(crate) received_bytes: Count,
    /// UDP: datagrams that the sending socket took.
    pub(crate) sent: Count,
    /// UDP: one more than the highest number that was received.
    pub(crate) expected: Count,
    /// UDP: datagrams received, duplicates not counted.
    pub(crate) received: Count,
    /// UDP: datagrams received again.
    pub(crate) duplicates: Count,
    /// UDP: datagrams that arrived after a later one.
    pub(crate) reordered: Count,
    /// UDP: RFC 3550 jitter, nanoseconds.
    pub(crate) jitter_ns: Count,
    /// UDP: when the newest datagram came, nanoseconds since the Unix epoch; 0 = none yet.
    pub(crate) transit_at_ns: Count,
    /// UDP: by how much that is later than the time that it carries, the bits of an `i64`, nanoseconds.
    pub(crate) transit_ns: Count,
    /// When the sender offered its first byte, nanoseconds of the run; 0 = not yet.
    pub(crate) started_ns: Count,
    /// When the receiver had its last byte, nanoseconds of the run; 0 = none yet.
    pub(crate) last_received_ns: Count,
    /// Who samples the sending socket, and the receiving one, asks the workers here.
    ways: [GiveWay; 2],
}

impl StreamCounts {
    /// Where the worker with the socket of `end` gives way.
    pub(crate) fn way(&self, end: StreamEnd) -> &GiveWay {
        &self.ways[usize::from(end == StreamEnd::Receiver)]
    }
}
