//! What the sentence and the advice on a flow of datagrams need, where an emulated path has counted it.

use crate::infer::datagrams::{DatagramCounts, UnreadTrack};
use crate::infer::{KnownPath, KnownWay};
use pipefill_core::cell::Direction;
use pipefill_core::record::DatagramSample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The figures of a flow of datagrams.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DatagramFigures {
    /// Payload that came to the path from the first datagram to the last, bits per second.
    pub offered_bps: u64,
    /// What was counted in all; its time is that of the last reading.
    pub counted: DatagramSample,
    /// Packets that the path's queue holds; null where it is bounded in bytes.
    pub queue_packets: Option<u64>,
    /// Bytes that it holds; null where it has no bound.
    pub queue_bytes: Option<u64>,
    /// Share of the readings between which datagrams arrived that show half of the receiving socket's buffer or more unread.
    pub unread_share: Option<f64>,
    /// The most datagrams that the receiving socket dropped between two readings.
    pub socket_drops_peak: u64,
}

impl DatagramFigures {
    /// Of `counts`; `None` where no path has counted the flow.
    pub(super) fn of(
        counts: &DatagramCounts,
        unread: &UnreadTrack,
        path: &KnownPath,
        direction: Direction,
    ) -> Option<Self> {
        let &KnownWay { queue, queue_packets, .. } = path.way(direction);
        Some(Self {
            offered_bps: counts.offered_bps()?,
            counted: *counts.on_path()?,
            queue_packets,
            queue_bytes: queue.map(|queue| queue.value.get()),
            unread_share: unread.unread_share(),
            socket_drops_peak: unread.most_dropped(),
        })
    }
}
