//! How much later than expected a packet may come before its sender takes it for lost: RACK's reordering window in steps of a quarter of
//! the least RTT, which D-SACKs widen (RFC 8985 6.2, step 4; `tcp_rack_update_reo_wnd()`).

/// `TCP_RACK_RECOVERY_THRESH`: recoveries for which a widened window is kept.
const PERSIST: u8 = 16;

#[derive(Debug, Clone, Default)]
pub(super) struct Patience {
    /// Steps beyond the first.
    more: u8,
    persist: u8,
    has_dsack: bool,
    widened_ns: u64,
}

impl Patience {
    /// Multiples of a quarter of the least RTT.
    pub(super) fn steps(&self) -> u32 {
        u32::from(self.more) + 1
    }

    /// A retransmission was for nothing.
    pub(super) const fn see_dsack(&mut self) {
        self.has_dsack = true;
    }

    /// An ACK was taken; the latest transmission that has arrived was sent at `latest_ns`. Widens once a round trip.
    pub(super) fn update(&mut self, now: u64, latest_ns: u64) {
        if latest_ns < self.widened_ns {
            self.has_dsack = false;
        }
        if std::mem::take(&mut self.has_dsack) {
            self.more = self.more.saturating_add(1);
            (self.widened_ns, self.persist) = (now, PERSIST);
        } else if self.persist == 0 {
            self.more = 0;
        }
    }

    /// A recovery is over.
    pub(super) fn end_recovery(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dsacks_widen_once_a_round_trip_and_for_16_recoveries() {
        let mut patience = Patience::default();
        assert_eq!(patience.steps(), 1);
        for (now, latest, steps) in [(100, 50, 2), (110, 60, 2), (200, 150, 3)] {
            patience.see_dsack();
            patience.update(now, latest);
            assert_eq!(patience.steps(), steps, "{now}");
        }
        for _ in 0..PERSIST {
            patience.update(300, 250);
            assert_eq!(patience.steps(), 3);
            patience.end_recovery();
        }
        patience.update(400, 350);
        assert_eq!(patience.steps(), 1);
    }
}
