//! The binary in a folder of its own, with a registry of its own.
#![allow(dead_code, unreachable_pub, reason = "each test crate uses a part")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
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

    /// `watch --listen` with `words`, once it listens, and where.
    pub fn serve_metrics(&self, words: &[&str]) -> (Child, SocketAddr) {
        let mut child = self.start(&[&["watch", "--listen", "127.0.0.1:0"], words].concat());
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let at = line.strip_prefix("metrics at http://").and_then(|rest| rest.split('/').next());
        (child, at.and_then(|at| at.parse().ok()).unwrap_or_else(|| panic!("{line}")))
    }

    fn std_command(&self, words: &[&str]) -> Command {
        command(self.root(), self.runtime.path(), words)
    }
}

/// The binary in the folder `work`, with its registry in `runtime`.
pub fn command(work: &Path, runtime: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("pipefill"));
    command.args(words).current_dir(work).env("XDG_RUNTIME_DIR", runtime).env_remove("NO_COLOR");
    command
}

/// Copies a folder with what is in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for name in names(from) {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
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
