//! `compare` from outside: what it prints, its exit codes, and that its JSON says the same.

use crate::pipefill::Folder;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

const SCENARIO: &str = r#"
name = "small"
[path]
rtt = ["10ms", "40ms"]
loss = ["0%", "0.1%"]
rate = "50mbit"
queue = "1bdp"
[[flow]]
duration = "2s"
[run]
repeat = 4
"#;

/// Runs the scenario under `sets` into `out`.
fn run(folder: &Folder, out: &str, sets: &[&str]) {
    let mut words = vec!["run", "s.toml", "--on", "sim", "--quiet", "--out", out];
    sets.iter().for_each(|set| words.extend(["--set", set]));
    folder.pipefill(&words).assert().success();
}

fn scene() -> Folder {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO);
    run(&folder, "before", &[]);
    folder
}

fn compared(folder: &Folder, words: &[&str], code: i32) -> String {
    let words: Vec<&str> = ["compare"].iter().chain(words).copied().collect();
    let output = folder.pipefill(&words).assert().code(code).get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

#[test]
fn the_same_twice_has_no_regression() {
    let folder = scene();
    run(&folder, "after", &[]);
    let text = compared(&folder, &["before", "after"], 0);
    assert!(text.contains("4 cells, 0 regressions, 0 improvements") && !text.contains("differs"), "{text}");
    assert_eq!(text.matches('≈').count(), 4 * 3 + 1, "{text}");
}

#[test]
fn a_smaller_window_is_a_regression_with_its_interval_and_its_reason() {
    let folder = scene();
    run(&folder, "after", &["receiver.tcp_rmem=4096 65536 65536"]);
    let text = compared(&folder, &["before", "after"], 1);
    assert!(text.contains("REGRESSION rtt 40ms, loss 0%: goodput −"), "{text}");
    assert!(text.contains("(95 % interval −") && text.contains("limited by rwnd, was "), "{text}");
    assert!(text.contains("detects") && text.contains("Medians of the valid runs"), "{text}");
    assert!(text.contains("differs: receiver.sysctl.net.ipv4.tcp_rmem: "), "{text}");
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 80, "{widest} columns\n{text}");
    let json: Value = serde_json::from_str(&compared(&folder, &["before", "after", "--json"], 1)).unwrap();
    assert_eq!((&json["schema"], json["cells"].as_array().unwrap().len()), (&Value::from(1), 4));
    let cell = &json["cells"][2];
    let change = &cell["goodput_bps"];
    assert_eq!((&change["finding"], &cell["regression"]), (&Value::from("worse"), &Value::from(true)));
    assert!(change["difference_high"].as_f64().unwrap() < 0.0, "{change}");
    assert!(change["detectable_difference"].as_f64().unwrap() >= 0.0, "{change}");
    assert_eq!((&cell["limited_by_after"], &cell["axes"]["path.rtt"]), (&"rwnd".into(), &"40ms".into()));
    let turned = compared(&folder, &["after", "before"], 0);
    assert!(turned.contains("trade-off") && turned.contains("0 regressions"), "{turned}");
}

#[test]
fn what_one_side_lacks_is_listed_and_what_has_nothing_in_common_is_refused() {
    let folder = scene();
    run(&folder, "part", &["path.rtt=[40ms,80ms]"]);
    let text = compared(&folder, &["before", "part"], 0);
    assert!(text.contains("2 cells,"), "{text}");
    assert!(text.contains("only before: rtt 10ms, loss 0%; rtt 10ms, loss 0.1%"), "{text}");
    assert!(text.contains("only after: rtt 80ms, loss 0%"), "{text}");
    run(&folder, "other", &["path.rtt=[81ms,82ms]"]);
    let refused = folder.pipefill(&["compare", "before", "other"]).assert().code(2);
    refused.stdout("").stderr(contains("no cell in common").and(contains("rtt 81ms, loss 0%")));
    folder
        .pipefill(&["compare", "before", "missing"])
        .assert()
        .code(2)
        .stderr(contains("there is no directory missing"));
}

#[test]
fn two_runs_give_a_difference_and_no_verdict() {
    let folder = scene();
    let runs = crate::pipefill::names(&folder.path("before/runs"));
    let [first, last] = [&runs[0], &runs[runs.len() - 1]].map(|run| format!("before/runs/{run}"));
    let text = compared(&folder, &[&first, &last], 0);
    assert!(text.contains("few runs") && text.contains("3 on each side"), "{text}");
    assert!(text.contains("differs: path.forward.delay_ns"), "{text}");
}

#[test]
fn the_threshold_decides_what_counts() {
    let folder = scene();
    run(&folder, "after", &["path.rate=49mbit"]);
    let strict = compared(&folder, &["before", "after", "--threshold", "1%"], 1);
    assert!(strict.contains("REGRESSION"), "{strict}");
    let lax = compared(&folder, &["before", "after", "--threshold", "50%"], 0);
    assert!(lax.contains("worse") && !lax.contains("REGRESSION"), "{lax}");
    folder
        .pipefill(&["compare", "before", "after", "--threshold", "5"])
        .assert()
        .code(2)
        .stderr(contains("5%"));
}
