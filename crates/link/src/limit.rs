//! What an element may hold, as plain bytes or packets.

use crate::counters::Count;
use pipefill_core::units::{FULL_FRAME, QueueLimit, Rate};
use std::time::Duration;

/// [`FULL_FRAME`] as the length of a packet.
pub const FULL_PACKET: u32 = FULL_FRAME.get() as u32;

/// A resolved limit; never below one full packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Bytes of Ethernet frames without FCS.
    Bytes(u64),
    /// Packets.
    Packets(u64),
}

impl Limit {
    /// Resolves `limit`. BDPs become `multiple × rate × rtt`, rounded down to bytes; without a `rate` there is no BDP,
    /// and so no limit: `None`.
    pub fn resolve(limit: QueueLimit, rate: Option<Rate>, rtt: Duration) -> Option<Self> {
        Some(match limit {
            QueueLimit::Bytes(bytes) => Self::Bytes(bytes.get().max(u64::from(FULL_PACKET))),
            QueueLimit::Packets(packets) => Self::Packets(packets.max(1)),
            QueueLimit::Bdp(multiple) => Self::Bytes(bdps(multiple, rate?, rtt).max(u64::from(FULL_PACKET))),
        })
    }

    /// Whether a packet of `bytes` bytes fits beside `held` (`bfifo_enqueue()` and `pfifo_enqueue()` in
    /// `net/sched/sch_fifo.c`).
    pub fn admits(self, held: Count, bytes: u32) -> bool {
        match self {
            Self::Bytes(limit) => held.bytes + u64::from(bytes) <= limit,
            Self::Packets(limit) => held.packets < limit,
        }
    }

    /// Whether `held` is more than it allows.
    pub const fn is_exceeded_by(self, held: Count) -> bool {
        match self {
            Self::Bytes(limit) => held.bytes > limit,
            Self::Packets(limit) => held.packets > limit,
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a BDP is far below 2^53 bytes; a negative multiple saturates to 0"
)]
fn bdps(multiple: f64, rate: Rate, rtt: Duration) -> u64 {
    (multiple * rate.bdp(rtt).get() as f64).floor() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::units::Bytes;

    const RATE: Option<Rate> = Some(Rate::from_bps(1_000_000_000));
    const RTT: Duration = Duration::from_millis(20);

    #[test]
    fn bdps_become_bytes_rounded_down() {
        assert_eq!(Limit::resolve(QueueLimit::Bdp(1.0), RATE, RTT), Some(Limit::Bytes(2_500_000)));
        assert_eq!(Limit::resolve(QueueLimit::Bdp(0.333_333_3), RATE, RTT), Some(Limit::Bytes(833_333)));
        assert_eq!(Limit::resolve(QueueLimit::Bdp(1.0), None, RTT), None);
    }

    #[test]
    fn a_limit_holds_at_least_one_full_packet() {
        let small = [
            QueueLimit::Bytes(Bytes::new(1)),
            QueueLimit::Packets(0),
            QueueLimit::Bdp(0.0),
            QueueLimit::Bdp(-1.0),
        ];
        for limit in small {
            let limit = Limit::resolve(limit, RATE, RTT).expect("has a rate");
            assert!(limit.admits(Count::default(), FULL_PACKET));
            assert!(!limit.admits(Count::packet(FULL_PACKET), FULL_PACKET));
        }
    }

    #[test]
    fn a_packet_that_fills_the_limit_exactly_is_admitted() {
        assert!(Limit::Bytes(3000).admits(Count::packet(1500), 1500));
        assert!(!Limit::Bytes(2999).admits(Count::packet(1500), 1500));
        assert!(Limit::Packets(2).admits(Count::packet(1500), 9000));
    }
}
