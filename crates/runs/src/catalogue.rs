//! The built-in catalogue: scenarios whose limit is known by construction.

use pipefill_analysis::findings::confusion::CatalogueSet;

/// A scenario of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogueScenario {
    /// The set that its cells are counted in.
    pub set: CatalogueSet,
    /// Its file's stem.
    pub name: &'static str,
    /// The scenario.
    pub text: &'static str,
}

macro_rules! entries {
    ($($name:literal),+ $(,)?) => {
        &[
            $(CatalogueScenario {
                set: CatalogueSet::Limits,
                name: $name,
                text: include_str!(concat!("../../../scenarios/catalogue/", $name, ".toml")),
            },)+
            CatalogueScenario {
                set: CatalogueSet::Causes,
                name: "causes",
                text: include_str!("../../../scenarios/causes.toml"),
            },
            CatalogueScenario {
                set: CatalogueSet::Applications,
                name: "applications",
                text: include_str!("../../../scenarios/applications.toml"),
            },
            CatalogueScenario {
                set: CatalogueSet::Aqm,
                name: "aqm",
                text: include_str!("../../../scenarios/aqm.toml"),
            },
        ]
    };
}

/// Every scenario of the catalogue: those of one cell by name, then what sets buffers and rates, the conversations, and what stands behind disciplines of the queue.
pub const CATALOGUE: &[CatalogueScenario] = entries![
    "ack-behind-upload",
    "ack-loss-85",
    "ack-loss-90",
    "ack-loss-95-reno",
    "ack-slow-reverse",
    "app-95-of-path",
    "app-97-of-path",
    "app-99-of-path",
    "app-bbr",
    "app-bitrate",
    "app-long-round-trip",
    "app-parallel",
    "app-udp",
    "both-app-path",
    "both-rwnd-path",
    "both-startup-path",
    "both-ways-rwnd-reverse",
    "both-ways-tcp-loss",
    "both-ways-tcp-queue",
    "both-ways-udp-loss",
    "growth-cubic",
    "growth-reno",
    "hystart-jitter",
    "hystart-jitter-normal",
    "latency-bbr-4bdp",
    "latency-cubic-4bdp",
    "latency-idle",
    "latency-reverse",
    "latency-short-queue",
    "loss-after-queue",
    "loss-bursts",
    "loss-cubic",
    "loss-heavy",
    "loss-parallel",
    "loss-reno",
    "mixed-app-bulk",
    "mixed-one-after-another",
    "mixed-paced-bulk",
    "mixed-reader-bulk",
    "mixed-rwnd-bulk",
    "mixed-trickles-rwnd",
    "mixed-udp-bbr",
    "mixed-udp-loss-tcp",
    "pacing-bbr",
    "pacing-cubic",
    "pacing-parallel",
    "path-bbr",
    "path-bbr-loss",
    "path-cubic",
    "path-parallel",
    "path-reno",
    "path-reverse",
    "path-udp",
    "path-udp-loss",
    "path-without-timestamps",
    "policer-beside-app",
    "policer-reno",
    "policer-reverse",
    "queue-cubic",
    "queue-reno",
    "queue-reno-tenth",
    "receiver-95-of-path",
    "receiver-long",
    "receiver-parallel",
    "receiver-slow",
    "reorder-bbr",
    "reorder-cubic",
    "reorder-reno",
    "rwnd-bbr",
    "rwnd-bbr-10ms",
    "rwnd-bbr-2ms",
    "rwnd-bbr-4ms",
    "rwnd-maximum",
    "rwnd-parallel",
    "rwnd-socket",
    "rwnd-unscaled",
    "rwnd-unscaled-long",
    "sndbuf-maximum",
    "sndbuf-maximum-long",
    "sndbuf-parallel",
    "sndbuf-socket",
    "sndbuf-socket-bbr",
    "startup-bucket",
    "startup-parallel",
    "startup-reno",
    "startup-short",
    "startup-very-short",
    "testbed-limit-bbr",
    "testbed-limit-tcp",
    "testbed-limit-udp",
    "timeout-outages",
];

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::cell::ExpectMetric;
    use pipefill_core::scenario::Scenario;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_file_is_built_in_and_says_what_limits_it() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/catalogue");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        let limits = CATALOGUE.iter().filter(|entry| entry.set == CatalogueSet::Limits);
        let built_in: BTreeSet<String> = limits.map(|entry| entry.name.to_owned()).collect();
        assert_eq!(files, built_in);
        for entry in CATALOGUE {
            let scenario = Scenario::parse(entry.text, entry.name).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(scenario.name(), entry.name);
            let cells = &scenario.plan().cells;
            assert_eq!(cells.len() == 1, entry.set == CatalogueSet::Limits, "{}", entry.name);
            for cell in cells {
                let says = |metric| cell.spec.expected_word(metric).is_some();
                assert!(says(ExpectMetric::LimitedBy), "{} does not say what limits it", cell.id);
                assert!(
                    entry.set == CatalogueSet::Limits || says(ExpectMetric::Cause),
                    "{} does not say why",
                    cell.id
                );
            }
        }
    }
}
