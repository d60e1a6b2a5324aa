//! What two captures of one transfer show together: what the path lost, and how long it took.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Times of a capture that ran backwards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct BackwardTimes {
    /// How often the clock was set back, by 20 ms or more.
    pub set_back: u64,
    /// By how much in all, microseconds: at least, since what passed between the packets before and after is not known.
    pub set_back_us: u64,
    /// By how much at most at once.
    pub set_back_most_us: u64,
    /// Packets that are behind the latest before them by less: they were written out of order.
    pub late_packets: u64,
    /// By how much at most, microseconds.
    pub late_most_us: u64,
}

/// The two captures.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct JoinedCaptures {
    /// The capture at the end that sends most of the largest connection.
    pub sender_file: String,
    /// The other.
    pub receiver_file: String,
    /// Both were made by one clock: by pipefill itself, in the same run.
    pub same_clock: bool,
    /// How the clocks differ; null where they are the same, where packets of one direction alone were matched, and where one was set.
    pub clock: Option<ClockDifference>,
    /// How often and how far the times of the sender's capture ran backwards; null where they did not.
    pub backward_times_at_sender: Option<BackwardTimes>,
    /// The same of the receiver's.
    pub backward_times_at_receiver: Option<BackwardTimes>,
    /// The difference of the clocks moved in the middle of the captures: one of them was set. Null where it did not, or where times ran backwards.
    pub offset_move: Option<OffsetMove>,
    /// Connections that only the sender's capture has.
    pub only_at_sender: u64,
    /// Connections that only the receiver's has.
    pub only_at_receiver: u64,
    /// Connections that were not joined because there are too many.
    pub left_out: u64,
    /// Packets of the sender's capture whose headers the snap length has cut off: they may be missing here.
    pub cut_at_sender: u64,
    /// The same of the receiver's.
    pub cut_at_receiver: u64,
    /// Packets that the sender's capture itself dropped; null where it has no count.
    pub dropped_at_sender: Option<u64>,
    /// The same of the receiver's: these are among the lost ones.
    pub dropped_at_receiver: Option<u64>,
}

/// The clock of the receiver's capture less that of the sender's.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ClockDifference {
    /// In the middle of what was matched, microseconds; the least delays of both directions are taken to be the same.
    pub offset_us: i64,
    /// How far that may be wrong where they are.
    pub offset_error_us: u64,
    /// How far it may be wrong whatever they are: half of the least round trip.
    pub offset_bound_us: u64,
    /// How much faster the receiver's runs, millionths; null where less than a second was matched.
    pub drift_ppm: Option<f64>,
    /// How far that may be wrong.
    pub drift_error_ppm: Option<f64>,
}

/// A clock that was set, as the difference to the other one shows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OffsetMove {
    /// How much further ahead of the sender's clock the receiver's is since then, microseconds.
    pub by_us: i64,
}

/// How it is known which capture is at which end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlacedBy {
    /// Each end answers sooner at one of them.
    Answers,
    /// The captures say it.
    Comment,
    /// It is assumed: the first file is the sender's.
    #[default]
    Assumed,
}

/// How a least one-way delay is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelayBasis {
    /// Measured: both captures have the same clock.
    SameClock,
    /// Half of the least round trip: both directions are taken to be the same.
    #[default]
    HalfRtt,
}

/// A flow that both captures have.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct JoinedFlow {
    /// How it is known which capture is the sender's.
    pub placed_by: PlacedBy,
    /// Its sender's address and port as the receiver's capture has them, where a NAT has changed an address; else null.
    pub src_at_receiver: Option<String>,
    /// Its receiver's, likewise.
    pub dst_at_receiver: Option<String>,
    /// From the flow's sender to its receiver.
    pub forward: JoinedDirection,
    /// Back: its ACKs.
    pub reverse: JoinedDirection,
}

/// What the path did with the packets of one direction. Super-packets count as the segments that they are on the wire.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct JoinedDirection {
    /// Segments with data, SYN or FIN that were sent, retransmissions included.
    pub data_segments: u64,
    /// Packets without data that were sent.
    pub pure_acks: u64,
    /// Segments with data, SYN or FIN that the path lost.
    pub lost_data_segments: u64,
    /// Packets without data that the path lost.
    pub lost_pure_acks: u64,
    /// Both, as a share of what was sent and could have been seen at the other end; null where nothing was.
    pub lost_share: Option<f64>,
    /// Lost retransmissions; they are among the lost ones.
    pub lost_retransmits: u64,
    /// Segments that arrived once more.
    pub duplicated: u64,
    /// Segments that arrived behind one that was sent later (RFC 4737).
    pub reordered: u64,
    /// What was not matched.
    pub unmatched: UnmatchedPackets,
    /// The first that were lost, at most 16.
    pub first_losses: Vec<LostPacket>,
    /// How long packets took; null where none was matched, or where the clocks can't be compared.
    pub one_way_delay: Option<OneWayDelay>,
}

/// Packets of one capture without their match in the other, and that are not lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct UnmatchedPackets {
    /// Sent before the other capture begins.
    pub sent_before: u64,
    /// Sent when it was over, or so late that they may not have arrived by then.
    pub sent_after: u64,
    /// Received before the sender's capture begins.
    pub received_before: u64,
    /// Received, and sent after its end.
    pub received_after: u64,
    /// Received, and missing in the sender's capture although it was there.
    pub received_only: u64,
    /// Judged early, because too many packets were held: they may be taken for lost.
    pub hurried: u64,
}

/// A packet that the path lost, or a part of a super-packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LostPacket {
    /// When it was sent, microseconds since the first packet of its direction.
    pub t_us: u64,
    /// Its number in its sender's capture.
    pub packet: u64,
    /// Its first sequence number, from the first of its direction.
    pub seq_from: i64,
    /// The one behind its last; the same for a packet without data.
    pub seq_to: i64,
    /// It was a retransmission.
    pub retransmit: bool,
}

/// One-way delays, microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OneWayDelay {
    /// Packets of which it is known.
    pub samples: u64,
    /// The least.
    pub min_us: i64,
    /// How that is known. What follows does not depend on it.
    pub basis: DelayBasis,
    /// Above the least: the median, which is the wait in queues.
    pub above_min_us_p50: i64,
    /// 95th percentile.
    pub above_min_us_p95: i64,
    /// 99th percentile.
    pub above_min_us_p99: i64,
    /// Difference from the packet sent before (IPDV, RFC 3393) without its sign: median; null without two packets in a row.
    pub ipdv_us_p50: Option<i64>,
    /// 95th percentile.
    pub ipdv_us_p95: Option<i64>,
    /// 99th percentile.
    pub ipdv_us_p99: Option<i64>,
    /// Above the least, median over lost data: the last packet that arrived before them; null without losses.
    pub above_min_us_before_loss: Option<i64>,
}
