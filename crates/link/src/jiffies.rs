//! Linux's coarse clock: a tick of a millisecond (HZ = 1000), and timers on a wheel that is never early.

use pipefill_core::units::Time;
use std::time::Duration;

const NANOS_PER_TICK: u64 = 1_000_000;
/// `LVL_CLK_SHIFT` and `LVL_SIZE` of `kernel/time/timer.c`.
const LEVEL_SHIFT: u32 = 3;
const LEVEL_SIZE: u64 = 64;
const LEVELS: u32 = 9;

/// `usecs_to_jiffies()` at HZ = 1000: rounded up.
pub const fn from_micros(micros: u64) -> u64 {
    micros.div_ceil(1000)
}

/// When a timer armed at `now` for `ticks` fires: the wheel rounds up to the granularity of the level in which it lands
/// (`calc_index()` in `kernel/time/timer.c`).
pub fn deadline(now: Time, ticks: u64) -> Time {
    let expires = now.nanos() / NANOS_PER_TICK + ticks;
    let level =
        (0..LEVELS).find(|level| ticks < (LEVEL_SIZE - 1) << (LEVEL_SHIFT * level)).unwrap_or(LEVELS - 1);
    let shift = LEVEL_SHIFT * level;
    let rounded = ((expires + (1 << shift)) >> shift) << shift;
    Time::from_nanos(rounded.saturating_mul(NANOS_PER_TICK))
}

/// From one call of a timer's handler to the next, where the handler arms the timer again for `span`: at least a tick longer than `span`, since
/// the wheel is never early.
pub fn period(span: Duration) -> Duration {
    let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
    deadline(Time::ZERO, from_micros(micros)).since(Time::ZERO)
}

/// The timestamp clock: milliseconds (`tcp_time_stamp_ms()`).
pub fn stamp(now: Time) -> u32 {
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

    /// Where a timer has fired, arming it again fires it a period later.
    #[test]
    fn a_timer_that_is_armed_again_keeps_its_period() {
        for (span_ms, period_ms) in [(0, 1), (15, 16), (62, 63), (63, 64), (500, 504), (1000, 1024)] {
            let (span, wanted) = (Duration::from_millis(span_ms), Duration::from_millis(period_ms));
            assert_eq!(period(span), wanted);
            let fired = Time::ZERO.after(7 * wanted);
            assert_eq!(deadline(fired, span_ms), fired.after(wanted), "{span:?}");
        }
        assert_eq!(period(Duration::from_micros(14_001)), Duration::from_millis(16));
    }
}
