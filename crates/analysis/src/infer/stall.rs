//! The time in which a sender with data out hears of nothing delivered for longer than a round trip: it waits for a timer.
//!
//! What is in flight meanwhile is not on its way, so that it is no part of Little's law. Never: the quiet part of a round trip, or
//! the time of a sender that has nothing out.

use pipefill_core::record::TcpSample;

/// One stream's deliveries, sample by sample.
#[derive(Debug, Default)]
pub(crate) struct Stall {
    last: Option<Seen>,
}

#[derive(Debug)]
struct Seen {
    t_us: u64,
    /// `tcpi_bytes_acked`, and `tcpi_delivered`, which counts what SACKs tell too.
    delivered: (Option<u64>, Option<u32>),
    /// When that was seen first.
    since_us: u64,
}

impl Stall {
    /// Takes the sender's next sample; how much of the time since the last one it stood still, microseconds.
    pub(crate) fn see(&mut self, row: &TcpSample) -> u64 {
        let delivered = (row.info.bytes_acked, row.info.delivered_segments);
        let still =
            self.last.as_ref().filter(|last| last.delivered == delivered && row.info.unacked_bytes > 0);
        let (since_us, stalled_us) = still.map_or((row.t_us, 0), |last| {
            let from_us = last.since_us + row.info.srtt_us.map_or(0, u64::from);
            (last.since_us, row.t_us.saturating_sub(from_us.max(last.t_us)))
        });
        self.last = Some(Seen { t_us: row.t_us, delivered, since_us });
        stalled_us
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::of_sender;
    use super::*;
    use pipefill_core::tcp_info::TcpInfo;

    fn sample(t_us: u64, bytes_acked: u64, unacked_bytes: u64) -> TcpSample {
        let info = TcpInfo {
            bytes_acked: Some(bytes_acked),
            unacked_bytes,
            srtt_us: Some(15),
            ..TcpInfo::default()
        };
        of_sender(t_us, info)
    }

    #[test]
    fn what_is_quiet_for_longer_than_a_round_trip_stands_still() {
        let mut stall = Stall::default();
        let rows = [(0, 0), (10, 5), (20, 5), (30, 5), (40, 5), (50, 9)];
        assert_eq!(rows.map(|(t_us, acked)| stall.see(&sample(t_us, acked, 1))), [0, 0, 0, 5, 10, 0]);
    }

    #[test]
    fn a_sender_that_has_nothing_out_does_not_wait() {
        let mut stall = Stall::default();
        assert_eq!([0, 100, 200].map(|t_us| stall.see(&sample(t_us, 5, 0))), [0, 0, 0]);
    }
}
