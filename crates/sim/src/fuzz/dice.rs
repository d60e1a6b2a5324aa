//! Chance as a scenario needs it: a choice, a size of any order of magnitude.
//!
//! Never: a float; the same seed gives the same scenario on every machine.

use pipefill_core::prng::Prng;
use pipefill_core::units::Seed;

/// A stream of chance.
#[derive(Debug)]
pub(super) struct Dice(Prng);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(Prng::stream(Seed::new(seed), "fuzz"))
    }

    /// True `percent` times in a hundred.
    pub(super) fn percent(&mut self, percent: u64) -> bool {
        self.0.below(100) < percent
    }

    /// `low` to `high`, both included, each as likely.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high.saturating_sub(low) + 1)
    }

    /// `low` to `high`, every power of two between them as likely.
    pub(super) fn magnitude(&mut self, low: u64, high: u64) -> u64 {
        let (low, high) = (low.max(1), high.max(low).max(1));
        let bits = self.between(u64::from(low.ilog2()), u64::from(high.ilog2()));
        ((1 << bits) + self.0.below(1 << bits)).clamp(low, high)
    }

    /// One of `choices`.
    pub(super) fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        let at = self.0.below(choices.len() as u64);
        usize::try_from(at).ok().and_then(|at| choices.get(at)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_magnitude_comes_up() {
        let mut dice = Dice::new(1);
        let drawn: Vec<u64> = (0..1000).map(|_| dice.magnitude(3, 1_000_000)).collect();
        assert!(drawn.iter().all(|&value| (3..=1_000_000).contains(&value)));
        assert!((1..20).all(|bits| drawn.iter().any(|value| value.ilog2() == bits)));
        assert_eq!(dice.magnitude(5, 5), 5);
    }
}
