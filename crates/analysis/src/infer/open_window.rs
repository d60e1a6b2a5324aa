//! How wide a receiver's window is when its program has read all that arrived.

/// The windows of a connection until now.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OpenWindow {
    widest: Option<u64>,
    /// The last one, and what had been acknowledged when it became what it is.
    last: u64,
    since_acked: u64,
}

impl OpenWindow {
    /// The next `window`, when `acked` bytes had been acknowledged; `times` is the threshold `window_is_all`.
    ///
    /// What is not read takes room from the window, and takes more or less of it with each read. One that is the same to the byte while many
    /// times as much arrives is therefore all that the receiver gives, although it gave more before (`TCP_WINDOW_CLAMP`).
    pub(super) fn observe(&mut self, window: Option<u64>, acked: u64, times: f64) {
        let Some(window) = window else { return };
        if window != self.last {
            (self.last, self.since_acked) = (window, acked);
        }
        let arrived = acked.saturating_sub(self.since_acked) as f64;
        let is_all = window > 0 && arrived >= times * window as f64;
        self.widest = if is_all { Some(window) } else { self.widest.max(Some(window)) };
    }

    /// Bytes; `None` where no window was seen.
    pub(super) const fn widest(&self) -> Option<u64> {
        self.widest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;

    /// The widest window after pairs of a window and what arrived meanwhile.
    fn widest(windows: &[(u64, u64)]) -> Option<u64> {
        let (mut open, mut acked) = (OpenWindow::default(), 0);
        for &(window, arrived) in windows {
            acked += arrived;
            open.observe(Some(window), acked, STANDARD.window_is_all.value());
        }
        open.widest()
    }

    #[test]
    fn a_window_that_stays_is_all_there_is_and_one_that_moves_is_closed_by_what_is_not_read() {
        let clamped: Vec<(u64, u64)> = std::iter::repeat_n((52_000, 26_000), 20).collect();
        assert_eq!(widest(&[&[(1_000_000, 0)], clamped.as_slice()].concat()), Some(52_000));
        let reads: Vec<(u64, u64)> = (0..20).map(|at| (52_000 + at % 2, 26_000)).collect();
        assert_eq!(widest(&[&[(1_000_000, 0)], reads.as_slice()].concat()), Some(1_000_000));
        let stands: Vec<(u64, u64)> = std::iter::repeat_n((52_000, 0), 20).collect();
        assert_eq!(
            widest(&[&[(1_000_000, 0)], stands.as_slice()].concat()),
            Some(1_000_000),
            "nothing arrives"
        );
        let closed: Vec<(u64, u64)> = std::iter::repeat_n((0, 1), 20).collect();
        assert_eq!(widest(&[&[(1_000_000, 0)], closed.as_slice()].concat()), Some(1_000_000));
        assert_eq!(OpenWindow::default().widest(), None);
    }
}
