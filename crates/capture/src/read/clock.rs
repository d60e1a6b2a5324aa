//! Times of a capture whose clock was set back: they go on from where they were, and it is counted how often and how far that was.

use super::resolution::ClockResolution;

/// A time this far behind the latest one came from a clock that was set back; a time less far behind belongs to a packet that was
/// written out of order. Between its timestamp and the capture's buffer a packet waits for the softirq of its queue: at most two ticks of 10 ms
/// (`HZ=100`; `netdev_budget_usecs` is 2 ms). Daemons set a clock from 128 ms (ntpd), 400 ms (systemd-timesyncd) or 1 s (chronyd) on, and make it
/// slower for less.
pub const SET_BACK_NS: u64 = 20_000_000;

/// How many interfaces of a pcapng have their order checked separately: a capture has the packets of one interface in order, those of several a
/// buffer at a time.
const INTERFACES: usize = 64;

/// How often and how far the times of a capture ran backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BackwardTimes {
    /// How often the clock was set back, by [`SET_BACK_NS`] or more.
    pub set_back: u64,
    /// By how much in all, nanoseconds: at least, since what passed between the packets before and after is not known.
    pub set_back_ns: u64,
    /// By how much at most at once.
    pub set_back_most_ns: u64,
    /// Packets that are behind the latest before them by less: they were written out of order.
    pub late_packets: u64,
    /// By how much at most.
    pub late_most_ns: u64,
}

/// Follows the times of a capture.
#[derive(Debug, Default)]
pub(super) struct CaptureClock {
    /// The latest time that the first interface had since the clock was set, as it stands in the capture.
    latest_ns: u64,
    /// The latest time of each other interface.
    others_ns: Vec<u64>,
    /// What is added to times since the clock was set.
    shift_ns: u64,
    /// How often the clock was set.
    stretch: u32,
    backward: BackwardTimes,
    resolution: ClockResolution,
}

impl CaptureClock {
    /// The time of a packet that the capture's only interface saw at `time_ns`: never far behind the one before.
    #[inline(always)]
    pub(super) fn time_ns(&mut self, time_ns: u64) -> u64 {
        if time_ns < self.latest_ns {
            return self.behind(0, time_ns);
        }
        self.resolution.observe(time_ns);
        self.latest_ns = time_ns;
        time_ns.saturating_add(self.shift_ns)
    }

    /// The time of a packet that `interface` saw at `time_ns`.
    #[inline(always)]
    pub(super) fn time_at_ns(&mut self, interface: u32, time_ns: u64) -> u64 {
        if interface == 0 { self.time_ns(time_ns) } else { self.time_at_other_ns(interface, time_ns) }
    }

    fn time_at_other_ns(&mut self, interface: u32, time_ns: u64) -> u64 {
        let interface = (interface as usize).min(INTERFACES - 1);
        if interface > self.others_ns.len() {
            self.others_ns.resize(interface, 0);
        }
        let latest_ns = self.latest(interface);
        if time_ns < *latest_ns {
            return self.behind(interface, time_ns);
        }
        *latest_ns = time_ns;
        self.resolution.observe(time_ns);
        time_ns.saturating_add(self.shift_ns)
    }

    fn latest(&mut self, interface: usize) -> &mut u64 {
        match interface.checked_sub(1) {
            None => &mut self.latest_ns,
            Some(other) => &mut self.others_ns[other],
        }
    }

    #[cold]
    #[inline(never)]
    fn behind(&mut self, interface: usize, time_ns: u64) -> u64 {
        let latest_ns = *self.latest(interface);
        // The container has no time for this packet: the previous packet's is the nearest.
        if time_ns == 0 {
            return latest_ns.saturating_add(self.shift_ns);
        }
        let by_ns = latest_ns - time_ns;
        let backward = &mut self.backward;
        if by_ns < SET_BACK_NS {
            backward.late_packets += 1;
            backward.late_most_ns = backward.late_most_ns.max(by_ns);
            self.resolution.observe(time_ns);
            return time_ns.saturating_add(self.shift_ns);
        }
        backward.set_back += 1;
        backward.set_back_ns = backward.set_back_ns.saturating_add(by_ns);
        backward.set_back_most_ns = backward.set_back_most_ns.max(by_ns);
        self.stretch = self.stretch.saturating_add(1);
        self.resolution.clock_was_set();
        self.resolution.observe(time_ns);
        let end_ns = self.others_ns.iter().copied().fold(self.latest_ns, u64::max);
        self.shift_ns = self.shift_ns.saturating_add(end_ns - time_ns);
        // The clock of the other interfaces is the same one.
        self.latest_ns = 0;
        self.others_ns.fill(0);
        *self.latest(interface) = time_ns;
        time_ns.saturating_add(self.shift_ns)
    }

    /// How often the clock was set back up to the last packet.
    #[inline(always)]
    pub(super) const fn stretch(&self) -> u32 {
        self.stretch
    }

    /// [`ClockResolution::known_ns`].
    pub(super) fn resolution_ns(&self) -> Option<u64> {
        self.resolution.known_ns()
    }

    pub(super) const fn backward(&self) -> BackwardTimes {
        self.backward
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn times(clock: &mut CaptureClock, ms: &[u64]) -> Vec<u64> {
        ms.iter().map(|&ms| clock.time_ns(ms * MS) / MS).collect()
    }

    #[test]
    fn times_go_on_where_the_clock_was_set_back() {
        let mut clock = CaptureClock::default();
        assert_eq!(
            times(&mut clock, &[1_000, 1_010, 20, 30, 15, 40]),
            [1_000, 1_010, 1_010, 1_020, 1_005, 1_030]
        );
        assert_eq!(clock.stretch(), 1);
        let expected = BackwardTimes {
            set_back: 1,
            set_back_ns: 990 * MS,
            set_back_most_ns: 990 * MS,
            late_packets: 1,
            late_most_ns: 15 * MS,
        };
        assert_eq!(clock.backward(), expected);
    }

    #[test]
    fn the_next_setting_is_counted_from_the_times_since_the_last() {
        let mut clock = CaptureClock::default();
        assert_eq!(times(&mut clock, &[1_000, 100, 200, 50, 60]), [1_000, 1_000, 1_100, 1_100, 1_110]);
        let backward = clock.backward();
        assert_eq!(
            (backward.set_back, backward.set_back_ns / MS, backward.set_back_most_ns / MS),
            (2, 1_050, 900)
        );
    }

    /// Buffers of two interfaces, written one after the other.
    #[test]
    fn interfaces_that_are_written_in_turns_have_one_clock_that_nobody_set() {
        let mut clock = CaptureClock::default();
        for (interface, ms) in
            [(0, 100), (0, 300), (1, 110), (1, 290), (0, 301), (2, 150), (0, 500), (1, 310)]
        {
            assert_eq!(clock.time_at_ns(interface, ms * MS), ms * MS);
        }
        assert_eq!(clock.backward(), BackwardTimes::default());
        // Both see that it is set.
        let set =
            [(0, 100), (1, 90), (0, 110)].map(|(interface, ms)| clock.time_at_ns(interface, ms * MS) / MS);
        assert_eq!((set, clock.backward().set_back), ([500, 490, 510], 1));
    }

    #[test]
    fn a_packet_without_a_time_has_that_of_the_one_before() {
        let mut clock = CaptureClock::default();
        assert_eq!(times(&mut clock, &[0, 1_000, 0, 1_001]), [0, 1_000, 1_000, 1_001]);
        assert_eq!((clock.stretch(), clock.backward()), (0, BackwardTimes::default()));
    }

    #[test]
    fn times_that_no_clock_has_overflow_nothing() {
        let mut clock = CaptureClock::default();
        for time_ns in [u64::MAX, 1, u64::MAX, 1, u64::MAX - 1, 5] {
            clock.time_ns(time_ns);
            clock.time_at_ns(9, time_ns);
        }
        assert!(clock.backward().set_back > 2);
    }
}
