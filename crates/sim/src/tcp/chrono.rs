//! The kernel's own clocks of what held the sender up (`tcp_chrono_start()`, `tcp_chrono_stop()`).

use pipefill_core::units::Time;
use std::time::Duration;

/// `enum tcp_chrono`, in the order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum ChronoKind {
    #[default]
    Idle,
    Busy,
    RwndLimited,
    SndbufLimited,
}

/// The running clock and the sums.
#[derive(Debug, Default)]
pub(crate) struct Chrono {
    kind: ChronoKind,
    since: Time,
    sums: [Duration; 4],
}

impl Chrono {
    pub(crate) fn busy(&mut self, now: Time) {
        self.start(ChronoKind::Busy, now);
    }

    pub(crate) fn start_rwnd(&mut self, now: Time) {
        self.start(ChronoKind::RwndLimited, now);
    }

    pub(crate) fn start_sndbuf(&mut self, now: Time) {
        self.start(ChronoKind::SndbufLimited, now);
    }

    pub(crate) fn stop_rwnd(&mut self, now: Time, is_busy: bool) {
        self.stop(ChronoKind::RwndLimited, now, is_busy);
    }

    pub(crate) fn stop_sndbuf(&mut self, now: Time, is_busy: bool) {
        self.stop(ChronoKind::SndbufLimited, now, is_busy);
    }

    /// Everything written is acknowledged.
    pub(crate) fn stop_busy(&mut self, now: Time) {
        self.set(ChronoKind::Idle, now);
    }

    /// `tcpi_busy_time`, `tcpi_rwnd_limited`, `tcpi_sndbuf_limited`, microseconds.
    pub(crate) fn read(&self, now: Time) -> [u64; 3] {
        let sum = |kind: ChronoKind| {
            let running = if self.kind == kind { now.since(self.since) } else { Duration::ZERO };
            u64::try_from((self.sums[kind as usize] + running).as_micros()).unwrap_or(u64::MAX)
        };
        let (rwnd, sndbuf) = (sum(ChronoKind::RwndLimited), sum(ChronoKind::SndbufLimited));
        [sum(ChronoKind::Busy) + rwnd + sndbuf, rwnd, sndbuf]
    }

    fn start(&mut self, kind: ChronoKind, now: Time) {
        if kind > self.kind {
            self.set(kind, now);
        }
    }

    fn stop(&mut self, kind: ChronoKind, now: Time, is_busy: bool) {
        if self.kind == kind {
            self.set(if is_busy { ChronoKind::Busy } else { ChronoKind::Idle }, now);
        }
    }

    fn set(&mut self, kind: ChronoKind, now: Time) {
        self.sums[self.kind as usize] += now.since(self.since);
        (self.kind, self.since) = (kind, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stronger_reason_counts_and_busy_holds_all() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let mut chrono = Chrono::default();
        chrono.busy(at(10));
        chrono.start_sndbuf(at(20));
        chrono.start_rwnd(at(25));
        chrono.stop_sndbuf(at(30), true);
        chrono.start_rwnd(at(40));
        chrono.stop_rwnd(at(45), true);
        chrono.stop_busy(at(50));
        assert_eq!(chrono.read(at(99)), [40_000, 5_000, 10_000]);
    }
}
