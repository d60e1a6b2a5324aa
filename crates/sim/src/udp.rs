//! UDP: datagrams at a fixed rate, and what their receiver counts (RFC 3550 jitter, RFC 4737 reordering, one-way delay).
//!
//! Never: a socket that drops; the receiving application is always fast enough, so that what is lost the path has lost.

use crate::segment::Body;
use hdrhistogram::Histogram;
use pipefill_core::pacing::Schedule;
use pipefill_core::record::{UdpSample, UdpTotals};
use pipefill_core::seen::Seen;
use pipefill_core::units::{Bytes, Rate, Time};

/// Both ends of a UDP stream.
#[derive(Debug)]
pub(crate) struct UdpStream {
    schedule: Schedule,
    until: Time,
    length: u32,
    arrivals: Arrivals,
}

/// What the receiver has seen.
#[derive(Debug)]
struct Arrivals {
    seen: Seen,
    highest: Option<u64>,
    received: u64,
    duplicates: u64,
    reordered: u64,
    last_transit: Option<i64>,
    /// RFC 3550 jitter, sixteen times.
    jitter_16: i64,
    /// To three significant figures, as the lab has them; the extremes are kept exactly.
    delays: Histogram<u64>,
    extremes: Option<(u64, u64)>,
    last: Option<Time>,
}

impl UdpStream {
    pub(crate) fn new(start: Time, until: Time, rate: Rate, length: u32) -> Self {
        let schedule = Schedule::new(start, rate, Bytes::new(u64::from(length)));
        Self { schedule, until, length, arrivals: Arrivals::new() }
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
        self.arrivals.note(now, number, sent);
    }

    /// Payload bytes sent and received, duplicates not counted.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let length = u64::from(self.length);
        (self.schedule.sent() * length, self.arrivals.received * length)
    }

    /// When the last datagram came.
    pub(crate) fn last(&self) -> Option<Time> {
        self.arrivals.last
    }

    pub(crate) fn sample(&self, now: Time, stream: u32) -> UdpSample {
        let arrivals = &self.arrivals;
        UdpSample {
            t_us: now.micros(),
            stream,
            sent: self.schedule.sent(),
            received: arrivals.received,
            duplicates: arrivals.duplicates,
            reordered: arrivals.reordered,
            jitter_ns: (arrivals.received > 1).then(|| arrivals.jitter_ns()),
        }
    }

    pub(crate) fn totals(&self) -> UdpTotals {
        let arrivals = &self.arrivals;
        let signed = |nanos: u64| i64::try_from(nanos).unwrap_or(i64::MAX);
        let at = |quantile| {
            let value = arrivals.delays.value_at_quantile(quantile);
            arrivals.extremes.map(|(least, most)| signed(value.clamp(least, most)))
        };
        UdpTotals {
            sent: self.schedule.sent(),
            received: arrivals.received,
            duplicates: arrivals.duplicates,
            reordered: arrivals.reordered,
            socket_drops: Some(0),
            jitter_ns: arrivals.last_transit.map(|_| arrivals.jitter_ns()),
            one_way_delay_min_ns: arrivals.extremes.map(|(least, _)| signed(least)),
            one_way_delay_p50_ns: at(0.5),
            one_way_delay_p99_ns: at(0.99),
            one_way_delay_max_ns: arrivals.extremes.map(|(_, most)| signed(most)),
        }
    }
}

impl Arrivals {
    fn new() -> Self {
        let delays = Histogram::new_with_bounds(1, 3_600_000_000_000, 3)
            .unwrap_or_else(|_| unreachable!("the bounds are constants that hdrhistogram accepts"));
        Self {
            seen: Seen::default(),
            highest: None,
            received: 0,
            duplicates: 0,
            reordered: 0,
            last_transit: None,
            jitter_16: 0,
            delays,
            extremes: None,
            last: None,
        }
    }

    fn note(&mut self, now: Time, number: u64, sent: Time) {
        self.last = Some(now);
        if !self.seen.insert(number) {
            self.duplicates += 1;
            return;
        }
        self.received += 1;
        self.reordered += u64::from(self.highest.is_some_and(|highest| number < highest));
        self.highest = self.highest.max(Some(number));
        let transit = u64::try_from(now.since(sent).as_nanos()).unwrap_or(u64::MAX);
        self.delays.saturating_record(transit);
        let (least, most) = self.extremes.unwrap_or((transit, transit));
        self.extremes = Some((least.min(transit), most.max(transit)));
        let transit = i64::try_from(transit).unwrap_or(i64::MAX);
        if let Some(last) = self.last_transit {
            // RFC 3550, 6.4.1 and A.8, in integers.
            self.jitter_16 += (transit - last).abs() - self.jitter_16 / 16;
        }
        self.last_transit = Some(transit);
    }

    fn jitter_ns(&self) -> u64 {
        u64::try_from(self.jitter_16 / 16).unwrap_or(0)
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
