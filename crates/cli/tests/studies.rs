//! The studies from end to end on the simulator: the conclusions that were published, ours, and the figures behind them.

mod pipefill;

use pipefill::Folder;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

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
    let said = |one: &&Value| one["published"].as_str().unwrap().contains(words);
    let one = conclusions.iter().find(said).unwrap_or_else(|| panic!("nobody said {words}"));
    assert!(!one["evidence"].as_array().unwrap().is_empty(), "{one}");
    one["opinion"].as_str().unwrap()
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
fn study_4_names_the_send_buffer() {
    let study = study("buffers");
    assert_eq!(opinion(&study, "6 MB: the receive window limits"), "confirmed");
    assert_eq!(opinion(&study, "the congestion window limits"), "refuted");
}

#[test]
fn the_screen_shows_the_table_of_windows_and_both_conclusions() {
    let folder = Folder::new();
    let mut run = folder.pipefill(&["study", "buffers", "--on", "sim", "--quick", "--quiet", "--out", "o"]);
    run.assert().success().stdout(
        contains("what was in use (medians)").and(contains("published  ")).and(contains("not so     ")),
    );
    let markdown = folder.pipefill(&["report", "o", "--format", "md"]).assert().success();
    markdown.stdout(contains("**Not so.**").and(contains("limited by sndbuf")));
}
