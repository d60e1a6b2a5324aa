//! UDP: datagrams at a fixed rate or in bursts, and a receiving application that is always fast enough, so that what is lost the path has lost.

use crate::segment::Body;
use pipefill_core::record::{UdpSample, UdpTotals};
use pipefill_core::traffic::arrivals::Arrivals;
use pipefill_core::traffic::pacing::Schedule;
use pipefill_core::units::Time;

/// Both ends of a UDP stream.
#[derive(Debug)]
pub(crate) struct UdpStream {
    schedule: Schedule,
    until: Time,
    arrivals: Arrivals,
    /// Payload bytes sent, and received without duplicates.
    bytes: [u64; 2],
    /// When the last datagram came.
    last: Option<Time>,
}

impl UdpStream {
    /// Datagrams as `schedule` has them, until `until`.
    pub(crate) fn new(schedule: Schedule, until: Time) -> Self {
        Self { schedule, until, arrivals: Arrivals::default(), bytes: [0; 2], last: None }
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
        let size = self.schedule.size(number);
        self.schedule.advance(1);
        self.bytes[0] += size;
        Some(Body::Datagram { number, len: u32::try_from(size).unwrap_or(u32::MAX), sent: now })
    }

    pub(crate) fn on_datagram(&mut self, now: Time, number: u64, sent: Time) {
        self.last = Some(now);
        let transit = i64::try_from(now.since(sent).as_nanos()).unwrap_or(i64::MAX);
        let before = self.arrivals.counts().received;
        self.arrivals.note(number, Some(transit));
        self.bytes[1] += (self.arrivals.counts().received - before) * self.schedule.size(number);
    }

    /// Payload bytes sent and received, duplicates not counted.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        self.bytes.into()
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
    use pipefill_core::units::{Bytes, Rate};

    #[test]
    fn duplicates_order_and_jitter_are_counted() {
        let at = Time::from_nanos;
        let schedule = Schedule::new(Time::ZERO, Rate::from_bps(8_000_000), Bytes::new(1000));
        let mut stream = UdpStream::new(schedule, at(4_000_000));
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
