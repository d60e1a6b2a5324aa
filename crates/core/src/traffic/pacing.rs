//! When the next message of a fixed-rate application is due.

use crate::units::{Bytes, Rate, Time};
use std::time::Duration;

/// A schedule of equal messages at a fixed rate. An application that was held up catches up: its data does not go away.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    start: Time,
    rate: Rate,
    length: u64,
    sent: u64,
}

impl Schedule {
    /// Messages of `length` bytes, at least one, at `rate` (payload bits) from `start` on.
    pub fn new(start: Time, rate: Rate, length: Bytes) -> Self {
        Self { start, rate, length: length.get().max(1), sent: 0 }
    }

    /// Moves the start.
    pub fn start_at(&mut self, start: Time) {
        self.start = start;
    }

    /// When the next message is due.
    pub fn next_due(&self) -> Time {
        self.due(self.sent)
    }

    /// Messages that are due by `now` and not yet sent.
    pub fn owed(&self, now: Time) -> u64 {
        if now < self.next_due() {
            return 0;
        }
        let bytes = u128::from(self.rate.bps()) * now.since(self.start).as_nanos() / 8_000_000_000;
        let due = u64::try_from(bytes / u128::from(self.length)).unwrap_or(u64::MAX).saturating_add(1);
        due.saturating_sub(self.sent).max(1)
    }

    /// Notes that `count` messages were sent.
    pub fn advance(&mut self, count: u64) {
        self.sent = self.sent.saturating_add(count);
    }

    /// When message number `index` (from 0) is due.
    pub fn due(&self, index: u64) -> Time {
        let bits = (u128::from(index) * u128::from(self.length)).saturating_mul(8_000_000_000);
        let nanos = bits.div_ceil(u128::from(self.rate.bps().max(1)));
        self.start.after(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// Number of messages sent so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_due_at_their_rate() {
        let mut schedule = Schedule::new(Time::from_nanos(500), Rate::from_bps(8_000_000), Bytes::new(1000));
        assert_eq!(schedule.next_due(), Time::from_nanos(500));
        assert_eq!(schedule.owed(Time::from_nanos(499)), 0);
        assert_eq!(schedule.owed(Time::from_nanos(500)), 1);
        schedule.advance(1);
        assert_eq!(schedule.next_due(), Time::from_nanos(1_000_500));
        assert_eq!(schedule.owed(Time::from_nanos(10_000_500)), 10);
    }
}
