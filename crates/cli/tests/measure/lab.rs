//! Whole experiments on this machine's kernel.

use crate::measuring::{
    self, Folder, INVALID, Outcome, Skip, Test, if_quiet, in_time, is_quiet, names, slow_test, test,
};
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Two cells of one run each, some seven seconds together.
const SCENARIO: &str = r#"
name = "tiny"
[path]
rtt = ["4ms", "20ms"]
rate = "20mbit"
queue = "2bdp"
[[flow]]
duration = "3s"
[run]
repeat = 1
[expect]
goodput = ">= 50% of rate"
"#;

/// What headers leave of 20 Mbit/s: 1448 of 1514 bytes.
const FULL: f64 = 20e6 * 1448.0 / 1514.0;

/// Pings of three sizes for two seconds, over buckets of one frame.
const PINGS: &str = r#"
name = "pings"
[path]
rtt = "20ms"
rate = "20mbit"
reverse_rate = "50mbit"
burst = "1514B"
reverse_burst = "1514B"
queue = "256KiB"
reverse_queue = "256KiB"
[[flow]]
protocol = "ping"
payloads = "64B 16000B 65500B"
duration = "2s"
[run]
repeat = 1
"#;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("a_scenario_runs_from_file_to_report", a_scenario_runs_from_file_to_report),
        slow_test("an_expectation_that_fails_is_exit_code_1", an_expectation_that_fails_is_exit_code_1),
        slow_test("a_signal_stops_it_and_resume_continues", a_signal_stops_it_and_resume_continues),
        test("what_a_killed_run_leaves_the_doctor_removes", what_a_killed_run_leaves_the_doctor_removes),
        slow_test("pings_tell_the_base_and_both_rates_apart", pings_tell_the_base_and_both_rates_apart),
        slow_test("what_the_kernel_lacks_is_refused_before_the_first_run", what_the_kernel_lacks_is_refused),
        slow_test("where_no_thread_is_to_be_had_a_run_ends", where_no_thread_is_to_be_had_a_run_ends),
        slow_test("two_at_the_same_time_do_not_meet", two_at_the_same_time_do_not_meet),
    ]
}

/// A folder with the scenario, where the lab runs.
fn lab() -> Result<Folder, Skip> {
    let folder = measuring::lab()?;
    folder.write("tiny.toml", SCENARIO);
    Ok(folder)
}

/// Waits until `there` holds; a run that ends before is a failure.
fn wait_for(child: &mut Child, what: &str, there: impl Fn() -> bool) {
    let began = Instant::now();
    while !there() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what} takes too long");
        assert!(child.try_wait().unwrap().is_none(), "pipefill ended before {what}");
        sleep(Duration::from_millis(10));
    }
}

fn partial(runs: &Path) -> bool {
    runs.exists() && names(runs).iter().any(|name| name.contains(".partial-"))
}

/// A record is there, and the next run is going on.
fn second_run(runs: &Path) -> bool {
    runs.join("0000-rtt-4ms-r1").exists() && partial(runs)
}

fn signal(child: &Child, name: &str) {
    let script = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Names of interfaces and of named namespaces: what a run could leave on the machine.
fn machine() -> (Vec<String>, Vec<String>) {
    let devices = std::fs::read_to_string("/proc/net/dev").unwrap();
    let devices =
        devices.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim().to_owned());
    let namespaces = Path::new("/run/netns");
    (devices.collect(), if namespaces.exists() { names(namespaces) } else { Vec::new() })
}

/// A user of no other process, so that a limit on processes counts nothing but ours. Root has no such limit.
const NOBODY_ELSE: u32 = 64_999;

/// `pipefill run one.toml` as [`NOBODY_ELSE`], who may have `limit` threads: exit code and standard error. A run that does not end is a
/// failure.
fn run_limited(folder: &Folder, limit: u32) -> (Option<i32>, String) {
    let text = std::fs::File::create(folder.path("stderr")).unwrap();
    let mut child = Command::new("prlimit")
        .args([&format!("--nproc={limit}:{limit}"), "./pipefill", "run", "one.toml", "--quiet"])
        .args(["--on", "lab", "--out", &format!("out/{limit}")])
        .current_dir(folder.root())
        .env("XDG_RUNTIME_DIR", folder.path("out"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(text)
        .uid(NOBODY_ELSE)
        .gid(NOBODY_ELSE)
        .spawn()
        .unwrap();
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("a run that may have {limit} threads does not end");
        }
        sleep(Duration::from_millis(20));
    };
    (status.code(), std::fs::read_to_string(folder.path("stderr")).unwrap())
}

fn where_no_thread_is_to_be_had_a_run_ends() -> Outcome {
    let folder = lab()?;
    if !nix::unistd::geteuid().is_root() {
        return Err(Skip::LabUnavailable("only root can be a user of no other process".to_owned()));
    }
    folder.write(
        "one.toml",
        "name = \"one\"\n[path]\nrtt = \"1ms\"\n[[flow]]\nduration = \"1s\"\n[run]\nrepeat = 1\n",
    );
    std::fs::copy(assert_cmd::cargo::cargo_bin!("pipefill"), folder.path("pipefill")).unwrap();
    std::fs::set_permissions(folder.root(), Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir(folder.path("out")).unwrap();
    chown(folder.path("out"), Some(NOBODY_ELSE), Some(NOBODY_ELSE)).unwrap();
    let (code, text) = run_limited(&folder, 64);
    if code == Some(3) {
        return Err(Skip::LabUnavailable(format!("for an ordinary user: {text}")));
    }
    assert!(matches!(code, Some(0 | INVALID)), "{code:?}: {text}");
    let refused = (1..9).filter(|&limit| {
        let (code, text) = run_limited(&folder, limit);
        assert!(!text.contains("panicked"), "{limit} threads: {text}");
        assert!(
            matches!(code, Some(0 | INVALID)) || text.contains("no thread for"),
            "{limit} threads: {code:?}: {text}"
        );
        text.contains("no thread for")
    });
    assert!(refused.count() >= 4, "a run has eight threads of its own");
    Ok(())
}

fn a_scenario_runs_from_file_to_report() -> Outcome {
    let folder = lab()?;
    let before = machine();
    let [output] = in_time(|| [folder.pipefill(&["run", "tiny.toml", "--json"]).output().unwrap()])?;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["schema"], &report["experiment"]), (&Value::from(1), &Value::from("tiny")));
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    for cell in cells {
        assert_eq!((&cell["backend"], &cell["valid"]), (&Value::from("lab"), &Value::from(1)), "{cell}");
        let goodput = cell["goodput_bps"].as_f64().unwrap();
        println!("{}: {goodput:.0} bit/s, {FULL:.0} are full", cell["axes"]);
        let share = if_quiet(0.97, 0.0)..1.03;
        assert!(share.contains(&(goodput / FULL)), "{goodput} bit/s, {FULL} are full");
        assert!(cell["repeat_command"].as_str().unwrap().contains("--only"), "{cell}");
    }
    let run = folder.path("pipefill-runs/tiny/runs/0001-rtt-20ms-r1");
    for name in ["manifest.json", "tcp.jsonl.zst", "delivery.jsonl.zst", "path.jsonl.zst", "cpu.jsonl.zst"] {
        assert!(run.join(name).exists(), "{name}: {:?}", names(&run));
    }
    let again = folder.pipefill(&["report", "pipefill-runs/tiny", "--json"]).output().unwrap();
    assert_eq!(again.stdout, output.stdout);
    for format in ["table", "csv", "md"] {
        folder.pipefill(&["report", "pipefill-runs/tiny", "--format", format]).assert().success();
    }
    let report = folder.pipefill(&["report", run.to_str().unwrap(), "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["cells"].as_array().unwrap().len(), 1);
    assert_eq!(report["cells"][0]["axes"]["path.rtt"], "20ms");
    assert_eq!(folder.registered(), [""; 0]);
    assert_eq!(machine(), before);
    Ok(())
}

/// Waking both ends is part of a round trip, so that the base is the path's and a little more; never less.
fn pings_tell_the_base_and_both_rates_apart() -> Outcome {
    let folder = lab()?;
    folder.write("pings.toml", PINGS);
    let [output] = in_time(|| [folder.pipefill(&["run", "pings.toml", "--json"]).output().unwrap()])?;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ping = &report["cells"][0]["ping"];
    let figure = |name: &str| ping[name].as_f64().unwrap_or_else(|| panic!("{name} of {ping}"));
    let base_us = figure("base_rtt_us");
    assert!(base_us + 3.0 * figure("base_rtt_us_error") >= 20_000.0, "{ping}");
    if is_quiet() {
        assert!(base_us < 25_000.0, "{ping}");
        assert!((figure("forward_bps") / 20e6 - 1.0).abs() < 0.05, "{ping}");
        assert!((figure("reverse_bps") / 50e6 - 1.0).abs() < 0.05, "{ping}");
    }
    assert_eq!((figure("lost"), figure("window_bytes")), (0.0, 65_500.0));
    assert!(figure("sent") >= 18.0, "{ping}");
    let run = folder.path("pipefill-runs/pings/runs");
    assert!(run.join(&names(&run)[0]).join("ping.jsonl.zst").exists());
    Ok(())
}

fn an_expectation_that_fails_is_exit_code_1() -> Outcome {
    let folder = lab()?;
    let words = ["run", "tiny.toml", "--only", "path.rtt=4ms", "--set", "expect.goodput=>= 100mbit"];
    let [output] = in_time(|| [folder.pipefill(&words).output().unwrap()])?;
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("FAILED"));
    Ok(())
}

fn what_the_kernel_lacks_is_refused() -> Outcome {
    let folder = lab()?;
    let words = ["run", "tiny.toml", "--set", "host.congestion_control=[reno, nonesuch]"];
    let output = folder.pipefill(&words).output().unwrap();
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(
        text.contains("\"nonesuch\"") && !text.contains("records in") && !text.contains("--on sim"),
        "{text}"
    );
    assert_eq!(folder.names(), ["tiny.toml"]);
    Ok(())
}

fn a_signal_stops_it_and_resume_continues() -> Outcome {
    let folder = lab()?;
    let runs = folder.path("pipefill-runs/tiny/runs");
    let mut child = folder.start(&["run", "tiny.toml"]);
    wait_for(&mut child, "the second run", || second_run(&runs));
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let text = stderr(&output);
    assert!(text.contains("stopped; 1 of 2 runs are kept in pipefill-runs/tiny"), "{text}");
    assert!(text.contains("--resume"), "{text}");
    assert_eq!(text.matches("stopping; Ctrl-C again to quit now\n").count(), 1, "{text}");
    assert_eq!(names(&runs), ["0000-rtt-4ms-r1"]);
    assert_eq!(folder.registered(), [""; 0]);

    // A record that found itself too late is repeated.
    let manifest = std::fs::read(runs.join("0000-rtt-4ms-r1/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let left = if manifest["invalid"].as_array().unwrap().is_empty() { "1 of 2 runs" } else { ": 2 runs" };
    let [output] = in_time(|| [folder.pipefill(&["run", "tiny.toml", "--resume"]).output().unwrap()])?;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains(left), "{}", stderr(&output));
    assert_eq!(names(&runs).len(), 2);
    Ok(())
}

fn what_a_killed_run_leaves_the_doctor_removes() -> Outcome {
    let folder = lab()?;
    let before = machine();
    let runs = folder.path("pipefill-runs/tiny/runs");
    let mut child = folder.start(&["run", "tiny.toml"]);
    wait_for(&mut child, "the second run", || second_run(&runs));
    signal(&child, "KILL");
    child.wait().unwrap();
    assert!(partial(&runs));
    assert_eq!(folder.registered().len(), 1);

    let doctor = folder.pipefill(&["doctor"]).output().unwrap();
    assert!(stderr(&doctor).contains("removed the leftovers of"), "{}", stderr(&doctor));
    assert_eq!(names(&runs), ["0000-rtt-4ms-r1"]);
    assert_eq!(folder.registered(), [""; 0]);
    assert_eq!(machine(), before);
    Ok(())
}

fn two_at_the_same_time_do_not_meet() -> Outcome {
    let folder = lab()?;
    let outputs = in_time(|| {
        let children = [1, 2].map(|_| folder.start(&["run", "tiny.toml", "--quiet"]));
        children.map(|child| child.wait_with_output().unwrap())
    })?;
    let mut chosen = outputs.each_ref().map(|output| (output.status.code(), stderr(output)));
    chosen.sort();
    let directories = ["pipefill-runs/tiny\n", "pipefill-runs/tiny-2\n"];
    assert_eq!(chosen, directories.map(|directory| (Some(0), directory.to_owned())));
    assert_eq!(names(&folder.path("pipefill-runs")), ["tiny", "tiny-2"]);
    for name in ["tiny", "tiny-2"] {
        let runs = folder.path("pipefill-runs").join(name).join("runs");
        assert_eq!(names(&runs), ["0000-rtt-4ms-r1", "0001-rtt-20ms-r1"]);
    }
    assert_eq!(folder.registered(), [""; 0]);
    Ok(())
}
