//! The kernel's coarse clock: a tick of a millisecond, and timers on a wheel that is never early.

use pipefill_core::units::Time;

const NANOS_PER_TICK: u64 = 1_000_000;
/// `LVL_CLK_SHIFT` and `LVL_SIZE` of `kernel/time/timer.c`.
const LEVEL_SHIFT: u32 = 3;
const LEVEL_SIZE: u64 = 64;
const LEVELS: u32 = 9;

/// `usecs_to_jiffies()` at HZ = 1000: rounded up.
pub(crate) const fn from_micros(micros: u64) -> u64 {
    micros.div_ceil(1000)
}

/// When a timer armed at `now` for `ticks` fires: the wheel rounds up to the granularity of the level in which it lands
/// (`calc_index()` in `kernel/time/timer.c`).
pub(crate) fn deadline(now: Time, ticks: u64) -> Time {
    let expires = now.nanos() / NANOS_PER_TICK + ticks;
    let level =
        (0..LEVELS).find(|level| ticks < (LEVEL_SIZE - 1) << (LEVEL_SHIFT * level)).unwrap_or(LEVELS - 1);
    let shift = LEVEL_SHIFT * level;
    let rounded = ((expires + (1 << shift)) >> shift) << shift;
    Time::from_nanos(rounded.saturating_mul(NANOS_PER_TICK))
}

/// The timestamp clock: milliseconds (`tcp_time_stamp_ms()`).
pub(crate) fn stamp(now: Time) -> u32 {
    u32::try_from(now.nanos() / NANOS_PER_TICK).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_never_early_and_coarser_the_farther_it_is() {
        let now = Time::from_nanos(10_300_000);
        assert_eq!(deadline(now, 2), Time::from_nanos(13_000_000));
        assert_eq!(deadline(now, 200), Time::from_nanos(216_000_000));
        assert_eq!(deadline(now, 1000), Time::from_nanos(1_024_000_000));
    }
}
