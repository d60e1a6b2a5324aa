//! Conversations whose limit is known by construction, in the simulator: who holds them, and why, by the packets near either end.

use crate::pcap::told;
use crate::pipefill::{Folder, names};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Variants of `scenarios/applications.toml`, and the holder and cause that each plants. No verdict is made of datagrams that are captured.
const PLANTED: [(&str, &str); 20] = [
    ("request", "app/request"),
    ("response", "app/response"),
    ("turns", "app/turns"),
    ("window-2ms", "app/window"),
    ("window-30ms", "app/window"),
    ("window-150ms", "app/window"),
    ("nagle", "app/nagle"),
    ("nodelay", "app/turns"),
    ("delayed-ack", "app/delayed_ack"),
    ("rate-bursts", "app/rate"),
    ("rate-steady", "app/rate"),
    ("mixed-think-restart", "app/response"),
    ("mixed-think-startup", "app/response"),
    ("mixed-idle-restart", "app/request"),
    ("mixed-window-rwnd", "app/window"),
    ("mixed-both-ways", "app/turns"),
    ("mixed-keep-alive", "app/request"),
    ("mixed-pipelined", "app/turns"),
    ("mixed-pipelined-nagle", "app/nagle"),
    ("rate-datagrams", ""),
];
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
        let variant = variant(run);
        let planted = PLANTED.iter().find(|(name, _)| *name == variant);
        let (_, planted) = planted.unwrap_or_else(|| panic!("{variant} is not in the table"));
        for end in ENDS.iter().filter(|_| !planted.is_empty()) {
            let found = told(&folder, &run.join(format!("artifacts/{end}.pcapng")));
            let flow = &found["flows"][0];
            let word = |key: &str| flow[key].as_str().unwrap_or("null");
            let named = format!("{}/{}", word("limited_by"), word("cause"));
            captures += 1;
            if named != *planted {
                others.push(format!("{}, near the {end}: {named}, not {planted}", run.display()));
            }
        }
    }
    assert_eq!(captures, 70, "two of each run but those of datagrams");
    assert!(others.is_empty(), "{others:#?}");
}

fn variant(run: &Path) -> String {
    let manifest: Value = serde_json::from_slice(&fs::read(run.join("manifest.json")).unwrap()).unwrap();
    let axes = manifest["run"]["cell"]["axes"].as_array().unwrap();
    let axis = axes.iter().find(|axis| axis[0] == "variant").unwrap();
    axis[1].as_str().unwrap().to_owned()
}
