//! What segments were lost for, as a bucket that overflows: it explains a queue's losses and a policer's, and none by chance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A bucket into which every segment of a stream that passes is poured, and which empties at a constant rate (the leaky bucket as a meter, ITU-T
/// I.371): the one in which most was at the losses. What no longer fits a queue is lost, and so is what finds no token with a policer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct BucketFit {
    /// Bits per second of payload at which it empties: the lowest rate that explains the losses …
    pub payload_bps: u64,
    /// … and the highest one that does so as well. They lie far apart where it is empty between any two bursts.
    pub most_payload_bps: u64,
    /// Payload in it when segments were lost, bytes, the median: what it holds.
    pub held_bytes: u64,
    /// From the 10th to the 90th percentile of that, over the median, in thousandths.
    pub spread_permille: u32,
    /// The part of the segments that passed which found less in it than a lost one, the mean of all that were lost, in thousandths: 500 by chance, 1000
    /// where it explains every loss.
    pub rank_permille: u32,
    /// Segments lost that it was fitted to.
    pub lost_segments: u32,
    /// Times that some were, with eight segments and more that passed in between.
    pub events: u32,
    /// How much longer than the least round trip that of the segments next to lost ones is, from the capture point, microseconds, the median; absent where
    /// most losses were seen as holes.
    pub waited_us: Option<u32>,
    /// Time between the last two arrivals before a loss over what the second takes at the rate, the median, in thousandths: 1000 behind a queue. Packets before
    /// a hole, or ACKs before those that show what is missing; absent where none were seen.
    pub spacing_permille: Option<u32>,
}
