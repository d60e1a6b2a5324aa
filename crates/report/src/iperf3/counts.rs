//! A stream's intervals in whole numbers that add up to its totals, as iperf3's own do.

use pipefill_analysis::findings::intervals::{Interval, SenderInfo};
use pipefill_core::record::StreamSummary;

/// What the client counted of one stream in one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Counts {
    /// Microseconds since the stream began.
    pub(super) from_us: u64,
    pub(super) to_us: u64,
    /// Payload: sent by a client that sends, received by one that receives.
    pub(super) bytes: u64,
    /// TCP, of a client that sends.
    pub(super) retransmits: Option<u64>,
    /// UDP: sent by a client that sends; received or lost where it receives.
    pub(super) packets: Option<u64>,
    /// UDP, of a client that receives.
    pub(super) lost_packets: u64,
    /// UDP, of a client that receives.
    pub(super) jitter_ns: Option<u64>,
    /// Of a client that sends.
    pub(super) look: Option<SenderInfo>,
}

/// Those of a client that sends: its last interval has what was counted until the stream's end.
pub(super) fn sent(summary: &StreamSummary, intervals: &[Interval]) -> Vec<Counts> {
    let bytes = whole(intervals.iter().map(|interval| interval.sent_bytes), summary.sent_bytes);
    let again = summary.tcp.map(|info| {
        whole(
            intervals.iter().map(|interval| interval.retransmits.unwrap_or(0.0)),
            u64::from(info.retransmits),
        )
    });
    let packets = summary
        .udp
        .map(|udp| whole(intervals.iter().map(|interval| interval.datagrams.unwrap_or(0.0)), udp.sent));
    let at = |all: &Option<Vec<u64>>, at: usize| all.as_ref().map(|counts| counts[at]);
    let counts = |(place, interval): (usize, &Interval)| Counts {
        from_us: interval.from_us,
        to_us: interval.to_us,
        bytes: bytes[place],
        retransmits: at(&again, place),
        packets: at(&packets, place),
        look: interval.look,
        ..Counts::default()
    };
    intervals.iter().enumerate().map(counts).collect()
}

/// Those of a client that receives. What came after the sender had stopped is an interval of its own.
pub(super) fn received(summary: &StreamSummary, intervals: &[Interval]) -> Vec<Counts> {
    let mut all = intervals.to_vec();
    let stopped_us = summary.stop_us.saturating_sub(summary.start_us);
    let ended_us = summary.end_us.saturating_sub(summary.start_us);
    if ended_us > stopped_us {
        let jitter_ns = summary.udp.and_then(|udp| udp.jitter_ns);
        all.push(Interval { from_us: stopped_us, to_us: ended_us, jitter_ns, ..Interval::default() });
    }
    let bytes = whole(all.iter().map(|interval| interval.received_bytes), summary.received_bytes);
    let datagrams = summary.udp.map(|udp| {
        let arrived = whole(all.iter().map(|interval| interval.arrived.unwrap_or(0.0)), udp.received);
        let sent = whole(all.iter().map(|interval| interval.datagrams.unwrap_or(0.0)), udp.sent);
        let lost = lost(&sent, &arrived, udp.sent.saturating_sub(udp.received));
        (arrived, lost)
    });
    let counts = |(place, interval): (usize, &Interval)| Counts {
        from_us: interval.from_us,
        to_us: interval.to_us,
        bytes: bytes[place],
        packets: datagrams.as_ref().map(|(arrived, lost)| arrived[place] + lost[place]),
        lost_packets: datagrams.as_ref().map_or(0, |(_, lost)| lost[place]),
        jitter_ns: interval.jitter_ns,
        ..Counts::default()
    };
    all.iter().enumerate().map(counts).collect()
}

/// Whole numbers whose sums are those of `steps`, rounded; the last one has what is missing of `total`.
fn whole(steps: impl Iterator<Item = f64>, total: u64) -> Vec<u64> {
    let mut sum = 0.0;
    let mut before = 0;
    let mut counts: Vec<u64> = steps
        .map(|step| {
            sum += step;
            let until = (sum.round() as u64).clamp(before, total);
            until - std::mem::replace(&mut before, until)
        })
        .collect();
    if let Some(last) = counts.last_mut() {
        *last += total - before;
    }
    counts
}

/// Lost in each interval: what had not arrived at its end and did not arrive later. They add up to `total`.
fn lost(sent: &[u64], arrived: &[u64], total: u64) -> Vec<u64> {
    let mut missing = 0_i128;
    let outstanding: Vec<i128> = sent
        .iter()
        .zip(arrived)
        .map(|(&sent, &arrived)| {
            missing += i128::from(sent) - i128::from(arrived);
            missing
        })
        .collect();
    let mut known = vec![total; outstanding.len()];
    let mut least = i128::from(total);
    for (place, &count) in outstanding.iter().enumerate().rev().skip(1) {
        least = least.min(count.max(0));
        known[place] = u64::try_from(least).unwrap_or(0);
    }
    let mut before = 0;
    known.into_iter().map(|until| until - std::mem::replace(&mut before, until)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_keep_the_sum() {
        assert_eq!(whole([0.4, 0.4, 0.4].into_iter(), 1), [0, 1, 0]);
        assert_eq!(whole([1.5, 1.5].into_iter(), 5), [2, 3]);
        assert_eq!(whole([7.0, 7.0].into_iter(), 9), [7, 2], "no more than there were");
        assert_eq!(whole(std::iter::empty(), 5), [0; 0]);
    }

    #[test]
    fn what_is_on_its_way_is_not_lost() {
        assert_eq!(lost(&[10, 10, 0], &[5, 10, 5], 0), [0, 0, 0]);
        assert_eq!(lost(&[10, 10, 0], &[5, 7, 4], 4), [4, 0, 0]);
        assert_eq!(lost(&[10, 10, 10], &[10, 0, 10], 10), [0, 10, 0]);
        assert_eq!(lost(&[4, 4], &[4, 1], 3), [0, 3]);
    }
}
