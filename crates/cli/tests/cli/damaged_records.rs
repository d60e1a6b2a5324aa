//! Records that were lost, changed, copied, or made to mislead: told in plain words, never other figures, and nothing is written or
//! read outside of them.

use crate::pipefill::{Folder, names};
use predicates::prelude::*;
use predicates::str::contains;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

const SCENARIO: &str = r#"
name = "small"
[path]
rtt = ["2ms", "4ms"]
rate = "10mbit"
loss = "0.01%"
[[flow]]
duration = "300ms"
[[flow]]
protocol = "udp"
bitrate = "1mbit"
duration = "300ms"
[run]
repeat = 2
sample = "50ms"
"#;
const RUNS: [&str; 4] = ["0000-rtt-2ms-r1", "0000-rtt-2ms-r2", "0001-rtt-4ms-r1", "0001-rtt-4ms-r2"];
const RUN: [&str; 7] = ["run", "s.toml", "--on", "sim", "--out", "o", "--resume"];

/// An experiment in `o`.
fn scene() -> Folder {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO);
    folder.pipefill(&RUN).assert().success();
    assert_eq!(names(&folder.path("o/runs")), RUNS);
    folder
}

fn run(folder: &Folder, number: usize) -> PathBuf {
    folder.path("o/runs").join(RUNS[number])
}

fn report(folder: &Folder) -> Vec<u8> {
    folder.pipefill(&["report", "o", "--json"]).assert().success().get_output().stdout.clone()
}

#[test]
fn what_is_lost_changed_or_copied_is_told_and_made_anew() {
    let folder = scene();
    let before = report(&folder);
    fs::remove_file(run(&folder, 0).join("delivery.jsonl.zst")).unwrap();
    let manifest = run(&folder, 1).join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replacen("\"received_bytes\": ", "\"received_bytes\": 1", 1)).unwrap();
    fs::write(run(&folder, 2).join("manifest.json"), "").unwrap();
    let table = run(&folder, 3).join("tcp.jsonl.zst");
    let mut bytes = fs::read(&table).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&table, bytes).unwrap();
    for words in [vec!["report", "o"], vec!["explain", "o"], vec!["report", "o", "--format", "html"]] {
        folder.pipefill(&words).assert().code(2).stdout("").stderr(
            contains("0000-rtt-2ms-r1 is damaged: delivery.jsonl.zst is missing")
                .and(contains("0000-rtt-2ms-r2 is damaged: manifest.json has changed since it was written"))
                .and(contains("0001-rtt-4ms-r1 is damaged: manifest.json is empty"))
                .and(contains("0001-rtt-4ms-r2 is damaged: tcp.jsonl.zst has changed since it was written"))
                .and(contains("--on sim --resume --out o")),
        );
    }
    let alone = "o/runs/0000-rtt-2ms-r1";
    folder.pipefill(&["report", alone]).assert().code(2).stderr(contains("delivery.jsonl.zst is missing"));
    folder.pipefill(&RUN).assert().success().stderr(contains("it is kept as o/damaged/0001-rtt-4ms-r1"));
    assert_eq!(names(&folder.path("o/damaged")), RUNS);
    assert_eq!(names(&folder.path("o/runs")), RUNS);
    assert_eq!(report(&folder), before);
    folder.pipefill(&RUN).assert().success().stderr(contains("0 of 4 runs (4 have a valid record)"));
}

#[test]
fn a_copied_run_counts_once() {
    let folder = scene();
    let before = report(&folder);
    let copy = folder.path("o/runs/copy");
    fs::create_dir(&copy).unwrap();
    for name in names(&run(&folder, 0)) {
        fs::copy(run(&folder, 0).join(&name), copy.join(&name)).unwrap();
    }
    folder.pipefill(&["report", "o"]).assert().code(2).stderr(
        contains("o/runs/copy is damaged: it is a copy: run ")
            .and(contains("is in o/runs/0000-rtt-2ms-r1 too")),
    );
    folder.pipefill(&RUN).assert().success().stderr(contains("it is kept as o/damaged/copy"));
    assert_eq!(report(&folder), before);
}

/// Of every changed byte: an error, or the same report.
#[test]
fn no_changed_byte_makes_another_report() {
    let folder = scene();
    let before = report(&folder);
    let mut files = vec![folder.path("o/experiment.json")];
    files.extend(names(&run(&folder, 0)).into_iter().map(|name| run(&folder, 0).join(name)));
    for file in files {
        let whole = fs::read(&file).unwrap();
        let step = (whole.len() / 12).max(1);
        for at in (3..whole.len()).step_by(step) {
            let mut changed = whole.clone();
            changed[at] ^= 0b100;
            fs::write(&file, &changed).unwrap();
            let output = folder.pipefill(&["report", "o", "--json"]).output().unwrap();
            let is_same = output.status.code() == Some(0) && output.stdout == before;
            assert!(is_same || output.status.code() == Some(2), "{} byte {at}", file.display());
        }
        fs::write(&file, whole).unwrap();
    }
    assert_eq!(report(&folder), before);
}

#[test]
fn names_in_records_lead_nowhere_else() {
    let folder = scene();
    let outside = folder.path("outside");
    fs::create_dir(&outside).unwrap();
    let manifest = run(&folder, 0).join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    for name in [outside.join("x").to_str().unwrap(), "../../../outside/x"] {
        let hostile =
            text.replace("\"directory\": \"0000-rtt-2ms-r1\"", &format!("\"directory\": \"{name}\""));
        assert_ne!(hostile, text);
        fs::write(&manifest, hostile).unwrap();
        for format in ["iperf3", "flent"] {
            folder.pipefill(&["report", "o", "--format", format, "-o", "flows"]).assert().code(2).stderr(
                contains("0000-rtt-2ms-r1 is damaged: manifest.json: run.directory: ")
                    .and(contains("is not a name")),
            );
        }
    }
    fs::write(&manifest, text).unwrap();
    let experiment = folder.path("o/experiment.json");
    let text = fs::read_to_string(&experiment).unwrap();
    let hostile = text.replace("\"experiment\": \"small\"", "\"experiment\": \"../../outside/E\"");
    assert_ne!(hostile, text);
    fs::write(&experiment, &hostile).unwrap();
    folder.pipefill(&["report", "o"]).assert().code(2).stderr(contains("its checksum does not fit"));
    // As 0.1.0 wrote it, without one.
    let (before, _) = hostile.rsplit_once(",\n").expect("its last member is the checksum");
    fs::write(&experiment, format!("{before}\n}}\n")).unwrap();
    for words in [vec!["fix", "o", "--on", "sim"], vec!["report", "o"]] {
        folder
            .pipefill(&words)
            .assert()
            .code(2)
            .stderr(contains("experiment.json is damaged: plan.experiment: "));
    }
    assert_eq!(names(&outside), [""; 0]);
    assert!(!folder.names().iter().any(|name| name.ends_with("-fix")));
}

#[test]
fn links_are_not_followed_and_fifos_are_not_waited_for() {
    let folder = scene();
    folder.write("secret", "# a secret\n");
    fs::remove_file(folder.path("o/report.html")).unwrap();
    symlink(folder.path("secret"), folder.path("o/report.html")).unwrap();
    folder.pipefill(&RUN).assert().success();
    assert_eq!(fs::read_to_string(folder.path("secret")).unwrap(), "# a secret\n");
    assert!(fs::read_to_string(folder.path("o/report.html")).unwrap().starts_with("<!"));

    let scenario = fs::read(folder.path("o/scenario.toml")).unwrap();
    fs::remove_file(folder.path("o/scenario.toml")).unwrap();
    symlink(folder.path("secret"), folder.path("o/scenario.toml")).unwrap();
    let page = folder.pipefill(&["report", "o", "--format", "html"]).assert().code(2);
    page.stdout("").stderr(contains("o/scenario.toml: it is a symbolic link"));
    fs::remove_file(folder.path("o/scenario.toml")).unwrap();
    fs::write(folder.path("o/scenario.toml"), scenario).unwrap();

    fs::create_dir(folder.path("elsewhere")).unwrap();
    symlink(folder.path("elsewhere"), folder.path("o/pictures")).unwrap();
    folder.pipefill(&["report", "o", "--format", "svg"]).assert().code(2).stderr(contains("symbolic link"));
    assert_eq!(names(&folder.path("elsewhere")), [""; 0]);

    let fifo = |path: PathBuf| {
        fs::remove_file(&path).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    };
    for file in ["tcp.jsonl.zst", "manifest.json"] {
        fifo(run(&folder, 0).join(file));
        let mut report = folder.pipefill(&["report", "o"]);
        report.timeout(Duration::from_secs(20)).assert().code(2).stderr(contains("it is a FIFO"));
    }
    fifo(folder.path("o/experiment.json"));
    let mut report = folder.pipefill(&["report", "o"]);
    report.timeout(Duration::from_secs(20)).assert().code(2).stderr(contains("it is a FIFO"));
}

#[test]
fn a_damaged_proof_hides_no_result() {
    let folder = scene();
    fs::write(folder.path("o/fix.json"), "{\"cells\": [").unwrap();
    let page = folder.pipefill(&["report", "o", "--format", "html"]).assert().success();
    page.stderr(contains("note: the page shows no proofs: o/fix.json is damaged"));
    folder
        .pipefill(&RUN)
        .assert()
        .success()
        .stdout(contains("small"))
        .stderr(contains("o/fix.json is damaged"));
    let fix = ["fix", "o", "--quiet", "--repeat", "2", "--only", "path.rtt=2ms"];
    folder.pipefill(&fix).assert().success().stderr(contains("it is kept as o/fix.damaged.json"));
    folder.pipefill(&["report", "o", "--format", "html"]).assert().success().stderr("");
}

/// `ulimit -f`: the page is longer than 24 KiB, no file of the records is. The same as a disk that is full at the page.
#[test]
fn a_page_that_cannot_be_written_hides_no_result() {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO);
    let program = assert_cmd::cargo::cargo_bin!("pipefill");
    let script = format!("ulimit -f 24; exec {} {}", program.display(), RUN.join(" "));
    let mut command = std::process::Command::new("bash");
    command.args(["-c", &script]).current_dir(folder.root()).env("XDG_RUNTIME_DIR", folder.runtime());
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(out.contains("small") && out.contains("sim · link"), "{out}");
    assert!(
        err.contains("note: there is no report page: writing o/report.html") && !err.contains("\npage: "),
        "{err}"
    );
    assert_eq!(names(&folder.path("o")), ["experiment.json", "runs", "scenario.toml"]);
    report(&folder);
}
