//! The time in which a sender with data out hears of nothing delivered for longer than a round trip: it waits for a timer.
//!
//! What is in flight meanwhile is not on its way, so that it is no part of Little's law. Never: the quiet part of a round trip, or
//! the time of a sender that has nothing out.

use super::sender_sample::SenderSample;

/// One stream's deliveries, sample by sample.
#[derive(Debug, Default)]
pub(crate) struct Stall {
    last: Option<DeliveryProgress>,
}

#[derive(Debug)]
struct DeliveryProgress {
    t_us: u64,
    /// Bytes acknowledged, and segments delivered, which count what SACKs show too.
    delivered: (Option<u64>, Option<u32>),
    /// When that was seen first.
    since_us: u64,
}

impl Stall {
    /// Takes the sender's next sample; how much of the time since the last one it stood still, microseconds.
    pub(super) fn observe(&mut self, sample: &SenderSample) -> u64 {
        let delivered = (sample.acked, sample.delivered);
        let still = self.last.as_ref().filter(|last| last.delivered == delivered && sample.unacked > 0);
        let (since_us, stalled_us) = still.map_or((sample.t_us, 0), |last| {
            let from_us = last.since_us + sample.srtt_us.unwrap_or(0);
            (last.since_us, sample.t_us.saturating_sub(from_us.max(last.t_us)))
        });
        self.last = Some(DeliveryProgress { t_us: sample.t_us, delivered, since_us });
        stalled_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(t_us: u64, acked: u64, unacked: u64) -> SenderSample {
        SenderSample { t_us, acked: Some(acked), unacked, srtt_us: Some(15), ..SenderSample::default() }
    }

    #[test]
    fn what_is_quiet_for_longer_than_a_round_trip_stands_still() {
        let mut stall = Stall::default();
        let rows = [(0, 0), (10, 5), (20, 5), (30, 5), (40, 5), (50, 9)];
        assert_eq!(rows.map(|(t_us, acked)| stall.observe(&sample(t_us, acked, 1))), [0, 0, 0, 5, 10, 0]);
    }

    #[test]
    fn a_sender_that_has_nothing_out_does_not_wait() {
        let mut stall = Stall::default();
        assert_eq!([0, 100, 200].map(|t_us| stall.observe(&sample(t_us, 5, 0))), [0, 0, 0]);
    }
}
