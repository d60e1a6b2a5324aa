//! Conversations whose limit is known by construction, in the simulator: who holds them, and why, by the packets near either end.

use crate::pcap::pcap_json;
use crate::pipefill::{Folder, names};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const ENDS: [&str; 2] = ["sender", "receiver"];

#[test]
fn captures_of_conversations_name_what_was_planted() {
    let folder = Folder::new();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/applications.toml");
    let words = ["run", scenario.to_str().unwrap(), "--on", "sim", "--capture", "--quiet", "--out", "o"];
    // What the sockets show is not the matter here.
    folder.pipefill(&words).output().unwrap();
    let runs = folder.path("o/runs");
    let runs: Vec<PathBuf> = names(&runs).into_iter().map(|run| runs.join(run)).collect();
    let (mut captures, mut others) = (0, Vec::new());
    for run in &runs {
        let cell = cell(run);
        // No verdict is made of datagrams that are captured.
        let is_tcp = cell["spec"]["flows"][0]["protocol"] == "tcp";
        let planted = planted(&cell);
        for end in ENDS.iter().filter(|_| is_tcp) {
            let found = pcap_json(&folder, &run.join(format!("artifacts/{end}.pcapng")));
            let flow = &found["flows"][0];
            let word = |key: &str| flow[key].as_str().unwrap_or("null");
            let named = format!("{}/{}", word("limited_by"), word("cause"));
            captures += 1;
            if !planted.contains(&named) {
                others.push(format!("{}, near the {end}: {named}, not {planted:?}", run.display()));
            }
        }
    }
    assert_eq!(captures, 70, "two of each run but those of datagrams");
    assert!(others.is_empty(), "{others:#?}");
}

/// The server's kernel acknowledges after a round trip, and its program answers 500 ms later; where it answers at once, nothing is said. At the
/// simulated server itself no time passes until the ACK: nothing is compared with that.
#[test]
fn a_server_that_acknowledges_long_before_it_answers_is_named() {
    let folder = Folder::new();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/applications.toml");
    for (variant, is_slow) in [("response", true), ("turns", false)] {
        let only = format!("variant={variant},path.rtt=30ms");
        let words =
            ["run", scenario.to_str().unwrap(), "--on", "sim", "--capture", "--quiet", "--out", variant];
        folder.pipefill(&[&words[..], &["--only", &only]].concat()).output().unwrap();
        let runs = folder.path(variant).join("runs");
        let run = runs.join(&names(&runs)[0]);
        for end in ENDS {
            let file = run.join(format!("artifacts/{end}.pcapng"));
            for command in ["pcap", "explain"] {
                let output = folder.pipefill(&[command, file.to_str().unwrap()]).output().unwrap();
                let text = String::from_utf8(output.stdout).unwrap();
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let is_named = text.contains("A proxy, or a slow server: the sender acknowledges within ");
                assert_eq!(
                    is_named,
                    is_slow && end == "receiver",
                    "{variant}, {command} near the {end}: {text}"
                );
            }
        }
    }
}

/// The cell of a run.
pub(crate) fn cell(run: &Path) -> Value {
    let manifest: Value = serde_json::from_slice(&fs::read(run.join("manifest.json")).unwrap()).unwrap();
    manifest["run"]["cell"].clone()
}

/// What the scenario plants: of `= app|rwnd` and `= window|program` the first with the first, and so on.
pub(crate) fn planted(cell: &Value) -> Vec<String> {
    let words = |metric: &str| {
        let expected = cell["spec"]["expect"].as_array().unwrap().iter();
        let word = expected
            .filter(|expectation| expectation["metric"] == metric)
            .find_map(|expectation| expectation["bound"]["word"].as_str());
        let word = word.unwrap_or_else(|| panic!("no {metric} in {cell}"));
        word.split('|').map(str::to_owned).collect::<Vec<_>>()
    };
    let pairs = words("limited_by").into_iter().zip(words("cause"));
    pairs.map(|(limit, cause)| format!("{limit}/{cause}")).collect()
}
