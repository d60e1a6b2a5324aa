//! The two ends of a connection.

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Who opened the connection, where its SYN or SYN-ACK was seen; else who sent its first packet.
    A,
    /// The other.
    B,
}

impl Side {
    /// Both ends.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The one at the other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// What belongs to it, and what to the other: of A's and B's.
    #[inline]
    pub(crate) const fn own_and_other<T>(self, [a, b]: &mut [T; 2]) -> (&mut T, &mut T) {
        match self {
            Self::A => (a, b),
            Self::B => (b, a),
        }
    }
}
