//! Rounds of a direction: what was in flight in each, and how fast it arrived.
//!
//! A round ends with the ACK of what was sent when it began, and not before an RTT has passed, where that is known: near the receiver ACKs
//! come at once. A rate is what arrived in [`SPAN`] rounds over their time, which no idle time can make larger: ACKs that come in bunches,
//! as for super-packets, make that of a single round too large. The largest is what the bottleneck let through.

/// Rounds without a pause between them that a rate is measured over.
pub(crate) const RATE_ROUNDS: u32 = 3;
const SPAN: usize = RATE_ROUNDS as usize;
/// The fewest segments from which a rate is computed.
const SEGMENTS_MIN: u64 = 12;
/// How long a round is at least where no RTT is known.
const UNKNOWN_RTT_NS: u64 = 10_000_000;

#[derive(Debug, Clone, Default)]
pub(super) struct Rounds {
    end: u64,
    delivered: u64,
    /// When the last rounds began, and what had arrived then; the latest first.
    begun: [(u64, u64); SPAN],
    begun_count: u8,
    flight: u64,
    flight_before: u64,
    flight_max: u64,
    best_bps: u64,
}

impl Rounds {
    /// A segment went out; `in_flight` bytes are now.
    #[inline]
    pub(super) fn sent(&mut self, now: u64, next: u64, in_flight: u64, was_empty: bool) {
        if was_empty {
            self.begun_count = 0;
            self.start(now, next);
        }
        self.flight = self.flight.max(in_flight);
        self.flight_max = self.flight_max.max(in_flight);
    }

    /// No time since an earlier round is known any more.
    pub(super) const fn forget_times(&mut self) {
        self.begun_count = 0;
    }

    /// Takes an ACK of `bytes` more bytes.
    #[inline]
    pub(super) fn acked(&mut self, now: u64, una: u64, next: u64, bytes: u64, mss: u32, rtt_us: Option<u32>) {
        self.delivered += bytes;
        if una < self.end {
            return;
        }
        let elapsed = now.saturating_sub(self.begun[0].0);
        if elapsed < rtt_us.map_or(UNKNOWN_RTT_NS, |us| u64::from(us) * 1000) {
            return;
        }
        let (start_ns, before) = self.begun[SPAN - 1];
        if usize::from(self.begun_count) == SPAN {
            let (bytes, elapsed) = (self.delivered - before, now.saturating_sub(start_ns));
            if bytes >= SEGMENTS_MIN * u64::from(mss) && elapsed > 0 {
                let bps = u128::from(bytes) * 8_000_000_000 / u128::from(elapsed);
                self.best_bps = self.best_bps.max(u64::try_from(bps).unwrap_or(u64::MAX));
            }
        }
        self.flight_before = self.flight;
        self.start(now, next);
    }

    fn start(&mut self, now: u64, next: u64) {
        self.end = next;
        self.begun.rotate_right(1);
        self.begun[0] = (now, self.delivered);
        self.begun_count = (self.begun_count + 1).min(SPAN as u8);
        self.flight = 0;
    }

    /// The most bytes in flight in this round and the previous one.
    pub(super) fn flight(&self) -> u64 {
        self.flight.max(self.flight_before)
    }

    /// The most bytes that ever were in flight.
    pub(super) const fn largest(&self) -> u64 {
        self.flight_max
    }

    pub(super) fn best_bps(&self) -> Option<u64> {
        (self.best_bps > 0).then_some(self.best_bps)
    }
}
