//! When the next message of an application that follows a clock is due.

use crate::cell::BurstsSpec;
use crate::units::{Bytes, Rate, Time};
use std::time::Duration;

/// The shortest datagram: it has room for our own header.
pub const LEAST_DATAGRAM: Bytes = Bytes::new(32);

/// A schedule of messages: equal ones at a fixed rate, or bursts at fixed intervals. An application that was held up catches up: its data
/// does not go away.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    start: Time,
    timing: Timing,
    length: u64,
    sent: u64,
}

#[derive(Debug, Clone, Copy)]
enum Timing {
    Even {
        rate: Rate,
    },
    /// `messages` at once, of which the last has `last` bytes.
    Bursts {
        every: Duration,
        messages: u64,
        last: u64,
    },
}

impl Schedule {
    /// Messages of `length` bytes, at least one, at `rate` (payload bits) from `start` on.
    pub fn new(start: Time, rate: Rate, length: Bytes) -> Self {
        Self { start, timing: Timing::Even { rate }, length: length.get().max(1), sent: 0 }
    }

    /// Bursts of datagrams of `length` bytes, from `start` on. The last one of a burst has what is left, at least [`LEAST_DATAGRAM`].
    pub fn bursts(start: Time, spec: &BurstsSpec, length: Bytes) -> Self {
        let length = length.get().max(1);
        let size = spec.size.get().max(1);
        let messages = size.div_ceil(length);
        let last = (size - (messages - 1) * length).max(LEAST_DATAGRAM.get()).min(length);
        let every = spec.every.max(Duration::from_nanos(1));
        Self { start, timing: Timing::Bursts { every, messages, last }, length, sent: 0 }
    }

    /// Moves the start.
    pub fn start_at(&mut self, start: Time) {
        self.start = start;
    }

    /// When the next message is due.
    #[inline]
    pub fn next_due(&self) -> Time {
        self.due(self.sent)
    }

    /// Messages that are due by `now` and not yet sent.
    #[inline]
    pub fn owed(&self, now: Time) -> u64 {
        if now < self.next_due() {
            return 0;
        }
        let elapsed = now.since(self.start).as_nanos();
        let due = match self.timing {
            Timing::Even { rate } => {
                let bytes = u128::from(rate.bps()) * elapsed / 8_000_000_000;
                saturated(bytes / u128::from(self.length)).saturating_add(1)
            }
            Timing::Bursts { every, messages, .. } => {
                saturated(elapsed / every.as_nanos()).saturating_add(1).saturating_mul(messages)
            }
        };
        due.saturating_sub(self.sent).max(1)
    }

    /// Notes that `count` messages were sent.
    #[inline]
    pub fn advance(&mut self, count: u64) {
        self.sent = self.sent.saturating_add(count);
    }

    /// When message number `index` (from 0) is due.
    #[inline]
    pub fn due(&self, index: u64) -> Time {
        let nanos = match self.timing {
            Timing::Even { rate } => {
                let bits = (u128::from(index) * u128::from(self.length)).saturating_mul(8_000_000_000);
                bits.div_ceil(u128::from(rate.bps().max(1)))
            }
            Timing::Bursts { every, messages, .. } => {
                u128::from(index / messages).saturating_mul(every.as_nanos())
            }
        };
        self.start.after(Duration::from_nanos(saturated(nanos)))
    }

    /// Bytes of message number `index` (from 0).
    #[inline]
    pub fn size(&self, index: u64) -> u64 {
        match self.timing {
            Timing::Bursts { messages, last, .. } if index % messages == messages - 1 => last,
            _ => self.length,
        }
    }

    /// Number of messages sent so far.
    #[inline]
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

#[inline]
fn saturated(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
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

    #[test]
    fn bursts_are_due_at_once_and_the_last_message_has_the_rest() {
        let spec = BurstsSpec { size: Bytes::new(2_500), every: Duration::from_millis(10) };
        let mut schedule = Schedule::bursts(Time::from_nanos(500), &spec, Bytes::new(1_000));
        assert_eq!((schedule.owed(Time::from_nanos(499)), schedule.owed(Time::from_nanos(500))), (0, 3));
        assert_eq!([0, 1, 2, 3].map(|index| schedule.size(index)), [1_000, 1_000, 500, 1_000]);
        schedule.advance(3);
        assert_eq!(schedule.next_due(), Time::from_nanos(10_000_500));
        assert_eq!(schedule.owed(Time::from_nanos(30_000_499)), 6, "two late bursts");
        let short = BurstsSpec { size: Bytes::new(1_001), ..spec };
        assert_eq!(Schedule::bursts(Time::ZERO, &short, Bytes::new(1_000)).size(1), 32);
        let single = BurstsSpec { size: Bytes::new(8), ..spec };
        assert_eq!(Schedule::bursts(Time::ZERO, &single, Bytes::new(1_000)).size(0), 32);
    }
}
