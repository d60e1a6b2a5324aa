//! What the receiver of a UDP stream counts: duplicates, order (RFC 4737), jitter (RFC 3550) and one-way delays.

use super::seen::SeenNumbers;
use crate::record::UdpTotals;
use hdrhistogram::Histogram;

/// The longest delay that is told from a longer one.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// The datagrams of a stream that arrived.
#[derive(Debug)]
pub struct Arrivals {
    seen: SeenNumbers,
    highest: Option<u64>,
    counts: Counts,
    last_transit: Option<i64>,
    /// RFC 3550 jitter in nanoseconds, sixteen times.
    jitter_16: i64,
    /// To three significant figures; the extremes are kept exactly.
    delays: Histogram<u64>,
    extremes: Option<(i64, i64)>,
}

/// Datagrams so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Received, duplicates not counted.
    pub received: u64,
    /// Received again.
    pub duplicates: u64,
    /// Received after a later one.
    pub reordered: u64,
}

impl Default for Arrivals {
    fn default() -> Self {
        let delays = Histogram::new_with_bounds(1, LONGEST_NS, 3)
            .unwrap_or_else(|_| unreachable!("the bounds are constants that hdrhistogram accepts"));
        Self {
            seen: SeenNumbers::default(),
            highest: None,
            counts: Counts::default(),
            last_transit: None,
            jitter_16: 0,
            delays,
            extremes: None,
        }
    }
}

impl Arrivals {
    /// Notes datagram `number`, which took `transit_ns` where that is known; false if it was seen before.
    #[inline]
    pub fn note(&mut self, number: u64, transit_ns: Option<i64>) -> bool {
        if !self.seen.insert(number) {
            self.counts.duplicates += 1;
            return false;
        }
        self.counts.received += 1;
        self.counts.reordered += u64::from(self.highest.is_some_and(|highest| number < highest));
        self.highest = self.highest.max(Some(number));
        if let Some(transit) = transit_ns {
            self.note_transit(transit);
        }
        true
    }

    #[inline]
    fn note_transit(&mut self, transit: i64) {
        self.delays.saturating_record(u64::try_from(transit).unwrap_or(0));
        let (least, most) = self.extremes.unwrap_or((transit, transit));
        self.extremes = Some((least.min(transit), most.max(transit)));
        if let Some(last) = self.last_transit {
            // RFC 3550, 6.4.1 and A.8, in integers.
            self.jitter_16 += (transit - last).abs() - self.jitter_16 / 16;
        }
        self.last_transit = Some(transit);
    }

    /// What was counted so far.
    #[inline]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// One more than the highest number that arrived.
    pub fn expected(&self) -> u64 {
        self.highest.map_or(0, |highest| highest.saturating_add(1))
    }

    /// RFC 3550 jitter; `None` before a transit time is known.
    pub fn jitter_ns(&self) -> Option<u64> {
        self.last_transit.map(|_| u64::try_from(self.jitter_16 / 16).unwrap_or(0))
    }

    /// The totals of a stream of which `sent` datagrams were sent.
    pub fn totals(&self, sent: u64, socket_drops: Option<u64>) -> UdpTotals {
        let at = |quantile| {
            let value = i64::try_from(self.delays.value_at_quantile(quantile)).unwrap_or(i64::MAX);
            self.extremes.map(|(least, most)| value.clamp(least, most))
        };
        UdpTotals {
            sent,
            received: self.counts.received,
            duplicates: self.counts.duplicates,
            reordered: self.counts.reordered,
            socket_drops,
            jitter_ns: self.jitter_ns(),
            one_way_delay_min_ns: self.extremes.map(|(least, _)| least),
            one_way_delay_p50_ns: at(0.5),
            one_way_delay_p99_ns: at(0.99),
            one_way_delay_max_ns: self.extremes.map(|(_, most)| most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_counts_once_and_late_ones_are_reordered() {
        let mut arrivals = Arrivals::default();
        let is_new = [0, 2, 1, 2].map(|number| arrivals.note(number, Some(1_000)));
        assert_eq!(is_new, [true, true, true, false]);
        assert_eq!(arrivals.expected(), 3);
        assert_eq!(arrivals.counts(), Counts { received: 3, duplicates: 1, reordered: 1 });
    }

    #[test]
    fn percentiles_lie_within_the_extremes_and_are_none_without_a_transit() {
        let mut arrivals = Arrivals::default();
        arrivals.note(0, None);
        let unknown = arrivals.totals(5, None);
        assert_eq!((unknown.sent, unknown.received, unknown.jitter_ns), (5, 1, None));
        assert_eq!((unknown.one_way_delay_min_ns, unknown.one_way_delay_p50_ns), (None, None));
        arrivals.note(1, Some(-7));
        arrivals.note(2, Some(1_000_003));
        let known = arrivals.totals(5, None);
        assert_eq!((known.one_way_delay_min_ns, known.one_way_delay_p99_ns), (Some(-7), Some(1_000_003)));
        assert_eq!(known.jitter_ns, Some(1_000_010 / 16));
    }
}
