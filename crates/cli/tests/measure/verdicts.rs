//! Verdicts on this machine's kernel: twelve scenarios of the catalogue, a short one for each limit and cause.

use crate::measuring::{Outcome, Test, lab, report, tests_of};
use serde_json::Value;
use std::path::Path;

/// Names in `scenarios/catalogue/`.
const SCENARIOS: [&str; 12] = [
    "app-bitrate",
    "both-startup-path",
    "loss-cubic",
    "pacing-cubic",
    "path-cubic",
    "path-udp",
    "queue-cubic",
    "receiver-slow",
    "rwnd-socket",
    "sndbuf-socket",
    "startup-short",
    "testbed-limit-udp",
];
/// Those that need a quiet machine.
const FAST: [&str; 2] = ["startup-short", "testbed-limit-udp"];

pub(crate) fn tests() -> Vec<Test> {
    tests_of(SCENARIOS.map(str::to_owned).into(), &FAST, is_right)
}

/// Every expectation of the scenario holds, one of the limit among them.
fn is_right(name: &str) -> Outcome {
    let folder = lab()?;
    let catalogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/catalogue");
    let report = report(&folder, &[catalogue.join(name).with_extension("toml").to_str().unwrap()])?;
    let cell = &report["cells"][0];
    println!("{}", cell["verdict"]);
    let expected = cell["expectations"].as_array().unwrap();
    let limit = cell["limited_by"].as_str().expect("a verdict");
    assert!(expected.iter().any(|each| each["measured"] == limit && each["held"] == true), "{cell}");
    let failed: Vec<&Value> = expected.iter().filter(|each| each["held"] != true).collect();
    assert!(failed.is_empty(), "{failed:?}: {}, {}", cell["verdict"], cell["limited_fraction"]);
    Ok(())
}
