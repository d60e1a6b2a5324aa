//! A real container in a network namespace that the test has made, from a root directory with nothing but a static busybox.
#![allow(unreachable_pub, reason = "a module of one test program")]

use crate::measuring::{Folder, Skip};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where Debian's busybox-static has it.
pub const BUSYBOX: &str = "/bin/busybox";

/// Containers of this process so far: some tests run at a time.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// The container; removed when dropped.
pub struct Container(String);

impl Container {
    /// Starts one in the namespace that `file` stands for.
    ///
    /// # Errors
    /// This kernel lets podman start none.
    pub fn start(folder: &Folder, file: &str) -> Result<Self, Skip> {
        let root = folder.path("root");
        fs::create_dir_all(root.join("bin")).unwrap();
        // Not written by this process: another test's fork would hold it open for writing while it is executed.
        assert!(Command::new("cp").arg(BUSYBOX).arg(root.join("bin/busybox")).status().unwrap().success());
        symlink("busybox", root.join("bin/sleep")).unwrap();
        let count = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("pipefill-test-{}-{count}", std::process::id());
        let network = format!("ns:{file}");
        let limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000"];
        let words = ["run", "-d", "--name", &name, "--network", &network];
        let what = ["--rootfs", root.to_str().unwrap(), "/bin/sleep", "600"];
        let container = Self(name.clone());
        let output = podman(&[&words[..], &limits, &what].concat());
        match output.status.success() {
            true => Ok(container),
            false => {
                Err(Skip::ContainersUnavailable(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
            }
        }
    }

    pub fn name(&self) -> &str {
        &self.0
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _gone = podman(&["rm", "-f", "-t", "0", &self.0]);
    }
}

fn podman(words: &[&str]) -> Output {
    Command::new("podman").args(["--runtime", "runc"]).args(words).output().unwrap()
}
