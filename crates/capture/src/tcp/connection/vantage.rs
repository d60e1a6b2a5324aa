//! Where on the path a connection was captured: how long each end takes to answer tells.

use super::{Connection, Handshake};
use crate::tcp::Side;

/// The nearer end takes no more than this part of the path's RTT.
const NEAR_PART: u32 = 10;
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
    /// The RTT to one of the ends is not known, or both are too short to tell.
    Unknown,
}

impl Connection {
    /// The end that the capture was made at; `None` where it was between them, or where that is not known.
    pub fn near(&self) -> Option<Side> {
        match self.vantage() {
            Vantage::NearA => Some(Side::A),
            Vantage::NearB => Some(Side::B),
            Vantage::Between | Vantage::Unknown => None,
        }
    }

    /// From the two halves of the handshake and of all later round trips, whichever are shorter.
    pub fn vantage(&self) -> Vantage {
        let Handshake { syn_to_syn_ack_us, syn_ack_to_ack_us } = self.handshake;
        let [a, b] = &self.halves;
        let least = |one: Option<u32>, other: Option<u32>| one.into_iter().chain(other).min();
        let to_b = least(syn_to_syn_ack_us, a.answer_us());
        let to_a = least(syn_ack_to_ack_us, b.answer_us());
        let Some((to_a, to_b)) = to_a.zip(to_b) else { return Vantage::Unknown };
        let whole = to_a.saturating_add(to_b);
        if whole < RTT_MIN_US {
            Vantage::Unknown
        } else if to_a <= whole / NEAR_PART {
            Vantage::NearA
        } else if to_b <= whole / NEAR_PART {
            Vantage::NearB
        } else {
            Vantage::Between
        }
    }
}
