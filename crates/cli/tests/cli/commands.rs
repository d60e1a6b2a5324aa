//! The binary from outside, without any privilege: help, exit codes, errors, JSON, and that nothing is left behind.

use crate::pipefill::{Folder, names};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const COMMANDS: [&str; 13] = [
    "plan",
    "run",
    "study",
    "catalogue",
    "report",
    "explain",
    "fix",
    "compare",
    "sweep",
    "doctor",
    "bdp",
    "completions",
    "man",
];

const SCENARIO: &str = r#"
name = "small"
[path]
rtt = ["1ms", "10ms"]
loss = ["0%", "packets 3,7,9-12"]
[[flow]]
duration = "1s"
"#;

fn scenarios() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<String> = ["", "studies", "catalogue"]
        .iter()
        .flat_map(|folder| fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    files.sort();
    files
}

fn json(output: &[u8]) -> Value {
    serde_json::from_slice(output).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(output)))
}

#[test]
fn every_help_has_examples_that_parse() {
    let folder = Folder::new();
    folder.pipefill(&["--help"]).assert().success().stdout(contains("EXAMPLES:").and(contains("EXIT CODES")));
    folder.pipefill(&["run", "--help"]).assert().success().stdout(contains("virtual time"));
    for command in COMMANDS {
        let help = folder.pipefill(&[command, "--help"]).assert().success().get_output().stdout.clone();
        let help = String::from_utf8(help).unwrap();
        let (_, examples) = help.split_once("EXAMPLES:\n").unwrap_or_else(|| panic!("{command}: {help}"));
        assert!(examples.contains(&format!("pipefill {command} ")) || command == "doctor", "{examples}");
        assert_eq!(help.contains("--json"), !["completions", "man"].contains(&command), "{command}");
    }
}

#[test]
fn the_version_is_told() {
    let version = format!("pipefill {}\n", env!("CARGO_PKG_VERSION"));
    Folder::new().pipefill(&["--version"]).assert().success().stdout(version);
}

#[test]
fn every_scenario_of_the_project_has_a_plan() {
    let folder = Folder::new();
    let files = scenarios();
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        let whole =
            folder.pipefill(&["plan", &file, "--json"]).assert().success().get_output().stdout.clone();
        let quick =
            folder.pipefill(&["plan", &file, "--quick"]).assert().success().get_output().stdout.clone();
        let cells = json(&whole)["cells"].as_array().unwrap().len();
        assert!(cells > 0 && !quick.is_empty(), "{file}");
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_plan_names_every_run_on_one_line() {
    let folder = Folder::new();
    let plan = folder.pipefill(&["plan", "rtt"]).assert().success().get_output().stdout.clone();
    let text = String::from_utf8(plan).unwrap();
    assert!(text.contains("0000-tcp-rtt-0ms-r1") && text.ends_with("45 cells, 55 runs\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("variant=")).count(), 55);
}

#[test]
fn a_bad_scenario_is_shown_with_line_and_caret_and_nothing_is_made() {
    let folder = Folder::new();
    folder.write("bad.toml", "name = \"x\"\n[path]\nrtt = \"10\"\n");
    for command in ["plan", "run"] {
        folder
            .pipefill(&[command, "bad.toml"])
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains("bad.toml:3:").and(contains("^")).and(contains("help")));
    }
    folder
        .pipefill(&["sim", "fuzz", "--file", "bad.toml"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains("bad.toml:3:").and(contains("^")).and(contains("help")));
    folder.write("good.toml", SCENARIO);
    folder
        .pipefill(&["run", "good.toml", "--set", "path.rtt=10"])
        .assert()
        .code(2)
        .stderr(contains("--set:1:").and(contains("^")));
    folder.pipefill(&["run", "none.toml"]).assert().code(2).stderr(contains("there is no file none.toml"));
    folder.pipefill(&["run", "rtt"]).assert().code(2).stderr(contains("pipefill study rtt"));
    assert_eq!(folder.names(), ["bad.toml", "good.toml"]);
}

/// Without a privilege, and the same bytes however the runs are spread.
#[test]
fn the_simulator_runs_anywhere_and_repeats_itself() {
    let folder = Folder::new();
    folder.write("good.toml", SCENARIO);
    for (out, jobs) in [("one", "1"), ("two", "2")] {
        folder
            .pipefill(&[
                "run",
                "good.toml",
                "--on",
                "sim",
                "--out",
                out,
                "--jobs",
                jobs,
                "--quiet",
                "--set",
                "path.rate=50mbit",
            ])
            .assert()
            .code(0)
            .stdout(contains("sim · link"));
    }
    let runs = names(&folder.path("one/runs"));
    assert_eq!(runs, names(&folder.path("two/runs")));
    for run in &runs {
        for file in names(&folder.path("one/runs").join(run)) {
            let read =
                |out: &str| std::fs::read(folder.path(out).join("runs").join(run).join(&file)).unwrap();
            assert_eq!(read("one"), read("two"), "{run}/{file}");
        }
    }
}

#[test]
fn studies_are_listed_and_an_unknown_one_is_told_them() {
    let folder = Folder::new();
    folder.pipefill(&["study", "rtl"]).assert().code(2).stderr(contains("did you mean \"rtt\""));
    folder.pipefill(&["study"]).assert().code(2);
    folder.pipefill(&["study", "--list"]).assert().success().stdout(contains("rtt"));
    let list = folder.pipefill(&["study", "--list", "--json"]).assert().success().get_output().stdout.clone();
    let list = json(&list);
    assert_eq!((&list["schema"], &list["studies"][0]["name"]), (&Value::from(1), &Value::from("rtt")));
    assert_eq!(list["studies"][0]["runs"], 55);
}

#[test]
fn only_leaves_the_cells_that_are_named() {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO);
    let plan = |filters: &[&str]| {
        let words = ["plan", "s.toml", "--json"].iter().chain(filters).copied().collect::<Vec<_>>();
        json(&folder.pipefill(&words).assert().success().get_output().stdout)["cells"].clone()
    };
    let all = plan(&[]);
    assert_eq!(all.as_array().unwrap().len(), 4);
    let single = plan(&["--only", "path.rtt=10ms,path.loss=packets 3,7,9-12"]);
    assert_eq!(single.as_array().unwrap().len(), 1);
    assert_eq!((&single[0]["id"], &single[0]["index"]), (&all[3]["id"], &Value::from(3)));
    folder
        .pipefill(&["plan", "s.toml", "--only", "path.rtt=9ms"])
        .assert()
        .code(2)
        .stderr(contains("1ms, 10ms"));
    folder.pipefill(&["plan", "s.toml", "--only", "rtt=1ms"]).assert().code(2).stderr(contains("path.rtt"));
}

#[test]
fn the_calculator_answers_in_both_forms() {
    let folder = Folder::new();
    let words = ["bdp", "--rate", "1gbit", "--rtt", "10ms", "--window", "64KiB", "--loss", "1%"];
    folder.pipefill(&words).assert().success().stdout(contains("1250000 B").and(contains("CUBIC")));
    let with_json: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    let answer = json(&folder.pipefill(&with_json).assert().success().get_output().stdout);
    assert_eq!((&answer["bdp_bytes"], &answer["mss_bytes"]), (&Value::from(1_250_000), &Value::from(1448)));
    assert!(answer["window"]["window_law_bps"].is_u64() && answer["loss"]["pftk_bps"].is_u64(), "{answer}");
    let words = ["bdp", "--rate", "1gbit", "--rate-layer", "wire", "--rtt", "10ms"];
    let text = folder.pipefill(&words).assert().success();
    let text = String::from_utf8_lossy(&text.get_output().stdout).into_owned();
    assert!(
        text.contains("941 Mbit/s     rate × MSS / (MSS + 90)") && text.contains("overhead 24"),
        "{text}"
    );
    let refused = folder.pipefill(&["bdp", "--rate", "100", "--rtt", "10ms"]).assert().code(2);
    refused.stderr(contains("100mbit"));
    folder.pipefill(&["bdp", "--rate", "1gbit", "--rtt", "1ms", "--mss", "0"]).assert().code(2);
}

#[test]
fn a_report_needs_records() {
    let folder = Folder::new();
    fs::create_dir(folder.path("empty")).unwrap();
    for (directory, what) in [("missing", "there is no directory missing"), ("empty", "holds no experiment")]
    {
        folder.pipefill(&["report", directory]).assert().code(2).stderr(contains(what));
    }
    let mut page = folder.pipefill(&["report", "empty", "--format", "html"]);
    page.assert().code(2).stderr(contains("holds no experiment"));
    fs::write(folder.path("empty/experiment.json"), r#"{"schema": 2, "pipefill": "9.0.0"}"#).unwrap();
    folder
        .pipefill(&["report", "empty"])
        .assert()
        .code(2)
        .stderr(contains("schema 2").and(contains("9.0.0")));
    fs::write(folder.path("empty/experiment.json"), "{").unwrap();
    folder.pipefill(&["report", "empty"]).assert().code(2).stderr(contains("experiment.json"));
}

#[test]
fn doctor_says_what_it_found() {
    let folder = Folder::new();
    let output = folder.pipefill(&["doctor", "--json"]).output().unwrap();
    let found = json(&output.stdout);
    let able = found["lab"].as_bool().unwrap();
    assert_eq!(output.status.code(), Some(if able { 0 } else { 3 }));
    assert_eq!((&found["schema"], &found["removed"]), (&Value::from(1), &Value::from(Vec::<Value>::new())));
    let checks = found["checks"].as_array().unwrap();
    assert!(checks.iter().any(|check| check["name"] == "network namespaces"), "{checks:?}");
    for check in checks {
        let state = check["state"].as_str().unwrap();
        assert!(["ok", "limited", "missing"].contains(&state), "{check}");
        assert!(check.get("detail").is_some() && check.get("remedy").is_some(), "{check}");
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn colours_come_only_where_asked() {
    let folder = Folder::new();
    let coloured = |when: &str| {
        let output = folder.pipefill(&["run", "none.toml", "--color", when]).output().unwrap();
        String::from_utf8(output.stderr).unwrap().contains('\x1b')
    };
    assert_eq!(["auto", "always", "never"].map(coloured), [false, true, false]);
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "fish", "zsh", "elvish", "powershell"] {
        let output =
            Folder::new().pipefill(&["completions", shell]).assert().success().get_output().stdout.clone();
        let script = String::from_utf8(output).unwrap();
        let missing: BTreeSet<&str> = COMMANDS.into_iter().filter(|name| !script.contains(name)).collect();
        assert!(missing.is_empty(), "{shell}: {missing:?}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    folder.pipefill(&["man"]).assert().success().stdout(contains(".TH pipefill 1").and(contains("NO_COLOR")));
    folder.pipefill(&["man", "-o", "man/man1"]).assert().success().stdout("");
    let pages = names(&folder.path("man/man1"));
    for command in COMMANDS {
        let page = format!("pipefill-{command}.1");
        assert!(pages.contains(&page), "{pages:?}");
        let text = fs::read_to_string(folder.path("man/man1").join(page)).unwrap();
        let sections: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
        assert!(
            sections.contains(&"EXAMPLES") && sections.contains(&"\"EXIT STATUS\""),
            "{command}: {sections:?}"
        );
        assert!(!sections.contains(&"EXTRA"), "{command}: {sections:?}");
    }
}

#[test]
fn a_reader_that_goes_is_no_error() {
    let folder = Folder::new();
    let program = assert_cmd::cargo::cargo_bin!("pipefill");
    let script = format!("{} plan rtt --json | head -n 1; echo ${{PIPESTATUS[0]}}", program.display());
    let output =
        std::process::Command::new("bash").args(["-c", &script]).current_dir(folder.root()).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "{\n0\n");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_path_is_full_in_one_direction_and_never_more_than_full() {
    let folder = Folder::new();
    let scenario = "name = \"both\"\n[path]\nrtt = \"10ms\"\nrate = \"20mbit\"\nqueue = \"1bdp\"\n[[flow]]\n\
                    parallel = 3\nduration = \"3s\"\n[[flow]]\ndirection = \"reverse\"\n\
                    bitrate = \"1mbit\"\nduration = \"3s\"\n[run]\nrepeat = 1\n";
    folder.write("both.toml", scenario);
    let output = folder.pipefill(&["run", "both.toml", "--on", "sim", "--json"]).assert().success();
    let result = json(&output.get_output().stdout);
    let cell = &result["cells"][0];
    assert_eq!(cell["limited_by"], "path");
    let verdict = cell["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("Flow 1 of 2 (3 tcp streams, forward): Limited by the path "), "{verdict}");
    assert!(verdict.contains(" of payload ("), "{verdict}");
    let limits: Vec<&str> =
        cell["flows"].as_array().unwrap().iter().map(|flow| flow["limited_by"].as_str().unwrap()).collect();
    assert_eq!(limits, ["path", "app"]);
    let used = cell["run_values"][0]["flows"][0]["diagnosis"]["figures"]["utilisation"].as_f64().unwrap();
    assert!((0.8..=1.0).contains(&used), "{used}");
}
