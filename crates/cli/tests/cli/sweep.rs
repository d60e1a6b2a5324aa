//! `pipefill sweep` with processes, and what it says without an engine. Real engines: `scripts/clusters.sh`.

use crate::pipefill::{Folder, names};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use predicates::prelude::*;
use predicates::str::{contains, is_empty};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

const SCENARIO: &str = r#"
name = "small"
[path]
rtt = ["1ms", "2ms", "5ms", "10ms"]
rate = "20mbit"
[[flow]]
duration = "1s"
[run]
repeat = 1
"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO);
    folder
}

/// The words that begin a sweep on `engine`, into `out`.
fn begin<'a>(engine: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["sweep", "s.toml", "--on", "sim", "--engine", engine, "--shards", "2", "--out", "out"], more].concat()
}

fn json(folder: &Folder, words: &[&str]) -> Value {
    serde_json::from_slice(&folder.pipefill(words).assert().success().get_output().stdout).unwrap()
}

#[test]
fn processes_make_what_one_process_makes() {
    let folder = folder();
    let status = json(&folder, &begin("local", &["--json"]));
    let states: Vec<&str> =
        status["shards"].as_array().unwrap().iter().map(|shard| shard["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["done", "done"]);
    assert_eq!(names(&folder.path("out/shards")), ["1", "2"]);
    folder.pipefill(&["run", "s.toml", "--on", "sim", "--quiet", "--out", "whole"]).assert().success();
    let figures = |directory: &str| {
        let text = folder.pipefill(&["report", directory, "--format", "csv"]).output().unwrap().stdout;
        let path = fs::canonicalize(folder.path(directory)).unwrap();
        let text = String::from_utf8(text).unwrap();
        text.replace(path.to_str().unwrap(), "DIR").replace(&format!("{directory}/"), "DIR/")
    };
    assert_eq!(figures("out/merged"), figures("whole"));
}

#[test]
fn a_shard_that_is_gone_is_made_again() {
    let folder = folder();
    folder.pipefill(&begin("local", &[])).assert().success();
    for gone in ["shards/2", "merged"] {
        fs::remove_dir_all(folder.path("out").join(gone)).unwrap();
    }
    folder.pipefill(&["sweep", "out"]).assert().success().stdout(contains("missing         1  2"));
    folder
        .pipefill(&["sweep", "out", "--merge"])
        .assert()
        .code(2)
        .stderr(contains("shards 2 of 2 are not done"));
    folder.pipefill(&["sweep", "out", "--resume"]).assert().success();
    let status = json(&folder, &["sweep", "out", "--json"]);
    assert!(status["merged"].as_str().unwrap().ends_with("out/merged"), "{status}");
}

#[test]
fn an_expectation_that_fails_is_judged_on_the_whole() {
    let folder = folder();
    folder.write("s.toml", &format!("{SCENARIO}[expect]\ngoodput = \">= 1gbit\"\n"));
    folder.pipefill(&begin("local", &[])).assert().code(1).stdout(contains("small"));
}

#[test]
fn a_shard_that_fails_is_named_with_its_log() {
    let folder = folder();
    // Every shard is refused: its directory holds something else.
    folder.pipefill(&begin("local", &[])).assert().success();
    fs::remove_dir_all(folder.path("out/merged")).unwrap();
    fs::remove_dir_all(folder.path("out/shards/1")).unwrap();
    folder.write("out/shards/1", "no directory");
    folder
        .pipefill(&["sweep", "out", "--resume"])
        .assert()
        .code(2)
        .stderr(contains("shards 1 of 2 are not done").and(contains("out/logs/1.log")));
}

/// SIGKILL leaves nobody to end them: each shard hears of it by itself.
#[test]
fn shards_end_with_a_sweep_that_is_killed() {
    let folder = folder();
    // Nobody waits until a shard of this is done.
    let long = ["--set", "flow.duration=10000s", "--set", "path.loss=1%"];
    let mut sweep = folder.start(&begin("local", &[&long[..], &["--at-once", "2"]].concat()));
    let shards = fs::canonicalize(folder.root()).unwrap().join("out/shards");
    let at_work = wait_for(&shards, |processes| processes.len() == 2);
    sweep.kill().unwrap();
    sweep.wait().unwrap();
    let left = wait_for(&shards, <[i32]>::is_empty);
    // Whatever comes out: this test leaves none.
    for &process in &left {
        let _ended_already = kill(Pid::from_raw(process), Signal::SIGKILL);
    }
    assert_eq!(at_work.len(), 2, "the shards were never at work");
    assert_eq!(left, [0; 0], "{at_work:?} were at work");
    let state = folder.pipefill(&["sweep", "out"]).assert().success();
    state.stdout(contains("unfinished").or(contains("missing")));
}

/// The processes that have `path` in an argument, once they are as they should be; or after 30 s as they are.
fn wait_for(path: &Path, as_it_should: impl Fn(&[i32]) -> bool) -> Vec<i32> {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let processes = with_argument(path);
        if as_it_should(&processes) || Instant::now() > until {
            return processes;
        }
        sleep(Duration::from_millis(20));
    }
}

fn with_argument(path: &Path) -> Vec<i32> {
    let path = path.to_str().unwrap();
    let named = |process: &i32| {
        let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(path)
    };
    let all = names(Path::new("/proc"));
    all.iter().filter_map(|name| name.parse().ok()).filter(named).collect()
}

#[test]
fn an_engine_that_is_not_there_is_a_thing_that_this_machine_cannot_do() {
    for (engine, lack) in [("slurm", "there is no sbatch here"), ("ray", "python3 cannot be started")] {
        let folder = folder();
        let none = folder.root().join("none");
        folder.pipefill(&begin(engine, &[])).env("PATH", &none).assert().code(3).stderr(contains(lack));
        let again = folder.pipefill(&["sweep", "out"]).env("PATH", &none).assert().success();
        again.stdout(contains("missing         2  1-2"));
    }
}

#[test]
fn a_manifest_is_printed_and_nothing_is_made() {
    let folder = folder();
    let document = json(&folder, &begin("kubernetes", &[]));
    assert_eq!(document["items"][1]["spec"]["completions"], 2);
    assert_eq!(names(folder.root()), ["s.toml"]);
}

#[test]
fn what_is_missing_is_said() {
    let folder = folder();
    let refused = |words: &[&str], what: &str| {
        folder.pipefill(words).assert().code(2).stdout(is_empty()).stderr(contains(what.to_owned()));
    };
    refused(&["sweep", "s.toml"], "needs an engine");
    refused(&["sweep", "s.toml", "--engine", "local", "--shards", "2"], "write --out DIR");
    refused(&["sweep", "s.toml", "--engine", "local", "--shards", "9", "--out", "o"], "write --shards 4");
    refused(&["sweep", "s.toml", "--resume"], "is not the directory of a sweep");
    refused(&["sweep", "s.toml", "--resume", "--merge"], "cannot be used with");
}
