//! What is collected of a connection over time.

use crate::tcp::SegmentKind;

/// What is collected over time. Sequence numbers count from the sender's first, as [`Event`](crate::tcp::Event) has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Series {
    /// Sequence numbers of data that was sent for the first time.
    Data,
    /// Sequence numbers sent again in fast recovery.
    FastRetransmit,
    /// Sequence numbers sent again after a timeout.
    RtoRetransmit,
    /// Sequence numbers sent again as a probe for a lost tail.
    TlpRetransmit,
    /// Retransmissions of these three kinds that were not needed, at the time when they were sent.
    Spurious,
    /// Sequence numbers of data that others overtook before the capture point.
    OutOfOrder,
    /// Sequence numbers that an ACK reports as received behind a hole, and the ACK before did not.
    Sack,
    /// Sequence numbers reported as received twice (RFC 2883).
    Dsack,
    /// The ACK of a duplicate ACK.
    DuplicateAck,
    /// The ACK of a segment that advertises a window of 0.
    ZeroWindow,
    /// A probe for a window.
    ZeroWindowProbe,
    /// The SYN of the data's sender.
    Syn,
    /// Its FIN.
    Fin,
    /// A reset by either side.
    Reset,
    /// What is acknowledged; holds until the next.
    Ack,
    /// ACK and advertised window together; holds until the next, and is absent where the scale is not known.
    WindowEdge,
    /// Bytes sent and not acknowledged; holds until the next.
    Outstanding,
    /// Bytes on their way: outstanding without what was SACKed or is taken for lost; holds until the next.
    InFlight,
    /// The advertised window, bytes; holds until the next, and is absent where the scale is not known.
    Window,
    /// RTT samples, µs, from the capture point to the receiver and back.
    Rtt,
    /// The smoothed RTT, µs; holds until the next.
    Srtt,
}

impl Series {
    /// Every one, in their order.
    pub const ALL: [Self; 21] = [
        Self::Data,
        Self::FastRetransmit,
        Self::RtoRetransmit,
        Self::TlpRetransmit,
        Self::Spurious,
        Self::OutOfOrder,
        Self::Sack,
        Self::Dsack,
        Self::DuplicateAck,
        Self::ZeroWindow,
        Self::ZeroWindowProbe,
        Self::Syn,
        Self::Fin,
        Self::Reset,
        Self::Ack,
        Self::WindowEdge,
        Self::Outstanding,
        Self::InFlight,
        Self::Window,
        Self::Rtt,
        Self::Srtt,
    ];

    /// Whether it is of single events that must be seen each.
    pub const fn is_rare(self) -> bool {
        matches!(
            self,
            Self::FastRetransmit
                | Self::RtoRetransmit
                | Self::TlpRetransmit
                | Self::Spurious
                | Self::ZeroWindow
                | Self::ZeroWindowProbe
                | Self::Syn
                | Self::Fin
                | Self::Reset
        )
    }

    pub(super) const fn of_data(kind: SegmentKind) -> Option<Self> {
        match kind {
            SegmentKind::New => Some(Self::Data),
            SegmentKind::FastRetransmit => Some(Self::FastRetransmit),
            SegmentKind::RtoRetransmit => Some(Self::RtoRetransmit),
            SegmentKind::TlpRetransmit => Some(Self::TlpRetransmit),
            SegmentKind::OutOfOrder => Some(Self::OutOfOrder),
            SegmentKind::ZeroWindowProbe => Some(Self::ZeroWindowProbe),
            _ => None,
        }
    }
}
