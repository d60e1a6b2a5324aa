//! What an observer gets for each segment, once it is classified.

use super::side::Side;
use crate::headers::{Flags, SACKS_MAX, Segment};

/// What a segment is, seen from the capture point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SegmentKind {
    /// A SYN or SYN-ACK for the first time.
    Syn,
    /// Data, or a FIN, for the first time and in order; a hole may be before it.
    New,
    /// Sent again in fast recovery (RFC 6675, RFC 8985).
    FastRetransmit,
    /// Sent again after a timeout (RFC 6298), and until what was outstanding then is acknowledged; also a SYN.
    RtoRetransmit,
    /// The last segment, sent again as a probe (RFC 8985 7).
    TlpRetransmit,
    /// Data that others overtook before the capture point.
    OutOfOrder,
    /// A copy of a packet: it was captured at two interfaces.
    CapturedTwice,
    /// Asks whether the other end is there (RFC 9293 3.8.4).
    KeepAlive,
    /// Asks for a window (RFC 9293 3.8.6.1).
    ZeroWindowProbe,
    /// An ACK of something new, and no data.
    PureAck,
    /// An ACK of nothing new while data is outstanding (RFC 5681 2).
    DuplicateAck,
    /// A window that changed, and no data.
    WindowUpdate,
    /// The connection is reset.
    Reset,
    /// Numbers that fit nothing: of another connection.
    Stray,
}

impl SegmentKind {
    /// Whether it was sent before.
    pub const fn is_retransmit(self) -> bool {
        matches!(self, Self::FastRetransmit | Self::RtoRetransmit | Self::TlpRetransmit)
    }
}

/// The blocks of a SACK option, in the sequence numbers of the data's sender.
#[derive(Debug, Clone, Copy, Eq, Default)]
pub struct Sacks {
    pub(super) blocks: [(u64, u64); SACKS_MAX],
    pub(super) count: u8,
}

impl PartialEq for Sacks {
    /// Compares the blocks in use; older blocks may still be in the array.
    fn eq(&self, other: &Self) -> bool {
        self.blocks() == other.blocks()
    }
}

impl Sacks {
    /// Left and right edges, in the option's order.
    #[inline]
    pub fn blocks(&self) -> &[(u64, u64)] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// One segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The packet's number in its capture, from 1.
    pub number: u64,
    /// Nanoseconds since 1970.
    pub time_ns: u64,
    /// Who sent it.
    pub side: Side,
    /// What it is.
    pub kind: SegmentKind,
    /// Its first sequence number, from its sender's first (the SYN has 0; without a SYN the first that was seen has 1, and 0 stands for all
    /// below it).
    pub seq_from: u64,
    /// The sequence number after the last byte; SYN and FIN count.
    pub seq_to: u64,
    /// Bytes of payload.
    pub payload: u32,
    /// Segments that it was, or will be, cut into: more than 1 for a super-packet.
    pub segments: u32,
    /// What it acknowledges, from the other side's first sequence number.
    pub ack: Option<u64>,
    /// The window that it advertises, in bytes; `None` where the scale is not known.
    pub window_bytes: Option<u32>,
    /// Its SACK blocks.
    pub sacks: Sacks,
    /// The first of them reports bytes that were received twice (RFC 2883).
    pub is_dsack: bool,
    /// Control bits.
    pub flags: Flags,
    /// The path marked it (RFC 3168).
    pub is_ce: bool,
    /// It fills a hole: it was lost, or overtaken, before the capture point.
    pub fills_hole: bool,
    /// It acknowledges data that the capture does not have.
    pub shows_unseen: bool,
    /// The RTT that it measured as an ACK: from the capture point to the other end and back.
    pub rtt_us: Option<u32>,
}

impl Event {
    /// Of no segment: what the first one is written to.
    pub(super) const fn none() -> Self {
        Self {
            number: 0,
            time_ns: 0,
            side: Side::A,
            kind: SegmentKind::Stray,
            seq_from: 0,
            seq_to: 0,
            payload: 0,
            segments: 0,
            ack: None,
            window_bytes: None,
            sacks: Sacks { blocks: [(0, 0); SACKS_MAX], count: 0 },
            is_dsack: false,
            flags: Flags(0),
            is_ce: false,
            fills_hole: false,
            shows_unseen: false,
            rtt_us: None,
        }
    }

    /// An event with the fields of the headers of `segment`, for a segment that acknowledges nothing new and is of no special kind.
    #[inline(always)]
    pub(super) const fn begin(&mut self, segment: &Segment, side: Side) {
        self.number = segment.number;
        self.time_ns = segment.time_ns;
        self.side = side;
        self.payload = segment.payload;
        self.flags = segment.flags;
        self.is_ce = segment.ecn == 3;
        (self.ack, self.rtt_us) = (None, None);
        (self.is_dsack, self.fills_hole, self.shows_unseen) = (false, false, false);
        self.sacks.count = 0;
    }
}

/// Why a connection is followed no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ended {
    /// It was closed, and its time was over.
    Closed,
    /// Another connection began between the same ports.
    Replaced,
    /// There were too many.
    Evicted,
    /// The capture ended.
    EndOfCapture,
}
