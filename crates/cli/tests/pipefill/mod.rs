//! The binary in a folder of its own, with a registry of its own.
#![allow(dead_code, unreachable_pub, reason = "each test crate uses a part")]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A folder to run the binary in. Its registry is next to it, so that neither sees the other.
pub struct Folder {
    work: TempDir,
    runtime: TempDir,
}

impl Folder {
    pub fn new() -> Self {
        Self { work: tempfile::tempdir().unwrap(), runtime: tempfile::tempdir().unwrap() }
    }

    pub fn root(&self) -> &Path {
        self.work.path()
    }

    /// The folder of its registry's root.
    pub fn runtime(&self) -> &Path {
        self.runtime.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Everything in the folder, hidden names too.
    pub fn names(&self) -> Vec<String> {
        names(self.root())
    }

    /// Entries of running experiments.
    pub fn registered(&self) -> Vec<String> {
        let registry = self.runtime.path().join("pipefill");
        if registry.exists() { names(&registry) } else { Vec::new() }
    }

    pub fn pipefill(&self, words: &[&str]) -> assert_cmd::Command {
        assert_cmd::Command::from_std(self.std_command(words))
    }

    /// Started, not waited for; both streams are read at the end.
    pub fn start(&self, words: &[&str]) -> Child {
        let mut command = self.std_command(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn std_command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("pipefill"));
        command.args(words).current_dir(self.root()).env("XDG_RUNTIME_DIR", self.runtime.path());
        command.env_remove("NO_COLOR");
        command
    }
}

/// Sorted names in `folder`.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A folder on a machine where the lab runs. Elsewhere the reason is printed and counted as a skip; where
/// `PIPEFILL_REQUIRE_LAB=1` says that it has to run, that is a failure.
pub fn privileged_lab() -> Option<Folder> {
    let folder = Folder::new();
    let output = folder.pipefill(&["doctor"]).output().unwrap();
    if output.status.success() {
        return Some(folder);
    }
    let found = String::from_utf8_lossy(&output.stdout);
    let reason = found.lines().find(|line| line.starts_with("MISSING")).unwrap_or("doctor failed");
    assert!(std::env::var_os("PIPEFILL_REQUIRE_LAB").is_none_or(|value| value != "1"), "{reason}");
    println!("skipped: lab-unavailable: {reason}");
    None
}

/// Whether a run found itself too late to be believed: a machine that is too busy to measure. Printed and counted as a skip.
pub fn machine_is_late(output: &std::process::Output) -> bool {
    let late = output.status.code() == Some(4);
    if late {
        let text = String::from_utf8_lossy(&output.stdout);
        let reason = text.lines().find(|line| line.contains("late_")).unwrap_or("no reason given");
        assert!(reason.contains("late_"), "invalid for another reason: {text}");
        println!("skipped: machine-late: {}", reason.trim());
    }
    late
}

/// How often a scenario's late runs are done again.
const TURNS: usize = 3;
/// Of more late runs than this a machine will not be in time a minute later either.
const MOST_AGAIN: usize = 9;

/// The report of `file` on `backend`, in a directory of that name. Runs that the machine was too late for are done again, twice at
/// most, and that is printed: whether a run was late is known without a look at what it measured, so that this hides nothing.
pub fn cells_in_time(folder: &Folder, file: &str, backend: &str) -> Vec<Value> {
    let mut words = vec!["run", file, "--on", backend, "--out", backend, "--quiet", "--json"];
    for turn in 1.. {
        let output = folder.pipefill(&words).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 4)), "{text}");
        let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let Value::Array(cells) = report["cells"].take() else { panic!("no cells: {text}") };
        let late = late(&cells);
        if late.is_empty() || late.len() > MOST_AGAIN || turn == TURNS {
            return cells;
        }
        println!("{} of {} cells were late in turn {turn} and are done again", late.len(), cells.len());
        if turn == 1 {
            words.push("--resume");
        }
    }
    unreachable!("the last turn returns")
}

/// The cells that have no valid run. A machine that was too busy to measure has to be among the reasons; packets that found no
/// room meanwhile may be another.
pub fn late(cells: &[Value]) -> Vec<&Value> {
    let late: Vec<&Value> = cells.iter().filter(|cell| cell["valid"].as_u64() == Some(0)).collect();
    for cell in &late {
        let is_late = |reason: &Value| reason["reason"].as_str().unwrap().starts_with("late_");
        assert!(cell["invalid"].as_array().unwrap().iter().any(is_late), "{cell}");
    }
    late
}

/// Prints what could not be measured in time; it counts as a skip.
pub fn said_too_late(cells: &[Value]) {
    let late = late(cells);
    if let Some(first) = late.first() {
        let detail = &first["invalid"][0]["detail"];
        println!("skipped: machine-late: {} of {} cells, the first: {detail}", late.len(), cells.len());
    }
}
