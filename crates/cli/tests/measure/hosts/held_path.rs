//! A path of `pipefill exec` that stays: its two hosts, as files of their namespaces that every process of this machine can name.
#![allow(unreachable_pub, reason = "a module of one test program")]

use crate::measuring::Folder;
use crate::measuring::namespace::{end, until};
use std::fs;
use std::io::Read;
use std::process::{Child, ChildStdin, Command, Stdio};

/// The addresses of the hosts.
pub const RECEIVER: &str = "10.77.0.2";

/// The path; gone when dropped.
pub struct HeldPath {
    child: Child,
    /// The command at the sender's end ends with this.
    _held: Option<ChildStdin>,
    /// The sender's namespace.
    pub sender: String,
    /// The receiver's.
    pub receiver: String,
}

impl HeldPath {
    /// That of study `window` with this round trip, and `server` at its receiver, which listens.
    pub fn of_study(folder: &Folder, rtt: &str, server: &str) -> Self {
        let server = format!("readlink /proc/self/ns/net >receiver.ns; exec {server}");
        let words = ["exec", "--quiet", "--rtt", rtt, "--rate", "100mbit", "--reverse-rate", "100mbit"];
        let sets = [
            "path.burst=1514B",
            "path.reverse_burst=1514B",
            "path.queue=256KiB",
            "path.reverse_queue=256KiB",
        ];
        let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
        let command =
            ["--server", &server, "--", "sh", "-c", "readlink /proc/self/ns/net >sender.ns; exec cat"];
        for name in ["sender.ns", "receiver.ns"] {
            let _former = fs::remove_file(folder.path(name));
        }
        let mut start = Command::new(assert_cmd::cargo::cargo_bin!("pipefill"));
        start
            .args(words)
            .args(sets)
            .args(command)
            .current_dir(folder.root())
            .env("XDG_RUNTIME_DIR", folder.runtime());
        let mut child =
            start.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let held = child.stdin.take();
        let is_whole = || fs::read_to_string(folder.path("sender.ns")).is_ok_and(|text| text.ends_with('\n'));
        let began = std::time::Instant::now();
        while !is_whole() {
            if let Ok(Some(status)) = child.try_wait() {
                let mut told = String::new();
                child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
                panic!("the path ended, {status}: {told}");
            }
            assert!(began.elapsed().as_secs() < 20, "no path");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let [sender, receiver] = ["sender.ns", "receiver.ns"].map(|name| {
            let name = fs::read_to_string(folder.path(name)).unwrap();
            let mut file = None;
            until(|| file_of(name.trim()).is_some(), "no process in the namespace");
            file.get_or_insert_with(|| file_of(name.trim()).unwrap()).clone()
        });
        Self { child, _held: held, sender, receiver }
    }

    /// A command in the sender's namespace.
    pub fn at_sender(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.sender)).arg("--").args(words);
        command
    }
}

impl Drop for HeldPath {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A file that stands for the namespace `net:[NUMBER]`: that of a process which is in it.
fn file_of(name: &str) -> Option<String> {
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let files = processes.map(|process| process.path().join("ns/net"));
    let is_it = |file: &std::path::PathBuf| fs::read_link(file).is_ok_and(|found| found.as_os_str() == name);
    files.filter(is_it).find_map(|file| file.to_str().map(str::to_owned))
}
