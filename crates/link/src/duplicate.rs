//! Which packets are delivered twice.
//!
//! Unlike netem, where a copy enters the qdisc again from the top, a copy here goes on from this point: it is not lost by the loss
//! element and not duplicated again.

use pipefill_core::prng::Prng;
use pipefill_core::units::Ratio;

/// Duplication with a fixed probability. Takes no time and holds nothing.
#[derive(Debug)]
pub struct Duplicate {
    probability: Ratio,
    prng: Prng,
}

impl Duplicate {
    /// The element; `None` where it would never duplicate.
    pub fn new(probability: Ratio, prng: Prng) -> Option<Self> {
        (probability > Ratio::ZERO).then_some(Self { probability, prng })
    }

    /// Whether the next packet is duplicated; one draw.
    pub fn copies(&mut self) -> bool {
        self.prng.chance(self.probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::units::Seed;

    #[test]
    fn copies_with_its_probability() {
        let prng = Prng::stream(Seed::new(1), "forward/duplicate");
        let mut duplicate = Duplicate::new(Ratio::from_percent(25.0), prng).expect("not zero");
        let copies = (0..10_000).filter(|_| duplicate.copies()).count();
        // 2500 ± 4 standard deviations of 43.3.
        assert!((2327..=2673).contains(&copies), "{copies}");
    }

    #[test]
    fn no_duplication_is_no_element() {
        assert!(Duplicate::new(Ratio::ZERO, Prng::from_state([1; 4])).is_none());
    }
}
