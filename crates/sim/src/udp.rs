//! UDP: datagrams at a fixed rate, and a receiving application that is always fast enough, so that what is lost the path has lost.

use crate::segment::Body;
use pipefill_core::record::{UdpSample, UdpTotals};
use pipefill_core::traffic::arrivals::Arrivals;
use pipefill_core::traffic::pacing::Schedule;
use pipefill_core::units::{Bytes, Rate, Time};

/// Both ends of a UDP stream.
#[derive(Debug)]
pub(crate) struct UdpStream {
    schedule: Schedule,
    until: Time,
    length: u32,
    arrivals: Arrivals,
    /// When the last datagram came.
    last: Option<Time>,
}

impl UdpStream {
    pub(crate) fn new(start: Time, until: Time, rate: Rate, length: u32) -> Self {
        let schedule = Schedule::new(start, rate, Bytes::new(u64::from(length)));
        Self { schedule, until, length, arrivals: Arrivals::default(), last: None }
    }

    /// The traffic begins: the same schedule, on the run's own clock.
    pub(crate) fn begin(&mut self, start: Time, until: Time) {
        self.schedule.start_at(start);
        self.until = until;
    }

    /// When the next datagram is due.
    pub(crate) fn next(&self) -> Option<Time> {
        Some(self.schedule.next_due()).filter(|&due| due < self.until)
    }

    /// The next datagram that is due at `now`.
    pub(crate) fn send_due(&mut self, now: Time) -> Option<Body> {
        self.next().filter(|&due| due <= now)?;
        let number = self.schedule.sent();
        self.schedule.advance(1);
        Some(Body::Datagram { number, len: self.length, sent: now })
    }

    pub(crate) fn on_datagram(&mut self, now: Time, number: u64, sent: Time) {
        self.last = Some(now);
        let transit = i64::try_from(now.since(sent).as_nanos()).unwrap_or(i64::MAX);
        self.arrivals.note(number, Some(transit));
    }

    /// Payload bytes sent and received, duplicates not counted.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let length = u64::from(self.length);
        (self.schedule.sent() * length, self.arrivals.counts().received * length)
    }

    /// When the last datagram came.
    pub(crate) fn last(&self) -> Option<Time> {
        self.last
    }

    pub(crate) fn sample(&self, now: Time, stream: u32) -> UdpSample {
        let counts = self.arrivals.counts();
        UdpSample {
            t_us: now.micros(),
            stream,
            sent: self.schedule.sent(),
            received: counts.received,
            duplicates: counts.duplicates,
            reordered: counts.reordered,
            jitter_ns: self.arrivals.jitter_ns().filter(|_| counts.received > 1),
        }
    }

    pub(crate) fn totals(&self) -> UdpTotals {
        self.arrivals.totals(self.schedule.sent(), Some(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_order_and_jitter_are_counted() {
        let at = Time::from_nanos;
        let mut stream = UdpStream::new(Time::ZERO, at(4_000_000), Rate::from_bps(8_000_000), 1000);
        let mut sent = Vec::new();
        while let Some(due) = stream.next() {
            sent.extend(stream.send_due(due));
        }
        assert_eq!(sent.len(), 4);
        stream.on_datagram(at(1_000_000), 0, at(0));
        stream.on_datagram(at(3_016_000), 2, at(2_000_000));
        stream.on_datagram(at(3_020_000), 1, at(1_000_000));
        stream.on_datagram(at(3_030_000), 2, at(2_000_000));
        let totals = stream.totals();
        assert_eq!((totals.sent, totals.received, totals.duplicates, totals.reordered), (4, 3, 1, 1));
        assert_eq!(
            (totals.one_way_delay_min_ns, totals.one_way_delay_max_ns),
            (Some(1_000_000), Some(2_020_000))
        );
        assert_eq!(totals.jitter_ns, Some((16_000 - 1000 + 1_004_000) / 16));
    }
}
