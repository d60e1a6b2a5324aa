//! The resolution of a capture's clock, where it is coarse: by the greatest common divisor of the times between packets.

/// Resolutions that clocks are known to have, the coarsest first: whole and half seconds, ticks of 10 Hz, 50 Hz, 64 Hz (Windows), 100 Hz (BSD,
/// Solaris), 250 Hz, 1 kHz.
const KNOWN_NS: [u64; 8] =
    [1_000_000_000, 500_000_000, 100_000_000, 20_000_000, 15_625_000, 10_000_000, 4_000_000, 1_000_000];
/// How many changes of the time are needed for a resolution. A time of a microsecond clock is a multiple of 1 ms by one chance in 1,000, eight of
/// them by one in 10^24.
const TIMES_MIN: u32 = 8;
/// A clock that is finer than the finest of [`KNOWN_NS`]: no time is looked at any more.
const FINE: u64 = 1;

/// Follows the times of a capture.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClockResolution {
    /// 0 before two times differ.
    divisor_ns: u64,
    /// The time that others are measured from; 0 before the first. A clock's ticks need not be multiples since 1970.
    from_ns: u64,
    last_ns: u64,
    /// How many times differed from the previous packet's.
    times: u32,
}

impl ClockResolution {
    /// A packet passed at `time_ns`, as it stands in the capture.
    #[inline(always)]
    pub(super) fn observe(&mut self, time_ns: u64) {
        if self.divisor_ns != FINE {
            self.divide(time_ns);
        }
    }

    /// The clock was set: times from before do not compare with later ones.
    pub(super) const fn clock_was_set(&mut self) {
        self.from_ns = 0;
    }

    #[cold]
    #[inline(never)]
    fn divide(&mut self, time_ns: u64) {
        let is_begin = self.from_ns == 0;
        if is_begin {
            self.from_ns = time_ns;
        } else if time_ns != self.last_ns && time_ns != 0 {
            self.times += 1;
            self.divisor_ns = greatest_divisor(self.divisor_ns, time_ns.abs_diff(self.from_ns));
            if KNOWN_NS.iter().all(|&known_ns| known_ns > self.divisor_ns && self.divisor_ns > 0) {
                self.divisor_ns = FINE;
            }
        }
        self.last_ns = time_ns;
    }

    /// The coarsest known one that all times fit; `None` of a finer clock, and of too few times.
    pub(super) fn known_ns(&self) -> Option<u64> {
        let fits = |known_ns: &u64| self.divisor_ns.is_multiple_of(*known_ns);
        KNOWN_NS.into_iter().find(fits).filter(|_| self.times >= TIMES_MIN && self.divisor_ns > 0)
    }
}

/// Euclid's algorithm; for 0 and another number the result is the other number.
const fn greatest_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn of(times_ns: impl IntoIterator<Item = u64>) -> Option<u64> {
        let mut resolution = ClockResolution::default();
        times_ns.into_iter().for_each(|time_ns| resolution.observe(time_ns));
        resolution.known_ns()
    }

    proptest! {
        /// Whatever the phase of the clock, and wherever its ticks fall.
        #[test]
        fn times_of_a_coarse_clock_show_it(
            known in 0..KNOWN_NS.len(),
            begin_ns in 1_000_000_000..2_000_000_000_000_000_000_u64,
            ticks in proptest::collection::vec(0..1_000_u64, 12..60),
        ) {
            let tick_ns = KNOWN_NS[known];
            let mut at = 0;
            let mut times: Vec<u64> = ticks.iter().map(|step| { at += step; begin_ns + at * tick_ns }).collect();
            // Two ticks that follow each other: otherwise a coarser clock fits too.
            times.push(times[times.len() - 1] + tick_ns);
            times.dedup();
            prop_assume!(times.len() > TIMES_MIN as usize);
            prop_assert_eq!(of(times), Some(tick_ns));
        }

        /// One packet off by a microsecond is enough.
        #[test]
        fn a_finer_clock_is_none_of_these(
            ticks in proptest::collection::vec(1..1_000_u64, 12..60),
            off in 0..12_usize,
        ) {
            let mut at = 1_000_000_000;
            let times = ticks.iter().enumerate().map(|(number, step)| { at += step * 10 * MS; at + u64::from(number == off) * 1_000 });
            prop_assert_eq!(of(times), None);
        }
    }

    #[test]
    fn few_times_tell_nothing_however_many_packets_have_them() {
        let times = |count: u64| (0..count).flat_map(|at| [1_000_000_000 + at * 10 * MS; 5]);
        assert_eq!([8, 9].map(|count| of(times(count))), [None, Some(10 * MS)]);
    }

    #[test]
    fn a_clock_that_is_set_has_its_resolution_before_and_after() {
        let mut resolution = ClockResolution::default();
        (0..6).for_each(|at| resolution.observe(1_000_000_000 + at * 10 * MS));
        resolution.clock_was_set();
        (0..6).for_each(|at| resolution.observe(500_000_123 + at * 10 * MS));
        assert_eq!(resolution.known_ns(), Some(10 * MS));
    }
}
