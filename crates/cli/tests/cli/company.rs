//! Several processes on one experiment, and processes that end in the middle of one.

use crate::pipefill::{Folder, names};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Some seconds of work in many short runs.
const SCENARIO: &str = r#"
name = "many"
[path]
rtt = ["1ms", "2ms"]
rate = "50mbit"
loss = "0.1%"
[[flow]]
duration = "1s"
[run]
repeat = 20
"#;
const RUN: [&str; 8] = ["run", "many.toml", "--on", "sim", "--out", "o", "--resume", "--quiet"];

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("many.toml", SCENARIO);
    folder
}

/// Looks without a pause, so that the first moment is seen.
fn wait_for(child: &mut Child, what: impl Fn() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(began.elapsed() < Duration::from_secs(60), "it takes too long");
        assert!(child.try_wait().unwrap().is_none(), "it ended before");
    }
}

fn signal(child: &Child, name: &str) {
    let script = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
}

fn complete(runs: &Path) -> usize {
    fs::read_dir(runs).map_or(0, |entries| {
        entries
            .filter(|entry| !entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'))
            .count()
    })
}

fn is_whole(folder: &Folder) {
    let runs = names(&folder.path("o/runs"));
    assert_eq!(runs.len(), 40, "{runs:?}");
    assert!(runs.iter().all(|name| !name.starts_with('.')), "{runs:?}");
    assert_eq!(names(&folder.path("o")), ["experiment.json", "report.html", "runs", "scenario.toml"]);
    assert_eq!(folder.registered(), [""; 0]);
    folder.pipefill(&["report", "o"]).assert().success();
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn of_several_at_once_one_works_and_the_others_say_who() {
    for begun in [false, true] {
        let folder = folder();
        if begun {
            let mut first = folder.start(&RUN);
            wait_for(&mut first, || complete(&folder.path("o/runs")) > 0);
            signal(&first, "KILL");
            first.wait().unwrap();
        }
        let children: Vec<Child> = (0..4).map(|_| folder.start(&RUN)).collect();
        let pids: Vec<String> = children.iter().map(|child| format!("(pid {})", child.id())).collect();
        let outputs: Vec<Output> =
            children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        let done = outputs.iter().filter(|output| output.status.code() == Some(0)).count();
        assert!(done >= 1, "{:?}", outputs.iter().map(text).collect::<Vec<_>>());
        for output in outputs.iter().filter(|output| output.status.code() != Some(0)) {
            let text = text(output);
            assert_eq!(output.status.code(), Some(2), "{text}");
            assert!(text.contains("another pipefill") && text.contains("is at work in o"), "{text}");
            // It may have told before of what the killed one left.
            let names_one = text.contains("another pipefill (pid ");
            assert!(!names_one || pids.iter().any(|pid| text.contains(pid)), "{text}");
        }
        is_whole(&folder);
    }
}

#[test]
fn a_killed_process_holds_no_lock() {
    let folder = folder();
    let mut child = folder.start(&RUN);
    wait_for(&mut child, || complete(&folder.path("o/runs")) > 1);
    let refused = folder.pipefill(&RUN).assert().code(2).get_output().clone();
    assert!(text(&refused).contains(&format!("another pipefill (pid {}) is at work in o", child.id())));
    signal(&child, "KILL");
    child.wait().unwrap();
    folder.pipefill(&RUN).assert().success();
    is_whole(&folder);
}

#[test]
fn an_experiment_appears_whole() {
    for _ in 0..5 {
        let folder = folder();
        let directory = folder.path("o");
        let mut child = folder.start(&RUN);
        wait_for(&mut child, || directory.exists());
        assert!(directory.join("experiment.json").exists());
        folder.pipefill(&["report", "o"]).assert().success();
        signal(&child, "KILL");
        child.wait().unwrap();
    }
}

#[test]
fn a_hang_up_leaves_nothing_in_the_making() {
    let folder = folder();
    // Whoever runs the tests under nohup ignores it, and so do all children.
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP").arg(assert_cmd::cargo::cargo_bin!("pipefill")).args(RUN);
    command.current_dir(folder.root()).env("XDG_RUNTIME_DIR", folder.runtime());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&mut child, || complete(&folder.path("o/runs")) > 1);
    signal(&child, "HUP");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("runs are kept in o"), "{}", text(&output));
    assert!(names(&folder.path("o/runs")).iter().all(|name| !name.starts_with('.')));
    assert_eq!(folder.registered(), [""; 0]);
}

#[test]
fn under_nohup_a_hang_up_is_ignored() {
    let folder = folder();
    let program = assert_cmd::cargo::cargo_bin!("pipefill");
    let mut command = Command::new("nohup");
    command.arg(program).args(RUN).current_dir(folder.root()).env("XDG_RUNTIME_DIR", folder.runtime());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for(&mut child, || complete(&folder.path("o/runs")) > 1);
    signal(&child, "HUP");
    sleep(Duration::from_millis(10));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    is_whole(&folder);
}
