//! The time ledger of every stream, in every record and every capture that these tests have: its spans follow each other without a gap, and
//! add up to the stream's time to the microsecond.

use crate::catalogue;
use crate::pcap::figures_hold;
use crate::pipefill::{Folder, names};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The spans of each stream, which have to follow each other: from the first one's begin to the last one's end.
fn covered(timeline: &Value, of: &str) -> BTreeMap<u64, (u64, u64)> {
    let mut streams: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for span in timeline.as_array().into_iter().flatten() {
        let [stream, from_us, to_us] =
            ["stream", "from_us", "to_us"].map(|name| span[name].as_u64().unwrap());
        let covered = streams.entry(stream).or_insert((from_us, from_us));
        assert!(covered.1 == from_us && from_us < to_us, "{of}: stream {stream} has a gap at {from_us} us");
        assert!(span["rule"].is_string(), "{of}: a span without a rule");
        covered.1 = to_us;
    }
    streams
}

/// Holds the ledgers of the run in `directory` against the lives of its streams.
fn check_run(folder: &Folder, directory: &Path) -> usize {
    let name = directory.display().to_string();
    let output = folder.pipefill(&["report", &name, "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let manifest: Value =
        serde_json::from_slice(&fs::read(directory.join("manifest.json")).unwrap()).unwrap();
    let streams = manifest["streams"].as_array().unwrap();
    let life = |stream: u64| {
        let stream = streams.iter().find(|summary| summary["stream"] == stream).unwrap();
        (stream["start_us"].as_u64().unwrap(), stream["stop_us"].as_u64().unwrap())
    };
    let mut checked = 0;
    for flow in report["cells"][0]["run_values"][0]["flows"].as_array().unwrap() {
        let diagnosis = &flow["diagnosis"];
        for (stream, covers) in covered(&diagnosis["timeline"], &name) {
            assert_eq!(covers, life(stream), "{name}: stream {stream}");
            checked += 1;
        }
        let shares = diagnosis["limited_fraction"].as_object().into_iter().flatten();
        let sum: f64 = shares.map(|(_, share)| share.as_f64().unwrap()).sum();
        assert!(diagnosis.is_null() || (sum - 1.0).abs() < 1e-9, "{name}: shares add up to {sum}");
    }
    checked
}

#[test]
fn every_record_of_the_catalogue_has_all_of_its_time_held() {
    let records = catalogue::records();
    let folder = Folder::new();
    let checked: usize = names(&records.folder)
        .iter()
        .flat_map(|scenario| {
            let runs = records.folder.join(scenario).join("runs");
            names(&runs).into_iter().take(1).map(move |run| runs.join(run)).collect::<Vec<_>>()
        })
        .map(|run| check_run(&folder, &run))
        .sum();
    assert!(checked >= 90, "{checked} streams");
}

#[test]
fn every_record_of_0_1_0_has_all_of_its_time_held() {
    let folder = Folder::new();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/records-0.1.0");
    let runs: Vec<_> = walk(&old).into_iter().filter(|path| path.join("manifest.json").is_file()).collect();
    assert!(!runs.is_empty());
    assert!(runs.iter().map(|run| check_run(&folder, run)).sum::<usize>() > 0);
}

#[test]
fn every_flow_of_a_capture_has_all_of_its_time_held() {
    let folder = Folder::new();
    for name in ["app-bitrate", "loss-cubic", "rwnd-maximum", "both-startup-path"] {
        let scenario =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/catalogue/{name}.toml"));
        let words =
            ["run", scenario.to_str().unwrap(), "--on", "sim", "--repeat", "1", "--capture", "--out", name];
        folder.pipefill(&[&words[..], &["--quiet"]].concat()).assert().success();
        let runs = folder.path(name).join("runs");
        for end in ["sender", "receiver"] {
            let capture = runs.join(&names(&runs)[0]).join("artifacts").join(format!("{end}.pcapng"));
            let capture = capture.display().to_string();
            let output = folder.pipefill(&["explain", &capture, "--json"]).output().unwrap();
            let explained: Value = serde_json::from_slice(&output.stdout).unwrap();
            figures_hold(&explained);
            let flows = explained["flows"].as_array().unwrap();
            assert!(!flows.is_empty(), "{capture}");
            for flow in flows {
                assert_eq!(covered(&flow["timeline"], &capture).len(), 1, "{capture}");
            }
        }
    }
}

/// `folder` and all folders below it.
fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let below = names(folder).into_iter().map(|name| folder.join(name)).filter(|path| path.is_dir());
    std::iter::once(folder.to_owned()).chain(below.flat_map(|path| walk(&path))).collect()
}
