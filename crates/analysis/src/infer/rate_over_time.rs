//! The rate of a direction over a run: one, or several in turn as its scenario says.

use crate::ground::interval::{TimeInterval, micros};
use pipefill_core::cell::DirectionSpec;
use pipefill_core::units::Rate;

/// What a direction lets through in the long run, of Ethernet frames: its bottleneck's rate, or its policer's where that is less; nothing
/// in an outage.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RateOverTime {
    first: Rate,
    /// Since when, microseconds of the run, and how much, in order of time.
    later: Vec<(u64, Rate)>,
}

impl RateOverTime {
    /// The same all the time.
    pub(crate) const fn always(rate: Rate) -> Self {
        Self { first: rate, later: Vec::new() }
    }

    /// Of a direction that a scenario describes; `None` where it has no rate at some time.
    pub(crate) fn asked(spec: &DirectionSpec) -> Option<Self> {
        let policed = spec.policer.as_ref().map(|policer| policer.rate);
        let mut rates = Vec::new();
        for phase in spec.phases() {
            let passed = phase.rate.into_iter().chain(policed).min()?;
            let is_outage = phase.loss_of.is_some_and(|number| spec.changes[number].is_outage());
            rates.push((micros(phase.from), if is_outage { Rate::from_bps(0) } else { passed }));
        }
        rates.dedup_by_key(|(_, rate)| *rate);
        let (_, first) = *rates.first()?;
        Some(Self { first, later: rates.split_off(1) })
    }

    /// Its mean over `interval`, rounded down; at its beginning where it is empty.
    pub(crate) fn mean(&self, interval: TimeInterval) -> Rate {
        let begins = self.later.iter().map(|(from_us, _)| *from_us);
        let ends = begins.clone().chain([u64::MAX]);
        let rates = std::iter::once(&self.first).chain(self.later.iter().map(|(_, rate)| rate));
        let steps = std::iter::once(0).chain(begins).zip(ends).zip(rates);
        let steps = steps.map(|((from_us, to_us), rate)| (TimeInterval { from_us, to_us }, rate));
        if interval.length_us() == 0 {
            let at = steps.clone().find(|(step, _)| interval.from_us < step.to_us);
            return at.map_or(self.first, |(_, rate)| *rate);
        }
        let passed: u128 = steps
            .map(|(step, rate)| u128::from(rate.bps()) * u128::from(interval.within(step).length_us()))
            .sum();
        Rate::from_bps(u64::try_from(passed / u128::from(interval.length_us())).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::synthetic::manifest;

    fn mean(path: &str, from_ms: u64, to_ms: u64) -> Option<u64> {
        let manifest = manifest(&format!("[path]\nrtt = \"20ms\"\n{path}\n[[flow]]\n"));
        let rates = RateOverTime::asked(&manifest.run.cell.spec.path.forward)?;
        let interval = TimeInterval { from_us: from_ms * 1_000, to_us: to_ms * 1_000 };
        Some(rates.mean(interval).bps() / 1_000_000)
    }

    #[test]
    fn it_is_the_mean_of_what_the_scenario_says_for_the_interval() {
        let changes = "rate = \"100mbit\"
            [[path.change]]\nat = \"2s\"\nfor = \"2s\"\nrate = \"20mbit\"
            [[path.change]]\nat = \"6s\"\nfor = \"1s\"\nloss = \"100%\"";
        assert_eq!(mean(changes, 0, 2_000), Some(100));
        assert_eq!(mean(changes, 1_000, 3_000), Some(60));
        assert_eq!(mean(changes, 2_500, 3_000), Some(20));
        assert_eq!(mean(changes, 3_000, 3_000), Some(20), "an instant");
        assert_eq!(mean(changes, 6_000, 7_000), Some(0), "an outage");
        assert_eq!(mean(changes, 0, 10_000), Some((2 * 100 + 2 * 20 + 2 * 100 + 3 * 100) / 10));
    }

    #[test]
    fn a_policer_below_the_bottleneck_is_the_rate() {
        assert_eq!(mean("policer = { rate = \"20mbit\" }", 0, 1), Some(20));
        assert_eq!(mean("rate = \"50mbit\"\npolicer = { rate = \"20mbit\" }", 0, 1), Some(20));
        assert_eq!(mean("rate = \"10mbit\"\npolicer = { rate = \"20mbit\" }", 0, 1), Some(10));
        assert_eq!(mean("", 0, 1), None);
    }
}
