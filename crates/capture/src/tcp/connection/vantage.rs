//! Where on the path a connection was captured, estimated from how long each end takes to answer.

use super::Connection;
use crate::tcp::side::Side;

/// The nearer end takes no more than this part of the path's RTT.
const NEAR_PART: u32 = 10;
/// An end that answers within this time takes it itself, however short the path …
const OWN_US: u32 = 100;
/// … where the other end takes this many times as long.
const OTHER_TIMES: u32 = 5;
/// A shorter RTT is the hosts' own time more than the path's.
const RTT_MIN_US: u32 = 200;

/// Where the capture point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vantage {
    /// At side A, or so near that it makes no difference.
    NearA,
    /// At side B.
    NearB,
    /// A part of the path is on either side.
    Between,
    /// The RTT to one of the ends is not known, or both are too short to compare.
    Unknown,
}

impl Vantage {
    /// The end that it is at.
    pub(crate) const fn near(self) -> Option<Side> {
        match self {
            Self::NearA => Some(Side::A),
            Self::NearB => Some(Side::B),
            Self::Between | Self::Unknown => None,
        }
    }
}

impl Connection {
    /// The end that the capture was made at; `None` where it was between them, or where that is not known.
    pub fn near(&self) -> Option<Side> {
        self.vantage().near()
    }

    /// The shortest times from the capture point to A and back, and to B and back, µs: of the two halves of the handshake and of all later
    /// round trips. `None` where that end was never waited for.
    #[inline]
    pub(crate) fn answers_us(&self) -> [Option<u32>; 2] {
        Side::BOTH.map(|end| self.answer_us(end))
    }

    /// The RTT to one end and back. The handshake's is one of the answers to the other end.
    #[inline]
    pub(crate) fn answer_us(&self, end: Side) -> Option<u32> {
        self.half(end.other()).answer_us()
    }

    /// The least time from the capture point to both ends and back, of all that were seen.
    pub(crate) fn least_rtt_us(&self) -> Option<u32> {
        let [to_a, to_b] = self.answers_us();
        Some(to_a?.saturating_add(to_b?))
    }

    /// By which end answers sooner.
    pub fn vantage(&self) -> Vantage {
        self.vantage_by_clock(0)
    }

    /// The vantage by a clock with a resolution of `resolution_us`: a part of the path's RTT has to be longer than that.
    pub(crate) fn vantage_by_clock(&self, resolution_us: u32) -> Vantage {
        let [Some(to_a), Some(to_b)] = self.answers_us() else { return Vantage::Unknown };
        let whole = to_a.saturating_add(to_b);
        let is_near = |own: u32, other: u32| {
            own <= whole / NEAR_PART || own <= OWN_US && own.saturating_mul(OTHER_TIMES) <= other
        };
        if whole < RTT_MIN_US.max(resolution_us.saturating_mul(NEAR_PART)) {
            Vantage::Unknown
        } else if is_near(to_a, to_b) {
            Vantage::NearA
        } else if is_near(to_b, to_a) {
            Vantage::NearB
        } else {
            Vantage::Between
        }
    }
}
