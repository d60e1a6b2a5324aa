//! The studies from end to end on the simulator: the conclusions that were published, ours, and the figures behind them.

use crate::pipefill::Folder;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::fs;

/// The result of a study's short version.
fn study(name: &str) -> Value {
    let folder = Folder::new();
    let mut run =
        folder.pipefill(&["study", name, "--on", "sim", "--quick", "--quiet", "--json", "--out", "o"]);
    let output = run.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Opinion on the conclusion that holds `words`.
fn opinion<'a>(study: &'a Value, words: &str) -> &'a str {
    let conclusions = study["conclusions"].as_array().unwrap();
    let said = |conclusion: &&Value| conclusion["published"].as_str().unwrap().contains(words);
    let conclusion = conclusions.iter().find(said).unwrap_or_else(|| panic!("nobody said {words}"));
    assert!(!conclusion["evidence"].as_array().unwrap().is_empty(), "{conclusion}");
    conclusion["opinion"].as_str().unwrap()
}

#[test]
fn study_2_answers_whether_a_burst_of_a_bdp_is_needed() {
    let study = study("bdp");
    assert_eq!(opinion(&study, "min(cwnd, rwnd, send buffer) / RTT"), "confirmed");
    assert_eq!(opinion(&study, "widening one side alone"), "refuted");
    assert_eq!(opinion(&study, "the rate is back"), "confirmed");
    assert_eq!(opinion(&study, "50 ms need 6.25 MB"), "confirmed");
    assert_eq!(opinion(&study, "burst should be at least the BDP"), "refuted");
}

#[test]
fn study_3_shows_the_trap_of_doubling_and_avoids_it() {
    let study = study("window");
    assert_eq!(opinion(&study, "Throughput = window"), "refuted");
    assert_eq!(opinion(&study, "first attempt"), "refuted");
    assert_eq!(opinion(&study, "double it"), "refuted");
    assert_eq!(opinion(&study, "wanted and not found"), "confirmed");
    let cells = study["cells"].as_array().unwrap().iter();
    let pings: Vec<&Value> = cells.filter(|cell| cell["axes"]["variant"] == "ping").collect();
    assert_eq!(pings.len(), 5);
    for (cell, base_us) in pings.iter().zip([300.0, 1_000.0, 10_000.0, 20_000.0, 50_000.0]) {
        let ping = &cell["ping"];
        let figure = |name: &str| ping[name].as_f64().unwrap_or_else(|| panic!("{name} of {ping}"));
        assert!((figure("base_rtt_us") - base_us).abs() <= 2.0 * figure("base_rtt_us_error"), "{ping}");
        assert!(
            (figure("forward_bps") - 1e8).abs() < 1e5 && (figure("reverse_bps") - 1e8).abs() < 1e5,
            "{ping}"
        );
        assert_eq!((figure("lost"), figure("window_bytes")), (0.0, 65_500.0));
        assert_eq!(cell["goodput_bps"], Value::Null);
    }
}

#[test]
fn study_4_names_the_send_buffer() {
    let study = study("buffers");
    assert_eq!(opinion(&study, "6 MB: the receive window limits"), "confirmed");
    assert_eq!(opinion(&study, "the congestion window limits"), "refuted");
}

#[test]
fn study_6_checks_what_is_said_of_the_disciplines_of_queues() {
    let study = study("bufferbloat");
    for (words, expected) in [
        ("Queues without management", "confirmed"),
        ("isolates low-rate traffic", "confirmed"),
        ("insensitive to round-trip delays", "refuted"),
        ("answers neither losses nor marks", "refuted"),
        ("no negative impact on utilization", "refuted"),
        ("at least the time of a full packet", "refuted"),
        ("PIE controls the average", "confirmed"),
        ("DualPI2 controls classic traffic", "confirmed"),
        ("without losing a packet", "confirmed"),
        ("The same of PIE", "refuted"),
        ("BBR runs without filling", "confirmed"),
        ("shares the link evenly", "confirmed"),
        ("In RRUL", "confirmed"),
        ("especially for bidirectional traffic", "confirmed"),
    ] {
        assert_eq!(opinion(&study, words), expected, "{words}");
    }
    assert_eq!(study["conclusions"].as_array().unwrap().len(), 14);
}

#[test]
fn the_screen_shows_the_table_of_windows_and_both_conclusions() {
    let folder = Folder::new();
    let mut run = folder.pipefill(&["study", "buffers", "--on", "sim", "--quick", "--quiet", "--out", "o"]);
    run.assert().success().stdout(
        contains("what was in use (medians)").and(contains("published  ")).and(contains("refuted    ")),
    );
    folder.pipefill(&["report", "o", "--format", "html", "-o", "again.html"]).assert().success();
    let [left, again] =
        ["o/report.html", "again.html"].map(|name| fs::read_to_string(folder.path(name)).unwrap());
    assert_eq!(left, again);
    let run = fs::read_dir(folder.path("o/runs")).unwrap().next().unwrap().unwrap().path();
    let rendered = folder.pipefill(&["report", run.to_str().unwrap(), "--format", "html"]).assert().success();
    rendered.stdout(contains("<!DOCTYPE html>").and(contains("Runs over time")));
    let markdown = folder.pipefill(&["report", "o", "--format", "md"]).assert().success();
    markdown.stdout(contains("**Refuted.**").and(contains("limited by sndbuf")));
}
