//! What lets new data out of a sender, where its packets are the evidence.

/// What lets new data out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Release {
    /// Room in the receiver's window.
    ReceiveWindow,
    /// Room in the congestion window, or what the path makes of it.
    CongestionWindow,
    /// Room in the send buffer: all that is in it is sent.
    SendBuffer,
    /// A pacing rate.
    Pacer,
    /// The application: all that is written is sent.
    Application,
    /// None of these: the flight is constant, and a congestion window would grow.
    Unexplained,
}
