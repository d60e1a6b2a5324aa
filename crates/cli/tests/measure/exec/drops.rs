//! What the path itself drops, and which link drops silently: the verdict knows it, live and from the records.

use super::{judged, text};
use crate::measuring::namespace::folder_with;
use crate::measuring::{Folder, Outcome, Test, slow_test};
use serde_json::Value;

pub(super) fn tests() -> Vec<Test> {
    vec![slow_test("what_the_path_drops_is_why", what_the_path_drops)]
}

/// With a round trip of a few samples neither would be told from chance, or from silence, by a socket alone. Both are short.
fn what_the_path_drops() -> Outcome {
    let folder = folder_with(&["iperf3"])?;
    let reno = "host.congestion_control=reno";
    let policed = ["--rtt", "60ms", "--policer", "6mbit:12kB", "--set", reno];
    is_why(&folder, "policed", &policed, ["cwnd", "policer"])?;
    let black_hole = ["--rtt", "20ms", "--inner-mtu", "1400", "--pmtud", "black-hole"];
    is_why(&folder, "black-hole", &black_hole, ["path", "mtu"])
}

fn is_why(folder: &Folder, kept: &str, path: &[&str], expected: [&str; 2]) -> Outcome {
    let client = ["sh", "-c", "timeout 3 iperf3 -c $PIPEFILL_SERVER -t 2 >/dev/null; true"];
    let ends = ["--json", "--out", kept, "--server", "iperf3 -s -1 >/dev/null", "--"];
    let told = judged(folder, &[path, &ends, &client].concat())?;
    let limit = |said: &Value| [said["limited_by"].clone(), said["cause"].clone()];
    let expected = expected.map(Value::from);
    let connections = told["connections"].as_array().unwrap();
    assert!(connections.iter().any(|connection| limit(connection) == expected), "{told:#}");
    let explained = folder.pipefill(&["explain", kept, "--json"]).output().unwrap();
    let explained: Value =
        serde_json::from_slice(&explained.stdout).unwrap_or_else(|_| panic!("{}", text(&explained.stderr)));
    let cells = explained["cells"].as_array().unwrap();
    assert!(cells.iter().any(|cell| limit(cell) == expected), "the records say so too: {explained:#}");
    Ok(())
}
