//! How long the rest of an experiment takes: the backend's estimates, scaled by the error of earlier ones.

use std::time::Duration;

/// What is known about the time that is left.
#[derive(Debug, Clone)]
pub(crate) struct Estimate {
    /// Runs altogether.
    pub(crate) total: usize,
    /// Of these, ended.
    pub(crate) finished: usize,
    jobs: u32,
    /// Estimates of the runs that have not ended.
    remaining: Duration,
    /// Estimates of those that have, and what they took.
    estimated: Duration,
    measured: Duration,
}

impl Estimate {
    /// For `total` runs that take `whole` together, `jobs` at a time.
    pub(crate) fn new(total: usize, whole: Duration, jobs: u16) -> Self {
        Self {
            total,
            finished: 0,
            jobs: u32::from(jobs),
            remaining: whole,
            estimated: Duration::ZERO,
            measured: Duration::ZERO,
        }
    }

    /// A run that was estimated took so long.
    pub(crate) fn end(&mut self, estimated: Duration, measured: Duration) {
        self.finished += 1;
        self.remaining = self.remaining.saturating_sub(estimated);
        self.estimated += estimated;
        self.measured += measured;
    }

    /// What is left, where the runs at work have done `passed`.
    pub(crate) fn left(&self, passed: Duration) -> Duration {
        let correction = match self.estimated.as_secs_f64() {
            estimated if estimated > 0.0 => self.measured.as_secs_f64() / estimated,
            _ => 1.0,
        };
        let left = self.remaining.saturating_sub(passed).as_secs_f64() * correction;
        Duration::try_from_secs_f64(left / f64::from(self.jobs)).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn it_learns_from_what_was_measured() {
        let mut estimate = Estimate::new(4, 40 * SECOND, 1);
        assert_eq!(estimate.left(4 * SECOND), 36 * SECOND);
        estimate.end(10 * SECOND, 20 * SECOND);
        assert_eq!(estimate.left(Duration::ZERO), 60 * SECOND);
        assert_eq!(Estimate::new(4, 40 * SECOND, 2).left(Duration::ZERO), 20 * SECOND);
    }
}
