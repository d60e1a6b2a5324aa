//! Namespaces that tests make for programs that are not ours.

use super::{Folder, Skip, lab};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A namespace without a name: it lives as long as a process whose standard input this test holds, however the test ends.
pub struct Namespace(Child);

impl Namespace {
    pub fn new() -> Self {
        let mut keeper = Command::new("unshare");
        let keeper =
            keeper.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let own = fs::read_link("/proc/self/ns/net").unwrap();
        let new = Self(keeper);
        until(|| fs::read_link(new.file()).is_ok_and(|its| its != own), "no namespace");
        new
    }

    /// The file that stands for it.
    pub fn file(&self) -> String {
        format!("/proc/{}/ns/net", self.0.id())
    }

    /// `words` as a command in it.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args([&format!("--net={}", self.file()), "--"]).args(words);
        command
    }

    /// A veth pair between both, with these addresses of the same /24.
    pub fn join(&self, own: &str, other: &Self, others: &str) {
        self.ip(&format!("link add w0 type veth peer name w1 netns {}", other.0.id()));
        for (namespace, address, interface) in [(self, own, "w0"), (other, others, "w1")] {
            namespace.ip(&format!("addr add {address}/24 dev {interface}"));
            namespace.ip(&format!("link set {interface} up"));
        }
    }

    pub fn ip(&self, words: &str) {
        let words: Vec<&str> = ["ip"].into_iter().chain(words.split(' ')).collect();
        assert!(self.command(&words).status().unwrap().success(), "{words:?}");
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

pub fn end(child: &mut Child) {
    let _ended = child.kill();
    let _status = child.wait();
}

/// Waits until `is_so`.
///
/// # Panics
/// It is not within ten seconds.
pub fn until(is_so: impl Fn() -> bool, otherwise: &str) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(10), "{otherwise}");
        sleep(Duration::from_millis(5));
    }
}

/// A folder, where the lab runs and `programs` are installed.
///
/// # Errors
/// The lab does not run, or a program is missing.
pub fn folder_with(programs: &[&str]) -> Result<Folder, Skip> {
    let folder = lab()?;
    installed(programs)?;
    Ok(folder)
}

/// Whether `programs` are installed.
///
/// # Errors
/// One is missing.
pub fn installed(programs: &[&str]) -> Result<(), Skip> {
    let is_there = |name: &&str| {
        let found =
            Command::new("sh").args(["-c", &format!("command -v {name}")]).stdout(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    };
    match programs.iter().find(|name| !is_there(name)) {
        None => Ok(()),
        Some(missing) => Err(Skip::ProgramMissing((*missing).to_owned())),
    }
}

/// The same for root, who alone can join namespaces of other processes.
///
/// # Errors
/// As [`folder_with`], and for everybody else.
pub fn root_folder(programs: &[&str]) -> Result<Folder, Skip> {
    match fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        true => folder_with(programs),
        false => Err(Skip::LabUnavailable(
            "a veth pair between namespaces of other processes needs root".to_owned(),
        )),
    }
}
