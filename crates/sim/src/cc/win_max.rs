//! The largest value of a sliding window in constant space (Kathleen Nichols' algorithm; `lib/win_minmax.c`).
//!
//! Keeps the best value, the best after it, and the best after that.

/// A value and when it was measured, in the caller's unit (BBR: round trips).
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    at: u32,
    value: u64,
}

/// A windowed maximum (`struct minmax`).
#[derive(Debug, Clone, Default)]
pub(super) struct WinMax {
    /// Best, second, third; never older from one to the next.
    best: [Sample; 3],
}

impl WinMax {
    /// `minmax_get`; 0 before the first sample.
    pub(super) fn get(&self) -> u64 {
        self.best[0].value
    }

    /// `minmax_running_max`: a sample at `at`, for a window as long as `window`.
    pub(super) fn update(&mut self, window: u32, at: u32, value: u64) {
        let sample = Sample { at, value };
        if value >= self.best[0].value || at - self.best[2].at > window {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value >= self.best[2].value {
            self.best[2] = sample;
        }
        self.expire(window, sample);
    }

    /// `minmax_subwin_update`: the second and third are taken from the later parts of the window.
    fn expire(&mut self, window: u32, sample: Sample) {
        let [first, second, third] = self.best;
        let age = sample.at - first.at;
        if age > window {
            self.best = [second, third, sample];
            if sample.at - second.at > window {
                self.best = [third, sample, sample];
            }
        } else if second.at == first.at && age > window / 4 {
            self.best = [first, sample, sample];
        } else if third.at == second.at && age > window / 2 {
            self.best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_lasts_as_long_as_the_window() {
        let mut max = WinMax::default();
        max.update(10, 0, 100);
        for at in 1..=10 {
            max.update(10, at, 50);
            assert_eq!(max.get(), 100, "at {at}");
        }
        max.update(10, 11, 50);
        assert_eq!(max.get(), 50);
    }

    #[test]
    fn a_falling_series_is_followed_from_above() {
        let mut max = WinMax::default();
        for at in 0..100 {
            max.update(10, at, u64::from(1000 - at));
            let oldest_inside = 1000 - u64::from(at.saturating_sub(10));
            assert!(
                max.get() >= u64::from(1000 - at) && max.get() <= oldest_inside,
                "at {at}: {}",
                max.get()
            );
        }
    }
}
