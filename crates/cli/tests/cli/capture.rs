//! Captures through the binary: `--capture`, the key, and what is refused.

use crate::pipefill::Folder;
use pipefill_testkit::captures::dissected::{Checksums, read};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use std::fs;

const SCENARIO: &str = "name = \"captured\"\n[path]\nrtt = \"10ms\"\nrate = \"10mbit\"\n[[flow]]\nduration = \"500ms\"\n[run]\nrepeat = 1\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("captured.toml", SCENARIO);
    folder
}

#[test]
fn a_run_with_capture_keeps_both_files_in_its_record() {
    let folder = folder();
    let words = ["run", "captured.toml", "--on", "sim", "--capture", "--out", "out", "--quiet"];
    folder.pipefill(&words).assert().success();
    let run = folder.path("out/runs/0000-r1");
    let manifest: Value = serde_json::from_slice(&fs::read(run.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["run"]["cell"]["spec"]["run"]["capture"], true);
    let artifacts = manifest["artifacts"].as_array().unwrap();
    let listed: Vec<_> = artifacts.iter().map(|artifact| artifact["name"].as_str().unwrap()).collect();
    assert_eq!(listed, ["sender.pcapng", "receiver.pcapng"]);
    for name in listed {
        let bytes = fs::read(run.join("artifacts").join(name)).unwrap();
        let capture = read(&bytes, Checksums::Valid);
        assert!(capture.packets.len() > 50, "{name}: {}", capture.packets.len());
        assert!(capture.comment.contains(manifest["run"]["id"].as_str().unwrap()), "{}", capture.comment);
        assert!(
            capture.comment.contains(&format!("seed={}", manifest["run"]["seed"])),
            "{}",
            capture.comment
        );
    }
    // The records are whole, and the command that repeats the cell captures again.
    let output = folder.pipefill(&["report", "out", "--json"]).assert().success().get_output().clone();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let repeat = report["cells"][0]["repeat_command"].as_str().unwrap();
    assert!(repeat.contains("run.capture=true"), "{repeat}");
}

#[test]
fn the_key_captures_too_and_chooses_what_becomes_of_super_packets() {
    let folder = folder();
    let set = ["--set", "run.capture=true", "--set", "run.capture_packets=split"];
    let words = ["run", "captured.toml", "--on", "sim", "--out", "out", "--quiet"];
    folder.pipefill(&[&words[..], &set].concat()).assert().success();
    let bytes = fs::read(folder.path("out/runs/0000-r1/artifacts/receiver.pcapng")).unwrap();
    let capture = read(&bytes, Checksums::Valid);
    assert!(capture.packets.iter().all(|packet| packet.length <= 1514));
    let wrong = ["plan", "captured.toml", "--set", "run.capture_packets=cut"];
    folder.pipefill(&wrong).assert().code(2).stderr(contains("kept").and(contains("split")));
}

#[test]
fn without_it_there_is_none() {
    let folder = folder();
    folder.pipefill(&["run", "captured.toml", "--on", "sim", "--out", "out", "--quiet"]).assert().success();
    assert!(!folder.path("out/runs/0000-r1/artifacts").exists());
}

/// Before anything is asked of the machine.
#[test]
fn a_program_is_captured_into_a_directory_only() {
    let folder = folder();
    let refused = folder.pipefill(&["exec", "--capture", "--", "true"]).assert().code(2);
    refused.stderr(contains("--out <DIR>"));
    let refused = folder.pipefill(&["exec", "--set", "run.capture=true", "--", "true"]).assert().code(2);
    refused.stderr(contains("--out DIR"));
    assert_eq!(folder.names(), ["captured.toml"]);
}
