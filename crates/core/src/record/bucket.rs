//! The leaky bucket that explains which segments of a stream were lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A leaky bucket (as a meter, ITU-T I.371): every segment that passes fills it, it empties at a constant rate, and a segment that does not fit is lost. The
/// rate is the one at which the losses come when it is fullest. It explains losses of a queue and of a policer, and not random ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct BucketFit {
    /// Bits per second of payload at which it empties: the lowest rate that explains the losses …
    pub payload_bps: u64,
    /// … and the highest one that does so as well. They lie far apart where it is empty between any two bursts.
    pub most_payload_bps: u64,
    /// Payload in it when segments were lost, bytes, the median: its size.
    pub held_bytes: u64,
    /// Difference of the 90th and the 10th percentile of that payload, over the median, in thousandths.
    pub spread_permille: u32,
    /// Share of the passed segments that found less in it than a lost segment, the mean, in thousandths: 500 for random loss, 1000 where it explains every
    /// loss.
    pub rank_permille: u32,
    /// Lost segments.
    pub lost_segments: u32,
    /// Events of loss: at least eight segments pass between two of them.
    pub events: u32,
    /// How much longer than the least round trip that of the segments next to lost ones is, from the capture point, microseconds, the median; absent where
    /// most losses were seen as holes.
    pub waited_us: Option<u32>,
    /// Time between the last two arrivals before a loss over what the second takes at the rate, the median, in thousandths: 1000 behind a queue. Packets before
    /// a hole, or ACKs before those that show what is missing; absent where none were seen.
    pub spacing_permille: Option<u32>,
}
