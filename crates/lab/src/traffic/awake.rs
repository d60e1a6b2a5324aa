//! A reader on a fast path that stays awake for a moment: to wake it from an idle CPU costs the sender several microseconds, in a virtual machine
//! more than the packet itself.
//!
//! Between two looks it leaves the socket alone, so that what comes meanwhile is read at once, and a hardware thread that shares its core is
//! not slowed down.

use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// From one look at the sockets to the next.
const LOOK: Duration = Duration::from_micros(5);
/// Once nothing has come for so long, the reader sleeps.
const LONGEST: Duration = Duration::from_micros(50);

/// How long a reader has been awake without data.
#[derive(Debug)]
pub(crate) struct Awake {
    /// Whether the sender has a CPU meanwhile.
    may_wait: bool,
    idle: Duration,
}

impl Awake {
    /// Of a reader that is about to begin.
    pub(crate) fn new() -> Self {
        Self::with_cpus(available_parallelism().map_or(1, usize::from))
    }

    const fn with_cpus(count: usize) -> Self {
        Self { may_wait: count > 1, idle: Duration::ZERO }
    }

    /// Data has come.
    pub(crate) const fn note(&mut self) {
        self.idle = Duration::ZERO;
    }

    /// Waits until the next look is due; false where it is time to sleep.
    pub(crate) fn waits(&mut self) -> bool {
        if !self.may_wait || self.idle >= LONGEST {
            self.idle = Duration::ZERO;
            return false;
        }
        let began = Instant::now();
        while began.elapsed() < LOOK {
            std::hint::spin_loop();
        }
        self.idle += began.elapsed();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sleeps_when_nothing_comes_and_at_once_where_the_sender_needs_the_cpu() {
        let mut awake = Awake::with_cpus(2);
        // Each look may take longer than it should: there are ten at most.
        let looks = |awake: &mut Awake| (0..100).take_while(|_| awake.waits()).count();
        assert!((1..=10).contains(&looks(&mut awake)));
        assert!(awake.waits(), "after a sleep it stays awake again");
        awake.note();
        assert_eq!(awake.idle, Duration::ZERO);
        assert_eq!(looks(&mut Awake::with_cpus(1)), 0);
    }
}
