//! Processes that are killed at any instant, and another host that shares the directory: no run is lost, none is there twice, and none
//! that is half written passes for a whole one.
//!
//! `PIPEFILL_KILLS=20` kills as often; three times where it is not set.

use crate::pipefill::{Folder, names};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

const SCENARIO: &str = r#"
name = "many"
[path]
rtt = ["1ms", "2ms", "4ms"]
rate = "20mbit"
loss = "0.1%"
[[flow]]
duration = "500ms"
[run]
repeat = 10
sample = "20ms"
"#;
const RUNS: usize = 30;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("many.toml", SCENARIO);
    folder
}

fn words(records: &str) -> [&str; 9] {
    ["run", "many.toml", "--on", "sim", "--resume", "--out", "o", "--records", records]
}

fn report(folder: &Folder) -> serde_json::Value {
    let got = folder.pipefill(&["report", "o", "--json"]).assert().success();
    serde_json::from_slice(&got.get_output().stdout).unwrap()
}

/// Ids of the runs that the report has.
fn recorded(report: &serde_json::Value) -> Vec<String> {
    let cells = report["cells"].as_array().unwrap().iter();
    let runs = cells.flat_map(|cell| cell["run_values"].as_array().unwrap());
    runs.map(|run| run["id"].as_str().unwrap().to_owned()).collect()
}

fn times() -> u32 {
    std::env::var("PIPEFILL_KILLS").map_or(3, |text| text.parse().expect("PIPEFILL_KILLS is a number"))
}

/// From nothing to `most`.
fn any_time(most: Duration) -> Duration {
    let share = RandomState::new().hash_one(0) % 1_000;
    most * u32::try_from(share).unwrap() / 1_000
}

fn kill(mut child: Child) {
    // Where it has ended before, there is nothing to kill.
    let _ended = child.kill();
    child.wait().unwrap();
}

#[test]
fn killed_at_any_instant_nothing_is_lost_doubled_or_half() {
    for records in ["rows", "summary"] {
        let undisturbed = folder();
        undisturbed.pipefill(&words(records)).arg("--quiet").assert().success();
        let whole = report(&undisturbed);
        assert_eq!(recorded(&whole).len(), RUNS);

        let folder = folder();
        let mut before = BTreeSet::new();
        for _ in 0..times() {
            let child = folder.start(&words(records));
            sleep(any_time(Duration::from_millis(1_500)));
            kill(child);
            if !folder.path("o").exists() {
                continue;
            }
            let report = report(&folder);
            let ids: BTreeSet<String> = recorded(&report).into_iter().collect();
            assert_eq!(recorded(&report).len(), ids.len(), "a run is there twice");
            assert!(before.is_subset(&ids), "a run is lost");
            let cells = report["cells"].as_array().unwrap();
            assert!(cells.iter().all(|cell| cell["runs"] == cell["valid"]), "a run is half written");
            before = ids;
        }
        folder.pipefill(&words(records)).arg("--quiet").assert().success();
        assert!(report(&folder) == whole, "{records}: the report is another one");
        let hidden = |name: &String| name.starts_with('.');
        assert!(!names(&folder.path("o/runs")).iter().any(hidden), "something is left in the making");
        assert_eq!(folder.registered(), [""; 0]);
    }
}

/// What a process of another host says of itself.
fn elsewhere() -> String {
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap();
    let owner = serde_json::json!({
        "pid": 4711, "start_time": 123, "boot_id": "00000000-1111-2222-3333-444444444444",
        "pid_namespace": namespace, "host": "node7",
    });
    owner.to_string() + "\n"
}

/// Leaves in `o` what another host does that was last heard of so long ago: its lease, and a run in the making.
fn leave(folder: &Folder, ago: Duration) -> String {
    let name = ".0000-rtt-1ms-r01.partial-4711-123";
    let partial = folder.path("o/runs").join(name);
    fs::create_dir_all(&partial).unwrap();
    fs::write(partial.join("owner.json"), elsewhere()).unwrap();
    fs::write(folder.path("o/.lock"), elsewhere()).unwrap();
    let then = SystemTime::now() - ago;
    for path in [partial.join("owner.json"), partial, folder.path("o/.lock")] {
        File::open(path).unwrap().set_modified(then).unwrap();
    }
    name.to_owned()
}

#[test]
fn another_host_s_lease_holds_until_it_is_not_heard_of() {
    let folder = folder();
    folder.pipefill(&words("rows")).args(["--quiet", "--only", "path.rtt=4ms"]).assert().success();
    let words = [&words("rows")[..], &["--quiet", "--only", "path.rtt=4ms"]].concat();
    let partial = leave(&folder, Duration::from_secs(30));
    let refused = folder.pipefill(&words).assert().code(2);
    let told = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(told.contains("pid 4711 of node7") && told.contains("is at work in o"), "{told}");
    assert!(told.contains("its lease ends in 1 min"), "{told}");
    assert!(names(&folder.path("o/runs")).contains(&partial), "its run is gone");
    assert!(folder.path("o/.lock").exists());

    leave(&folder, Duration::from_secs(3_600));
    let resumed = folder.pipefill(&words).assert().success();
    let told = String::from_utf8_lossy(&resumed.get_output().stderr).into_owned();
    assert!(told.contains("removed the leftovers of o (pid 4711, killed)"), "{told}");
    assert!(!names(&folder.path("o/runs")).contains(&partial));
    assert!(!folder.path("o/.lock").exists());
}
