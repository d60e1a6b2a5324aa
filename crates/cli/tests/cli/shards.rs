//! Shards of a plan, run apart and put together: the same report as of the whole, to the byte.

use crate::pipefill::{Folder, names};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// 24 cells, half of them without chance; the others twice.
const MATRIX: &str = r#"
name = "matrix"
[path]
rtt = ["2ms", "5ms", "10ms", "20ms"]
rate = ["2mbit", "5mbit", "20mbit"]
loss = ["0%", "2%"]
[[flow]]
duration = "300ms"
[run]
repeat = 2
sample = "20ms"
[expect]
goodput = ">= 1kbit"
"#;

/// Long enough to be killed in.
const LONG: &str = "flow.duration=300ms";

fn work() -> Folder {
    let work = Folder::new();
    work.write("matrix.toml", MATRIX);
    work
}

fn run_shard(work: &Folder, number: usize, of: usize, out: &str) {
    let shard = format!("{number}/{of}");
    work.pipefill(&["run", "matrix.toml", "--on", "sim", "--shard", &shard, "--out", out, "--quiet"])
        .assert()
        .success();
}

fn report(work: &Folder, directory: &str) -> Vec<u8> {
    let got = work.pipefill(&["report", directory, "--format", "json"]).assert().success();
    got.get_output().stdout.clone()
}

fn refused(work: &Folder, words: &[&str]) -> String {
    let got = work.pipefill(words).assert().code(2);
    String::from_utf8(got.get_output().stderr.clone()).unwrap()
}

/// The report of the experiment that one process ran in the directory `out`.
fn whole() -> Vec<u8> {
    let work = work();
    work.pipefill(&["run", "matrix.toml", "--on", "sim", "--out", "out", "--quiet"]).assert().success();
    report(&work, "out")
}

#[test]
fn sixteen_shards_make_the_report_of_the_whole() {
    let work = work();
    let mut words = vec!["merge".to_owned()];
    for number in (1..=16).rev() {
        run_shard(&work, number, 16, &format!("s{number}"));
        words.push(format!("s{number}"));
    }
    // One is run twice, and one is given twice.
    run_shard(&work, 3, 16, "again");
    words.extend(["again", "s7", "--out", "out"].map(str::to_owned));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    work.pipefill(&words).assert().success();
    let merged = report(&work, "out");
    assert!(merged == whole(), "the reports differ");
    // To merge again changes nothing, and leaves nothing behind.
    work.pipefill(&words).assert().success();
    assert!(merged == report(&work, "out"), "the reports differ");
    assert_eq!(names(&work.path("out/runs")).len(), 36);
    assert_eq!(work.registered(), [""; 0]);
    let json = work.pipefill(&["merge", "out", "--out", "copy", "--json"]).assert().success();
    let json: serde_json::Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
    assert_eq!((&json["cells"], &json["runs"], &json["directory"]), (&24.into(), &36.into(), &"copy".into()));
}

/// The commands in the messages do what is missing.
#[test]
fn a_missing_shard_and_a_killed_one_are_told_with_their_commands() {
    let work = work();
    run_shard(&work, 1, 3, "one");
    let told = refused(&work, &["merge", "one", "--out", "out"]);
    assert!(told.contains("shards 2/3, 3/3 are missing"), "{told}");
    for number in [2, 3] {
        follow(&work, &told, &format!("--shard {number}/3"));
    }
    let parts = ["matrix-shard-2-of-3", "matrix-shard-3-of-3"];
    let merge = ["merge", parts[1], "one", parts[0], "--out", "out"];
    kill_in_the_middle(&work, "2/3", parts[0]);
    let told = refused(&work, &merge);
    assert!(told.contains("matrix-shard-2-of-3 is not complete"), "{told}");
    assert!(!work.path("out").exists());
    follow(&work, &told, "--resume");
    work.pipefill(&merge).assert().success();
    assert!(report(&work, "out") == whole(), "the reports differ");
}

/// Runs the command in `text` that has `words` in it.
fn follow(work: &Folder, text: &str, words: &str) {
    let line = text.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}: {text}"));
    let (_, command) = line.split_once("pipefill ").unwrap();
    let words = shlex::split(command).unwrap();
    work.pipefill(&words.iter().map(String::as_str).collect::<Vec<_>>()).arg("--quiet").assert().success();
}

/// Runs the shard anew into `out`, and kills it once it has some runs and not all.
fn kill_in_the_middle(work: &Folder, shard: &str, out: &str) {
    let runs = work.path(out).join("runs");
    let complete = || names(&runs).iter().filter(|name| !name.starts_with('.')).count();
    let all = complete();
    for _ in 0..20 {
        fs::remove_dir_all(work.path(out)).unwrap();
        let words = ["run", "matrix.toml", "--on", "sim", "--shard", shard, "--out", out, "--jobs", "1"];
        let mut child = work.start(&words);
        let until = Instant::now() + Duration::from_secs(60);
        while !(runs.exists() && complete() > 0) && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if complete() < all {
            return;
        }
    }
    panic!("every time the shard was complete before it was killed");
}

#[test]
fn shards_that_do_not_belong_together_are_refused() {
    let work = work();
    run_shard(&work, 1, 2, "half");
    run_shard(&work, 2, 3, "third");
    work.pipefill(&[
        "run",
        "matrix.toml",
        "--on",
        "sim",
        "--shard",
        "2/2",
        "--set",
        LONG,
        "--set",
        "path.loss=1%",
        "--out",
        "other",
        "--quiet",
    ])
    .assert()
    .success();
    let told = |first: &str, second: &str| refused(&work, &["merge", first, second, "--out", "out"]);
    let cut = told("half", "third");
    assert!(cut.contains("cut into 2 shards, the other into 3"), "{cut}");
    let plan = told("half", "other");
    assert!(plan.contains("shards of different plans"), "{plan}");
    let none = refused(&work, &["merge", ".", "--out", "out"]);
    assert!(none.contains("holds no experiment"), "{none}");
    let part = refused(&work, &["merge", "half", "--out", "half"]);
    assert!(part.contains("shard 2/2 is missing"), "{part}");
    let resumed = refused(&work, &["run", "matrix.toml", "--on", "sim", "--resume", "--out", "half"]);
    assert!(resumed.contains("it is shard 1/2, not the whole"), "{resumed}");
    for wrong in ["0/4", "5/4", "third", "1/25"] {
        let told = refused(&work, &["run", "matrix.toml", "--on", "sim", "--shard", wrong, "--out", "none"]);
        assert!(told.contains("--shard"), "{told}");
    }
    assert!(!work.path("out").exists() && !work.path("none").exists());
}

/// Whatever is left out, a cell has the number, the seed and the directory that it has in the whole plan.
#[test]
fn a_part_keeps_numbers_and_seeds() {
    let work = work();
    let run = |words: &[&str], out: &str| {
        let words = [&["run", "matrix.toml", "--on", "sim", "--quiet", "--out", out], words].concat();
        work.pipefill(&words).assert().success();
        let directory = names(&work.path(out).join("runs")).pop().unwrap();
        let manifest = fs::read_to_string(work.path(out).join("runs").join(&directory).join("manifest.json"));
        let manifest: serde_json::Value = serde_json::from_str(&manifest.unwrap()).unwrap();
        let run = &manifest["run"];
        (directory, run["seed"].clone(), run["cell"]["index"].clone())
    };
    let whole = run(&[], "whole");
    assert_eq!((whole.0.as_str(), &whole.2), ("0023-rtt-20ms-rate-20mbit-loss-2pct-r2", &23.into()));
    let only = run(&["--only", "path.rtt=20ms,path.loss=2%,path.rate=20mbit"], "only");
    assert_eq!(only, whole);
    let both = run(&["--only", "path.loss=2%", "--shard", "1/12"], "both");
    assert!(both.0.contains("loss-2pct"), "{}", both.0);
    let last = (1..=4).map(|number| run(&["--shard", &format!("{number}/4")], &format!("of4-{number}")));
    assert!(last.max_by_key(|(name, ..)| name.clone()).unwrap() == whole);
}
