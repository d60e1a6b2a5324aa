//! When the steps of a trace begin, and when it begins again.

/// Most steps of a trace: a hundred seconds of milliseconds.
pub const TRACE_STEPS_MAX: usize = 100_000;

/// Nanoseconds of a microsecond, the unit of a recorded trace.
const NANOS_PER_MICRO: u64 = 1_000;

/// Why steps are no trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadTrace {
    /// There is no step, or not a value for each, or too many.
    #[error("a trace has 1 to {TRACE_STEPS_MAX} steps, each with its value")]
    Steps,
    /// The first step is not at 0, or one is not later than the one before it.
    #[error("the steps of a trace begin at 0 and ascend")]
    Order,
    /// Nothing passes any more.
    #[error("the rate is 0 for ever")]
    Zero,
}

/// The beginnings of steps, microseconds after the traffic's start, and when the first one begins again.
#[derive(Debug, Clone, Copy)]
pub(super) struct TraceTimes<'a> {
    at_us: &'a [u64],
    period_us: Option<u64>,
}

impl<'a> TraceTimes<'a> {
    /// Of steps that were checked.
    #[inline]
    pub(super) const fn new(at_us: &'a [u64], period_us: Option<u64>) -> Self {
        Self { at_us, period_us }
    }

    /// Of steps with `values` values.
    ///
    /// # Errors
    /// [`BadTrace::Steps`] and [`BadTrace::Order`].
    pub(super) fn checked(at_us: &'a [u64], period_us: Option<u64>, values: usize) -> Result<Self, BadTrace> {
        if !(1..=TRACE_STEPS_MAX).contains(&at_us.len()) || at_us.len() != values {
            return Err(BadTrace::Steps);
        }
        let most = u64::MAX / NANOS_PER_MICRO;
        let times: Vec<u64> = at_us.iter().copied().chain(period_us).collect();
        if times[0] != 0 || !times.is_sorted_by(|a, b| a < b) || times.iter().any(|time| *time > most) {
            return Err(BadTrace::Order);
        }
        Ok(Self { at_us, period_us })
    }

    /// When the first step begins again, nanoseconds; `None` = never.
    #[inline]
    pub(super) fn period(self) -> Option<u64> {
        self.period_us.map(|period| period * NANOS_PER_MICRO)
    }

    /// When a step of the first round begins, nanoseconds.
    #[inline]
    pub(super) fn begin(self, step: usize) -> u64 {
        self.at_us[step] * NANOS_PER_MICRO
    }

    /// Until when it lasts, nanoseconds: its period, or the beginning of its last step.
    #[inline]
    pub(super) fn until(self) -> u64 {
        self.period().unwrap_or_else(|| self.begin(self.at_us.len() - 1))
    }

    /// The number of rounds before `nanos`, and the time since the last one began.
    #[inline]
    pub(super) fn within(self, nanos: u64) -> (u64, u64) {
        self.period().map_or((0, nanos), |period| (nanos / period, nanos % period))
    }

    /// The step at `within` a round, nanoseconds.
    #[inline]
    pub(super) fn step_at(self, within: u64) -> usize {
        self.at_us.partition_point(|at| at * NANOS_PER_MICRO <= within) - 1
    }
}
