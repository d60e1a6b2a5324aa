//! What a frame costs on a link: overhead, a least size, and cells, in the way of `tc stab`.

use super::DirectionSpec;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a bottleneck counts frames: `overhead`, then `mpu`, then `cells`, as `tc_adjust_size()` of iproute2's `tc/tc_core.c` and
/// `cake_calc_overhead()` of `net/sched/sch_cake.c` do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Framing {
    /// What a link carries beside the frame of IP + 14 bytes, or less, where it is negative.
    #[serde(rename = "overhead_bytes", default)]
    pub overhead: i16,
    /// What the smallest frame costs.
    #[serde(rename = "mpu_bytes", default)]
    pub mpu: u16,
    /// What frames are cut into.
    #[serde(default)]
    pub cells: Cells,
}

/// What a link cuts frames into.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cells {
    /// Nothing.
    #[default]
    None,
    /// Cells of 53 bytes with 48 of payload (ITU-T I.361), the last one filled up.
    Atm,
    /// A byte for each 64 (64/65 octet encoding, IEEE 802.3 clause 61.3).
    Ptm,
}

impl Framing {
    /// An overhead alone.
    pub fn beside(overhead: Bytes) -> Self {
        Self { overhead: i16::try_from(overhead.get()).unwrap_or(i16::MAX), ..Self::default() }
    }

    /// What a frame of `bytes` bytes (IP + 14) costs; at least one byte.
    #[inline]
    pub fn cost(self, bytes: u64) -> u64 {
        let sized = bytes.saturating_add_signed(self.overhead.into()).max(self.mpu.into()).max(1);
        match self.cells {
            Cells::None => sized,
            Cells::Atm => sized.div_ceil(48).saturating_mul(53),
            Cells::Ptm => sized.saturating_add(sized.div_ceil(64)),
        }
    }

    /// Whether it is more than an overhead.
    #[inline]
    pub fn is_more_than_overhead(self) -> bool {
        self.overhead < 0 || self.mpu > 0 || self.cells != Cells::None
    }
}

impl DirectionSpec {
    /// How its bottleneck counts frames; frames as they are where there is none.
    pub fn framing(&self) -> Framing {
        let beside = self.bottleneck.as_ref().map(|bottleneck| Framing::beside(bottleneck.overhead));
        self.framing.or(beside).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atm(overhead: i16) -> Framing {
        Framing { overhead, mpu: 0, cells: Cells::Atm }
    }

    /// PPPoE with LLC/SNAP has 40 bytes beside the IP packet, 26 beside our frame: 1500 + 40 bytes are 33 cells, an ACK of 52 bytes 2.
    #[test]
    fn frames_fill_cells() {
        assert_eq!(atm(26).cost(1514), 33 * 53);
        assert_eq!(atm(26).cost(52 + 14), 2 * 53);
        // PPPoA with VC-MUX has 10 bytes beside the IP packet: an ACK of 40 bytes takes two cells, one of 38 one.
        assert_eq!([atm(-4).cost(54), atm(-4).cost(52)], [2 * 53, 53]);
    }

    #[test]
    fn the_overhead_is_added_then_the_least_size_holds_then_the_encoding() {
        let docsis = Framing { overhead: 4, mpu: 64, cells: Cells::None };
        assert_eq!([docsis.cost(1514), docsis.cost(54)], [1518, 64]);
        let ptm = Framing { overhead: 16, mpu: 0, cells: Cells::Ptm };
        assert_eq!(ptm.cost(1514), 1530 + 24);
        assert_eq!(Framing::default().cost(1514), 1514);
        assert_eq!(Framing { overhead: -2000, ..Framing::default() }.cost(60), 1, "never nothing");
        assert_eq!(atm(0).cost(u64::MAX), u64::MAX);
    }
}
