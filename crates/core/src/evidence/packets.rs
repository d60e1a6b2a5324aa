//! What the packets of a stream show, in figures: of one span of some round trips, and of a whole stream that arrives.

use super::Risen;
use crate::limit::Cause;
use crate::record::Repetition;
use crate::stacks::Stack;

/// The packets that the sender let out during an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SentPackets {
    /// The span of some round trips that the interval is part of.
    pub span: PacketSpan,
    /// The most in flight in the last round trip, bytes.
    pub flight: u64,
    /// Largest share of that in flight at a sample.
    pub flight_used: f64,
    /// The least that was in flight in a round trip, bytes.
    pub flight_least: u64,
    /// Whether it is a multiple of that in the round trip before, or that in the next one of it, as slow start makes it.
    pub is_doubling: bool,
    /// Whether it, of an initial window and more, is about twice that.
    pub is_doubled: bool,
    /// For how long data have left evenly.
    pub paced_us: u64,
    /// Payload acknowledged over the time of the whole stream, bits per second.
    pub mean_bps: u64,
}

/// A span of some round trips.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PacketSpan {
    /// Payload of a full segment, bytes.
    pub segment: u64,
    /// The most in flight, bytes.
    pub flight: u64,
    /// Of the samples in which data left, those in which the advertised window had no room for another packet.
    pub full_window_share: f64,
    /// What was in flight before each ACK, over the most that was around that time; absent without ACKs.
    pub fill: Option<f64>,
    /// New payload for each PSH, bytes; absent without any.
    pub bytes_of_a_push: Option<f64>,
    /// Segments with PSH over bursts, which begin after half a round trip of silence; absent without a burst.
    pub pushes_of_burst: Option<f64>,
    /// Of the segments with PSH, those that were not full.
    pub tail_share: f64,
    /// The largest window when the data may have been written, at half of the connection's age, bytes.
    pub widest_window: u64,
    /// Share of the samples with little in flight; absent near the receiver, where nothing is out between two segments.
    pub drained_share: Option<f64>,
    /// Share of the samples in which what is in flight has fallen to a part of what was in the round trip before, without a loss, not to nothing, and nothing new follows.
    pub fallen_share: f64,
    /// Spans since something was lost: 0 where it was in this one.
    pub since_loss: usize,
    /// The largest flight so far, bytes; absent near the receiver.
    pub flight_most: Option<u64>,
    /// The largest flight until the latest loss, bytes; 0 where nothing was lost.
    pub flight_before_loss: u64,
    /// Spans over which the largest flight has been the same to a segment.
    pub since_change: usize,
    /// Of the new payload, what followed an ACK at once.
    pub prompt_share: f64,
    /// Of the new payload, what followed an ACK at once and was no more than that acknowledged.
    pub clocked_share: f64,
    /// Bursts in a round trip that follow an ACK at once, each after no new data for half of it.
    pub clocked_bursts: f64,
    /// What was in flight before each burst in the mean, over the most; absent where that was nothing, and without a burst.
    pub before_bursts: Option<f64>,
    /// Standard deviation over mean of what left in each sample; absent where nothing did.
    pub unevenness: Option<f64>,
    /// By how much the round trip was above the least one at most.
    pub rtt_risen: Risen,
    /// Share of the samples in which a queue stood in the round trip.
    pub standing_share: f64,
    /// Change of the largest flight from the first half to the second, over the first.
    pub flight_change: f64,
    /// How long it is.
    pub round_trips: f64,
}

/// The packets of a whole stream as they arrive, where the capture point is near the receiver.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ArrivingPackets {
    /// Share of the samples in which all that was written was sent, and no buffer was full.
    pub dry_share: f64,
    /// The rate, where it stays the same.
    pub steady: Option<SteadyRate>,
    /// Share of the spans of some round trips in which bursts come further apart than a round trip; absent without such spans.
    pub apart_share: Option<f64>,
    /// Share of the time in silences after which everything that had come was acknowledged, the ACK had reached the sender, however late it was sent, and this side had said nothing.
    pub paused_share: f64,
    /// Share of the bursts that go on with what was written: the data before them ended with a full segment. Absent where there are few bursts.
    pub resumed_share: Option<f64>,
    /// Bursts that come in a round trip, each after none for half of it; absent where the round trip is not known.
    pub bursts_in_round_trip: Option<f64>,
    /// Share of the round trips that bring less than half of the one before, with more to follow; of a stream with a segment out of order, of those before it.
    pub fallen_share: f64,
    /// Share of the time that single full segments take which are evenly spaced, at least half of a round trip apart, and in the middle of a write; 0 where
    /// each may follow the ACK of the one before by a round trip.
    pub single_share: f64,
    /// How its bursts repeat; absent where there are few.
    pub repetition: Option<Repetition>,
    /// The sender's TCP implementation, where that is known.
    pub sender_stack: Option<Stack>,
    /// What holds its congestion window, if that holds it: the kind of its losses, or timers; absent where nothing is missing.
    pub cwnd_cause: Option<Cause>,
}

/// A rate that stays the same until the end, without a segment out of order.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SteadyRate {
    /// Over which share of the time.
    pub share: f64,
    /// Standard deviation over mean of what arrives in each sample: the median over the spans.
    pub unevenness: f64,
    /// The receiver's round trip over the least one, at most, but for rare spans.
    pub rtt_risen_most: f64,
    /// The same, the median over the spans.
    pub rtt_risen: f64,
    /// Bursts that come in a round trip, each after none for half of it: the median over the spans.
    pub bursts_in_round_trip: f64,
}
