//! What a direction lets through over a run, as its scenario says.

use pipefill_core::cell::{DirectionSpec, RateOverTime};
use pipefill_core::units::Rate;

/// What a direction that a scenario describes lets through in the long run, of Ethernet frames: its bottleneck's rate, or its policer's where
/// that is less; nothing in an outage. `None` where it has no rate.
pub(crate) fn asked_rate(spec: &DirectionSpec) -> Option<RateOverTime> {
    let policed = spec.policer.as_ref().map(|policer| policer.rate);
    let rates = match (spec.rate_over_time(), policed) {
        (Some(rates), Some(policed)) => rates.capped(policed),
        (rates, policed) => rates.or(policed.map(RateOverTime::steady))?,
    };
    let phases = spec.phases();
    let ends = phases.iter().skip(1).map(|phase| Some(phase.from)).chain([None]);
    let outages = phases
        .iter()
        .zip(ends)
        .filter(|(phase, _)| phase.loss_of.is_some_and(|number| spec.changes[number].is_outage()));
    Some(outages.fold(rates, |rates, (phase, end)| rates.overlaid(phase.from, end, Rate::from_bps(0))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::synthetic::manifest;
    use std::time::Duration;

    fn mean(path: &str, from_ms: u64, to_ms: u64) -> Option<u64> {
        let manifest = manifest(&format!("[path]\nrtt = \"20ms\"\n{path}\n[[flow]]\n"));
        let rates = asked_rate(&manifest.run.cell.spec.path.forward)?;
        let [from, to] = [from_ms, to_ms].map(Duration::from_millis);
        Some(rates.mean(from, to).bps() / 1_000_000)
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
