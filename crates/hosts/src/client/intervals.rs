//! A test's time cut into intervals, and what this end counted in each.

use crate::end::{End, Mark, retransmits};
use pipefill_report::iperf3::measured::{Counted, Interval, IntervalCount, SocketInfo};
use std::time::Duration;

/// What remains of an interval after the last one that was due is no interval of its own.
const SHORTEST_US: u64 = 1_000;

/// The cutter.
#[derive(Debug)]
pub(super) struct Intervals {
    every: Option<Duration>,
    /// Where the current interval began.
    from: Mark,
    /// Where time began: that of the test, then that of what counts.
    zero: Mark,
    is_omitting: bool,
    /// Intervals so far since then.
    count: u32,
}

impl Intervals {
    /// From now on.
    pub(super) fn new(every: Option<Duration>, end: &End) -> Self {
        let from = end.base().clone();
        Self { every, zero: from.clone(), from, is_omitting: end.counting_for().is_none(), count: 0 }
    }

    /// How long until one is due.
    pub(super) fn due_in(&self, end: &End) -> Duration {
        let Some(every) = self.every else { return Duration::MAX };
        self.zero.at.after(every * (self.count + 1)).since(end.transfer.now())
    }

    /// The interval that is due, if one is.
    pub(super) fn due(&mut self, end: &End) -> Option<Interval> {
        if self.every.is_none() || !self.due_in(end).is_zero() {
            return None;
        }
        self.count += 1;
        Some(self.cut(end, end.mark()))
    }

    /// The time that is left out has ended: its last interval, and time begins anew.
    pub(super) fn end_of_omitted(&mut self, end: &End) -> Option<Interval> {
        let last = self.rest(end, end.base().clone());
        (self.zero, self.from) = (end.base().clone(), end.base().clone());
        (self.is_omitting, self.count) = (false, 0);
        last
    }

    /// The last one.
    pub(super) fn last(&mut self, end: &End) -> Option<Interval> {
        self.rest(end, end.mark())
    }

    fn rest(&mut self, end: &End, to: Mark) -> Option<Interval> {
        let is_long = to.at.micros().saturating_sub(self.from.at.micros()) >= SHORTEST_US;
        (self.every.is_some() && is_long).then(|| self.cut(end, to))
    }

    fn cut(&mut self, end: &End, to: Mark) -> Interval {
        let from = &self.from;
        let micros = |mark: &Mark| mark.at.since(self.zero.at).as_micros() as u64;
        let streams = (0..to.counted.len()).map(|index| count(end, from, &to, index)).collect();
        let interval =
            Interval { from_us: micros(from), to_us: micros(&to), is_omitted: self.is_omitting, streams };
        self.from = to;
        interval
    }
}

fn count(end: &End, from: &Mark, to: &Mark, index: usize) -> IntervalCount {
    let (now, before) = (to.counted[index], from.counted.get(index).copied().unwrap_or_default());
    let sends = end.transfer.sends(index);
    let packets = now.packets.saturating_sub(before.packets);
    let lost = if sends { 0 } else { packets.saturating_sub(now.received.saturating_sub(before.received)) };
    let counted = Counted {
        bytes: now.bytes.saturating_sub(before.bytes),
        retransmits: retransmits(from, to, index).filter(|_| sends),
        packets,
        lost,
        reordered: now.reordered.saturating_sub(before.reordered),
        jitter_ns: now.jitter_ns,
        span_us: to.at.since(from.at).as_micros() as u64,
    };
    let look = to.infos[index].filter(|_| sends).map(|info| SocketInfo {
        cwnd_bytes: info.cwnd_bytes.unwrap_or(0),
        rwnd_bytes: info.rwnd_bytes.map_or(0, u64::from),
        srtt_us: info.srtt_us.map_or(0, u64::from),
        rttvar_us: info.rttvar_us.map_or(0, u64::from),
        pmtu_bytes: end.transfer.path_mtu(index).map_or(0, u64::from),
    });
    IntervalCount { counted, look }
}
