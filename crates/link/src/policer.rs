//! A policer: a token bucket without a queue (`net/sched/act_police.c`).

use crate::token_bucket::TokenBucket;
use pipefill_core::cell::{Framing, PolicerSpec};
use pipefill_core::units::Time;

/// Drops what finds no token. Over any interval of length t, at most `burst + rate × t` bytes pass.
#[derive(Debug)]
pub struct Policer {
    bucket: TokenBucket,
}

impl Policer {
    /// The element for `spec`, its bucket full.
    pub fn new(spec: &PolicerSpec) -> Self {
        Self { bucket: TokenBucket::new(spec.rate, spec.burst, Framing::default()) }
    }

    /// Whether a packet of `bytes` bytes passes at `now`; it takes its tokens.
    pub fn passes(&mut self, now: Time, bytes: u32) -> bool {
        let passes = self.bucket.can_pass(bytes) && self.bucket.departure(now, bytes) <= now;
        if passes {
            self.bucket.spend(now, bytes);
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::units::{Bytes, Rate};

    #[test]
    fn the_burst_passes_then_the_rate_and_a_drop_takes_no_tokens() {
        // A byte a nanosecond, two packets of depth.
        let spec = PolicerSpec { rate: Rate::from_bps(8_000_000_000), burst: Bytes::new(3000) };
        let mut policer = Policer::new(&spec);
        let mut pass = |at: u64| policer.passes(Time::from_nanos(at), 1500);
        assert_eq!([pass(0), pass(0), pass(0), pass(1499)], [true, true, false, false]);
        assert_eq!([pass(1500), pass(1500), pass(9000), pass(9000)], [true, false, true, true]);
        assert!(!policer.passes(Time::from_nanos(20_000), 3001));
    }
}
